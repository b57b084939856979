"""`isomorph verify`: whether two models are the same function."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit, tell
from isomorph.cli.guard import guarded


def verify(
    reference: Annotated[
        str, typer.Argument(metavar="REF", help="The model to compare with; any SOURCE.")
    ],
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The .onnx file to judge.")],
    input: options.Inputs = None,  # noqa: A002 - the option's name
    cases: options.Cases = 200,
    seed: options.Seed = 0,
    device: Annotated[
        str, typer.Option(help="Where MODEL runs: cpu (onnxruntime), sim:sm_90 or cuda:0.")
    ] = "cpu",
    max_seconds: options.MaxSeconds = None,
    max_memory: options.MaxMemory = None,
    as_json: options.Json = False,
) -> None:
    """Test that MODEL computes what REF computes, on generated inputs.

    Exit code 0: PASS. 2: bad call, unreadable input, or too few usable inputs. 3: FAIL.
    4: SUSPECT.
    """
    with command(as_json=as_json) as say, guarded():
        import isomorph as iso
        from isomorph.cli.source import graph_of, resolve

        say("read")
        found = resolve(reference)
        source = graph_of(reference, input or ()) if isinstance(found, Path) or input else found
        candidate = model if device == "cpu" else iso.compile(model, device=device)
        verdict = iso.verify(
            source,
            candidate,
            inputs=input or (),
            cases=cases,
            seed=seed,
            progress=say,
            limits=options.limits(max_seconds, max_memory),
        )
        if as_json:
            emit(verdict.to_json())
        else:
            tell(verdict)
    raise typer.Exit(verdict.exit_code)
