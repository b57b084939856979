"""Float formats as error analysis sees them, and what a bound is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.types import DType


_EXPONENT = 0x7FF0_0000_0000_0000


@dataclass(frozen=True, slots=True)
class Unit:
    """A float format.

    Attributes:
        u: unit roundoff, half the distance from 1 to the next larger number.
        tiny: the smallest subnormal.
        top: the largest finite number.
    """

    u: float
    tiny: float
    top: float

    @staticmethod
    @cache
    def of(dtype: DType) -> Unit:
        """The format of a float element type."""
        info = cast("Any", ml_dtypes.finfo(dtype.numpy))
        return Unit(float(info.eps) / 2, float(info.smallest_subnormal), float(info.max))

    def ulp(self, truth: np.ndarray) -> np.ndarray:
        """The distance between neighbours of the format around each number."""
        bits = np.ascontiguousarray(truth, np.float64).view(np.int64) & _EXPONENT
        power = bits.view(np.float64).reshape(np.shape(truth))
        return np.maximum(power * (2 * self.u), self.tiny)


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits on the absolute error, per element.

    Attributes:
        soft: a well-made kernel stays below it.
        at_most: computes the hard limit, which no order of evaluation exceeds; it is asked only
            when a soft one is exceeded.
        peak: the largest magnitude that a partial result may have; beyond the format's range the
            run time may overflow where float64 does not.
        basis: the rule, for reports.
        spreads: an overflow of a partial result may leave a finite result, and a wrong one.
    """

    soft: np.ndarray
    at_most: Callable[[], np.ndarray]
    peak: np.ndarray
    basis: str
    spreads: bool | np.ndarray = False

    @property
    def hard(self) -> np.ndarray:
        """The hard limit."""
        with np.errstate(all="ignore"):
            return np.maximum(self.at_most(), self.soft)

    def scaled(self, factor: float) -> Bound:
        """Both limits times a factor: for float64, whose truth is itself rounded."""
        at_most = self.at_most
        return replace(self, soft=self.soft * factor, at_most=lambda: at_most() * factor)


def gamma(terms: float, u: float) -> float:
    """γ_K = Ku / (1 − Ku), infinite once Ku reaches 1 (Higham, Accuracy and Stability, §3.1)."""
    product = terms * u
    return product / (1 - product) if product < 1 else float("inf")
