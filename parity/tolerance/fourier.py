"""Discrete Fourier transforms, and the windows that go before them.

A transform of n points is a sum of 2n products with cosines and sines, or a fast algorithm for it.
Hard: γ of the direct sum in any order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
ed., eq. 3.5), with one rounding of every cosine and sine, plus what a fast one loses at most, each
of its log₂ n stages (op. cit., theorem 24.2) in the norm of the whole, √n ‖x‖₂. Soft: 4u√(2n) of
‖x‖₂ and the result, as for any sum of 2n products.

A window is a formula of one angle of up to a whole turn, rounded three times when it is computed as
the function bodies have it, times constants that add up to one.
"""

from __future__ import annotations

from math import ceil, log2, pi
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call
from isomorph.ir.semantics.signal import dft_axis, dft_length, frames_of
from isomorph.parity.tolerance.units import Bound, Unit, gamma

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

WAVES = {
    "HannWindow": (0.5, 0.0),
    "HammingWindow": (21 / 46, 0.0),
    "BlackmanWindow": (0.5, 0.08),
}
"""Factors of the cosines of one angle, and of twice that angle."""
STAGE = 8.0
"""Units that a stage of a fast transform may lose: a complex product and sum, a rounded factor."""


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """DFT, STFT and the three windows; `None` for any other."""
    if op.type in WAVES:
        once, twice = WAVES[op.type]
        hard = np.full(truth.shape, unit.u * (6 * pi * (once + 2 * twice) + 10)) + unit.tiny
        basis = "three roundings of an angle, and of the constants"
        return Bound(hard / 4, lambda: hard, np.ones(truth.shape), basis)
    if op.type not in {"DFT", "STFT"}:
        return None
    points, total, norm = signals(op, operands)
    scale = 1 / points if op.attr("inverse", 0) else 1.0
    least = 2 * points * unit.tiny + unit.ulp(truth)
    soft = 4 * unit.u * np.sqrt(2 * points) * (norm * scale + np.abs(truth)) + least

    def at_most() -> np.ndarray:
        fast = STAGE * unit.u * ceil(log2(max(points, 2))) * np.sqrt(points) * norm
        return (gamma(2 * points + 4, unit.u) * total + fast) * scale + 2 * least

    inner = 1 if points & (points - 1) == 0 else 1 << ceil(log2(2 * points - 1))
    peak = np.broadcast_to(np.where(np.isnan(total), np.inf, inner * inner * total), truth.shape)
    basis = f"sums over {points} points, direct or fast"
    return Bound(soft, at_most, peak, basis, spreads=True)


def signals(op: Op, operands: Sequence[Any]) -> tuple[int, np.ndarray, np.ndarray]:
    """Points of each transform, and Σ|x| and ‖x‖₂ of what it sums, shaped like its result.

    A one-sided operand of an inverse stands for its mirror image too.
    """
    x, axis, _ = read(op, operands)
    points = x.shape[axis]
    if op.type == "DFT":
        given: list[Any] = [*operands, None]
        points = dft_length(Call(op, wide=True), given[0], given[1], axis)
    twice = 2 if op.attr("inverse", 0) and op.attr("onesided", 0) and op.type == "DFT" else 1
    over = (axis, x.ndim - 1)
    total = twice * np.abs(x).sum(over, keepdims=True)
    norm = np.sqrt(twice * (x * x).sum(over, keepdims=True))
    return points, total, norm


def read(op: Op, operands: Sequence[Any]) -> tuple[np.ndarray, int, int]:
    """What is transformed, parts last; along which axis; and its size there before it was cropped.

    STFT's frames are multiplied by the window.
    """
    call = Call(op, wide=True)
    given: list[Any] = [*operands, None, None, None]
    if op.type == "STFT":
        frames = frames_of(call, *given[:4])
        return frames, 2, frames.shape[2]
    x, length, stated = given[:3]
    axis = dft_axis(call, x.ndim, stated)
    points, size = dft_length(call, x, length, axis), x.shape[axis]
    wanted = points // 2 + 1 if op.attr("inverse", 0) and op.attr("onesided", 0) else points
    return np.take(x, np.arange(min(wanted, size)), axis), axis, size
