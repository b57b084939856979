"""`isomorph check`: every obstacle to an export at once."""

from __future__ import annotations

from typing import Any

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
        from isomorph.api import ExportError
        from isomorph.cli import obstacles
        from isomorph.cli.source import graph_of

        limits = options.limits(max_seconds, max_memory)
        where: dict[str, Any] = {"opset": opset, "runtime": runtime, "provider": provider}
        say("read")
        try:
            with obstacles.found(source, **where):
                graph = graph_of(source, input or ())
            say("check")
            report = iso.check(graph, **where, limits=limits)
        except ExportError as error:
            report = error.report
        if as_json:
            emit(report.to_json())
        else:
            tell(report)
    raise typer.Exit(0 if report.ok else 1)
