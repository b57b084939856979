"""`isomorph export`: check, write, load, verify, then move into place."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isomorph.cli import options
from isomorph.cli.console import aside, command, emit, tell
from isomorph.cli.guard import guarded


def export(
    source: options.SourceArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes.")],
    input: options.Inputs = None,  # noqa: A002 - the option's name
    opset: options.Opset = None,
    runtime: options.Runtime = "onnxruntime",
    provider: options.Provider = "cpu",
    cases: options.Cases = 200,
    seed: options.Seed = 0,
    profile: options.Profile = "all",
    budget: options.Budget = None,
    input_names: options.InputNames = None,
    output_names: options.OutputNames = None,
    verify: Annotated[
        bool, typer.Option(help="Test parity before the file is put in place.")
    ] = True,
    accept_suspect: Annotated[
        bool, typer.Option("--accept-suspect", help="Let a SUSPECT verdict pass.")
    ] = False,
    faithful: Annotated[
        bool,
        typer.Option(
            "--faithful",
            help="Write a model file as it was read, field by field, at its own opset. "
            "With --no-verify no run time is asked.",
        ),
    ] = False,
    max_seconds: options.MaxSeconds = None,
    max_memory: options.MaxMemory = None,
    as_json: options.Json = False,
) -> None:
    """Write SOURCE as an ONNX file that its run time loads and that computes the same.

    Exit code 0: exported. 1: obstacles, nothing written. 2: bad call or unreadable input.
    3: parity failed, 4: parity suspect; nothing in place.
    """
    with command(as_json=as_json) as say, guarded():
        import isomorph as iso
        from isomorph.cli import obstacles
        from isomorph.cli.source import graph_of, resolve
        from isomorph.frontends.kind import is_torch

        say("read")
        named = options.names(input_names), options.names(output_names)
        found = None if any((input, *named)) else resolve(source)
        whole = found if isinstance(found, Path) and not is_torch(found) else None
        with obstacles.found(source, opset, runtime, provider):
            graph = (faithful and whole) or graph_of(source, input or (), *named)
        with aside():
            result = iso.export(
                graph,
                output,
                opset=opset,
                runtime=runtime,
                provider=provider,
                cases=cases,
                seed=seed,
                profile=profile,
                budget=budget,
                verify=verify,
                accept_suspect=accept_suspect,
                faithful=faithful,
                progress=say,
                limits=options.limits(max_seconds, max_memory),
            )
        if as_json:
            emit(result.to_json())
            return
        for finding in result.report.findings:
            tell(finding)
        for note in result.report.notes:
            tell(f"note: {note}")
        for path in result.paths:
            print(f"{path}  {path.stat().st_size:,} bytes")
        print(f"opset {result.opset}, IR version {result.ir_version}, {result.nodes} nodes")
        tell("parity not tested (--no-verify)" if result.verdict is None else result.verdict)
