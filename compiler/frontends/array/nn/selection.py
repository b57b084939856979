"""Padding, resizing, and selection by index or size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.operators import op

if TYPE_CHECKING:
    from collections.abc import Sequence


def pad(
    x: Any,
    pads: Sequence[Any],
    *,
    mode: str = "constant",
    value: Any = 0,
    axes: Sequence[int] | None = None,
) -> Any:
    """All begins, then all ends, of every axis or of `axes`; mode constant, edge, reflect or wrap.

    Source: ONNX Pad.
    """
    fill = value if mode == "constant" else None
    if axes is not None:
        return op("Pad", x, list(pads), fill, list(axes), mode=mode)
    return op("Pad", x, list(pads), *(() if fill is None else (fill,)), mode=mode)


def resize(
    x: Any,
    *,
    sizes: Sequence[Any] | None = None,
    scales: Sequence[float] | None = None,
    mode: str = "nearest",
    coordinates: str = "half_pixel",
    rounding: str = "round_prefer_floor",
    cubic_coeff_a: float = -0.75,
    antialias: bool = False,
) -> Any:
    """The spatial axes resampled, to `sizes` or by `scales`: x[N, C, …] → [N, C, …].

    `mode`: nearest, linear or cubic; `coordinates` and `rounding` as ONNX names them.
    Source: ONNX Resize.
    """
    rank = len(x.shape) - 2
    given = [s for s in (sizes, scales) if s is not None]
    if len(given) != 1 or len(given[0]) != rank:
        raise TraceError(f"resize needs sizes or scales: a number for each of {rank} spatial axes")
    operands = (x, None, list(scales)) if scales is not None else (x, None, None, list(sizes or ()))
    return op(
        "Resize",
        *operands,
        mode=mode,
        axes=tuple(range(2, rank + 2)),
        coordinate_transformation_mode=coordinates,
        nearest_mode=rounding,
        cubic_coeff_a=cubic_coeff_a,
        antialias=int(antialias),
    )


def one_hot(indices: Any, depth: Any, *, axis: int = -1, dtype: Any = np.float32) -> Any:
    """1 at each index, 0 elsewhere: indices[…] → […, depth]; indices out of range give zeros.

    Source: ONNX OneHot.
    """
    return op("OneHot", indices, depth, np.array([0, 1], dtype), axis=axis)


def topk(x: Any, k: Any, axis: int = -1, *, largest: bool = True) -> tuple[Any, Any]:
    """The k largest (or smallest) along an axis, in order, and their indices; ties keep order.

    Source: ONNX TopK.
    """
    return op("TopK", x, [k], axis=axis, largest=int(largest), sorted=1, outputs=2)


def scatter(
    x: Any, indices: Any, updates: Any, *, axis: int | None = None, reduction: str = "none"
) -> Any:
    """A copy of x with `updates` at `indices`.

    With `axis`: indices and updates of one shape, each index a place along that axis (ONNX
    ScatterElements). Without: indices[…, k] hold places along the first k axes (ONNX ScatterND).
    `reduction`: none, add, mul, max or min.
    """
    if axis is None:
        return op("ScatterND", x, indices, updates, reduction=reduction)
    return op("ScatterElements", x, indices, updates, axis=axis, reduction=reduction)


def depth_to_space(x: Any, blocksize: int, *, mode: str = "DCR") -> Any:
    """x[N, C·b², H, W] → [N, C, H·b, W·b]; mode "CRD" is torch's pixel_shuffle.

    Source: ONNX DepthToSpace.
    """
    return op("DepthToSpace", x, blocksize=blocksize, mode=mode)


def space_to_depth(x: Any, blocksize: int) -> Any:
    """x[N, C, H·b, W·b] → [N, C·b², H, W]. Source: ONNX SpaceToDepth."""
    return op("SpaceToDepth", x, blocksize=blocksize)
