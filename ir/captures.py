"""Captured constants become the subgraphs' own, so that axes, shapes and pads are seen there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.constants import constant
from isomorph.ir.patch import Patch

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.weights import Weight

LARGEST = 64
"""Elements of the largest constant that is given to every subgraph that uses it."""


def own_constants(graph: Graph) -> bool:
    """Give subgraphs, at any depth, the small constants they capture; whether any changed.

    The bytes stay shared in memory; a file holds them once per subgraph.
    """
    changed = False
    stack = [graph]
    while stack:
        current = stack.pop()
        for op in current.ops():
            subgraphs = [sub for _, sub in op.subgraphs()]
            if op.captures and subgraphs:
                changed |= _give(current, op, subgraphs)
            stack.extend(subgraphs)
    return changed


def _give(graph: Graph, op: Op, subgraphs: list[Graph]) -> bool:
    known: dict[int, Weight] = {}
    for index, value in enumerate(op.captures):
        weight = constant(value)
        kept = any(sub.is_output(sub.captures[index]) for sub in subgraphs)
        if weight is not None and weight.size <= LARGEST and not kept:
            known[index] = weight
    if not known:
        return False
    for sub in subgraphs:
        given = {index: sub.captures[index] for index in known}
        patch = Patch(sub)
        for index, formal in given.items():
            if sub.is_used(formal):
                patch.replace(formal, patch.weight(known[index], formal.name))
        patch.apply()
        sub.captures = [v for i, v in enumerate(sub.captures) if i not in known]
        for formal in given.values():
            sub.drop(formal)
    before = op.captures
    graph.unlink(op)
    op.captures = tuple(v for i, v in enumerate(before) if i not in known)
    graph.link(op)
    for value in dict.fromkeys(before[index] for index in known):  # captured twice, maybe
        if value.weight is not None and not graph.is_used(value):
            graph.drop(value)
    return True
