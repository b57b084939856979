"""Give every value the most precise type that can be known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.infer import infer

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph


@dataclass(frozen=True)
class InferShapes:
    """Shape inference with symbolic dims and known contents (see `isomorph.ir.infer`)."""

    name: str = "infer-shapes"

    def apply(self, graph: Graph) -> bool:
        """Infer; whether any type became more precise."""
        return infer(graph)
