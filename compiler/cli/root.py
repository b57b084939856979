"""What `isomorph` itself takes, before any command."""

from typing import Annotated

import typer


def _print_version(wanted: bool) -> None:
    if wanted:
        import isomorph

        print(f"isomorph {isomorph.__version__}")
        raise typer.Exit


def root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Carry a trained model to ONNX, and prove that it is still the same model."""
