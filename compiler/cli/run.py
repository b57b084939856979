"""`isomorph run`: a model on a device, from arrays in a file to arrays in a file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit, tell
from isomorph.cli.explain import writable


def run(
    source: options.SourceArgument,
    sample: Annotated[Path, typer.Option(help="An .npz file with one array per input, by name.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="An .npz file for the outputs.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu, reference, sim:sm_90 or cuda:0.")] = "cpu",
    checking: Annotated[
        bool, typer.Option("--checking", help="On sim:…, check every access of every kernel.")
    ] = False,
    input: options.Inputs = None,  # noqa: A002 - the option's name
    seed: Annotated[int, typer.Option(help="On sim:…, of the order of threads and blocks.")] = 0,
    as_json: options.Json = False,
) -> None:
    """Run SOURCE on a device.

    Arrays of the sample that are no inputs are left out.
    Exit code 0: done. 1: ops without a kernel, all of them listed. 2: bad call, unreadable input,
    no such device, or the run failed.
    """
    with command(as_json=as_json) as say:
        import numpy as np

        import isomorph as iso
        from isomorph.cli.source import graph_of
        from isomorph.parity.recorded import arrays_of

        if output is not None and (problem := writable(output, "--output")):
            raise options.OptionError(problem)
        say("read")
        graph = graph_of(source, input or ())
        arrays = arrays_of(sample, "--sample")
        known = {v.name for v in graph.inputs}
        others = [name for name in arrays if name not in known]
        if known <= arrays.keys():  # a file of data often has labels too
            arrays = {name: a for name, a in arrays.items() if name in known}
        say("compile")
        made = iso.compile(graph, device=device, checking=checking, seed=seed)
        say("run")
        results = made.named(**arrays)
        if output is not None:
            saved: dict[str, Any] = {name: np.asarray(a) for name, a in results.items()}
            _save(output, saved)
        shown = {n: f"{np.asarray(a).dtype}{list(np.shape(a))}" for n, a in results.items()}
        if as_json:
            document = {"device": device, "outputs": shown, "path": output, "unused": others}
            emit({"schema_version": 1, **document})
            return
        for name, kind in shown.items():
            tell(f"{name}: {kind}")
        if others:
            tell(f"no input, left out: {', '.join(others)}", error=True)
        if output is None:
            print("the outputs are not kept; -o FILE.npz keeps them", file=sys.stderr)


def _save(path: Path, arrays: dict[str, Any]) -> None:
    """Write an .npz file under exactly this name, whole or not at all."""
    import numpy as np

    if path.exists() and not path.is_file():  # a pipe, a device
        with path.open("wb") as file:
            np.savez(file, **arrays)
        return
    place = path.resolve()
    made = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    try:
        with made.open("xb") as file:
            np.savez(file, **arrays)
        made.replace(place)
    finally:
        made.unlink(missing_ok=True)
