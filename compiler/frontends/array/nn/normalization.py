"""Normalizations. `epsilon` is added to the variance."""

from __future__ import annotations

from typing import Any

from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.operators import op


def batch_norm(x: Any, scale: Any, bias: Any, mean: Any, var: Any, *, epsilon: float = 1e-5) -> Any:
    """By the running statistics: x[N, C, …]; scale, bias, mean, var[C] → the shape of x.

    Source: ONNX BatchNormalization.
    """
    return op("BatchNormalization", x, scale, bias, mean, var, epsilon=epsilon)


def layer_norm(
    x: Any, scale: Any, bias: Any = None, *, axis: int = -1, epsilon: float = 1e-5
) -> Any:
    """Over `axis` and all after it; scale and bias have the shape of those → the shape of x.

    Source: ONNX LayerNormalization.
    """
    operands = (x, scale) if bias is None else (x, scale, bias)
    return op("LayerNormalization", *operands, axis=axis, epsilon=epsilon)


def rms_norm(x: Any, scale: Any, *, axis: int = -1, epsilon: float = 1e-5) -> Any:
    """Divided by the root mean square over `axis` and all after it → the shape of x.

    Source: ONNX RMSNormalization.
    """
    return op("RMSNormalization", x, scale, axis=axis, epsilon=epsilon)


def group_norm(x: Any, scale: Any, bias: Any, *, groups: int, epsilon: float = 1e-5) -> Any:
    """Over each of `groups` groups of channels: x[N, C, …]; scale, bias[C] → the shape of x.

    Source: ONNX GroupNormalization.
    """
    channels = x.shape[1]
    if isinstance(channels, int) and channels % groups:
        raise TraceError(f"{channels} channels do not make {groups} groups")
    return op("GroupNormalization", x, scale, bias, num_groups=groups, epsilon=epsilon)


def instance_norm(x: Any, scale: Any, bias: Any, *, epsilon: float = 1e-5) -> Any:
    """Over the spatial axes: x[N, C, …]; scale, bias[C] → the shape of x.

    Source: ONNX InstanceNormalization.
    """
    return op("InstanceNormalization", x, scale, bias, epsilon=epsilon)
