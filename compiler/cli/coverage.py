"""`isomorph coverage`: the measured matrix of operators, whole or one by one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit
from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from isomorph.exporters.coverage.ledger import Ledger
    from isomorph.ir.opdef import Key

SCHEMA_VERSION = 2


class UnknownOperatorError(IsomorphError):
    """An operator that the matrix does not have."""


def coverage(
    op: Annotated[str | None, typer.Option(help="Tell everything about one operator.")] = None,
    measure: Annotated[
        bool, typer.Option(help="Measure anew what has changed, as far as it can be done here.")
    ] = False,
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
            from isomorph.exporters.coverage.measure import measure as bring_up_to_date

            try:
                notes = bring_up_to_date(ledger, say)
            finally:  # what was measured before an interruption is kept
                PATH.write_text(ledger.dump(), encoding="utf-8")
            for note in notes:
                print(f"note: {note}", file=sys.stderr)
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


def _page() -> Path:
    """op_coverage.md of the source tree that this package is run from."""
    import isomorph.exporters.coverage as here
    from isomorph.exporters.coverage.matrix import NAME

    return Path(here.__path__[0]).resolve().parents[1] / NAME


def _problems(ledger: Ledger, page: Path) -> list[str]:
    from isomorph.exporters.coverage.matrix import render
    from isomorph.exporters.coverage.measure import dropped, stale

    problems = list(stale(ledger).words())
    for old in dropped(ledger):
        name = old if isinstance(old, str) else old[1]
        problems.append(f"{name} is in the ledger and nowhere else")
    checkout = (page.parent / "pyproject.toml").is_file()
    if checkout and (not page.is_file() or page.read_text(encoding="utf-8") != render(ledger)):
        problems.append(f"{page.name} is not what the ledger says")
    return problems


def _one(ledger: Ledger, name: str, *, as_json: bool) -> None:
    from isomorph.exporters.coverage.story import story
    from isomorph.exporters.runtimes.limitations import LIMITATIONS

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
                "torch": _torch(ledger, key),
                "limitations": [str(row) for row in LIMITATIONS.get(key, ())],
            }
        )
    else:
        print(story(key, ledger))


def _torch(ledger: Ledger, key: Key) -> list[dict[str, Any]]:
    """The operators of torch that become an operator, those nearest to it first."""
    from isomorph.exporters.coverage.torch_rows import rows_of

    return [
        {
            "name": row.name,
            "alone": row.ops == 1,
            "accepted": row.works,
            "failures": dict(row.failures),
        }
        for row in rows_of(key, ledger.torch)
    ]


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
    from isomorph.exporters.coverage.matrix import total, total_kernels

    cases, kernels = total(ledger.entries.values()), total_kernels(ledger.entries.values())
    return {
        "schema_version": SCHEMA_VERSION,
        "releases": ledger.releases,
        "operators": len(ledger.entries),
        "cases": {"passed": cases.passed, "tried": cases.tried},
        "kernel_cases": {"passed": kernels.passed, "tried": kernels.tried},
        "ops": [
            {"domain": key[0], "op": key[1], **entry.to_json(), "torch": _torch(ledger, key)}
            for key, entry in sorted(ledger.entries.items())
        ],
        "torch_uses": {name: use.to_json() for name, use in sorted(ledger.torch.items())},
    }


def _print(ledger: Ledger, problems: list[str]) -> None:
    from isomorph.exporters.coverage.matrix import by_family, total, total_kernels

    cases, kernels = total(ledger.entries.values()), total_kernels(ledger.entries.values())
    release = ledger.releases.get("onnxruntime", "")
    accepted = sum(not use.failure for use in ledger.torch.values())
    print(
        f"{len(ledger.entries)} operators, {cases.passed:,} of {cases.tried:,} parity cases "
        f"accepted on onnxruntime {release}\n"
        f"{kernels.passed:,} of {kernels.tried:,} cases accepted on our own kernels, "
        f"{accepted:,} of {len(ledger.torch):,} uses of torch {ledger.releases.get('torch', '')}"
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
