"""One set of inputs, and what failed on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.leaves import leaves

if TYPE_CHECKING:
    from isomorph.ir.graph import Op


SIGN = "sign of zero"
"""Words of findings where only that differs."""


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


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that failed.

    Attributes:
        case: the inputs.
        reason: in words.
        kind: `same`, `structure`, `trace`, `weak`: what the models are; `well`, `optimized`,
            `died`, `refused`: what the run time makes of the candidate.
        index: of the output, where it is about one.
        op: the node, where it is about one.
        optimize: whether it takes the run time's optimizer.
    """

    case: Case
    reason: str
    kind: str
    index: int | None = None
    op: Op | None = None
    optimize: bool = False

    @property
    def signs(self) -> bool:
        """Whether it is only about signs of zero."""
        return SIGN in self.reason


def smallest(failing: list[Failure]) -> Failure:
    """The case with ordinary values where there is one, then with the fewest elements."""
    return min(failing, key=lambda f: (f.case.hostile, f.case.size))
