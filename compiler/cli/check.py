"""`isomorph check`: every obstacle to an export at once."""

from __future__ import annotations

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit, tell
from isomorph.cli.guard import guarded


def check(
    source: options.SourceArgument,
    input: options.Inputs = None,  # noqa: A002 - the option's name
    opset: options.Opset = None,
    runtime: options.Runtime = "onnxruntime",
    provider: options.Provider = "cpu",
    max_seconds: options.MaxSeconds = None,
    max_memory: options.MaxMemory = None,
    as_json: options.Json = False,
) -> None:
    """List everything that keeps SOURCE from being exported; writes nothing.

    Exit code 0: exportable. 1: obstacles. 2: bad call or unreadable input.
    """
    with command(as_json=as_json) as say, guarded():
        import isomorph as iso
        from isomorph.cli.source import graph_of

        say("read")
        graph = graph_of(source, input or ())
        say("check")
        report = iso.check(
            graph,
            opset=opset,
            runtime=runtime,
            provider=provider,
            limits=options.limits(max_seconds, max_memory),
        )
        if as_json:
            emit(report.to_json())
        else:
            tell(report)
    raise typer.Exit(0 if report.ok else 1)
