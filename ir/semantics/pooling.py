"""pooling: what each operator computes."""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.ops._windows import numbers
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics._accumulate import accumulate
from isomorph.ir.semantics._regions import max_roi_pool, roi_align
from isomorph.ir.semantics.convolution import padded, problem, read_windows
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from isomorph.ir.opdef import Key
    from isomorph.ir.ops._windows import Windows
    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]


class Taps:
    """The windows of one pooling: each tap of all of them at once."""

    def __init__(self, call: Call, x: Array) -> None:
        kernel = [int(k) for k in call.attr("kernel_shape")]
        if x.ndim != len(kernel) + 2:
            raise problem(call, f"kernel_shape is {kernel} for an input of shape {x.shape}")
        self.view: Windows = read_windows(call, kernel, pooling=True)
        self.kernel = kernel
        self.spatial = x.shape[2:]
        self.padding = self.view.padding(self.spatial)
        self.counts = numbers(*self.view.counts(self.spatial))

    @property
    def needed(self) -> list[tuple[int, int]]:
        """Padding that every window fits into; windows may overhang the padding asked for."""
        return [
            (begin, max(0, (n - 1) * s + (k - 1) * d + 1 - begin - size))
            for (begin, _), n, s, k, d, size in zip(
                self.padding,
                self.counts,
                self.view.strides,
                self.kernel,
                self.view.dilations,
                self.spatial,
                strict=True,
            )
        ]

    def read(self, x: Array, fill: float) -> Iterator[tuple[tuple[int, ...], Array]]:
        """Each tap, and what it sees in every window (N, C, windows…)."""
        field = padded(x, self.needed, fill)
        for tap in product(*map(range, self.kernel)):
            starts = [t * d for t, d in zip(tap, self.view.dilations, strict=True)]
            at = [
                slice(start, start + max(0, (n - 1) * s + 1) if n else start, s)
                for start, n, s in zip(starts, self.counts, self.view.strides, strict=True)
            ]
            yield tap, field[(..., *at)]

    def place(self, axis: int, tap: int) -> Array:
        """Where a tap of each window lies along an axis; outside 0..size it is padding."""
        starts = np.arange(self.counts[axis]) * self.view.strides[axis] - self.padding[axis][0]
        return starts + tap * self.view.dilations[axis]

    def inside(self, tap: Sequence[int]) -> Array:
        """Which windows see an element of the input through a tap."""
        places = [self.place(axis, t) for axis, t in enumerate(tap)]
        rows = [(p >= 0) & (p < size) for p, size in zip(places, self.spatial, strict=True)]
        return reduce(np.logical_and.outer, rows)

    def sizes(self, *, with_padding: bool) -> Array:
        """Over how many elements each window averages.

        Its taps within the input, or within the input and the padding that was asked for: never
        what overhangs that.
        """
        totals: list[Array] = []
        for axis, taps in enumerate(self.kernel):
            low, high = 0, self.spatial[axis]
            if with_padding:
                low, high = -self.padding[axis][0], high + self.padding[axis][1]
            seen = [(p >= low) & (p < high) for p in (self.place(axis, t) for t in range(taps))]
            totals.append(np.sum(seen, axis=0))
        return reduce(np.multiply.outer, totals)

    def sum(self, x: Array) -> Array:
        """The sum over each window."""
        total = np.zeros((*x.shape[:2], *self.counts), x.dtype)
        for _, seen in self.read(x, 0):
            total += seen
        return total


def lowest(dtype: np.dtype) -> Any:
    """What is below every element of a dtype."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return -np.inf if DType.of(dtype).is_float else False


def _max_pool(call: Call, x: Array) -> Array | tuple[Array, Array]:
    """NaN wins, as in Max; of equal elements the first in row-major order is the one indexed."""
    taps = Taps(call, x)
    best = np.full((*x.shape[:2], *taps.counts), lowest(x.dtype), x.dtype)
    if call.outputs < 2:
        for _, seen in taps.read(x, lowest(x.dtype)):
            best = np.maximum(best, seen)
        return best
    at = np.full(best.shape, -1, np.int64)
    for tap, seen in taps.read(x, lowest(x.dtype)):
        better = (at < 0) | (seen > best) | ((seen != seen) & (best == best))  # noqa: PLR0124 - NaN
        better &= taps.inside(tap)
        np.copyto(best, seen, where=better)
        np.copyto(at, _index(call, taps, tap, x.shape), where=better)
    return best, at


def _index(call: Call, taps: Taps, tap: Sequence[int], shape: Sequence[int]) -> Array:
    """The index into the flattened input of what a tap sees, in the storage order asked for."""
    spatial = list(shape[2:])
    steps = [prod(spatial[axis + 1 :]) for axis in range(len(spatial))]
    if call.attr("storage_order", 0):
        steps = [prod(spatial[:axis]) for axis in range(len(spatial))]
    images = np.arange(shape[0] * shape[1]).reshape(shape[:2]) * prod(spatial)
    parts = [images, *(taps.place(axis, t) * steps[axis] for axis, t in enumerate(tap))]
    return reduce(np.add.outer, parts)


def _average_pool(call: Call, x: Array) -> Array:
    taps = Taps(call, x)
    size = taps.sizes(with_padding=bool(call.attr("count_include_pad", 0)))
    total = taps.sum(accumulate(x))
    return (total / size.astype(total.dtype)).astype(x.dtype, copy=False)


def _powers(x: Array, p: int) -> Array:
    wide = np.abs(accumulate(x))
    return wide if p == 1 else wide * wide if p == 2 else wide**p


def _root(total: Array, p: int) -> Array:
    return total if p == 1 else np.sqrt(total) if p == 2 else total ** (1.0 / p)


def _lp_pool(call: Call, x: Array) -> Array:
    p = call.attr("p", 2)
    return _root(Taps(call, x).sum(_powers(x, p)), p).astype(x.dtype, copy=False)


def _axes(x: Array) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


def _global_max(call: Call, x: Array) -> Array:
    return np.maximum.reduce(x, axis=_axes(x), keepdims=True, initial=lowest(x.dtype))


def _global_average(call: Call, x: Array) -> Array:
    total = np.sum(accumulate(x), axis=_axes(x), keepdims=True)
    return (total / total.dtype.type(prod(x.shape[2:]))).astype(x.dtype, copy=False)


def _global_lp(call: Call, x: Array) -> Array:
    p = call.attr("p", 2)
    total = np.sum(_powers(x, p), axis=_axes(x), keepdims=True)
    return _root(total, p).astype(x.dtype, copy=False)


def _max_unpool(call: Call, x: Array, indices: Array, output_shape: Array | None = None) -> Array:
    """Indices count in the shape that the attributes imply; output_shape adds zeros at its end."""
    kernel = [int(k) for k in call.attr("kernel_shape")]
    view = read_windows(call, kernel)
    sizes = [
        (size - 1) * s + k - begin - end
        for size, s, k, begin, end in zip(
            x.shape[2:], view.strides, kernel, view.begin, view.end, strict=True
        )
    ]
    implied = (*x.shape[:2], *(max(0, size) for size in sizes))
    flat = np.zeros(prod(implied), x.dtype)
    if indices.size and not 0 <= indices.min() <= indices.max() < flat.size:
        raise problem(call, f"indices {indices.min()} to {indices.max()} for {flat.size} elements")
    flat[indices.reshape(-1)] = x.reshape(-1)
    found = flat.reshape(implied)
    if output_shape is None:
        return found
    wanted = [int(n) for n in output_shape]
    extra = [(0, n - size) for n, size in zip(wanted, implied, strict=True)]
    if any(n < 0 for _, n in extra):
        raise problem(call, f"output_shape {wanted} is smaller than {list(implied)}")
    return np.pad(found, extra)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "MaxPool"): (Impl(_max_pool),),
    ("", "AveragePool"): (Impl(_average_pool),),
    ("", "LpPool"): (Impl(_lp_pool),),
    ("", "GlobalMaxPool"): (Impl(_global_max),),
    ("", "GlobalAveragePool"): (Impl(_global_average),),
    ("", "GlobalLpPool"): (Impl(_global_lp),),
    ("", "MaxUnpool"): (Impl(_max_unpool),),
    ("", "MaxRoiPool"): (Impl(max_roi_pool),),
    ("", "RoiAlign"): (Impl(roi_align),),
}
