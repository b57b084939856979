"""A verdict as text for a person."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.parity.verdict import Judged, Verdict

SHOWN = 8
EXPLAINED = (Status.RUNTIME, Status.UNSPECIFIED)
"""Findings that are told once for all nodes that share them."""


def render(verdict: Verdict) -> str:
    """Status and reason first, then what was tried, then whatever is not PASS."""
    return "\n".join(_lines(verdict))


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"parity {verdict.status}: {verdict.reason}"
    yield f"  {_tried(verdict)}"
    if verdict.weaker:
        yield f"  weaker than it could be: {verdict.weaker}"
    for problem in verdict.structure[:SHOWN]:
        yield f"  structure: {problem}"
    if verdict.first_divergence is not None:
        yield f"  first divergence: {verdict.first_divergence}"
        if verdict.first_divergence.reason:
            yield f"      {verdict.first_divergence.reason}"
    for judged in verdict.outputs:
        yield f"  output {judged}"
    yield from _nodes(verdict.nodes)
    for note in verdict.notes:
        yield f"  note: {note}"
    if verdict.replay is not None:
        yield f"  replay: {verdict.replay}"


def _tried(verdict: Verdict) -> str:
    text = f"{verdict.cases} cases"
    if verdict.cases < verdict.wanted:
        text += f" of {verdict.wanted} asked for"
    text += f", nodes judged on {verdict.judged}, {verdict.refused} refused by both"
    text += f", seed {verdict.seed}, profile {verdict.profile}, {verdict.seconds:.1f} s"
    for name, sizes in verdict.dims.items():
        text += f"; {name} in {', '.join(map(str, sizes))}"
    return text


def _nodes(nodes: Sequence[Judged]) -> Iterator[str]:
    if not nodes:
        return
    counts = Counter(str(n.status) for n in nodes)
    yield "  nodes: " + ", ".join(f"{counts[s]} {s}" for s in Status if counts[s])
    groups: dict[tuple[Status, str, str], list[Judged]] = {}
    for judged in nodes:
        if judged.status is not Status.PASS:
            cause = judged.reason if judged.status in EXPLAINED else judged.name
            groups.setdefault((judged.status, judged.op, cause), []).append(judged)
    ordered = sorted(groups.values(), key=lambda g: -g[0].status.rank)
    for group in ordered[:SHOWN]:
        worst = max(group, key=lambda j: j.max_abs)
        others = f"      and {len(group) - 1} more like it" if len(group) > 1 else ""
        yield f"    {worst}"
        if others:
            yield others
    if len(ordered) > SHOWN:
        yield f"    … and {len(ordered) - SHOWN} kinds more"
