"""Resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value


def upsampled(mode: str) -> Rule:
    """upsample_*.vec: (x, output_size, [align_corners], scale_factors)."""

    def rule(ctx: Context, x: Value, output_size: Any, *rest: Any) -> Value:
        *corners, scales = rest or (None,)
        return _resized(ctx, x, mode, scales, aligned=bool(corners and corners[0]))

    return rule


def upsampled_default(mode: str) -> Rule:
    """upsample_*.default: (x, output_size, [align_corners], one scale per axis)."""

    def rule(ctx: Context, x: Value, output_size: Any, *rest: Any, **kwargs: Any) -> Value:
        spatial = ctx.rank(x) - 2
        plain = list(rest)
        corners = mode != "nearest" and bool(plain and plain.pop(0))
        scales = plain[:spatial] if len(plain) >= spatial and all(plain[:spatial]) else None
        return _resized(ctx, x, mode, scales, aligned=corners)

    return rule


def _resized(ctx: Context, x: Value, mode: str, scales: Any, *, aligned: bool) -> Value:
    place = "align_corners" if aligned else "half_pixel"
    attributes: dict[str, Any] = {"mode": mode}
    if mode == "nearest":
        place = "asymmetric"
        attributes["nearest_mode"] = "floor"
    elif mode == "cubic":
        attributes["cubic_coeff_a"] = -0.75
    attributes["coordinate_transformation_mode"] = place
    if scales is not None and not aligned:
        factors = ctx.const(np.array([1.0, 1.0, *scales]), DType.FLOAT32)
        return ctx("Resize", x, None, factors, **attributes)
    sizes = ctx.ints(*ctx.result_shape)
    return ctx("Resize", x, None, None, sizes, **attributes)


_MODES = {
    "bicubic2d": "cubic",
    "bilinear2d": "linear",
    "linear1d": "linear",
    "nearest1d": "nearest",
    "nearest2d": "nearest",
    "nearest3d": "nearest",
    "trilinear3d": "linear",
}

ATEN: dict[str, Rule] = {
    **{f"aten.upsample_{name}.vec": upsampled(mode) for name, mode in _MODES.items()},
    **{f"aten.upsample_{name}.default": upsampled_default(mode) for name, mode in _MODES.items()},
}
