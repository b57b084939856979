"""Drop what no output depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.patch import remove_unused

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph


@dataclass(frozen=True)
class DeadCode:
    """Remove ops and constants that do not reach an output; graph inputs stay."""

    name: str = "dead-code"

    def apply(self, graph: Graph) -> bool:
        """Remove; whether anything went."""
        removed = sum(remove_unused(current) for current in graph.graphs())
        return removed > 0
