"""The command line: one file per command, and the one place that turns errors into exit codes."""

from __future__ import annotations

import sys
from importlib import import_module

COMMANDS = ("check", "export", "verify", "show", "coverage", "doctor")
"""Each is a function of the same name in its own module."""


def main() -> None:
    """Entry point of `isomorph`."""
    import typer

    app = typer.Typer(
        name="isomorph",
        help="Carry a trained model to ONNX, and prove that it is still the same model.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for name in COMMANDS:
        app.command(name)(getattr(import_module(f"isomorph.cli.{name}"), name))
    app()


def _version(wanted: bool) -> None:
    import typer

    import isomorph

    if wanted:
        print(f"isomorph {isomorph.__version__}")
        raise typer.Exit


def _root_signature() -> type:
    import typer

    return typer.Option(False, "--version", callback=_version, is_eager=True, help="Show version.")


def _root(version: bool = False) -> None:
    """Carry a trained model to ONNX, and prove that it is still the same model."""


if __name__ == "__main__":
    sys.exit(main())
