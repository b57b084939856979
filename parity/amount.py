"""How much there was to compare: outputs without elements, or of NaN alone, show nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.types import TensorType
from isomorph.parity.arrays import is_float
from isomorph.parity.leaves import leaves

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from isomorph.parity.structure import Port


@dataclass
class Seen:
    """What the cases so far held of one output.

    Attributes:
        name: of the output.
        empty: whether its declared shape has no elements, which is all that there is to it.
        elements: so many, in all cases.
        numbers: whether any was there that is not NaN on both sides.
    """

    name: str
    empty: bool
    elements: int = 0
    numbers: bool = False

    @property
    def nothing(self) -> str:
        """Why nothing of it was compared; empty when something was."""
        if self.numbers or self.empty:
            return ""
        if self.elements:
            return f"output {self.name} is NaN throughout, on both sides"
        return f"output {self.name} has no elements"


class Amount:
    """Counts what outputs held."""

    def __init__(self, outputs: Sequence[Port]) -> None:
        self._seen = [Seen(str(p.name), _is_empty(p)) for p in outputs]

    def add(self, wanted: Sequence[Any], got: Sequence[Any]) -> None:
        """Count the outputs of one case, both sides in the same order."""
        for seen, one, other in zip(self._seen, wanted, got, strict=False):
            if not seen.numbers:
                _count(seen, one, other)

    def nothing(self, waived: Container[int] = ()) -> tuple[tuple[str, ...], bool]:
        """Why nothing was compared, for each such output; and whether that goes for all."""
        counted = [s for i, s in enumerate(self._seen) if i not in waived]
        words = tuple(s.nothing for s in counted if s.nothing)
        return words, bool(words) and len(words) == len(counted)


def _count(seen: Seen, wanted: Any, got: Any) -> None:
    one, other = list(leaves(wanted)), list(leaves(got))
    if [place for place, _ in one] != [""]:
        seen.numbers = True  # of sequences, maps and what is absent, the form was compared
        return
    array = np.asarray(one[0][1])
    seen.elements += array.size
    if array.size == 0:
        return
    if not is_float(array):
        seen.numbers = True
        return
    nan = np.isnan(array.astype(np.float64))
    again = np.asarray(other[0][1]) if len(other) == 1 else np.zeros(0)
    if is_float(again) and again.shape == nan.shape:
        nan = nan & np.isnan(again.astype(np.float64))
    seen.numbers = not nan.all()


def _is_empty(port: Port) -> bool:
    kind = port.type
    return isinstance(kind, TensorType) and kind.shape is not None and 0 in kind.shape
