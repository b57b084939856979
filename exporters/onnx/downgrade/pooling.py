"""pooling: how the canonical version becomes older ones."""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.opdef import Key
from isomorph.ir.ops._windows import Windows, windows
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import SAME, InexpressibleError, Steps, fits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Attribute, Op, Value
    from isomorph.ir.patch import Patch


def _inexpressible(op: Op, reason: str) -> InexpressibleError:
    return InexpressibleError(reason, f"export at opset {op.version} or newer", op.version)


def _older(op: Op, patch: Patch, version: int, **changes: Attribute) -> None:
    """The same op at an older version; attributes given as `None` are dropped."""
    attributes = {**op.attributes, **changes}
    names = [None if v is None else v.name for v in op.outputs]
    made = patch.op(op.type, op.inputs, attributes, outputs=names, version=version)
    reason = fits(made, version)
    if reason:
        raise _inexpressible(op, reason)
    patch.replace_op(op, made)


def _input(op: Op) -> tuple[Value, TensorType]:
    value = op.inputs[0]
    if value is None or not isinstance(value.type, TensorType):
        raise _inexpressible(op, "the type of its input is not known")
    return value, value.type


def _windows(op: Op) -> Windows:
    def error(message: str) -> Exception:
        return _inexpressible(op, message)

    return windows(op.attr, op.attr("kernel_shape"), error, pooling=True)


def _spatial(kind: TensorType) -> tuple[int, ...] | None:
    shape = (kind.shape or (None, None, None))[2:]
    sizes = tuple(s for s in shape if isinstance(s, int))
    return sizes if len(sizes) == len(shape) else None


def _pads(op: Op, view: Windows, kind: TensorType) -> list[tuple[int, int]]:
    """Explicit padding that makes as many windows without auto_pad and ceil_mode.

    Raises:
        InexpressibleError: where it depends on sizes that are symbolic.
    """
    sizes = _spatial(kind)
    if sizes is None:
        if view.ceil or view.same:
            how = "ceil_mode" if view.ceil else f"auto_pad {view.auto_pad}"
            raise _inexpressible(op, f"{how} depends on spatial sizes that are symbolic: {kind}")
        return list(zip(view.begin, view.end, strict=True))
    padding = view.padding(sizes)
    if not view.ceil:
        return padding
    result: list[tuple[int, int]] = []
    for axis, (size, (begin, _)) in enumerate(zip(sizes, padding, strict=True)):
        count, extent = view.count(axis, size), view.extent(axis)
        last = (int(count or 0) - 1) * view.strides[axis] + int(extent or 0)
        result.append((begin, max(0, last - size - begin)))
    return result


def _attributes(view: Windows, pads: Sequence[tuple[int, int]]) -> dict[str, Attribute]:
    return {
        "kernel_shape": view.kernel,
        "strides": view.strides,
        "pads": (*(b for b, _ in pads), *(e for _, e in pads)),
    }


def _sum_of_windows(
    op: Op, patch: Patch, value: Value, view: Windows, pads: Sequence[tuple[int, int]]
) -> Value:
    """A convolution of every channel with ones: nothing is multiplied by anything else."""
    _, kind = _input(op)
    channels = kind.shape[1] if kind.shape is not None else None
    if not isinstance(channels, int):
        raise _inexpressible(op, f"dilations need a known number of channels, not {kind}")
    taps = tuple(int(k or 0) for k in view.kernel)
    dtype = value.type.dtype.numpy if isinstance(value.type, TensorType) else np.float32
    ones = patch.weight(np.ones((channels, 1, *taps), dtype), "ones")
    attributes = {**_attributes(view, pads), "dilations": view.dilations, "group": channels}
    return patch.op("Conv", [value, ones], attributes, types=[value_type(op, value)]).output


def value_type(op: Op, like: Value) -> TensorType | None:
    """The op's result type with another value's element type."""
    kind = op.output.type
    if not isinstance(kind, TensorType) or not isinstance(like.type, TensorType):
        return None
    return TensorType(like.type.dtype, kind.shape)


def _cast(patch: Patch, value: Value, dtype: DType) -> Value:
    if not isinstance(value.type, TensorType) or value.type.dtype is dtype:
        return value
    kind = TensorType(dtype, value.type.shape)
    return patch.op("Cast", [value], {"to": dtype.value}, types=[kind]).output


def _replace(op: Op, patch: Patch, found: Value, dtype: DType) -> None:
    patch.replace(op.output, _cast(patch, found, dtype))
    patch.remove(op)


def _wide(dtype: DType) -> DType:
    """In what a sum is computed, so that it is rounded once."""
    return DType.FLOAT32 if dtype.bits < 32 else dtype


def _dilated(op: Op) -> bool:
    return any(d != 1 for d in op.attr("dilations", ()) or ())


def _average_pool_19(op: Op, patch: Patch) -> None:
    """Without dilations it is version 11; with them, sums by convolution over window sizes."""
    if not _dilated(op):
        _older(op, patch, 11, dilations=None)
        return
    value, kind = _input(op)
    view, wide = _windows(op), _wide(kind.dtype)
    pads = _pads(op, view, kind)
    size = _window_sizes(op, view, kind)
    total = _sum_of_windows(op, patch, _cast(patch, value, wide), view, pads)
    divisor = patch.weight(size.astype(wide.numpy), "window_size")
    mean = patch.op("Div", [total, divisor], types=[total.type]).output
    _replace(op, patch, mean, kind.dtype)


def _window_sizes(op: Op, view: Windows, kind: TensorType) -> np.ndarray:
    """How many elements each window averages over: a number, or one for each window."""
    taps, sizes = [int(k or 0) for k in view.kernel], _spatial(kind)
    with_padding = bool(op.attr("count_include_pad", 0))
    if sizes is None:
        if not with_padding and any((*view.begin, *view.end)):
            raise _inexpressible(
                op, f"how much padding a window sees depends on sizes that are symbolic: {kind}"
            )
        return np.array(prod(taps))
    counted: list[np.ndarray] = []
    for axis, (size, (begin, end)) in enumerate(zip(sizes, view.padding(sizes), strict=True)):
        starts = np.arange(int(view.count(axis, size) or 0)) * view.strides[axis] - begin
        places = starts[:, None] + np.arange(taps[axis]) * view.dilations[axis]
        low, high = (-begin, size + end) if with_padding else (0, size)
        counted.append(((places >= low) & (places < high)).sum(1))
    found = reduce(np.multiply.outer, counted)
    return found if (found != found.flat[0]).any() else found.flat[0]


def _lp_pool_18(op: Op, patch: Patch) -> None:
    """ceil_mode becomes padding, which adds nothing to a norm; dilations a convolution."""
    if not _dilated(op) and not op.attr("ceil_mode", 0):
        _older(op, patch, 11, dilations=None, ceil_mode=None)
        return
    value, kind = _input(op)
    view, wide = _windows(op), _wide(kind.dtype)
    pads = _pads(op, view, kind)
    if not _dilated(op):
        attributes = _attributes(view, pads)
        _older(op, patch, 11, dilations=None, ceil_mode=None, auto_pad=None, **attributes)
        return
    p = op.attr("p", 2)
    powers = _power(patch, _cast(patch, value, wide), p, wide)
    total = _sum_of_windows(op, patch, powers, view, pads)
    if p == 2:
        total = patch.op("Sqrt", [total], types=[total.type]).output
    elif p != 1:
        root = patch.weight(np.array(1 / p, wide.numpy), "root")
        total = patch.op("Pow", [total, root], types=[total.type]).output
    _replace(op, patch, total, kind.dtype)


def _power(patch: Patch, value: Value, p: int, dtype: DType) -> Value:
    if p == 2:
        return patch.op("Mul", [value, value], types=[value.type]).output
    found = patch.op("Abs", [value], types=[value.type]).output
    if p == 1:
        return found
    exponent = patch.weight(np.array(p, dtype.numpy), "power")
    return patch.op("Pow", [found, exponent], types=[value.type]).output


def _max_pool_12(op: Op, patch: Patch) -> None:
    """Version 11 lacks 8-bit integers: float32 holds them exactly."""
    value, kind = _input(op)
    if not kind.dtype.is_integer:
        _older(op, patch, 11)
        return
    names = [None if v is None else v.name for v in op.outputs]
    inner = _cast(patch, value, DType.FLOAT32)
    made = patch.op("MaxPool", [inner], op.attributes, outputs=names, version=11)
    if made.outputs[0] is not None:
        made.outputs[0].type = value_type(op, inner)
        patch.replace(op.output, _cast(patch, made.outputs[0], kind.dtype))
    if len(op.outputs) > 1 and op.outputs[1] is not None and made.outputs[1] is not None:
        made.outputs[1].type = op.outputs[1].type
        patch.replace(op.outputs[1], made.outputs[1])
    patch.remove(op)


def _roi_align_16(op: Op, patch: Patch) -> None:
    mode = op.attr("coordinate_transformation_mode")
    if mode != "output_half_pixel":
        raise _inexpressible(
            op, f"RoiAlign-10 has no coordinate_transformation_mode, which is {mode!r} here"
        )
    _older(op, patch, 10, coordinate_transformation_mode=None)


DOWNGRADES: dict[Key, Steps] = {
    ("", "MaxPool"): {22: SAME, 12: _max_pool_12},
    ("", "AveragePool"): {22: SAME, 19: _average_pool_19},
    ("", "LpPool"): {22: SAME, 18: _lp_pool_18},
    ("", "GlobalMaxPool"): {22: SAME},
    ("", "GlobalAveragePool"): {22: SAME},
    ("", "GlobalLpPool"): {22: SAME},
    ("", "MaxUnpool"): {22: SAME},
    ("", "MaxRoiPool"): {22: SAME},
    ("", "RoiAlign"): {22: SAME, 16: _roi_align_16},
}
