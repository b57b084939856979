"""Chains of elementwise ops become one: no intermediate is written to memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.passes.fuse.group import fuse, is_pointwise_group, sole_reader, static_shape

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op

MOST_OPERANDS = 12
"""More tensors would be more addresses than a thread has registers to spare."""


@dataclass(frozen=True, slots=True)
class FuseElementwise:
    """Join a pointwise op with the one op that reads its result, where both have one shape."""

    name: str = "fuse-elementwise"

    def apply(self, graph: Graph) -> bool:
        changed = False
        for op in reversed(graph.sorted_ops()):  # an op's readers may be one group by then
            changed |= self._join(graph, op)
        return changed

    @staticmethod
    def _join(graph: Graph, op: Op) -> bool:
        if len(op.results) != 1 or not is_pointwise_group(op):
            return False
        reader = sole_reader(graph, op.output)
        if reader is None or not is_pointwise_group(reader):
            return False
        shape = static_shape(op.output)
        if shape is None or shape != static_shape(reader.output):
            return False
        if len({*op.operands, *reader.operands}) - 1 > MOST_OPERANDS:
            return False
        fuse(graph, op, reader)
        return True
