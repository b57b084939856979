"""Local rewrites, indexed by the op at their root, so that an op is tried on its own rules only."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.graph import Graph, Op
from isomorph.ir.infer import is_canonical
from isomorph.ir.patch import Patch

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

Rule = Callable[[Graph, Op], Patch | None]
"""Looks at one op; returns a patch that is not applied yet, or `None` when it does not match."""


@dataclass(frozen=True)
class Rules:
    """A pass made of rules: (domain, op) → rules tried in order on canonical ops of that kind."""

    name: str
    table: Mapping[Key, tuple[Rule, ...]]

    def apply(self, graph: Graph) -> bool:
        """Try every op once, and again those whose operands a rule has changed."""
        changed = False
        for current in graph.graphs():
            changed |= self._sweep(current)
        return changed

    def _sweep(self, graph: Graph) -> bool:
        changed = False
        waiting = deque(graph.sorted_ops())
        while waiting:
            op = waiting.popleft()
            rules = self.table.get(op.key)
            if rules is None or op not in graph.nx or not is_canonical(op):
                continue
            for rule in rules:
                patch = rule(graph, op)
                if patch is not None:
                    patch.apply()
                    waiting.extendleft(reversed(patch.made))
                    changed = True
                    break
        return changed
