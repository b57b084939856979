"""Which results of Fourier transforms known divergences explain: as dft.cc computes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics.signal import joined, parted
from isomorph.parity.tolerance.fourier import read, signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance.units import Unit

DOUBLE, SINGLE = 2.0**-53, 2.0**-24
LOST = 4.0
"""Units that each stage of its fast transforms loses, of the norm of all that it makes."""


def chirped(
    op: Op, operands: Sequence[Any], got: np.ndarray, _truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Elements that are what Bluestein's algorithm makes of angles rounded to the result's format.

    The angles, πn²/N, reach πN; nothing reduces them before they are rounded. The factor 1/N of an
    inverse is a float32 whatever the format is. Powers of two take another way.
    """
    points, _, norm = signals(op, operands)
    if not points & (points - 1) or unit.u not in (DOUBLE, SINGLE):
        return np.zeros(got.shape, bool)
    inverse = bool(op.attr("inverse", 0))
    frames, axis, _ = read(op, operands)
    lines = np.moveaxis(joined(frames), axis, -1)
    if inverse and op.attr("onesided", 0):
        mirror = np.conj(lines[..., 1 : points - lines.shape[-1] + 1][..., ::-1])
        lines = np.concatenate([lines, mirror], -1)
    count = got.shape[axis]
    found = np.moveaxis(_bluestein(lines, points, count, unit.u == SINGLE, inverse), -1, axis)
    other = parted(found)
    if inverse and op.attr("onesided", 0):
        other = other[..., :1]
    lost = LOST * unit.u * np.log2(2 * points) * np.sqrt(points) * norm
    return np.abs(got - other) <= (lost / points if inverse else lost)


def _bluestein(
    lines: np.ndarray, points: int, count: int, single: bool, inverse: bool
) -> np.ndarray:
    """The transform as a convolution, exact but for the angles of its chirp."""
    kind = np.float32 if single else np.float64
    n = np.arange(points).astype(kind)
    angle = kind(np.pi if inverse else -np.pi) * n * n / kind(points)
    chirp = np.exp(1j * angle.astype(np.float64))
    size = 1 << (2 * points - 2).bit_length()
    around = np.zeros(size, complex)
    around[:points] = chirp.conj()
    around[size - points + 1 :] = chirp[:0:-1].conj()
    read = lines * chirp[: lines.shape[-1]]
    found = np.fft.ifft(np.fft.fft(read, size) * np.fft.fft(around))[..., :count] * chirp[:count]
    return found * float(np.float32(1) / np.float32(points)) if inverse else found


def mirrored(
    op: Op, operands: Sequence[Any], got: np.ndarray, _truth: np.ndarray, _unit: Unit
) -> np.ndarray:
    """All of a one-sided inverse whose length is not that of a signal with so many frequencies."""
    if not (op.attr("inverse", 0) and op.attr("onesided", 0)):
        return np.zeros(got.shape, bool)
    points, _, _ = signals(op, operands)
    size = read(op, operands)[2]
    return np.full(got.shape, points // 2 + 1 != size)
