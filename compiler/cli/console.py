"""What every command does around its work: progress, JSON, errors as exit codes."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from isomorph.cli.explain import explained
from isomorph.cli.output import Aside
from isomorph.ir.errors import IsomorphError
from isomorph.ir.printable import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from io import TextIOBase

SCHEMA_VERSION = 1


def emit(document: dict[str, Any]) -> None:
    """Print the one JSON document."""
    print(json.dumps(document, indent=2, default=str, allow_nan=False))


def aside() -> redirect_stdout[TextIOBase]:
    """What a user's model prints while it is run goes to standard error: ours is the output."""
    return redirect_stdout(Aside())


def tell(text: object, *, error: bool = False) -> None:
    """Print what holds names from a file; what a terminal would act on is escaped."""
    lines = map(printable, str(text).split("\n"))
    print("\n".join(lines), file=sys.stderr if error else sys.stdout)


@contextmanager
def command(*, as_json: bool) -> Generator[Callable[[str], None]]:
    """Run a command's body; typed errors become one sentence and an exit code.

    Yields:
        A function to tell each stage to; it shows a spinner on a terminal, and is silent elsewhere.
    """
    from isomorph.api import ExportError, ParityError
    from isomorph.lowering.errors import NoKernelError

    with _progress(as_json) as say:
        try:
            yield say
        except ExportError as error:
            _fail(error, 1, as_json, error.report.to_json())
        except ParityError as error:
            _fail(error, error.verdict.exit_code, as_json, error.verdict.to_json())
        except NoKernelError as error:
            _fail(error, 1, as_json, {"missing": [asdict(m) for m in error.missing]})
        except IsomorphError as error:
            _fail(error, 2, as_json, None)
        except (OSError, MemoryError) as error:
            _fail(error, 2, as_json, None)
        except KeyboardInterrupt:
            if as_json:
                emit(error_document("KeyboardInterrupt", "it was interrupted"))
            raise typer.Exit(130) from None


def error_document(kind: str, message: str) -> dict[str, Any]:
    """What is printed with `--json` where there is no result."""
    return {"schema_version": SCHEMA_VERSION, "error": kind, "message": message}


def _fail(error: BaseException, code: int, as_json: bool, document: dict[str, Any] | None) -> None:
    text = explained(error)
    if as_json:
        emit({**error_document(type(error).__name__, text), **(document or {})})
    else:
        tell(text if code != 2 else f"error: {text}", error=True)
    raise typer.Exit(code)


@contextmanager
def _progress(as_json: bool) -> Generator[Callable[[str], None]]:
    if as_json or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update
