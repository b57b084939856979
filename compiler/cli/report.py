"""A verdict for a person at a terminal: the reason, the worst outputs and nodes, a histogram."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from isomorph.cli.console import tell
from isomorph.ir.printable import printable
from isomorph.parity.verdict import ULP_EDGES, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from isomorph.parity.verdict import Judged, Verdict

COLOURS = {Status.PASS: "green", Status.FAIL: "red", Status.SUSPECT: "yellow"}
SHOWN = 8
WIDTH = 40
"""Characters of the longest bar."""


def report(verdict: Verdict) -> None:
    """Print a verdict: as tables on a terminal, as plain lines elsewhere."""
    if not sys.stdout.isatty():
        tell(verdict)
        return
    from rich.console import Console

    show(verdict, Console(highlight=False))


def show(verdict: Verdict, console: Console) -> None:
    """Print the tables."""
    head, *rest = str(verdict).split("\n")
    console.print(_text(head, f"bold {_colour(verdict.status)}"))
    for line in _facts(rest):
        console.print(_text(line))
    console.print(_outputs(verdict.outputs))
    measured = [o for o in verdict.outputs if sum(o.histogram)]
    if measured:
        console.print(_histogram(measured))
    nodes = _worst(verdict.nodes)
    if nodes:
        console.print(_nodes(nodes, len(verdict.nodes)))


def _facts(lines: Sequence[str]) -> Iterator[str]:
    """The lines of the plain report that are in no table."""
    told = True
    for line in lines:
        if not line.startswith("   "):
            told = not line.startswith(("  output ", "  nodes:"))
        if told:
            yield line


def _outputs(outputs: Sequence[Judged]) -> Table:
    table = _table("outputs, the worst first", "output", "status", "max ulp", "max abs", "nearer")
    table.add_column("why", overflow="fold")
    for judged in _worst(outputs):
        table.add_row(_text(judged.name), *_figures(judged), _text(judged.nearer), _why(judged))
    return table


def _nodes(nodes: Sequence[Judged], count: int) -> Table:
    title = f"nodes, the worst {len(nodes)} of {count}"
    table = _table(title, "node", "status", "max ulp", "max abs", "op")
    table.add_column("where and why", overflow="fold")
    for judged in nodes:
        place = f"{judged.where}  " if judged.where and judged.where != judged.name else ""
        why = _text(place).append_text(_why(judged))
        table.add_row(_text(judged.name), *_figures(judged), _text(judged.op), why)
    return table


def _histogram(outputs: Sequence[Judged]) -> Table:
    """Elements of all outputs by their distance from the reference in float64."""
    counts = [sum(column) for column in zip(*(o.histogram for o in outputs), strict=True)]
    most = max(counts)
    table = _table("elements of all outputs by distance from the float64 reference", "ulp")
    table.add_column("elements", justify="right")
    table.add_column("")
    filled = [i for i, n in enumerate(counts) if n]
    for index in range(filled[0], filled[-1] + 1):
        count = counts[index]
        length = max(1, round(WIDTH * count / most)) if count else 0
        colour = "green" if index < 3 else "yellow" if index < 7 else "red"
        table.add_row(_bin(index), f"{count:,}", _text("█" * length, colour))
    return table


def _bin(index: int) -> str:
    if index == len(ULP_EDGES):
        return f"> {ULP_EDGES[-1]:g}"
    return f"≤ {ULP_EDGES[index]:g}" if index else "0"


def _table(title: str, *columns: str) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left", header_style="bold")
    for name in columns:
        table.add_column(name, justify="right" if name.startswith(("max", "ulp")) else "left")
    return table


def _worst(every: Sequence[Judged]) -> list[Judged]:
    return sorted(every, key=lambda j: (-j.status.rank, -j.max_ulp))[:SHOWN]


def _figures(judged: Judged) -> tuple[Text, str, str]:
    colour = _colour(judged.status)
    return _text(judged.status, colour), f"{judged.max_ulp:.3g}", f"{judged.max_abs:.3g}"


def _why(judged: Judged) -> Text:
    waived = f" (waived: {judged.waived})" if judged.waived else ""
    return _text(judged.reason + waived)


def _colour(status: Status) -> str:
    return COLOURS.get(status, "cyan")


def _text(text: str, style: str = "") -> Text:
    from rich.text import Text

    return Text(printable(text), style=style)
