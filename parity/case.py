"""One set of inputs for both models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from isomorph.parity.leaves import leaves


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs, and where it came from; `count` sets where several run as one."""

    inputs: list[Any]
    dims: dict[str, int]
    hostile: bool
    count: int = 1

    @property
    def size(self) -> int:
        """Elements of all inputs together."""
        return sum(int(np.size(t)) for v in self.inputs for _, t in leaves(v))
