"""Pooling over regions of interest: MaxRoiPool and RoiAlign."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics._accumulate import accumulate

if TYPE_CHECKING:
    import numpy.typing as npt

    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]


def max_roi_pool(call: Call, x: Array, rois: Array) -> Array:
    """Fast R-CNN's pooling.

    Corners are rounded, halves away from zero, and belong to the region; bins cover it without
    gaps; an empty bin is 0.
    """
    pooled, scale = [int(n) for n in call.attr("pooled_shape")], call.attr("spatial_scale", 1.0)
    sizes = x.shape[2:]
    result = np.zeros((len(rois), x.shape[1], *pooled), x.dtype)
    for n, roi in enumerate(accumulate(rois)):
        scaled = roi[1:] * roi.dtype.type(scale)
        left, top, right, bottom = (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(int)
        starts, ends = (top, left), (bottom, right)
        spans = [max(1, end - start + 1) for start, end in zip(starts, ends, strict=True)]
        for bin_ in np.ndindex(*pooled):
            at = [
                slice(
                    min(max(b * span // count + start, 0), size),
                    min(max(-(-(b + 1) * span // count) + start, 0), size),
                )
                for b, span, count, start, size in zip(
                    bin_, spans, pooled, starts, sizes, strict=True
                )
            ]
            seen = x[int(roi[0])][(slice(None), *at)]
            if seen.size:
                result[(n, slice(None), *bin_)] = seen.max((1, 2))
    return result


def roi_align(call: Call, x: Array, rois: Array, batch: Array) -> Array:
    """Mask R-CNN's alignment, sampled bilinearly.

    With mode `max`, the largest of the weighted corners of every sample counts, as the standard's
    node tests and run times have it.
    """
    height, width = call.attr("output_height", 1), call.attr("output_width", 1)
    scale, ratio = call.attr("spatial_scale", 1.0), call.attr("sampling_ratio", 0)
    mode = call.attr("coordinate_transformation_mode", "output_half_pixel")
    wide = accumulate(x)
    result = np.zeros((len(rois), x.shape[1], height, width), wide.dtype)
    shift = wide.dtype.type(0.5 if mode == "half_pixel" else 0.0)
    corners = accumulate(rois) * wide.dtype.type(scale) - shift
    for n, (left, top, right, bottom) in enumerate(corners):
        spans = [bottom - top, right - left]
        if mode != "half_pixel":
            spans = [max(span, wide.dtype.type(1)) for span in spans]
        axes = [
            _samples(start, span, bins, ratio, size)
            for start, span, bins, size in zip(
                (top, left), spans, (height, width), x.shape[2:], strict=True
            )
        ]
        image = wide[int(batch[n])]
        (rows, row_weights), (columns, column_weights) = axes
        read = image[:, rows[..., None, None, None], columns[None, None, None]]
        seen = read * row_weights[..., None, None, None] * column_weights[None, None, None]
        if not seen.size:
            continue
        # seen: (channels, bins, samples, corners) along the rows, then along the columns
        if call.attr("mode", "avg") == "avg":
            result[n] = seen.sum((3, 6)).sum((2, 4)) / (rows.shape[1] * columns.shape[1])
        else:
            result[n] = seen.max((2, 3, 5, 6))
    return result.astype(x.dtype, copy=False)


def _samples(start: Any, span: Any, bins: int, ratio: int, size: int) -> tuple[Array, Array]:
    """Along one axis: the two neighbours of each sample of each bin, and their weights."""
    count = ratio if ratio > 0 else max(0, ceil(span / bins))
    step = span / bins
    places = (
        start + np.arange(bins)[:, None] * step + (np.arange(count) + 0.5) * step / max(1, count)
    )
    outside = (places < -1) | (places > size)
    places = np.clip(places, 0, size - 1)
    low = np.minimum(places.astype(np.int64), max(0, size - 1))
    high = np.minimum(low + 1, size - 1)
    part = places - low
    weights = np.stack([1 - part, part], -1)
    weights[outside] = 0
    return np.stack([low, high], -1), weights.astype(np.asarray(start).dtype)
