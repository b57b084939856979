"""Operators that no kernel computes are written as their function bodies, where they have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir import schema
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.patch import Patch
from isomorph.ir.proto.function import inline_body
from isomorph.lowering import ON_THE_HOST, computes
from isomorph.passes.fuse import SPECIALISE

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op

DEEPEST = 4
"""Bodies within bodies: as deep as ONNX nests them."""


@dataclass(frozen=True, slots=True)
class Bodies:
    """Inline the definition of every op that has no kernel of its own at these shapes.

    Attributes:
        arch: the architecture that is lowered for.
    """

    arch: str
    name: str = "function-bodies"

    def apply(self, graph: Graph) -> bool:
        changed = False
        for _ in range(DEEPEST):
            inlined = [op for op in graph.sorted_ops() if self._inline(graph, op)]
            if not inlined:
                break
            upgrade(graph)
            SPECIALISE.run(graph)
            changed = True
        return changed

    def _inline(self, graph: Graph, op: Op) -> bool:
        if op.captures or not schema.has_body(op.domain, op.type, op.version):
            return False
        if (not op.domain and op.type in ON_THE_HOST) or computes(op, self.arch):
            return False
        patch = Patch(graph, op)
        try:
            if not inline_body(op, patch, schema.CANONICAL[""]):
                return False
        except UnsupportedError:
            patch.discard()
            return False
        patch.apply()
        return True
