"""Bias, activation, residual and other elementwise work join the kernel that feeds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.types import TensorType
from isomorph.passes.fuse.elementwise import MOST_OPERANDS
from isomorph.passes.fuse.group import (
    ANCHORS,
    FLOATS,
    STORED,
    fuse,
    is_pointwise_group,
    sole_reader,
    static_shape,
)

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op


@dataclass(frozen=True, slots=True)
class FuseEpilogues:
    """Join a product, convolution, normalization, reduction or pooling with what alone reads it.

    That is a pointwise group of the same shape; where two could take it, the later one does.
    """

    name: str = "fuse-epilogues"

    def apply(self, graph: Graph) -> bool:
        changed = False
        for op in reversed(graph.sorted_ops()):
            if not self._is_anchor(op):
                continue
            reader = sole_reader(graph, op.output)
            if reader is None or not is_pointwise_group(reader) or not _stored(reader):
                continue
            shape = static_shape(op.output)
            if shape is None or shape != static_shape(reader.output):
                continue
            if len({*op.operands, *reader.operands}) - 1 > MOST_OPERANDS:
                continue
            fuse(graph, op, reader)
            changed = True
        return changed

    @staticmethod
    def _is_anchor(op: Op) -> bool:
        kind = op.output.type if len(op.results) == 1 else None
        return (
            not op.domain
            and op.type in ANCHORS
            and isinstance(kind, TensorType)
            and kind.dtype in FLOATS
        )


def _stored(op: Op) -> bool:
    """Whether a kernel that computes in float32 can end with what a group ends with."""
    return all(isinstance(v.type, TensorType) and v.type.dtype in STORED for v in op.results)
