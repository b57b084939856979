"""`isomorph coverage`: the measured matrix of operators, whole or one by one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit
from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.exporters.coverage.ledger import Ledger
    from isomorph.ir.opdef import Key

SCHEMA_VERSION = 1


class UnknownOperatorError(IsomorphError):
    """An operator that the matrix does not have."""


def coverage(
    op: Annotated[str | None, typer.Option(help="Tell everything about one operator.")] = None,
    measure: Annotated[bool, typer.Option(help="Measure anew what has changed.")] = False,
    write: Annotated[bool, typer.Option(help="Write op_coverage.md from the ledger.")] = False,
    probe: Annotated[
        bool, typer.Option(help="Observe the installed onnxruntime first, and write its table.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show the operator coverage; with no option, check that what is committed is up to date.

    Exit code 0: up to date. 1: op_coverage.md or its ledger is out of date. 2: bad call.
    """
    with command(as_json=as_json) as say:
        from isomorph.exporters.coverage.ledger import PATH, Ledger

        if probe:
            say("probe")
            _probe()
        ledger = Ledger.load()
        if measure or probe:
            try:
                _measure(ledger, say)
            finally:  # what was measured before an interruption is kept
                PATH.write_text(ledger.dump(), encoding="utf-8")
        page = _page()
        if write:
            from isomorph.exporters.coverage.matrix import render

            page.write_text(render(ledger), encoding="utf-8")
        if op is not None:
            _one(ledger, op, as_json=as_json)
            raise typer.Exit(0)
        problems = _problems(ledger, page)
        if as_json:
            emit({**_summary(ledger), "up_to_date": not problems, "problems": problems})
        else:
            _print(ledger, problems)
    raise typer.Exit(1 if problems else 0)


def _probe() -> None:
    from isomorph.exporters.runtimes.probe import Notes, dump, probe
    from isomorph.exporters.runtimes.tables import load_table, path_of

    table = probe(Notes())
    path_of(table.runtime, table.release, table.provider).write_text(dump(table), encoding="utf-8")
    load_table.cache_clear()


def _measure(ledger: Ledger, say: Callable[[str], None]) -> None:
    """Bring the ledger up to date, in place; a new release makes everything new."""
    from isomorph.exporters.coverage.measure import dropped, measure, releases, stale

    if ledger.releases != releases():
        ledger.releases = releases()
        ledger.entries.clear()
    for key in dropped(ledger):
        del ledger.entries[key]
    for key, entry in measure(stale(ledger), say):
        ledger.entries[key] = entry


def _page() -> Path:
    """op_coverage.md of the source tree that this package is run from."""
    import isomorph.exporters.coverage as here
    from isomorph.exporters.coverage.matrix import NAME

    return Path(here.__path__[0]).resolve().parents[1] / NAME


def _problems(ledger: Ledger, page: Path) -> list[str]:
    from isomorph.exporters.coverage.matrix import render
    from isomorph.exporters.coverage.measure import dropped, stale

    problems = [f"{key[1]} has changed since it was measured" for key in stale(ledger)]
    problems += [f"{key[1]} is in the ledger and nowhere else" for key in dropped(ledger)]
    checkout = (page.parent / "pyproject.toml").is_file()
    if checkout and (not page.is_file() or page.read_text(encoding="utf-8") != render(ledger)):
        problems.append(f"{page.name} is not what the ledger says")
    return problems


def _one(ledger: Ledger, name: str, *, as_json: bool) -> None:
    from isomorph.exporters.coverage.matrix import story

    key = _key(ledger, name)
    entry = ledger.entries[key]
    if as_json:
        emit(
            {
                "schema_version": SCHEMA_VERSION,
                "op": key[1],
                "domain": key[0],
                "releases": ledger.releases,
                **entry.to_json(),
            }
        )
    else:
        print(story(key, entry, ledger.releases))


def _key(ledger: Ledger, name: str) -> Key:
    from difflib import get_close_matches

    domain, _, op = name.rpartition(".")
    for key in ledger.entries:
        if key[1].lower() == op.lower() and (not domain or domain == key[0]):
            return key
    close = get_close_matches(op, [k[1] for k in ledger.entries], n=3)
    hint = f"; did you mean {', '.join(close)}?" if close else ""
    raise UnknownOperatorError(f"the matrix has no operator {name!r}{hint}")


def _summary(ledger: Ledger) -> dict[str, Any]:
    from isomorph.exporters.coverage.matrix import total

    cases = total(ledger.entries.values())
    return {
        "schema_version": SCHEMA_VERSION,
        "releases": ledger.releases,
        "operators": len(ledger.entries),
        "cases": {"passed": cases.passed, "tried": cases.tried},
        "ops": [
            {"domain": domain, "op": name, **entry.to_json()}
            for (domain, name), entry in sorted(ledger.entries.items())
        ],
    }


def _print(ledger: Ledger, problems: list[str]) -> None:
    from isomorph.exporters.coverage.matrix import by_family, total

    cases = total(ledger.entries.values())
    release = ledger.releases.get("onnxruntime", "")
    print(
        f"{len(ledger.entries)} operators, {cases.passed:,} of {cases.tried:,} parity cases "
        f"accepted on onnxruntime {release}"
    )
    for family, entries in by_family(ledger):
        tally = total(entries.values())
        accepted = f"{tally.passed:7,} of {tally.tried:,} cases"
        print(f"  {family:15} {len(entries):4} operators {accepted}")
    for problem in problems[:20]:
        print(f"out of date: {problem}")
    if len(problems) > 20:
        print(f"and {len(problems) - 20} more")
    if problems:
        print("run: isomorph coverage --measure --write")
