"""Shape rule of Resize, and the arithmetic of its sizes that semantics shares."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.dims import Dim, floor_div
from isomorph.ir.ops._reshape import Types, tensor, unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.context import Context

SIMPLE = 64
"""Scales with denominators up to this give exact symbolic sizes: their float32 products round
only for dims beyond 2**24 / 64."""


def scaled(dim: int, scale: float, part: float = 1.0) -> int:
    """floor(dim * part * scale), multiplied in float32 as the operator's own inference does."""
    length = np.float32(dim) * np.float32(scale) if part == 1.0 else dim * part * scale
    return floor(length)


def kept_aspect(sizes: Sequence[int], dims: Sequence[int], policy: str) -> list[int]:
    """Sizes after `keep_aspect_ratio_policy`, rounding halves up."""
    if policy == "stretch":
        return list(sizes)
    ratios = [Fraction(s, d) for s, d in zip(sizes, dims, strict=True)]
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [floor(ratio * d + Fraction(1, 2)) for d in dims]


def resize(ctx: Context) -> Types:
    shape = ctx.shape(0)
    if shape is None:
        return tensor(ctx, None)
    given = ctx.attr("axes")
    axes = list(range(len(shape))) if given is None else [ctx.axis(a, len(shape)) for a in given]
    result = list(shape)
    if _present(ctx, 3):
        sizes = ctx.dims(3) or unknown(len(axes))
        _check_count(ctx, "sizes", len(sizes), len(axes))
        policy = ctx.attr("keep_aspect_ratio_policy", "stretch")
        if policy != "stretch":
            wanted = [s for s in sizes if isinstance(s, int)]
            known = [d for d in (shape[a] for a in axes) if isinstance(d, int)]
            fixed = len(wanted) == len(known) == len(axes) and 0 not in known
            sizes = tuple(kept_aspect(wanted, known, policy)) if fixed else unknown(len(axes))
        for axis, size in zip(axes, sizes, strict=True):
            result[axis] = size
        return tensor(ctx, tuple(result))
    scales, parts = ctx.array(2), _parts(ctx, len(axes))
    if scales is not None:
        _check_count(ctx, "scales", scales.size, len(axes))
        if not bool(((scales > 0) & np.isfinite(scales)).all()):
            raise ctx.error(f"scales {scales.tolist()}: positive numbers are expected")
    for position, axis in enumerate(axes):
        if scales is None or parts is None:
            result[axis] = None
        else:
            result[axis] = _scaled_dim(
                shape[axis], float(scales.reshape(-1)[position]), parts[position]
            )
    return tensor(ctx, tuple(result))


def _check_count(ctx: Context, name: str, found: int, wanted: int) -> None:
    if found != wanted:
        raise ctx.error(f"{found} {name} were given, {wanted} are expected")


def _present(ctx: Context, index: int) -> bool:
    """Whether an operand is there and not the empty tensor, which also means absent."""
    return ctx.has(index) and ctx.shape(index) != (0,)


def _parts(ctx: Context, count: int) -> list[float] | None:
    """Extent of the region of interest along each axis; `None` when not constant."""
    if ctx.attr("coordinate_transformation_mode") != "tf_crop_and_resize":
        return [1.0] * count
    if not _present(ctx, 1):
        return [1.0] * count
    roi = ctx.array(1)
    if roi is None:
        return None
    _check_count(ctx, "roi", roi.size, 2 * count)
    ends = roi.reshape(-1)
    return [float(b) - float(a) for a, b in zip(ends[:count], ends[count:], strict=True)]


def _scaled_dim(dim: Dim, scale: float, part: float) -> Dim:
    if dim is None or isinstance(dim, int):
        return None if dim is None else scaled(dim, scale, part)
    exact = Fraction(scale).limit_denominator(SIMPLE)
    if part != 1.0 or exact != Fraction(scale):
        return None
    return floor_div(dim * exact.numerator, exact.denominator)
