"""A torch module, function or program as the reference, evaluated as torch does in float64."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends import signature
from isomorph.frontends.torch.capture import Function, name_of
from isomorph.frontends.torch.origin import Origin
from isomorph.frontends.torch.weights import array_of
from isomorph.ir.weights import Weight
from isomorph.parity import constants
from isomorph.parity.noise import Perturbation
from isomorph.parity.sources import GraphReference, RefusedError, refusing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph
    from isomorph.parity.structure import Port


class TorchReference(GraphReference):
    """torch itself; the graph gives names, dims and where values part.

    Args:
        origin: what to call.
        graph: the graph that was traced from it, or only its inputs.
        traced: which of the two.
    """

    def __init__(self, origin: Origin, graph: Graph, *, traced: bool) -> None:
        super().__init__(graph, name_of(origin.source))
        self.origin = origin
        self.named = traced

    @property
    def outputs(self) -> tuple[Port, ...] | None:
        return super().outputs if self.named else None

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs in float64; in its own precision from then on, where it cannot run in that."""
        if not self.weaker:
            try:
                return refusing(lambda: self.origin.wide(inputs))
            except RefusedError as error:
                found = self.narrow(inputs)
                self.weaker = (
                    f"{self.name} does not run in float64 ({error}): it is compared in its own "
                    "precision"
                )
                return found
        return self.narrow(inputs)

    def narrow(self, inputs: Sequence[Any]) -> list[Any]:
        return refusing(lambda: self.origin.run(inputs))

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        perturb = Perturbation(seed)
        moved = [np.asarray(v) for v in inputs]
        return self.origin.wide(moved, perturb)

    def numbers(self) -> tuple[np.ndarray, frozenset[bytes]]:
        """Parameters and buffers; a matrix counts in either order of its axes."""
        arrays = [array_of(t) for t in self.origin.tensors()]
        both = [*arrays, *(a.T for a in arrays if a.ndim == 2)]
        return constants.numbers(arrays), frozenset(Weight.of(a).digest() for a in both)

    def model(self) -> Graph | Path | None:
        return self.graph if self.named else None


def origin_of(source: Any, specs: Sequence[Any]) -> Origin:
    """What to call for a torch source that has not been traced."""
    if isinstance(source, str | Path):
        from isomorph.frontends.torch.pt2 import load_program

        return Origin(load_program(Path(source)))
    if not specs or not (hasattr(source, "forward") or callable(source)):
        return Origin(source)
    module: Any = source if hasattr(source, "forward") else Function(source)
    if not callable(getattr(module, "forward", None)):
        return Origin(source)
    pairs = signature.matched(module.forward, specs, name_of(source))
    return Origin(source, [p for p, _ in pairs])
