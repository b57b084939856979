"""The form in which everything after a front end takes a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.copies import copy_graph
from isomorph.passes.canonical import CANONICAL

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph


def canonical(graph: Graph) -> Graph:
    """A copy at canonical versions, after the portable passes; ops that stay behind are in it.

    Raises:
        TypeInferenceError: when operands do not fit their operator.
    """
    copied, _ = copy_graph(graph)
    upgrade(copied)
    CANONICAL.run(copied)
    return copied
