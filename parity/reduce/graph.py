"""Fewer nodes: delta debugging over ops, each part cut out at values that were recorded.

Since every value is known, a part can be tried without the rest, so that half of what is left goes
with each question (Zeller & Hildebrandt, Simplifying and isolating failure-inducing input, 2002).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.copies import copy_graph
from isomorph.ir.graph import Value
from isomorph.ir.infer import infer
from isomorph.ir.interpret import Program
from isomorph.parity.noise import EVALUATION_ERRORS
from isomorph.parity.reduce.chunks import fewest_of
from isomorph.parity.reduce.piece import Piece, cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.types import Type

    Test = Callable[[Piece], bool]

GROWTH = 8
"""Times that a part is extended by what makes its operands."""
MOST_OPS = 64
"""Ops of the reference that one part of the candidate may stand for."""


@dataclass
class Recorded:
    """A graph with every value of one evaluation in its own precision.

    Attributes:
        values: by value, those of subgraphs as they were first.
        order: ops as they were first run; those inside a subgraph before the op that runs it.
        alias: captures of subgraphs → what they stand for.
        types: by name, symbolic dims among them.
    """

    graph: Graph
    values: dict[Value, Any] = field(default_factory=dict[Value, Any])
    order: list[Op] = field(default_factory=list["Op"])
    alias: dict[Value, Value] = field(default_factory=dict[Value, Value])
    types: Mapping[str, Type] = field(default_factory=dict[str, "Type"])

    @staticmethod
    def of(graph: Graph, inputs: Sequence[Any]) -> Recorded:
        """Evaluate; where that fails, what was known until then."""
        made = Recorded(graph, types=_types(graph))
        made.values.update(zip(graph.inputs, inputs, strict=True))
        made.alias.update(aliases(graph))
        seen: set[Op] = set()

        def watch(op: Op, operands: list[Any], results: list[Any]) -> None:
            if op in seen:
                return
            seen.add(op)
            made.order.append(op)
            known = (
                *zip(op.inputs, operands, strict=True),
                *zip(op.outputs, results, strict=False),
            )
            for value, array in known:
                if value is not None:
                    made.values.setdefault(value, array)

        try:
            Program(graph).run(inputs, watch=watch)
        except EVALUATION_ERRORS:
            failed = next((op for op in graph.sorted_ops() if op not in seen), None)
            made.order += [] if failed is None else [failed]
        return made

    def piece(self, ops: Sequence[Op]) -> Piece:
        """These ops alone; raises KeyError where an operand was not recorded."""
        graph, given, _, origin = cut(
            ops, self.values, self.graph, types=self.types, alias=self.alias
        )
        return Piece(graph, tuple(self.values[v] for v in given), origin=origin)

    def ops(self) -> list[Op]:
        """Those of the main graph."""
        return [op for op in self.order if op in self.graph.nx]


class Pair:
    """Two graphs whose values were aligned.

    Args:
        candidate: recorded.
        reference: the other.
        mates: values of the candidate → those of the reference (see `isomorph.parity.align`).
    """

    def __init__(self, candidate: Recorded, reference: Graph, mates: Mapping[Value, Value]) -> None:
        self.candidate, self.reference = candidate, reference
        ports = zip(candidate.graph.inputs, reference.inputs, strict=True)
        self.mates = {**mates, **dict(ports)}
        self.types = _types(reference)
        self._back = {mate: value for value, mate in self.mates.items()}
        self._alias = dict(aliases(reference))
        self._order = {op: i for i, op in enumerate(_every(reference))}
        self._place = {op: i for i, op in enumerate(_every(candidate.graph))}
        ends = zip(candidate.graph.outputs, reference.outputs, strict=False)
        self._ends = {v: m for v, m in ends if v not in self.mates}

    def piece(self, ops: Sequence[Op]) -> Piece:
        """These ops of the candidate, and what the reference has in their place.

        Raises:
            KeyError: where no part of the reference corresponds, or an operand was not recorded.
        """
        mine = self.candidate
        given, outward, stops, theirs, idle = self._faces(ops)
        for _ in range(GROWTH):
            makers = dict.fromkeys(v.producer for v in idle if v.producer is not None)
            if not makers:
                break
            ops = sorted({*ops, *makers}, key=self._place.__getitem__)
            given, outward, stops, theirs, idle = self._faces(ops)
        mates = {**self.mates, **self._ends}
        given = list(dict.fromkeys((*given, *stops.values())))
        graph, _, _, origin = cut(
            ops, mine.values, mine.graph,
            inputs=given, outputs=outward, types=mine.types, alias=mine.alias,
        )  # fmt: skip
        values = {m: mine.values[v] for m, v in stops.items()}
        faces = {v: m for m, v in stops.items()}
        inputs = [faces.get(v) or Value(v.name) for v in given]
        values.update((m, mine.values[v]) for m, v in zip(inputs, given, strict=True))
        reference, _, _, _ = cut(
            theirs, values, self.reference,
            inputs=inputs, outputs=[mates[v] for v in outward], types=self.types,
            alias=self._alias,
        )  # fmt: skip
        return Piece(graph, tuple(mine.values[v] for v in given), reference, origin)

    def _faces(
        self, ops: Sequence[Op]
    ) -> tuple[list[Value], list[Value], dict[Value, Value], list[Op], list[Value]]:
        """What a part reads and returns, the reference's part, and operands that this lacks.

        Where it reads others instead, those depend on each other, and neither may be an input.
        """
        mine = self.candidate
        made = [v for op in ops for v in op.results]
        mates = {v: m for v in made if (m := self.mates.get(v) or self._ends.get(v)) is not None}
        used = {v for op in ops for v in op.operands}
        outward = [v for v in made if v in mates and v not in used] or list(mates)[-1:]
        if not outward:
            raise KeyError("nothing of it is a value of the reference")
        read = dict.fromkeys(mine.alias.get(v, v) for op in ops for v in op.operands)
        given = [v for v in read if v not in made and v.weight is None]
        stops = {self.mates[v]: v for v in given if v in self.mates}
        own = set(stops)
        theirs, hit = self._region([mates[v] for v in outward], stops)
        idle = [v for v in given if self.mates.get(v) not in hit] if set(stops) - own else []
        return given, outward, stops, theirs, idle

    def _region(
        self, ends: Sequence[Value], stops: dict[Value, Value]
    ) -> tuple[list[Op], set[Value]]:
        """Ops of the reference that make some values from others, and which of those are read.

        What does not depend on `stops` ends the part too, at values that were recorded; `stops` is
        extended by these.
        """
        derived = self._derived(stops)
        found: set[Op] = set()
        hit: set[Value] = set()
        stack = list(ends)
        first = set(ends)
        while stack:
            value = stack.pop()
            value = self._alias.get(value, value)
            if value.weight is not None:
                continue
            if value in stops and value not in first:
                hit.add(value)
            elif value.producer is None or (
                value not in first
                and value.producer not in derived
                and self._back.get(value) in self.candidate.values
            ):
                stops[value] = self._back[value]
                hit.add(value)
            elif value.producer not in found:
                found.add(value.producer)
                stack.extend(value.producer.operands)
                if len(found) > MOST_OPS:
                    raise KeyError("the reference makes it of too many nodes")
        return sorted(found, key=self._order.__getitem__), hit

    def _derived(self, stops: Mapping[Value, Value]) -> set[Op]:
        """Ops of the reference that depend on some values."""
        found: set[Op] = set()
        for op in self._order:
            operands = (self._alias.get(v, v) for v in op.operands)
            if any(v in stops or v.producer in found for v in operands):
                found.add(op)
        return found


def _every(graph: Graph) -> Iterator[Op]:
    """All ops, those inside a subgraph before the op that runs it."""
    for op in graph.sorted_ops():
        for _, body in op.subgraphs():
            yield from _every(body)
        yield op


def aliases(graph: Graph) -> Iterator[tuple[Value, Value]]:
    """(capture of a subgraph, the outermost value that it stands for)."""
    found: dict[Value, Value] = {}
    for current in graph.graphs():
        for op in current.ops():
            for _, body in op.subgraphs():
                for inner, outer in zip(body.captures, op.captures, strict=False):
                    found[inner] = found.get(outer, outer)
    yield from found.items()


def fewest(ops: Sequence[Op], piece: Callable[[Sequence[Op]], Piece], test: Test) -> list[Op]:
    """A subset of ops of which no chunk can be left out any more; all of them fail already."""

    def fails(some: Sequence[Op]) -> bool:
        try:
            return test(piece(some))
        except KeyError:
            return False

    return fewest_of(ops, fails)


def _types(graph: Graph) -> dict[str, Type]:
    """Types of all values by name, as far as they can be known, with symbolic dims."""
    made, _ = copy_graph(graph)
    try:
        upgrade(made)
        infer(made)
    except EVALUATION_ERRORS:
        pass  # what the file itself states is there in any event
    return {v.name: v.type for g in made.graphs() for v in g.values() if v.type is not None}
