"""Where two graphs part: the candidate's first node that computes something else.

The reference is evaluated in float64 with every value kept; then the candidate once, every value
held against its mate (see `align`) and *replaced* by it, so that each node is judged on the
reference's own operands: one fault is one difference, however many nodes it lies before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import Program
from isomorph.parity.align import NEAR, Places, Record, structural
from isomorph.parity.leaves import difference_of_form, leaves
from isomorph.parity.local import Local
from isomorph.parity.noise import EVALUATION_ERRORS
from isomorph.parity.place import Place
from isomorph.parity.verdict import Divergence

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from isomorph.ir.graph import Graph, Op, Value

FREE = 2.0**-50
"""Relative difference, of each element, that needs no explanation."""
TRUSTED = 0.8
"""Share of the names in common that must hold equal values for names to count."""
NAMED = 0.5
"""Share of the values that must have a name in common, for names to count."""
FEW = 3
"""So many values of one name may differ in any event."""
SIGN = "the sign of zero: "
ABSENT = "the reference computes no such value"


def first_difference(
    reference: Graph, candidate: Graph, inputs: Sequence[Any]
) -> Divergence | None:
    """The first node that computes something else than the reference; `None` if none does."""
    found = first_place(reference, candidate, inputs)
    return None if found is None else divergence_of(found)


class Aligned:
    """Two graphs on one case: names first, contents where names say nothing.

    Attributes:
        mates: values of the candidate → those of the reference.
    """

    def __init__(self, reference: Graph, candidate: Graph, inputs: Sequence[Any]) -> None:
        record = Record(reference, inputs)
        run = _Run(candidate, record, named=True)
        run.go(inputs)
        if not run.trusted:
            run = _Run(candidate, record, named=False)
            run.go(inputs)
            run.mates = structural(candidate, reference, run.mates)
        self._run = run
        self._local = Local(reference, candidate, inputs, run.forced)
        self.mates: dict[Value, Value] = run.mates

    def first(self) -> Place | None:
        """The first node that rounding does not explain."""
        found = (p for p in self._run.ordered() if not self._local.explains(p))
        place = next(found, None)
        return place if place is None or self._run.named else self._run.root(place)


def first_place(reference: Graph, candidate: Graph, inputs: Sequence[Any]) -> Place | None:
    """The same as a place in the candidate."""
    return Aligned(reference, candidate, inputs).first()


def divergence_of(place: Place) -> Divergence:
    """A place as part of a verdict."""
    mate = place.mate
    instead = ""
    if mate is not None and mate.op is not None and mate.op.type != place.op.type:
        instead = f"{mate.op.type} {node_name(mate.op)!r}"
    reason = f"%{place.value.name}: {place.problem}" if place.value else place.problem
    return Divergence(
        node_name(place.op), place.op.type, str(place.op.source or ""), reason, instead
    )


def divergence(op: Op, reason: str) -> Divergence:
    """A node as a place to look at."""
    return Divergence(node_name(op), op.type, str(op.source or ""), reason)


def node_name(op: Op) -> str:
    """The node's name, or its first output's."""
    return op.name or next((v.name for v in op.results), op.type)


@dataclass
class _Run:
    """One evaluation of the candidate on the reference's values.

    Attributes:
        shared, far: values with a mate by name, and those of them that are not near it.
        forced: what took the place of each value, by place.
        places: values that differ, in order.
    """

    graph: Graph
    record: Record
    named: bool
    shared: int = 0
    far: int = 0
    forced: dict[Any, Any] = field(default_factory=dict[Any, Any])
    mates: dict[Value, Value] = field(default_factory=dict["Value", "Value"])
    places: list[Place] = field(default_factory=list[Place])
    open: set[Value] = field(default_factory=set["Value"])
    unmatched: list[tuple[Op, Value]] = field(default_factory=list["tuple[Op, Value]"])
    order: dict[Op, int] = field(default_factory=dict["Op", int])
    computed: int = 0
    error: Place | None = None
    wrong: list[tuple[Value, Place]] = field(default_factory=list["tuple[Value, Place]"])

    def go(self, inputs: Sequence[Any]) -> None:
        """Evaluate it."""
        places = Places(self.graph)

        def watch(op: Op, operands: list[Any], results: list[Any]) -> list[Any]:
            self.order.setdefault(op, len(self.order))
            made = list(results)
            found = list(places.of(op, results))
            indices = [i for i, v in enumerate(op.outputs) if v is not None]
            for index, (value, key, result) in zip(indices, found, strict=False):
                made[index] = self._one(op, operands, value, key, result)
            return made

        try:
            outputs = Program(self.graph, wide=True).run(inputs, watch=watch)
        except EVALUATION_ERRORS as error:
            ran = {m.value.name for m in self.record.mates}
            op = _unseen(self.graph, self.order, ran)
            if op is not None:
                words = f"it cannot be evaluated: {type(error).__name__}: {error}"
                self.error = Place(op, None, words)
            return
        self._outputs(outputs)

    @property
    def trusted(self) -> bool:
        """Whether names may be relied on: most values have one in common, and hold the same."""
        most = self.shared > NAMED * self.computed
        return most and not (self.far > FEW and self.far > (1 - TRUSTED) * self.shared)

    def root(self, place: Place) -> Place:
        """The first node that leads to a place through values that have no mates."""
        cone = _cone(place.op.operands, self.open)
        ready = (
            Place(op, value, ABSENT, single=False)
            for op, value in self.unmatched
            if value in cone and not any(v in self.open for v in op.operands)
        )
        return next(ready, place)

    def ordered(self) -> Iterable[Place]:
        """What differs, first things first."""
        found = {self.order[p.op]: p for p in reversed(self.places) if not p.sign}
        cone = _cone([v for v, _ in self.wrong], self.open)
        for op, value in self.unmatched:
            ready = not any(v in self.open for v in op.operands)
            if value in cone and ready:
                found.setdefault(self.order[op], Place(op, value, ABSENT, single=False))
        yield from (found[at] for at in sorted(found))
        if self.error is not None:
            yield self.error
        yield from (place for _, place in self.wrong)
        yield from (p for p in self.places if p.sign)

    def _one(self, op: Op, operands: list[Any], value: Value, key: Any, result: Any) -> Any:
        mate = self.record.named(key) if self.named else None
        self.shared += mate is not None
        self.computed += 1
        mate = mate or self.record.held(result)
        if mate is None:
            self.open.add(value)
            self.unmatched.append((op, value))
            return result
        problem, far = apart(mate.array, result)
        self.far += far
        if problem:
            single = not op.captures and not any(v in self.open for v in op.operands)
            given, sign = tuple(operands), problem.startswith(SIGN)
            self.places.append(
                Place(op, value, problem, mate, given, mate.array, result, sign, single)
            )
        self.forced[key] = mate.array
        self.mates.setdefault(value, mate.value)
        return mate.array

    def _outputs(self, outputs: Sequence[Any]) -> None:
        """Outputs that only their position tells apart."""
        wanted = self.record.outputs
        for value, w, g in zip(self.graph.outputs, wanted, outputs, strict=False):
            problem, _ = apart(w, g)
            if problem and value.producer is not None:
                self.wrong.append(
                    (value, Place(value.producer, value, problem, None, (), w, g, single=False))
                )


def _cone(values: Iterable[Value], within: set[Value]) -> set[Value]:
    """Values of a set that others depend on through that set alone."""
    found: set[Value] = set()
    stack = [v for v in values if v in within]
    while stack:
        value = stack.pop()
        if value in found or value.producer is None:
            continue
        found.add(value)
        stack.extend(v for v in value.producer.operands if v in within)
    return found


def _unseen(graph: Graph, seen: Container[Op], ran: Container[str]) -> Op | None:
    """The first op that was not finished; inside a subgraph, if that was begun.

    `ran` names what the reference computed: where no op of any branch was finished, it tells which.
    """
    for op in graph.sorted_ops():
        if op in seen:
            continue
        for _, body in op.subgraphs():
            ops = body.sorted_ops()
            begun = any(o in seen for o in ops) or any(
                v.name in ran for o in ops for v in o.results
            )
            if begun and not all(o in seen for o in ops):
                return _unseen(body, seen, ran)
        return op
    return None


def apart(wanted: Any, got: Any) -> tuple[str, bool]:
    """How two values differ, in words (empty if they do not), and whether they are not near."""
    problem = difference_of_form(wanted, got)
    if problem:
        return problem, True
    far = False
    for (at, w), (_, g) in zip(leaves(wanted), leaves(got), strict=True):
        words, off = _tensors_apart(w, g)
        problem = problem or (f"element {at}: {words}" if at and words else words)
        far |= off
    return problem, far


def _tensors_apart(wanted: Any, got: Any) -> tuple[str, bool]:
    w, g = np.asarray(wanted), np.asarray(got)
    if w.shape != g.shape:
        return f"its shape is {g.shape}, the reference's {w.shape}", True
    if w.dtype.kind != g.dtype.kind:
        return f"its dtype is {g.dtype}, the reference's {w.dtype}", True
    with np.errstate(all="ignore"):
        same = np.asarray(w == g)
        error = np.zeros(w.shape)
        if w.dtype.kind == "f":
            error = np.abs(w - g)
            same |= np.isnan(w) & np.isnan(g)
            same |= error <= FREE * np.abs(w)
        if same.all():
            signs = (w == 0) & (np.signbit(w) != np.signbit(g)) if w.dtype.kind == "f" else ~same
            return (SIGN + _say(signs, w, g, int(signs.argmax())) if signs.any() else ""), False
        if w.dtype.kind != "f":
            return _say(~same, w, g, int(np.flatnonzero(~same)[0])), True
        bad = np.where(same, -1.0, np.where(np.isfinite(error), error, np.inf))
        top = float(np.abs(w[np.isfinite(w)]).max(initial=0.0))
        return _say(~same, w, g, int(bad.argmax())), bool(bad.max() > NEAR * top)


def _say(bad: np.ndarray, wanted: np.ndarray, got: np.ndarray, flat: int) -> str:
    at = [int(i) for i in np.unravel_index(flat, wanted.shape)]
    w, g = (_shown(a.reshape(-1)[flat]) for a in (wanted, got))
    return f"{int(bad.sum())} of {bad.size} elements differ; at {at} {g} instead of {w}"


def _shown(value: Any) -> str:
    if isinstance(value, np.floating):
        return f"{value:.9g}"
    return repr(value) if isinstance(value, str) else str(value)
