"""A graph for one set of input shapes: every dim a number, folded, and fused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.copies import copy_graph
from isomorph.ir.dims import Expr
from isomorph.ir.types import TensorType
from isomorph.lowering.bodies import DEEPEST, Bodies
from isomorph.lowering.branches import DecidedBranches
from isomorph.passes.canonical import CANONICAL
from isomorph.passes.canonical.dce import DeadCode
from isomorph.passes.canonical.fold import FoldConstants
from isomorph.passes.fuse import FOLD_SHAPES, FUSE, SPECIALISE
from isomorph.passes.manager import Pipeline
from isomorph.runtime import hosted

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from isomorph.ir.graph import Graph

DECIDE = Pipeline((FOLD_SHAPES, FoldConstants(), DecidedBranches()))
"""What runs first of all: in branches that are not taken, shapes need not fit."""

Shapes = tuple[tuple[int, ...], ...]


def specialised(
    graph: Graph,
    shapes: Shapes,
    arch: str = "sm_90",
    values: Mapping[int, np.ndarray] | None = None,
) -> Graph:
    """A copy in which every dim is a number, folded and fused.

    Args:
        graph: canonical.
        shapes: of its inputs.
        arch: the architecture that it is for.
        values: of inputs that shapes depend on, by position.
    """
    made, _ = copy_graph(graph)
    dims: dict[str, int | Expr] = {}
    for value, shape in zip(made.inputs, shapes, strict=True):
        known = value.type.shape if isinstance(value.type, TensorType) else None
        for dim, size in zip(known or (), shape, strict=False):
            if isinstance(dim, Expr) and dim.symbols() == frozenset({str(dim)}):
                dims[str(dim)] = size
    for value in made.values():
        if isinstance(value.type, TensorType):
            value.type = value.type.bind(dims)
    for value, shape in zip(made.inputs, shapes, strict=True):
        if isinstance(value.type, TensorType):
            value.type = TensorType(value.type.dtype, shape)
    hosted.bind(made, values or {})
    if DECIDE.run(made)[-1].modified:
        DeadCode().apply(made)
    SPECIALISE.run(made)
    CANONICAL.run(made)
    for _ in range(DEEPEST):
        changed = DecidedBranches().apply(made)
        if not (Bodies(arch).apply(made) or changed):
            break
        SPECIALISE.run(made)
        CANONICAL.run(made)
    FUSE.run(made)
    return made


def is_open(graph: Graph) -> bool:
    """Whether an input has a dim without a name."""
    return any(
        isinstance(v.type, TensorType) and v.type.shape is not None and None in v.type.shape
        for v in graph.inputs
    )


def shapes_of(graph: Graph, dims: Mapping[str, int], size: int) -> Shapes | None:
    """The inputs' shapes for these sizes; `None` where the rank of an input is not known."""
    found: list[tuple[int, ...]] = []
    for value in graph.inputs:
        if not isinstance(value.type, TensorType) or value.type.shape is None:
            return None
        shape = [
            d.evaluate(dims) if isinstance(d, Expr) else size if d is None else d
            for d in value.type.shape
        ]
        found.append(tuple(shape))
    return tuple(found)
