"""What `isomorph` itself takes, before any command; and how it answers calls that are wrong."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Sequence


class Commands(TyperGroup):
    """The commands; a call with `--json` that cannot be read is answered with a document too."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run a command; ends the process with its exit code."""
        given = list(sys.argv[1:] if args is None else args)
        if not any(a == "--json" or a.startswith("--json=") for a in given):
            return super().main(given, *rest, **options)
        from isomorph.cli.console import emit, error_document

        try:
            code = super().main(given, *rest, **{**options, "standalone_mode": False})
        except typer.Abort:
            emit(error_document("Abort", "it was interrupted"))
            sys.exit(1)
        except Exception as error:
            told = getattr(error, "format_message", None)
            emit(error_document(type(error).__name__, told() if told else str(error)))
            if told is None:
                raise  # an error of ours: its trace goes to standard error
            sys.exit(getattr(error, "exit_code", 2))
        sys.exit(code if isinstance(code, int) else 0)


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
