"""The tensors of a piece that may change: an input, or a weight together with its double."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.arrays import is_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Value
    from isomorph.parity.reduce.piece import Piece


@dataclass(frozen=True)
class Slot:
    """One tensor, or two of one shape that stand in two graphs for each other.

    Attributes:
        arrays: the candidate's, then the reference's where it has one of its own.
        index: of the input; `None` for weights.
        values: the weights.
    """

    arrays: list[np.ndarray]
    index: int | None = None
    values: tuple[Value, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Of each of the arrays."""
        return self.arrays[0].shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of each of the arrays."""
        return self.arrays[0].dtype

    @property
    def size(self) -> int:
        """Elements of one of the arrays."""
        return int(self.arrays[0].size)

    def put(
        self, arrays: Sequence[np.ndarray], inputs: list[Any], weights: dict[Value, np.ndarray]
    ) -> None:
        """Set arrays in the place of those that are there."""
        if self.index is not None:
            inputs[self.index] = np.ascontiguousarray(arrays[0])
        weights.update(zip(self.values, arrays, strict=False))


def slots_of(piece: Piece) -> list[Slot]:
    """In the order of inputs and weights, which copies of a piece keep."""
    found = [Slot([np.asarray(a)], index) for index, a in enumerate(piece.inputs) if is_tensor(a)]
    doubles = _numbers(piece.reference) if piece.reference is not None else {}
    for value, array in _numbers(piece.graph).items():
        double = _double(value, array, doubles)
        if double is None:
            found.append(Slot([array], None, (value,)))
        else:
            found.append(Slot([array, doubles.pop(double)], None, (value, double)))
    found += [Slot([array], None, (value,)) for value, array in doubles.items()]
    return found


def _numbers(graph: Graph) -> dict[Value, np.ndarray]:
    return {v: v.weight.numpy() for v in graph.weights() if v.weight is not None}


def _double(value: Value, array: np.ndarray, others: dict[Value, np.ndarray]) -> Value | None:
    """The reference's weight of the same name, else of the same content."""
    fitting = [v for v, a in others.items() if a.shape == array.shape and a.dtype == array.dtype]
    named = next((v for v in fitting if v.name == value.name), None)
    return named or next((v for v in fitting if np.array_equal(others[v], array)), None)
