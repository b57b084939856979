"""Resize in older versions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.build import Build, restate
from isomorph.ir.constants import integers, numbers
from isomorph.ir.ops._resize import kept_aspect
from isomorph.ir.types import TensorType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch


def resize_19(op: Op, patch: Patch) -> None:
    """`half_pixel_symmetric` is `half_pixel` where the scaled sizes are whole numbers."""
    attributes = dict(op.attributes)
    if op.attr("coordinate_transformation_mode") == "half_pixel_symmetric":
        if not _whole(op):
            raise InexpressibleError(
                "Resize-18 has no half_pixel_symmetric, which differs from half_pixel here: "
                "a scaled size is, or may be, no whole number",
                "give sizes instead of scales, or export at opset 19 or newer",
                19,
            )
        attributes["coordinate_transformation_mode"] = "half_pixel"
    restate(op, patch, 18, None, attributes)


def _whole(op: Op) -> bool:
    if op.input(3) is not None:
        return op.attr("keep_aspect_ratio_policy") == "stretch" or _exact_sizes(op) is not None
    scales = numbers(op.input(2))
    if scales is None:
        return False
    products = zip(_resized(op), (Fraction(float(s)) for s in scales), strict=True)
    return all(
        s.denominator == 1 or (isinstance(d, int) and (s * d).denominator == 1) for d, s in products
    )


def _axes(op: Op) -> Sequence[int] | None:
    """Axes that are resized; `None` when the rank is not known."""
    data = op.inputs[0]
    rank = data.type.rank if data is not None and isinstance(data.type, TensorType) else None
    given = op.attr("axes")
    if rank is None:
        return None
    return range(rank) if given is None else [a % rank for a in given]


def _resized(op: Op) -> list[Dim]:
    """Dims of the operand along the resized axes."""
    axes, data = _axes(op), op.inputs[0]
    shape = data.type.shape if data is not None and isinstance(data.type, TensorType) else None
    if shape is None or axes is None:
        raise InexpressibleError("the rank of Resize's operand is not known")
    return [shape[a] for a in axes]


def _exact_sizes(op: Op) -> list[int] | None:
    """Sizes that keep the aspect exactly; `None` where rounding makes scale and sizes differ."""
    sizes, dims = integers(op.input(3)), _resized(op)
    if sizes is None or not all(isinstance(d, int) and d > 0 for d in dims):
        return None
    known = [d for d in dims if isinstance(d, int)]
    kept = kept_aspect(sizes, known, op.attr("keep_aspect_ratio_policy"))
    ratios = {Fraction(k, d) for k, d in zip(kept, known, strict=True)}
    return kept if len(ratios) == 1 else None


def resize_18(op: Op, patch: Patch) -> None:
    """Axes, the aspect's policy and antialiasing go."""
    build = Build(op, patch)
    data, roi, scales, sizes = (op.input(i) for i in range(4))
    if op.attr("antialias") and op.attr("mode") != "nearest" and _may_shrink(op):
        raise InexpressibleError("Resize-13 does not antialias", "export at opset 18 or newer", 18)
    if sizes is not None and op.attr("keep_aspect_ratio_policy") != "stretch":
        kept = _exact_sizes(op)
        if kept is None:
            raise InexpressibleError(
                "Resize-13 does not keep the aspect, and here its sizes are rounded or unknown",
                "give the sizes that result, or export at opset 18 or newer",
                18,
            )
        sizes = build.ints(*kept)
    if op.attr("axes") is not None:
        axes, rank = _axes(op), build.rank()
        places = build.ints(*(axes or ()))
        if roi is not None:
            kind = build.dtype(1)
            none = build.const([0] * rank + [1] * rank, kind)
            both = build.ints(*(axes or ()), *(a + rank for a in axes or ()))
            roi = build("ScatterElements", none, both, roi)
        if sizes is not None:
            sizes = build("ScatterElements", build("Shape", data), places, sizes)
        elif scales is not None:
            fixed = numbers(scales)
            if fixed is None:
                ones = patch.weight(np.ones(rank, np.float32))
                scales = build("ScatterElements", ones, places, scales)
            else:
                full = np.ones(rank, np.float32)
                full[list(axes or ())] = fixed
                scales = patch.weight(full)
    gone = ("antialias", "axes", "keep_aspect_ratio_policy")
    attributes = {k: v for k, v in op.attributes.items() if k not in gone}
    restate(op, patch, 13, (data, roi, scales, sizes), attributes)


def _may_shrink(op: Op) -> bool:
    scales, sizes = numbers(op.input(2)), integers(op.input(3))
    if op.input(3) is None:
        return scales is None or bool((scales < 1).any())
    if sizes is None:
        return True
    if op.attr("keep_aspect_ratio_policy") != "stretch":
        return True
    return not all(isinstance(d, int) and s >= d for d, s in zip(_resized(op), sizes, strict=True))


def resize_13(op: Op, patch: Patch) -> None:
    """Absent operands become empty tensors."""
    data, roi, scales, sizes = (op.input(i) for i in range(4))

    def given(value: Value | None) -> Value:
        return patch.weight(np.zeros(0, np.float32)) if value is None else value

    restate(op, patch, 11, (data, given(roi), given(scales), sizes), op.attributes)
