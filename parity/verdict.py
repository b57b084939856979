"""What parity testing found: per output, per node, and over all."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, cast

from isomorph.ir.printable import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SCHEMA_VERSION = 1
ULP_EDGES = (0.0, 0.5, 1.0, 2.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 65536.0)
"""Upper ends of the bins of a histogram; one more bin is for what lies beyond."""


class Status(StrEnum):
    """How a comparison ended; later members outrank earlier ones."""

    PASS = "PASS"  # noqa: S105 - not a password
    RUNTIME = "RUNTIME"
    """A divergence of the run time that is known and cited; the file is not at fault."""
    UNSPECIFIED = "UNSPECIFIED"
    """The standard leaves the result open."""
    AMBIGUOUS = "AMBIGUOUS"
    """A discontinuity whose margin is below the rounding: either branch is right."""
    SUSPECT = "SUSPECT"
    INSUFFICIENT = "INSUFFICIENT"
    """Too few inputs were usable to say anything."""
    FAIL = "FAIL"

    @property
    def rank(self) -> int:
        """How bad it is, from 0."""
        return list(Status).index(self)


EXIT_CODES = {Status.INSUFFICIENT: 2, Status.FAIL: 3, Status.SUSPECT: 4}


@dataclass(frozen=True, slots=True)
class Judged:
    """One output of the model, or one node, over all cases.

    Attributes:
        name: of the output, or of the node (its first output's where it has none).
        status: the worst over all cases.
        reason: why it is not PASS; empty otherwise.
        max_ulp: largest distance from the float64 truth, in units of the last place of its dtype;
            for an output, from what the run time gives to what the reference gives in float64.
        max_abs: the same, absolute.
        nearer: who is nearer to the float64 truth: `reference`, `candidate`, or `equal`.
        op: the operator, for a node.
        where: `file:line` in the user's source, else the node's name.
        question: `same`, `well`, `structure` or `asked`: what found it.
        histogram: elements of an output by their distance from the reference in float64, in the
            bins of `ULP_EDGES`; empty for nodes, and where nothing was measured.
        waived: why the user takes it out of the verdict; empty when it counts.
    """

    name: str
    status: Status = Status.PASS
    reason: str = ""
    max_ulp: float = 0.0
    max_abs: float = 0.0
    nearer: str = "equal"
    op: str = ""
    where: str = ""
    question: str = ""
    waived: str = ""
    histogram: tuple[int, ...] = ()

    def __str__(self) -> str:
        what = f"{self.name} ({self.op})" if self.op else self.name
        place = f" at {self.where}" if self.where and self.where != self.name else ""
        figures = f"max {self.max_ulp:.3g} ulp, {self.max_abs:.3g} abs, nearer: {self.nearer}"
        reason = f"\n      {self.reason}" if self.reason else ""
        reason += f"\n      waived: {self.waived}" if self.waived else ""
        return f"{self.status:<12} {what}{place}: {figures}{reason}"


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first node, in order of evaluation, whose result is wrong.

    Attributes:
        node, op: its name and operator.
        where: `file:line` in the user's source, empty when unknown.
        reason: what is wrong, with both values.
        instead: the reference's node in its place, when that is another operator.
    """

    node: str
    op: str
    where: str
    reason: str = ""
    instead: str = ""

    def __str__(self) -> str:
        return f"{self.op} {self.node!r}" + (f" at {self.where}" if self.where else "")


@dataclass(frozen=True, slots=True)
class Measured:
    """What the user's metric gives for both models.

    Attributes:
        name: of the metric.
        reference, candidate: its value for each.
        samples: rows of the data.
        loss: what the candidate loses against the reference; negative when it gains.
        max_loss: what the user allows; `None` where nothing was said.
        met: whether the loss is within that; `None` where nothing was said.
    """

    name: str
    reference: float
    candidate: float
    samples: int
    loss: float
    max_loss: float | None = None
    met: bool | None = None

    def __str__(self) -> str:
        text = (
            f"{self.name} {self.candidate:.6g}, the reference {self.reference:.6g}, on "
            f"{self.samples} samples: {self.loss:.3g} lost"
        )
        return text if self.max_loss is None else f"{text}, {self.max_loss:g} allowed"


@dataclass(frozen=True, slots=True)
class Blame:
    """Who is at fault.

    Attributes:
        who: `exporter` (the file is another function, front end and passes included), `kernel`
            (the run time computes a node badly, refuses it, or dies), `optimizer` (the run time's),
            or `oracle` (our own float64 evaluation).
        node: operator and name, where one is known.
        where: `file:line` in the user's source, empty when unknown.
        reason: what is wrong, with both values.
        passes: of the optimizer, by the names that `disabled_optimizers` takes; without the first,
            the difference is gone.
        values: what each witness gives, at the element where they differ most.
        small: whether that is on the case that was made small, not on the one of the reason.
    """

    who: str
    node: str = ""
    where: str = ""
    reason: str = ""
    passes: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict[str, str])
    small: bool = False

    def __str__(self) -> str:
        who = f"{self.who} ({', '.join(self.passes)})" if self.passes else self.who
        node = f", {self.node}" + (f" at {self.where}" if self.where else "") if self.node else ""
        said = "; ".join(f"{name} {value}" for name, value in self.values.items())
        said = f"on the case made small, {said}" if self.small else said
        return f"{who}{node}: {self.reason}" + (f" [{said}]" if said else "")


@dataclass(frozen=True)
class Verdict:
    """The outcome of `verify`.

    Attributes:
        status: over all.
        reason: one sentence that says why.
        outputs: one entry per output.
        nodes: one entry per node of the candidate that was judged.
        structure: differences in number, names, order, dtypes, shapes or kinds.
        first_divergence: where the candidate first goes wrong, when it was found.
        blame: who is at fault, of what is wrong or what the run time's optimizer changes.
        cases: how many inputs were compared.
        wanted: how many were asked for.
        refused: how many generated inputs both models refused.
        judged: on how many of the cases each node was judged too.
        dims: the values that every symbolic dim took in a compared case.
        seed, profile: of the inputs.
        seconds: how long it took.
        weaker: why this verdict says less than it could; empty when it does not.
        metric: what the user's own metric gives for both models.
        notes: what else a reader should know.
        replay: the folder with a failing case, kept on this machine.
    """

    status: Status
    reason: str
    outputs: tuple[Judged, ...] = ()
    nodes: tuple[Judged, ...] = ()
    structure: tuple[str, ...] = ()
    first_divergence: Divergence | None = None
    blame: Blame | None = None
    cases: int = 0
    wanted: int = 0
    refused: int = 0
    judged: int = 0
    dims: dict[str, list[int]] = field(default_factory=dict[str, "list[int]"])
    seed: int = 0
    profile: str = "all"
    seconds: float = 0.0
    weaker: str = ""
    metric: Measured | None = None
    notes: tuple[str, ...] = ()
    replay: Path | None = None

    @property
    def exit_code(self) -> int:
        """0 PASS, 2 too few inputs, 3 FAIL, 4 SUSPECT."""
        return EXIT_CODES.get(self.status, 0)

    @property
    def worst(self) -> Judged | None:
        """The output or node that is furthest from right."""
        every = (*self.outputs, *self.nodes)
        return max(every, key=lambda j: (j.status.rank, _number(j.max_ulp)), default=None)

    def __bool__(self) -> bool:
        return self.exit_code == 0

    def to_json(self) -> dict[str, Any]:
        """The verdict as plain data; numbers that JSON lacks become text."""
        found = {"schema_version": SCHEMA_VERSION, "exit_code": self.exit_code, **asdict(self)}
        found["ulp_edges"] = ULP_EDGES
        found["worst"] = None if self.worst is None else asdict(self.worst)
        return _plain(found)

    def __str__(self) -> str:
        names = [*(j.name for j in (*self.outputs, *self.nodes)), *self.dims]
        return "\n".join(escaped(line, names) for line in _lines(self))


def worse(a: Status, b: Status) -> Status:
    """The graver of two."""
    return a if a.rank >= b.rank else b


def _number(value: float) -> float:
    return math.inf if math.isnan(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in cast("list[Any]", value)]
    match value:
        case bool() | int() | None:
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case _:
            return str(value)


SHOWN = 8
EXPLAINED = (Status.RUNTIME, Status.UNSPECIFIED)
"""Findings that are told once for all nodes that share them."""


def _lines(verdict: Verdict) -> Iterator[str]:
    yield f"parity {verdict.status}: {verdict.reason}"
    yield f"  {_tried(verdict)}"
    if verdict.weaker:
        yield f"  weaker than it could be: {verdict.weaker}"
    if verdict.metric is not None:
        yield f"  metric {verdict.metric}"
    for problem in verdict.structure[:SHOWN]:
        yield f"  structure: {problem}"
    if verdict.first_divergence is not None:
        yield f"  first divergence: {verdict.first_divergence}"
        if verdict.first_divergence.instead:
            yield f"      the reference has {verdict.first_divergence.instead} in its place"
        if verdict.first_divergence.reason:
            yield f"      {verdict.first_divergence.reason}"
    if verdict.blame is not None:
        yield f"  blame: {verdict.blame}"
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
    groups: dict[tuple[Status, str], list[Judged]] = {}
    for judged in nodes:
        if judged.status is not Status.PASS:
            cause = judged.reason if judged.status in EXPLAINED else judged.name
            groups.setdefault((judged.status, cause), []).append(judged)
    ordered = sorted(groups.values(), key=lambda g: -g[0].status.rank)
    for group in ordered[:SHOWN]:
        worst = max(group, key=lambda j: j.max_abs)
        count = f"{len(group)} nodes, the furthest: " if len(group) > 1 else ""
        yield f"    {count}{worst}"
    if len(ordered) > SHOWN:
        yield f"    … and {len(ordered) - SHOWN} kinds more"
