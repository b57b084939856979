"""signal: transforms of lines along an axis, and of frames of a signal."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isomorph.codegen.spec import SECTOR, Block, KernelSpec, Launch
from isomorph.ir.constants import integers
from isomorph.lowering.context import (
    Group,
    Lowered,
    blocks,
    constant,
    ctype,
    dtype_of,
    itemsize,
    shape_of,
)
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key


def _roots(points: int) -> np.ndarray:
    """Cosine and sine of each of so many parts of a turn; those of quarters are exact."""
    turns = np.arange(points)
    angle = 2 * np.pi / points * turns
    halves, quarters = 2 * turns % points == 0, 4 * turns % points == 0
    cosine = np.where(quarters & ~halves, 0.0, np.cos(angle))
    sine = np.where(halves, 0.0, np.sin(angle))
    return np.stack([cosine, sine], -1)


def _launch(
    group: Group, window: Value | None, words: tuple[int, ...], *, inverse: bool, real: bool
) -> Lowered:
    x, out = group.operand(0), group.output
    roots = constant(_roots(words[4]), "roots")
    spec = KernelSpec(
        "dft",
        (("T", ctype(x)),),
        (("PARTS", shape_of(x)[-1]), ("INVERSE", inverse), ("REAL_RESULT", real)),
        sectors=SECTOR / itemsize(x),
    )
    block = Block((x, window, roots, out), words)
    return [Launch(spec, (blocks(words[0], 256), 1, 1), (block,), (out,))]


def _known(value: Value | None, what: str) -> int | None:
    """The one integer of a constant operand."""
    if value is None:
        return None
    found = integers(value)
    if not found:
        raise NoKernel(f"its {what} is not constant")
    return found[0]


def _dft(group: Group) -> Lowered:
    op, shape, out = group.main, shape_of(group.operand(0)), shape_of(group.output)
    inverse, onesided = bool(op.attr("inverse", 0)), bool(op.attr("onesided", 0))
    given = _known(group.optional(2), "axis")
    axis = (-2 if given is None else given) % len(shape)
    real, own = inverse and onesided, shape[axis]
    points = _known(group.optional(1), "length") or (2 * (own - 1) if real else own)
    if points < 1:
        raise NoKernel(f"a transform of {points} points")
    n, inner = prod(out[:-1]), prod(shape[axis + 1 : -1])
    length = min(own, points // 2 + 1 if real else points)
    words = (n, out[axis], inner, length, points, 1, own * inner, 0)
    return _launch(group, None, words, inverse=inverse, real=real)


def _stft(group: Group) -> Lowered:
    step, window = _known(group.operand(1), "step"), group.optional(2)
    shape, out = shape_of(group.operand(0)), shape_of(group.output)
    length = _known(group.optional(3), "length")
    if length is None:
        length = shape[1] if window is None else prod(shape_of(window))
    if window is not None and dtype_of(window) is not dtype_of(group.operand(0)):
        raise NoKernel(f"a window of {dtype_of(window)}")
    n = prod(out[:-1])
    words = (n, out[2], 1, length, length, out[1], shape[1], step or 1)
    return _launch(group, window, words, inverse=False, real=False)


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {("", "DFT"): _dft, ("", "STFT"): _stft}
