"""Function bodies with control flow in them are written out before a graph is cut into stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.patch import Patch
from isomorph.ir.weights import Weight
from isomorph.lowering import ON_THE_HOST, has_kernel
from isomorph.lowering.bodies import DEEPEST
from isomorph.lowering.definitions import write_out
from isomorph.passes.canonical import CANONICAL
from isomorph.runtime.staged.tables import HANDLERS

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op


def expand(graph: Graph) -> None:
    """Write out, in place, every op without kernels whose body has control flow.

    Constants of any size become weights: on the way to a file, large ones stay in branches.
    """
    for current in graph.graphs():
        for op in current.sorted_ops():
            value = op.attributes.get("value")
            if op.key == ("", "Constant") and isinstance(value, Weight):
                patch = Patch(current, op)
                patch.replace(op.output, patch.weight(value, op.output.name))
                patch.remove(op)
                patch.apply()
    for _ in range(DEEPEST):
        found = [_inline(g, op) for g in graph.graphs() for op in g.sorted_ops()]
        if not any(found):
            return
        upgrade(graph)
        CANONICAL.run(graph)


def _inline(graph: Graph, op: Op) -> bool:
    if has_kernel(op) or op.key in HANDLERS or (not op.domain and op.type in ON_THE_HOST):
        return False
    patch = Patch(graph, op)
    if not write_out(op, patch):
        return False
    if not any(True for made in patch.made for _ in made.subgraphs()):
        patch.discard()
        return False
    patch.apply()
    return True
