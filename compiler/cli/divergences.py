"""`isomorph divergences`: what onnxruntime is known to compute otherwise than ONNX defines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit
from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.exporters.runtimes.divergences.entry import Divergence
    from isomorph.parity.probing import Shown

SCHEMA_VERSION = 1


class UnknownDivergenceError(IsomorphError):
    """A divergence, or an operator of one, that the database does not have."""


def divergences(
    name: Annotated[
        str | None, typer.Argument(help="A divergence, or an operator; all of them by default.")
    ] = None,
    probe: Annotated[
        bool, typer.Option(help="Run the probes against the installed onnxruntime.")
    ] = False,
    write: Annotated[bool, typer.Option(help="Write docs/divergences.md.")] = False,
    as_json: options.Json = False,
) -> None:
    """Show the known divergences of onnxruntime; check that their page is up to date.

    Exit code 0: as stated. 1: a probe shows something else, or docs/divergences.md is out of date.
    2: bad call.
    """
    with command(as_json=as_json) as say:
        from isomorph.exporters.runtimes.divergences.page import document, table, whole

        entries = _named(name)
        shown = _probed(entries, say) if probe else []
        if write:
            _page().write_text(_rendered(), encoding="utf-8")
        problems = [str(s) for s in shown if s.problem]
        if name is None and _is_old():
            problems.append("docs/divergences.md is out of date; run: isomorph divergences --write")
        if as_json:
            emit(_document([document(e) for e in entries], shown, problems))
        else:
            print(table(entries) if name is None else "\n\n".join(map(whole, entries)))
            if probe:
                stands = sum(not s.problem for s in shown)
                print(
                    f"\n{stands} of {len(shown)} probes show what is stated, "
                    f"on onnxruntime {_release()}"
                )
            for problem in problems:
                print(f"problem: {problem}")
    raise typer.Exit(1 if problems else 0)


def _named(name: str | None) -> list[Divergence]:
    from difflib import get_close_matches

    from isomorph.exporters.runtimes.divergences import DIVERGENCES

    if name is None:
        return list(DIVERGENCES.values())
    if name in DIVERGENCES:
        return [DIVERGENCES[name]]
    domain, _, op = name.rpartition(".")
    found = [
        entry
        for entry in DIVERGENCES.values()
        if any(k[1].lower() == op.lower() and (not domain or k[0] == domain) for k in entry.ops)
    ]
    if not found:
        every = [*DIVERGENCES, *{key[1] for entry in DIVERGENCES.values() for key in entry.ops}]
        close = get_close_matches(name, every, n=3)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        raise UnknownDivergenceError(f"no divergence, nor an operator of one, is {name!r}{hint}")
    return found


def _probed(entries: list[Divergence], say: Callable[[str], None]) -> list[Shown]:
    from isomorph.parity.probing import probe_all

    found: list[Shown] = []
    for shown in probe_all(entries):
        say(f"probe {shown.divergence.name}")
        found.append(shown)
    return found


def _release() -> str:
    from isomorph.exporters.target import installed

    return installed("onnxruntime") or ""


def _document(
    entries: list[dict[str, Any]], shown: list[Shown], problems: list[str]
) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "divergences": entries,
        "probed": [
            {"name": s.divergence.name, "opset": s.opset, "stands": not s.problem} for s in shown
        ],
        "problems": problems,
    }


def _page() -> Path:
    """docs/divergences.md of the source tree that this package is run from."""
    import isomorph.exporters.runtimes as here
    from isomorph.exporters.runtimes.divergences.page import NAME

    return Path(here.__path__[0]).resolve().parents[1] / "docs" / NAME


def _rendered() -> str:
    from isomorph.exporters.runtimes.divergences.page import render

    return render()


def _is_old() -> bool:
    page = _page()
    if not (page.parents[1] / "pyproject.toml").is_file():
        return False
    return not page.is_file() or page.read_text(encoding="utf-8") != _rendered()
