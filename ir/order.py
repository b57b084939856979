"""Topological order that keeps what it is given wherever it can."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

N = TypeVar("N", bound="Hashable")


class CycleError(Exception):
    """Raised for nodes that wait for each other; `nodes` are they, each before what needs it."""

    def __init__(self, nodes: list[object]) -> None:
        super().__init__("a cycle")
        self.nodes = nodes


def stable_order(before: Mapping[N, Iterable[N]]) -> list[N]:
    """The keys, each after those it maps to, and otherwise in the mapping's own order.

    A node that comes too late is moved right before the first that needs it.

    Raises:
        CycleError: if there is no such order.
    """
    done: set[N] = set()
    order: list[N] = []
    for first in before:
        stack = [first]
        path: dict[N, None] = {}
        while stack:
            node = stack[-1]
            waiting = [n for n in before[node] if n not in done]
            if not waiting:
                stack.pop()
                if node not in done:
                    done.add(node)
                    order.append(node)
                    path.pop(node, None)
                continue
            path[node] = None
            for other in waiting:
                if other in path:
                    chain = list(path)
                    raise CycleError(list(reversed(chain[chain.index(other) :])))
            stack.extend(reversed(waiting))
    return order
