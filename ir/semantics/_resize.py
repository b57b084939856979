"""Resize, and Upsample before it: one axis at a time, in float64, rounded once at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.ops._resize import kept_aspect, scaled
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.semantics import Call


Ratio = tuple[float, float]
"""Old length over new, as two numbers: dividing by their rounded quotient would move a pixel."""


def resize(
    call: Call, x: np.ndarray, roi: Any = None, scales: Any = None, sizes: Any = None
) -> np.ndarray:
    """Resize-11 and later."""
    mode = call.attr("coordinate_transformation_mode")
    result = x
    for axis, ratio, length, part in steps(call.attr, x.shape, roi, scales, sizes):
        same = ratio[0] == ratio[1] and length == x.shape[axis] and part == (0.0, 1.0)
        if same and mode != "tf_half_pixel_for_nn":
            continue
        result = _axis(call, result, axis, ratio, length, part)
    return _rounded(result, x.dtype)


def steps(
    attr: Callable[..., Any], shape: Sequence[int], roi: Any, scales: Any, sizes: Any
) -> list[tuple[int, Ratio, int, tuple[float, float]]]:
    """For each axis that a Resize names: old length over new, the new length, the part of it."""
    rank = len(shape)
    axes = [a % rank for a in attr("axes") or range(rank)]
    mode = attr("coordinate_transformation_mode")
    parts = [(0.0, 1.0)] * len(axes)
    if mode == "tf_crop_and_resize" and roi is not None and roi.size:
        parts = [
            (float(a), float(b)) for a, b in zip(roi[: len(axes)], roi[len(axes) :], strict=True)
        ]
    dims = [shape[a] for a in axes]
    if sizes is not None and sizes.size:
        policy = attr("keep_aspect_ratio_policy", "stretch")
        wanted = [int(s) for s in sizes]
        lengths = kept_aspect(wanted, dims, policy)
        ratios: list[Ratio] = list(zip(dims, wanted, strict=True))
        if policy != "stretch":
            choose = max if policy == "not_larger" else min
            ratios = [choose(ratios, key=lambda r: r[0] / r[1])] * len(axes)
    else:
        ratios = [(1.0, float(s)) for s in scales]
        lengths = [
            scaled(d, f, end - start)
            for d, (_, f), (start, end) in zip(dims, ratios, parts, strict=True)
        ]
    return list(zip(axes, ratios, lengths, parts, strict=True))


def resize_10(call: Call, x: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Resize-10 and Upsample: x / scale, to the left pixel (the right one where it shrinks)."""
    result = x
    for axis, scale in enumerate(float(s) for s in scales):
        if scale == 1.0:
            continue
        length = scaled(x.shape[axis], scale)
        places = np.arange(length) / scale
        if call.attr("mode") == "nearest":
            places = np.floor(places) if scale > 1 else np.ceil(places)
            result = _take(result, places, axis)
        else:
            result = _weighted(result, places, axis, *_kernel("linear", 1.0, 0.0))
    return _rounded(result, x.dtype)


def upsample(call: Call, x: np.ndarray, scales: Any = None) -> np.ndarray:
    """Upsample-1 to -9."""
    if scales is None:
        scales = call.attr("scales")
    if scales is None:
        scales = (1.0, 1.0, call.attr("height_scale"), call.attr("width_scale"))
    return resize_10(call, x, np.asarray(scales, np.float32))


def _axis(
    call: Call,
    x: np.ndarray,
    axis: int,
    ratio: Ratio,
    length: int,
    part: tuple[float, float],
) -> np.ndarray:
    dim = x.shape[axis]
    mode = call.attr("coordinate_transformation_mode")
    places = coordinates(mode, np.arange(length, dtype=np.float64), dim, length, ratio, part)
    if call.attr("mode") == "nearest":
        result = _take(x, nearest(places, call.attr("nearest_mode")), axis)
    else:
        stretch = min(ratio[1] / ratio[0], 1.0) if call.attr("antialias", 0) else 1.0
        kernel = _kernel(call.attr("mode"), stretch, call.attr("cubic_coeff_a"))
        outside = bool(call.attr("exclude_outside", 0))
        result = _weighted(x, places, axis, *kernel, exclude_outside=outside)
    if mode == "tf_crop_and_resize":
        beyond = (places < 0) | (places > dim - 1)
        if beyond.any():
            at = beyond.reshape(-1, *([1] * (x.ndim - axis - 1)))
            value = np.asarray(call.attr("extrapolation_value"))
            result = np.where(at, value.astype(result.dtype), result)
    return result


def coordinates(
    mode: str,
    places: np.ndarray,
    dim: int,
    length: int,
    ratio: Ratio,
    part: tuple[float, float],
) -> np.ndarray:
    """Where each element of the result lies in the operand, along one axis."""
    start, end = part
    old, new = ratio
    match mode:
        case "half_pixel":
            return (places + 0.5) * old / new - 0.5
        case "half_pixel_symmetric":
            offset = (dim - length * old / new) / 2
            return offset + (places + 0.5) * old / new - 0.5
        case "pytorch_half_pixel":
            return (places + 0.5) * old / new - 0.5 if length > 1 else np.zeros(length)
        case "align_corners":
            # `length_resized` is a whole number, as onnxruntime takes it too; the reference
            # interpreter takes the fraction that a scale yields.
            return places * (dim - 1) / (length - 1) if length > 1 else np.zeros(length)
        case "asymmetric":
            return places * old / new
        case "tf_half_pixel_for_nn":
            return (places + 0.5) * old / new
        case "tf_crop_and_resize":
            if length > 1:
                return start * (dim - 1) + places * (end - start) * (dim - 1) / (length - 1)
            return np.full(length, 0.5 * (start + end) * (dim - 1))
        case _:
            raise UnsupportedError(f"Resize has no coordinate_transformation_mode {mode!r}")


def nearest(places: np.ndarray, mode: str) -> np.ndarray:
    """The pixel that stands for each place."""
    left = np.floor(places)
    rest = places - left
    match mode:
        case "round_prefer_floor":
            return left + (rest > 0.5)
        case "round_prefer_ceil":
            return left + (rest >= 0.5)
        case "floor":
            return left
        case "ceil":
            return left + (rest > 0)
        case _:
            raise UnsupportedError(f"Resize has no nearest_mode {mode!r}")


def _take(x: np.ndarray, places: np.ndarray, axis: int) -> np.ndarray:
    return np.take(x, np.clip(places, 0, x.shape[axis] - 1).astype(np.intp), axis)


def _kernel(mode: str, stretch: float, a: float) -> tuple[str, float, float]:
    if mode not in ("linear", "cubic"):
        raise UnsupportedError(f"Resize has no mode {mode!r}")
    return mode, stretch, a


def _weighted(
    x: np.ndarray,
    places: np.ndarray,
    axis: int,
    mode: str,
    stretch: float,
    a: float,
    *,
    exclude_outside: bool = False,
) -> np.ndarray:
    """Interpolation along an axis; `stretch` below 1 widens the filter (antialias)."""
    indices, weights = filtered(
        places, x.shape[axis], mode, stretch, a, exclude_outside=exclude_outside
    )
    taken = _take(x if x.dtype == np.complex128 else _wide(x), indices, axis)
    shape = [1] * taken.ndim
    shape[axis], shape[axis + 1] = weights.shape
    # A neighbour of weight zero does not count, whatever it is (inf or NaN).
    terms = np.where(weights.reshape(shape) == 0, 0.0, taken * weights.reshape(shape))
    return terms.sum(axis=axis + 1)


def filtered(
    places: np.ndarray, dim: int, mode: str, stretch: float, a: float, *, exclude_outside: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Which elements each place is made of (they may lie outside), and their weights."""
    reach = 1 if mode == "linear" else 2
    first = int(np.floor(-reach / stretch)) + 1
    left = np.ceil(places) - 1
    offsets = np.arange(first, 2 - first)
    distance = np.abs(offsets - (places - left)[:, None]) * stretch
    weights = np.clip(1 - distance, 0, 1) if mode == "linear" else _keys(distance, a)
    indices = left[:, None] + offsets
    if exclude_outside:
        weights = np.where((indices < 0) | (indices >= dim), 0.0, weights)
    if exclude_outside or stretch < 1:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return indices, weights


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64, copy=False)


def _keys(distance: np.ndarray, a: float) -> np.ndarray:
    """Keys' cubic convolution kernel."""
    d, d2, d3 = distance, distance**2, distance**3
    near = (a + 2) * d3 - (a + 3) * d2 + 1
    far = a * d3 - 5 * a * d2 + 8 * a * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _rounded(result: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The result in the operand's dtype.

    Integers round half to even and saturate: the definition leaves it open, and the reference
    interpreter does so.
    """
    if result.dtype == dtype:
        return result
    kind = DType.of(dtype)
    if kind.is_integer:
        info = np.iinfo(dtype)
        return np.clip(np.rint(result), info.min, info.max).astype(dtype)
    return result.astype(dtype)
