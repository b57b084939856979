"""`numpy.pad` in the modes that ONNX's Pad has, and two more."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import axis_of, emit, ints, lift
from isomorph.frontends.array.dims import as_dim, wrap
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.structure import is_dict, is_many, is_ndarray
from isomorph.frontends.array.traced import Traced
from isomorph.ir.dims import Expr

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.frontends.array.build import Size


def pad(array: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Traced:
    """Constant, edge, reflect and wrap are Pad's own; symmetric is gathered along fixed axes."""
    x = lift(array)
    width = _pad_width(pad_width, x.ndim)
    if mode == "symmetric":
        return _pad_symmetric(x, width)
    if mode not in ("constant", "edge", "reflect", "wrap"):
        known = "constant, edge, reflect, wrap or symmetric"
        raise TraceError(f"np.pad with mode={mode!r} is not captured", known)
    if unknown := set(kwargs) - {"constant_values", "reflect_type"}:
        raise TraceError(f"np.pad does not take {', '.join(sorted(unknown))} with mode {mode!r}")
    if kwargs.get("reflect_type", "even") != "even":
        raise TraceError("np.pad with reflect_type='odd' is not captured", "reflect_type='even'")
    if mode in ("reflect", "wrap"):
        for axis, pair in enumerate(width):
            for count in pair:
                needed = count + 1 if mode == "reflect" and count else count
                current().require(x.dims[axis], ">=", needed, f"{mode} padding of axis {axis}")
    pads = [before for before, _ in width] + [after for _, after in width]
    shape = [d + a + b for d, (a, b) in zip(x.dims, width, strict=True)]
    fill = kwargs.get("constant_values", 0)
    if mode == "constant" and not np.isscalar(fill) and not isinstance(fill, Traced):
        return _pad_constants(x, width, np.asarray(fill))
    value = lift(fill, x.dtype) if mode == "constant" else None
    return emit("Pad", x, ints([wrap(p, current()) for p in pads]), value, mode=mode, shape=shape)


def _pad_width(given: Any, rank: int) -> list[tuple[Size, Size]]:
    if is_dict(given):
        found: list[tuple[Size, Size]] = [(0, 0)] * rank
        for axis, pair in given.items():
            found[axis_of(axis, rank)] = _pad_width(pair, 1)[0]
        return found
    size = as_dim(given)
    if size is not None:
        return [(size, size)] * rank
    items: list[Any] = [list(i) if is_many(i) or is_ndarray(i) else i for i in given]
    if not any(is_many(i) for i in items):
        items = [items]
    pairs = [_pair(i) for i in items]
    if len(pairs) == 1:
        pairs *= rank
    if len(pairs) != rank:
        raise TraceError(f"pad_width {reprlib.repr(given)} does not fit an array of rank {rank}")
    return pairs


def _pair(item: Any) -> tuple[Size, Size]:
    sizes = [as_dim(i) for i in (item if is_many(item) else (item,))]
    if len(sizes) == 1:
        sizes *= 2
    before, after = sizes
    if before is None or after is None:
        raise TraceError(f"pad width {reprlib.repr(item)}: integers are needed")
    return before, after


def _pad_constants(x: Traced, width: Sequence[tuple[Size, Size]], fill: np.ndarray) -> Traced:
    """A value of its own for each edge; the last axis is padded last, as in numpy."""
    values = np.broadcast_to(fill, (x.ndim, 2))
    for axis, pair in enumerate(width):
        for side, size in enumerate(pair):
            pads: list[Size] = [0] * (2 * x.ndim)
            pads[axis + side * x.ndim] = size
            shape = [d + size if i == axis else d for i, d in enumerate(x.dims)]
            fill_value = lift(values[axis, side], x.dtype)
            x = emit("Pad", x, ints([wrap(p, current()) for p in pads]), fill_value, shape=shape)
    return x


def _pad_symmetric(x: Traced, width: Sequence[tuple[Size, Size]]) -> Traced:
    for axis, (before, after) in enumerate(width):
        dim = x.dims[axis]
        if (before, after) == (0, 0):
            continue
        if isinstance(dim, Expr) or isinstance(before, Expr) or isinstance(after, Expr):
            raise TraceError(f"symmetric padding of the open axis {axis} of {x.type}", "reflect")
        places = np.pad(np.arange(dim), (before, after), "symmetric")
        x = emit("Gather", x, places, axis=axis)
    return x


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "pad": pad,
}
