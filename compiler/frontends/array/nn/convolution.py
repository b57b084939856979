"""Convolutions of any number of spatial axes, channels second."""

from __future__ import annotations

from typing import Any

from isomorph.frontends.array.nn._windows import Sizes, padding, per_axis
from isomorph.frontends.array.operators import op


def conv(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    strides: Sizes = 1,
    pads: Sizes | str = 0,
    dilations: Sizes = 1,
    groups: int = 1,
) -> Any:
    """Convolution: x[N, C, …], w[M, C/groups, k…], b[M] → [N, M, …].

    `pads`: a number, one per spatial axis, all begins then all ends, or "same" / "valid".
    Source: ONNX Conv.
    """
    rank = len(w.shape) - 2
    return op(
        "Conv",
        x,
        w,
        *(() if b is None else (b,)),
        strides=per_axis(strides, rank, "strides"),
        dilations=per_axis(dilations, rank, "dilations"),
        group=groups,
        kernel_shape=tuple(w.shape[2:]),
        **padding(pads, rank),
    )


def conv_transpose(
    x: Any,
    w: Any,
    b: Any = None,
    *,
    strides: Sizes = 1,
    pads: Sizes | str = 0,
    output_padding: Sizes = 0,
    dilations: Sizes = 1,
    groups: int = 1,
) -> Any:
    """Transposed convolution: x[N, C, …], w[C, M/groups, k…], b[M] → [N, M, …].

    Source: ONNX ConvTranspose.
    """
    rank = len(w.shape) - 2
    return op(
        "ConvTranspose",
        x,
        w,
        *(() if b is None else (b,)),
        strides=per_axis(strides, rank, "strides"),
        dilations=per_axis(dilations, rank, "dilations"),
        output_padding=per_axis(output_padding, rank, "output_padding"),
        group=groups,
        kernel_shape=tuple(w.shape[2:]),
        **padding(pads, rank),
    )
