"""Float formats as error analysis sees them, and what a bound is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np

from isomorph.ir.types import DType


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
        info = ml_dtypes.finfo(dtype.numpy)
        return Unit(
            float(info.eps) / 2, float(info.smallest_subnormal), float(info.max)
        )

    def ulp(self, truth: np.ndarray) -> np.ndarray:
        """The distance between neighbours of the format around each number."""
        _, exponent = np.frexp(np.abs(truth))
        return np.maximum(np.ldexp(self.u, exponent), self.tiny)


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits on the absolute error, per element.

    Attributes:
        soft: a well-made kernel stays below it.
        hard: no order of evaluation exceeds it.
        peak: the largest magnitude that a partial result may have; beyond the format's range the
            run time may overflow where float64 does not.
        basis: the rule, for reports.
    """

    soft: np.ndarray
    hard: np.ndarray
    peak: np.ndarray
    basis: str

    def scaled(self, factor: float) -> Bound:
        """Both limits times a factor: for float64, whose truth is itself rounded."""
        return Bound(self.soft * factor, self.hard * factor, self.peak, self.basis)


def gamma(terms: float, u: float) -> float:
    """γ_K = Ku / (1 − Ku), infinite once Ku reaches 1 (Higham, Accuracy and Stability, §3.1)."""
    product = terms * u
    return product / (1 - product) if product < 1 else float("inf")
