"""`isomorph doctor`: what this machine can do, and how to mend what it cannot."""

from __future__ import annotations

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit


def doctor(as_json: options.Json = False) -> None:
    """Look at the installation and say what to repair. Exit code 0."""
    with command(as_json=as_json):
        from isomorph.doctor import examine

        findings = examine()
        if as_json:
            emit({"schema_version": 1, "findings": [f.to_json() for f in findings]})
        else:
            for finding in findings:
                print(finding)
    raise typer.Exit(0)
