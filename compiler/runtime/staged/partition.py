"""A graph as stages: what kernels compute together, and what the host does in between.

An op of the host waits for all that it reads; what reads its results waits for it. So does an op
whose shape another op's data decides: the host reads that, then plans. Everything else joins the
earliest stage in which its operands are there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.ir.copies import copy_op
from isomorph.ir.graph import Graph, Value
from isomorph.ir.opdef import OPS
from isomorph.ir.types import TensorType
from isomorph.runtime.hosted import OPERANDS, is_short

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from isomorph.ir.graph import Op

SHAPES = frozenset({"Shape", "Size"})


@dataclass(frozen=True, slots=True)
class Stage:
    """Ops in order, all of the host or all of kernels."""

    host: bool
    ops: list[Op] = field(default_factory=list["Op"])


class Partition:
    """The stages of a graph.

    Args:
        graph: canonical.
        is_host: whether an op is the host's.
    """

    def __init__(self, graph: Graph, is_host: Callable[[Op], bool]) -> None:
        self.graph = graph
        self._level: dict[Value, int] = {}
        found: dict[int, Stage] = {}
        for op in graph.sorted_ops():
            host = is_host(op)
            level = self._place(op, host=host)
            self._level.update(dict.fromkeys(op.results, level))
            found.setdefault(level, Stage(host)).ops.append(op)
        self.stages = [found[level] for level in sorted(found)]

    def _place(self, op: Op, *, host: bool) -> int:
        level = max((self._level.get(v, 0) for v in op.operands), default=0)
        if level % 2 != host:
            level += 1
        if not host:
            stated = [op.input(n) for n in told_operands(op)]
            if any(v is not None and not self._is_known(v, level) for v in stated):
                level += 2
        return level

    def _is_known(self, value: Value, level: int) -> bool:
        """Whether the host can know a value before the stage runs."""
        waiting, seen = [value], set[Value]()
        while waiting:
            value = waiting.pop()
            if value.weight is not None or value in seen:
                continue
            seen.add(value)
            producer = value.producer
            if producer is None or self._level[value] < level:
                if not is_short(value):
                    return False
            elif producer.domain or producer.type not in SHAPES:
                definition = OPS.get(producer.key)
                if definition is None or not definition.deterministic:
                    return False
                waiting += producer.operands
        return True


def told_operands(op: Op) -> tuple[int, ...]:
    """Positions of the operands that say what an op computes."""
    return () if op.domain else OPERANDS.get(op.type, ())


def is_decided(op: Op, known: Collection[Value] = ()) -> bool:
    """Whether shapes alone say which branch an If takes; `known` are captures that they say."""
    condition = op.input(0)
    return condition is not None and by_shapes(condition, known)


def by_shapes(value: Value, known: Collection[Value] = ()) -> bool:
    """Whether a value is computed from shapes and constants alone."""
    waiting, seen = [value], set(known)
    while waiting:
        value = waiting.pop()
        if value.weight is not None or value in seen:
            continue
        seen.add(value)
        op = value.producer
        if op is None:
            return False
        if op.type in SHAPES and not op.domain:
            continue
        definition = OPS.get(op.key)
        if definition is None or not definition.deterministic or not op.operands:
            return False
        waiting += op.operands
    return True


def extracted(graph: Graph, ops: Sequence[Op], name: str) -> tuple[Graph, list[Value], list[Value]]:
    """Ops as a graph of their own, and what it takes and gives, as values of the whole.

    Weights go with it.
    """
    made = Graph(name)
    made.opsets, made.functions, made.extra = graph.opsets, graph.functions, graph.extra
    made.constraints = list(graph.constraints)
    inside = {v for op in ops for v in op.results}
    new: dict[Value, Value] = {}
    taken: list[Value] = []
    for op in ops:
        for value in op.operands:
            if value in new or value in inside:
                continue
            if value.weight is not None:
                new[value] = made.add_weight(value.weight, value.name)
            else:
                taken.append(value)
                new[value] = made.add_input(value.name, value.type)
        copy_op(op, made, new)
    members = set(ops)
    given = [v for v in _results(ops) if _leaves(graph, v, members)]
    made.outputs = [new[v] for v in given]
    return made, taken, given


def _results(ops: Sequence[Op]) -> Iterator[Value]:
    for op in ops:
        yield from op.results


def _leaves(graph: Graph, value: Value, members: set[Op]) -> bool:
    return graph.is_output(value) or any(op not in members for op in graph.consumers(value))


def is_tensor(value: Value) -> bool:
    """Whether a value is one tensor, as far as is known."""
    return value.type is None or isinstance(value.type, TensorType)
