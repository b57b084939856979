"""convolution: what each operator computes."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.ops._windows import numbers, windows
from isomorph.ir.ops.convolution import transposed
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics._accumulate import accumulate

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from isomorph.ir.opdef import Key
    from isomorph.ir.ops._windows import Windows
    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]

CHUNK = 2**23
"""Elements that are gathered at a time: 64 MB of float64."""


def problem(call: Call, message: str) -> Exception:
    """The error for operands that do not fit the op."""
    return TypeInferenceError(f"{call.op}: {message}")


def read_windows(call: Call, kernel: Sequence[int], *, pooling: bool = False) -> Windows:
    """The op's windows for a kernel of known size."""
    return windows(call.attr, kernel, lambda text: problem(call, text), pooling=pooling)


def padded(array: Array, padding: Sequence[tuple[int, int]], value: float = 0) -> Array:
    """The spatial axes padded with one value."""
    if not any(map(any, padding)):
        return array
    return np.pad(array, [(0, 0), (0, 0), *padding], constant_values=value)


def slide(array: Array, view: Windows, counts: Sequence[int]) -> Array:
    """A view (N, C, windows…, taps…) of an input that is padded far enough."""
    taps = numbers(*view.kernel)
    spatial = array.strides[2:]
    strides = (
        *array.strides[:2],
        *(s * step for s, step in zip(spatial, view.strides, strict=True)),
        *(s * step for s, step in zip(spatial, view.dilations, strict=True)),
    )
    shape = (*array.shape[:2], *counts, *taps)
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)


def _conv(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    return _finish(convolve(call, accumulate(x), accumulate(w)), b, x.dtype)


def convolve(call: Call, x: Array, w: Array) -> Array:
    """The sums of products of an op's windows, in the dtype of its operands."""
    group, kernel = call.attr("group", 1), w.shape[2:]
    if x.shape[1] != w.shape[1] * group or w.shape[0] % group:
        raise problem(call, f"input {x.shape} and weights {w.shape} do not fit {group} groups")
    _fits_attribute(call, kernel)
    view = read_windows(call, kernel)
    counts = numbers(*view.counts(x.shape[2:]))
    columns = slide(padded(x, view.padding(x.shape[2:])), view, counts)
    return _contract(columns, w, group, len(kernel))


def _fits_attribute(call: Call, kernel: tuple[int, ...]) -> None:
    stated = call.attr("kernel_shape")
    if stated is not None and tuple(stated) != kernel:
        raise problem(call, f"kernel_shape is {stated}, the weights' {kernel}")


def _contract(columns: Array, w: Array, group: int, rank: int) -> Array:
    """Weights (M, C/group, taps…) on columns (N, C, windows…, taps…): (N, M, windows…)."""
    batch, channels, *rest = columns.shape
    counts, taps = rest[:rank], rest[rank:]
    outputs, inputs = w.shape[0], channels // group
    weights = w.reshape(group, outputs // group, inputs * prod(taps))
    split = columns.reshape(batch, group, inputs, *rest) if group > 1 else columns[:, None]
    order = (0, 1, 2, *range(3 + rank, 3 + 2 * rank), *range(3, 3 + rank))
    gathered = split.transpose(order)
    result = np.empty((batch, group, outputs // group, *counts), w.dtype)
    row = max(1, channels * prod(taps) * prod(counts[1:]))
    step = max(1, CHUNK // row)
    for n in range(batch):
        for start in range(0, counts[0], step):
            part = (slice(None),) * (2 + rank) + (slice(start, start + step),)
            chunk = gathered[n][part]
            windows_here = chunk.shape[2 + rank :]
            matrix = chunk.reshape(group, inputs * prod(taps), prod(windows_here))
            found = np.matmul(weights, matrix)
            result[n, :, :, start : start + step] = found.reshape(
                group, outputs // group, *windows_here
            )
    return result.reshape(batch, outputs, *counts)


def _finish(found: Array, bias: Array | None, dtype: np.dtype) -> Array:
    if bias is not None:
        if bias.shape != found.shape[1:2]:
            raise TypeInferenceError(
                f"a bias of shape {bias.shape} for a result of shape {found.shape}"
            )
        found = found + accumulate(bias).reshape(-1, *(1,) * (found.ndim - 2))
    return found.astype(dtype, copy=False)


def _conv_transpose(call: Call, x: Array, w: Array, b: Array | None = None) -> Array:
    group, kernel, rank = call.attr("group", 1), w.shape[2:], x.ndim - 2
    if x.shape[1] != w.shape[0] or w.shape[0] % group:
        raise problem(call, f"input {x.shape} and weights {w.shape} do not fit {group} groups")
    spatial = x.shape[2:]
    places = transposed(call.attr, kernel, spatial, lambda text: problem(call, text))
    view = read_windows(call, kernel)
    batch, channels, outputs = x.shape[0], x.shape[1], w.shape[1]
    full = [
        max(0, (size - 1) * s + (k - 1) * d + 1)
        for size, s, k, d in zip(spatial, view.strides, kernel, view.dilations, strict=True)
    ]
    sums = np.zeros((batch, group, outputs, *full), accumulate(x).dtype)
    images = accumulate(x).reshape(batch, group, channels // group, prod(spatial))
    weights = accumulate(w).reshape(group, channels // group, outputs, *kernel).swapaxes(1, 2)
    for tap in product(*map(range, kernel)):
        found = np.matmul(weights[(..., *tap)], images).reshape(batch, group, outputs, *spatial)
        sums[(..., *_places(view, tap, spatial))] += found
    sums = sums.reshape(batch, group * outputs, *full)
    result = np.zeros((batch, group * outputs, *numbers(*(p.size for p in places))), sums.dtype)
    into, out_of = [slice(None)] * 2, [slice(None)] * 2
    for axis in range(rank):
        begin, size = places[axis].begin or 0, result.shape[2 + axis]
        low, high = max(0, begin), min(full[axis], begin + size)
        out_of.append(slice(low, max(low, high)))
        into.append(slice(low - begin, max(low, high) - begin))
    result[tuple(into)] = sums[tuple(out_of)]
    return _finish(result, b, x.dtype)


def _places(view: Windows, tap: Sequence[int], counts: Sequence[int]) -> list[slice]:
    """Where one tap of every window lies along the spatial axes."""
    starts = [t * d for t, d in zip(tap, view.dilations, strict=True)]
    return [
        slice(start, start + (count - 1) * stride + 1 if count else start, stride)
        for start, count, stride in zip(starts, counts, view.strides, strict=True)
    ]


def _col2im(call: Call, columns: Array, image: Array, block: Array) -> Array:
    kernel, spatial = [int(k) for k in block], [int(s) for s in image]
    view = read_windows(call, kernel)
    counts = numbers(*view.counts(spatial))
    batch, rows, length = columns.shape
    if rows % prod(kernel) or length != prod(counts):
        wanted = f"(N, C * {prod(kernel)}, {prod(counts)})"
        raise problem(call, f"columns of shape {columns.shape}, {wanted} was expected")
    channels = rows // prod(kernel)
    full = [s + b + e for s, b, e in zip(spatial, view.begin, view.end, strict=True)]
    sums = np.zeros((batch, channels, *full), accumulate(columns).dtype)
    taps = accumulate(columns).reshape(batch, channels, *kernel, *counts)
    for tap in product(*map(range, kernel)):
        sums[(..., *_places(view, tap, counts))] += taps[(slice(None), slice(None), *tap)]
    inner = tuple(slice(b, b + s) for b, s in zip(view.begin, spatial, strict=True))
    return sums[(..., *inner)].astype(columns.dtype, copy=False)


def _deform_conv(
    call: Call,
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
) -> Array:
    group, kernel, rank = call.attr("group", 1), w.shape[2:], x.ndim - 2
    offsets, taps = call.attr("offset_group", 1), prod(w.shape[2:])
    batch, channels, spatial = x.shape[0], x.shape[1], x.shape[2:]
    _fits_attribute(call, kernel)
    view = read_windows(call, kernel)
    counts = numbers(*view.counts(spatial))
    wanted = (batch, offsets * taps * rank, *counts)
    if channels != w.shape[1] * group or w.shape[0] % group or channels % offsets:
        raise problem(call, f"input {x.shape} and weights {w.shape} do not fit {group} groups")
    if offset.shape != wanted:
        raise problem(call, f"the offset has shape {offset.shape}, {wanted} was expected")
    moved = accumulate(offset).reshape(batch, offsets, taps, rank, prod(counts))
    at = moved + _grid(view, kernel, counts)[None, None].astype(moved.dtype)
    images = accumulate(x).reshape(batch, offsets, channels // offsets, prod(spatial))
    found = np.zeros((batch, offsets, channels // offsets, taps * prod(counts)), images.dtype)
    # Far outside is as good as infinitely far: nothing is read there.
    low = np.floor(np.clip(np.nan_to_num(at, nan=-2.0), -2, np.array(spatial)[:, None] + 1))
    for corner in product((0, 1), repeat=rank):
        place = low + np.array(corner, low.dtype)[:, None]
        weight = np.maximum(0, 1 - np.abs(at - place)).prod(3)
        inside = ((place >= 0) & (place < np.array(spatial)[:, None])).all(3)
        index = np.zeros(inside.shape, np.int64)
        for axis in range(rank):
            position = place[:, :, :, axis].astype(np.int64)
            index = index * spatial[axis] + np.clip(position, 0, max(0, spatial[axis] - 1))
        flat = (batch, offsets, 1, taps * prod(counts))
        read = np.take_along_axis(images, index.reshape(flat), 3)
        found += np.where(inside.reshape(flat), read, 0) * weight.reshape(flat)
    if mask is not None:
        found *= accumulate(mask).reshape(batch, offsets, 1, taps * prod(counts))
    matrix = found.reshape(batch, group, channels // group * taps, prod(counts))
    weights = accumulate(w).reshape(group, w.shape[0] // group, channels // group * taps)
    return _finish(np.matmul(weights, matrix).reshape(batch, w.shape[0], *counts), b, x.dtype)


def _grid(view: Windows, kernel: Sequence[int], counts: Sequence[int]) -> Array:
    """Where each tap of each window lies before it is moved: (taps, rank, windows)."""
    axes = [
        np.add.outer(np.arange(k) * d, np.arange(n) * s - begin)
        for k, d, n, s, begin in zip(
            kernel, view.dilations, counts, view.strides, view.begin, strict=True
        )
    ]
    rank = len(axes)
    result = np.empty((*kernel, rank, *counts))
    for axis, place in enumerate(axes):
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = place.shape
        lead = (slice(None),) * rank
        result[(*lead, axis)] = place.reshape(shape)
    return result.reshape(prod(kernel), rank, prod(counts))


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "Conv"): (Impl(_conv),),
    ("", "ConvTranspose"): (Impl(_conv_transpose),),
    ("", "DeformConv"): (Impl(_deform_conv),),
    ("", "Col2Im"): (Impl(_col2im),),
}
