"""How much was read of the tables that integer inputs index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.arrays import is_tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.parity.strategies.specs import Spec


class Tables:
    """Counts the rows that cases touched.

    Args:
        specs: of the inputs; those with a table are followed.
    """

    def __init__(self, specs: Sequence[Spec]) -> None:
        self._specs = specs
        self._read: list[set[int] | None] = [
            None if s.table is None or not s.dtype.is_integer else set() for s in specs
        ]

    def add(self, inputs: Sequence[Any]) -> None:
        """Count what one case reads."""
        for spec, read, array in zip(self._specs, self._read, inputs, strict=True):
            if read is None or spec.table is None or not is_tensor(array):
                continue
            rows, offset = spec.table
            at = np.asarray(array).astype(np.int64).reshape(-1) + offset
            read.update(np.unique(at[(at >= -rows) & (at < rows)] % rows).tolist())

    def notes(self) -> Iterator[str]:
        """One sentence for each table that was read in part."""
        for spec, read in zip(self._specs, self._read, strict=True):
            rows = 0 if spec.table is None else spec.table[0]
            if read and len(read) < rows:
                yield (
                    f"{spec.name} indexes a table of {rows:,} rows, {len(read):,} of them "
                    f"({len(read) / rows:.1%}) were read: the others were not compared"
                )
