"""Question 2: is a node well computed, by float64 on the run time's own operands?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import widen
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType
from isomorph.parity import exact, known
from isomorph.parity.arrays import is_float
from isomorph.parity.finding import Finding
from isomorph.parity.noise import BLOCK
from isomorph.parity.tolerance import Unit, bound, is_exact
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance import Bound

FURTHER = 3.0
"""A result is suspect when it is this many times further from the truth than the source is."""


def judge(op: Op, operands: Sequence[Any], results: Sequence[Any]) -> list[Finding]:
    """One finding per result that is present.

    Args:
        op: the node.
        operands: what the run time gave it, in stored dtypes.
        results: what the run time made of them.

    Raises:
        UnsupportedError: when the op cannot be evaluated here.
    """
    present = [i for i, v in enumerate(op.outputs) if v is not None]
    floats = [i for i in present if is_float(results[i])]
    rounded = [] if is_exact(op) else floats
    found: dict[int, Finding] = {}
    narrow: list[Any] | None = None
    if len(rounded) < len(present):
        narrow = evaluate(op, operands)
        for index in present:
            if index not in rounded:
                found[index] = exact.compare(op, operands, results[index], narrow[index], index)
    if rounded:
        wide = [None if v is None else widen(v) for v in operands]
        truth = evaluate(op, wide, wide=True)
        for index in rounded:
            found[index] = _rounded(op, operands, wide, results[index], truth[index], index)
    return [found[i] for i in present]


def _rounded(
    op: Op,
    operands: Sequence[Any],
    wide: Sequence[Any],
    result: Any,
    truth: Any,
    index: int,
) -> Finding:
    truth = np.asarray(truth, np.float64)
    dtype = DType.of(result.dtype)
    unit = Unit.of(dtype)
    result = np.asarray(result)
    if result.shape != truth.shape:
        words = known.explain_shape(op, operands, result.shape)
        if words:
            return Finding(Status.RUNTIME, words)
        return Finding(Status.FAIL, f"its shape is {result.shape}, {truth.shape} is right")
    fine, figures = _rounded_right(result, truth, unit, dtype)
    if fine.all():
        return figures
    got = np.asarray(widen(result))
    limits = bound(op, wide, truth, index, dtype)
    return _against(limits, fine, figures, op, operands, wide, got, truth, index, unit)


def _against(
    limits: Bound,
    fine: np.ndarray,
    figures: Finding,
    op: Op,
    operands: Sequence[Any],
    wide: Sequence[Any],
    got: np.ndarray,
    truth: np.ndarray,
    index: int,
    unit: Unit,
) -> Finding:
    with np.errstate(all="ignore"):
        error = np.abs(got - truth)
        finite = np.isfinite(got) & np.isfinite(truth)
        peak = np.broadcast_to(limits.peak, truth.shape)
        overflow = (peak >= unit.top / 4) & (~finite | limits.spreads)
        figures = replace(figures, overflows=bool((overflow & ~finite & ~fine).any()))
        within = _within(error, limits.soft, finite)
        over_soft = ~fine & ~overflow & ~within
        untold = ~fine & ~over_soft & ~finite
        if not (over_soft | untold).any():
            return figures
        hard = limits.hard
        over_hard = over_soft & ~_within(error, hard, finite)
        over_soft &= ~over_hard
    explained, words = known.explain(known.Case(op, wide, got, truth, unit))
    if (over_hard & ~explained).any():
        if exact.takes_maxima(op) and any(exact.has_nan(v) for v in operands):
            return figures.at(Status.UNSPECIFIED, f"the standard leaves {op.type} of NaN open")
        if op.type == "ReduceMean" and not np.size(operands[0]):
            return figures.at(Status.UNSPECIFIED, "the standard leaves the mean of nothing open")
        said = known.broken(op)
        return figures.at(
            Status.FAIL,
            said or _say(over_hard & ~explained, got, truth, hard, limits.basis, "hard"),
        )
    suspect = over_soft & ~explained
    if suspect.any():
        source = np.asarray(widen(np.asarray(evaluate(op, operands)[index])))
        with np.errstate(all="ignore"):
            off = np.where(np.isfinite(source) & np.isfinite(truth), np.abs(source - truth), 0.0)
            allowed = np.maximum(limits.soft, unit.tiny)
            worst = FURTHER * max(float(np.nanmax(off / allowed, initial=0.0)), 1 / FURTHER)
            suspect &= error > worst * allowed
        if suspect.any():
            return replace(figures, nearer="reference").at(
                Status.SUSPECT,
                _say(suspect, got, truth, limits.soft, limits.basis, "soft")
                + f"; numpy in {np.asarray(operands[0]).dtype} stays {FURTHER:g} times closer",
            )
    if (explained & (over_hard | over_soft | untold)).any():
        return figures.at(Status.RUNTIME, words)
    return figures


def _within(error: np.ndarray, limit: np.ndarray, finite: np.ndarray) -> np.ndarray:
    """Whether errors are allowed; where any is, infinities and NaN are."""
    return (finite & (error <= limit)) | np.isposinf(limit)


def _rounded_right(
    result: np.ndarray, truth: np.ndarray, unit: Unit, dtype: DType
) -> tuple[np.ndarray, Finding]:
    """Which elements are the correctly rounded truth, and the largest distances from it.

    Block by block, so that what is computed on the way stays in the cache.
    """
    fine = np.empty(truth.size, bool)
    flat, exact_ones = result.reshape(-1), truth.reshape(-1)
    ulps = size = 0.0
    with np.errstate(all="ignore"):
        for start in range(0, truth.size, BLOCK):
            part = slice(start, start + BLOCK)
            right = exact_ones[part]
            got = np.asarray(widen(flat[part]))
            error = np.abs(got - right)
            good = np.less_equal(error, unit.u * np.abs(right) + unit.tiny, out=fine[part])
            good &= error < np.inf
            if not good.all():
                stored = np.asarray(right.astype(dtype.numpy), np.float64)
                good |= (got == stored) | (np.isnan(got) & np.isnan(stored))
                error = np.where(np.isfinite(error), error, 0.0)
            largest = float(error.max())
            if largest > 0:
                size = max(size, largest)
                ulps = max(ulps, float((error / unit.ulp(right)).max()))
    return fine.reshape(truth.shape), Finding(max_ulp=ulps, max_abs=size)


def _say(
    bad: np.ndarray,
    got: np.ndarray,
    truth: np.ndarray,
    limit: np.ndarray,
    basis: str,
    kind: str,
) -> str:
    """The worst element, in words."""
    with np.errstate(all="ignore"):
        excess = np.where(bad, np.abs(got - truth) / np.broadcast_to(limit, truth.shape), -1.0)
        excess = np.where(bad & ~np.isfinite(excess), np.inf, excess)
    at = tuple(int(i) for i in np.unravel_index(int(excess.argmax()), excess.shape))
    allowed = float(np.broadcast_to(limit, truth.shape)[at])
    return (
        f"{int(bad.sum())} of {bad.size} elements exceed the {kind} bound; at {list(at)} it is "
        f"{got[at]:.9g}, the truth {truth[at]:.9g}, allowed ±{allowed:.3g} ({basis})"
    )
