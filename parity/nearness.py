"""How far a result is from the truth, who is nearer to it, and whether it stays the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity import exact
from isomorph.parity.arrays import is_float
from isomorph.parity.finding import Finding
from isomorph.parity.verdict import ULP_EDGES

if TYPE_CHECKING:
    from isomorph.parity.tolerance.units import Unit

STEADY = 1e-9
"""Two evaluations of the same may differ by this, relatively: sums depend on how memory lies."""


def distance(
    given: np.ndarray, truth: np.ndarray, own: np.ndarray | None, unit: Unit
) -> Finding | None:
    """The largest distances of a result from the truth; `None` where nothing is finite.

    Args:
        given: the result, in float64.
        truth: the reference's, in float64.
        own: what the reference gives in its own precision, where that is known.
        unit: the format of the result.
    """
    with np.errstate(all="ignore"):
        error = np.abs(given - truth)
        good = np.isfinite(error)
        if not good.any():
            return None
        every = np.where(good, error / unit.ulp(truth), 0.0)
        ulps, histogram = float(every.max()), _histogram(every[good])
        worst = float(np.where(good, error, 0.0).max())
        if own is None or own.shape != truth.shape:
            return Finding(max_ulp=ulps, max_abs=worst, histogram=histogram)
        off = np.abs(own - truth)
        theirs = float(np.where(np.isfinite(off), off, 0.0).max())
    nearer = "reference" if theirs < worst else "candidate" if worst < theirs else "equal"
    return Finding(max_ulp=ulps, max_abs=worst, nearer=nearer, histogram=histogram)


def _histogram(ulps: np.ndarray) -> tuple[int, ...]:
    places = np.searchsorted(ULP_EDGES, ulps.reshape(-1))
    return tuple(np.bincount(places, minlength=len(ULP_EDGES) + 1).tolist())


def changed(first: Any, second: Any) -> bool:
    """Whether two evaluations of the same differ by more than an order of summation."""
    if not (is_float(first) and is_float(second) and np.shape(first) == np.shape(second)):
        return bool(exact.differs(second, first))
    with np.errstate(all="ignore"):
        one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
        top = float(np.max(np.abs(one), initial=0.0, where=np.isfinite(one)))
        return not np.allclose(other, one, rtol=STEADY, atol=STEADY * top, equal_nan=True)


def misplaced(
    given: np.ndarray, truth: np.ndarray, own: np.ndarray | None, mismatch: np.ndarray
) -> str:
    """The first NaN or infinity that stands where it should not; empty where none does.

    Args:
        given, truth, own: as for `distance`; what the reference itself does is excused.
        mismatch: elements that are NaN, infinite or finite where the truth is not.
    """
    if own is not None and own.shape == given.shape:
        excused = (np.isnan(own) == np.isnan(given)) & (np.isinf(own) == np.isinf(given))
        mismatch = mismatch & ~excused
    if not mismatch.any():
        return ""
    at = tuple(int(i) for i in np.argwhere(mismatch)[0])
    return f"at {list(at)} it is {given[at]}, the reference gives {truth[at]:.6g}"
