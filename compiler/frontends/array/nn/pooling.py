"""Pools over any number of spatial axes, channels second."""

from __future__ import annotations

from typing import Any

from isomorph.frontends.array.nn._windows import Sizes, padding, per_axis
from isomorph.frontends.array.operators import op


def max_pool(
    x: Any,
    kernel: Sizes,
    *,
    strides: Sizes | None = None,
    pads: Sizes | str = 0,
    dilations: Sizes = 1,
    ceil: bool = False,
) -> Any:
    """The largest element of each window: x[N, C, …] → [N, C, …].

    `strides` is the kernel by default; `ceil` keeps a last, partial window.
    Source: ONNX MaxPool.
    """
    rank = len(x.shape) - 2
    return op(
        "MaxPool",
        x,
        kernel_shape=per_axis(kernel, rank, "kernel"),
        strides=per_axis(kernel if strides is None else strides, rank, "strides"),
        dilations=per_axis(dilations, rank, "dilations"),
        ceil_mode=int(ceil),
        **padding(pads, rank),
    )


def avg_pool(
    x: Any,
    kernel: Sizes,
    *,
    strides: Sizes | None = None,
    pads: Sizes | str = 0,
    dilations: Sizes = 1,
    ceil: bool = False,
    count_pads: bool = False,
) -> Any:
    """The mean of each window: x[N, C, …] → [N, C, …].

    `count_pads` lets padding count as zeros (torch's default). Source: ONNX AveragePool.
    """
    rank = len(x.shape) - 2
    return op(
        "AveragePool",
        x,
        kernel_shape=per_axis(kernel, rank, "kernel"),
        strides=per_axis(kernel if strides is None else strides, rank, "strides"),
        dilations=per_axis(dilations, rank, "dilations"),
        ceil_mode=int(ceil),
        count_include_pad=int(count_pads),
        **padding(pads, rank),
    )


def global_avg_pool(x: Any) -> Any:
    """The mean over all spatial axes: x[N, C, …] → [N, C, 1…]. Source: ONNX GlobalAveragePool."""
    return op("GlobalAveragePool", x)


def global_max_pool(x: Any) -> Any:
    """The largest over all spatial axes: x[N, C, …] → [N, C, 1…]. Source: ONNX GlobalMaxPool."""
    return op("GlobalMaxPool", x)
