"""Operators that no kernel computes are written as their definitions, where they have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.patch import Patch
from isomorph.lowering import ON_THE_HOST, computes
from isomorph.lowering.definitions import leave, write_out
from isomorph.passes.fuse import SPECIALISE

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op

DEEPEST = 4
"""Bodies within bodies: as deep as ONNX nests them."""


@dataclass(frozen=True, slots=True)
class Bodies:
    """Write out every op that has no kernel of its own at these shapes.

    Attributes:
        arch: the architecture that is lowered for.
    """

    arch: str
    name: str = "function-bodies"

    def apply(self, graph: Graph) -> bool:
        changed = False
        for _ in range(DEEPEST):
            written = [op for op in graph.sorted_ops() if self._write_out(graph, op)]
            left = leave(graph, self._lacks)
            if not written and not left:
                break
            upgrade(graph)
            SPECIALISE.run(graph)
            changed = True
        return changed

    def _lacks(self, op: Op) -> bool:
        return not (not op.domain and op.type in ON_THE_HOST) and not computes(op, self.arch)

    def _write_out(self, graph: Graph, op: Op) -> bool:
        if not self._lacks(op):
            return False
        patch = Patch(graph, op)
        if not write_out(op, patch):
            return False
        patch.apply()
        return True
