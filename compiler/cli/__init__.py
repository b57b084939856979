"""The command line: one file per command, and the one place that turns errors into exit codes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer import Typer

COMMANDS = (
    *("check", "export", "verify", "show", "compile", "run"),
    *("coverage", "divergences", "doctor"),
)
"""Each is a function of the same name in its own module."""


def main() -> None:
    """Entry point of `isomorph`."""
    from isomorph.cli.output import delivered

    with delivered():
        build()()


def build() -> Typer:
    """The application with all its commands."""
    import typer

    from isomorph.cli.root import Commands, root

    app = typer.Typer(
        name="isomorph",
        cls=Commands,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(root)
    for name in COMMANDS:
        app.command(name)(getattr(import_module(f"isomorph.cli.{name}"), name))
    return app
