"""pooling: how the canonical version becomes older ones."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.build import Build, restate
from isomorph.ir.ops._windows import Windows, numbers, windows
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import SAME, InexpressibleError, Steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Attribute, Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch


def _inexpressible(op: Op, reason: str) -> InexpressibleError:
    return InexpressibleError(reason, f"export at opset {op.version} or newer", op.version)


def _older(op: Op, patch: Patch, version: int, **changes: Attribute) -> None:
    """The same op at an older version; attributes given as `None` are dropped."""
    restate(op, patch, version, attributes={**op.attributes, **changes})


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
        count, extent = numbers(view.count(axis, size), view.extent(axis))
        last = (count - 1) * view.strides[axis] + extent
        result.append((begin, max(0, last - size - begin)))
    return result


def _attributes(view: Windows, pads: Sequence[tuple[int, int]]) -> dict[str, Attribute]:
    return {
        "kernel_shape": view.kernel,
        "strides": view.strides,
        "pads": (*(b for b, _ in pads), *(e for _, e in pads)),
    }


def _sum_of_windows(
    build: Build, value: Value, view: Windows, pads: Sequence[tuple[int, int]], dtype: DType
) -> Value:
    """A convolution of every channel with ones: nothing is multiplied by anything else."""
    _, kind = _input(build.old)
    channels = kind.shape[1] if kind.shape is not None else None
    if not isinstance(channels, int):
        raise _inexpressible(build.old, f"dilations need a known number of channels, not {kind}")
    ones = build.const(np.ones((channels, 1, *numbers(*view.kernel))), dtype)
    attributes = {**_attributes(view, pads), "dilations": view.dilations, "group": channels}
    return build("Conv", value, ones, **attributes)


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
    build, view, wide = Build(op, patch), _windows(op), _wide(kind.dtype)
    pads = _pads(op, view, kind)
    size = build.const(_window_sizes(op, view, kind), wide)
    total = _sum_of_windows(build, build.cast(value, wide), view, pads, wide)
    build.done(build.cast(build("Div", total, size), kind.dtype))


def _window_sizes(op: Op, view: Windows, kind: TensorType) -> np.ndarray:
    """How many elements each window averages over: a number, or one for each window."""
    taps, sizes = numbers(*view.kernel), _spatial(kind)
    with_padding = bool(op.attr("count_include_pad", 0))
    if sizes is None:
        if not with_padding and any((*view.begin, *view.end)):
            raise _inexpressible(
                op, f"how much padding a window sees depends on sizes that are symbolic: {kind}"
            )
        return np.array(prod(taps))
    counted: list[np.ndarray] = []
    counts = numbers(*view.counts(sizes))
    for axis, (size, (begin, end)) in enumerate(zip(sizes, view.padding(sizes), strict=True)):
        starts = np.arange(counts[axis]) * view.strides[axis] - begin
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
    build, p = Build(op, patch), op.attr("p", 2)
    wider = build.cast(value, wide)
    if p == 2:
        powers = build("Mul", wider, wider)
    else:
        powers = build("Abs", wider)
        powers = powers if p == 1 else build("Pow", powers, build.const(p, wide))
    total = _sum_of_windows(build, powers, view, pads, wide)
    if p != 1:
        total = build("Sqrt", total) if p == 2 else build("Pow", total, build.exact(1 / p, wide))
    build.done(build.cast(total, kind.dtype))


def _max_pool_12(op: Op, patch: Patch) -> None:
    """Version 11 lacks 8-bit integers: float32 holds them exactly."""
    value, kind = _input(op)
    if not kind.dtype.is_integer:
        _older(op, patch, 11)
        return
    build = Build(op, patch)
    inner = build.cast(value, DType.FLOAT32)
    found, *indices = build.op("MaxPool", [inner], op.attributes, outputs=len(op.outputs))
    build.done(build.cast(found, kind.dtype), *indices)


def _settled(op: Op, patch: Patch) -> None:
    """Say without ceil_mode which windows there are, where older texts would count more.

    Version 22 drops those that would start in the padding at the end. Run times always did, but
    type inference by the older texts counts them.
    """
    changes: dict[str, Attribute] = {}
    kind = op.inputs[0].type if op.inputs[0] is not None else None
    sizes = _spatial(kind) if isinstance(kind, TensorType) else None
    view = _windows(op)
    if view.ceil and not view.same and sizes is not None:
        counts = numbers(*view.counts(sizes))
        floor = numbers(*replace(view, ceil=False).counts(sizes))
        dropped = any(n < _undropped(view, axis, sizes[axis]) for axis, n in enumerate(counts))
        if dropped and counts == floor:
            changes = {"ceil_mode": 0}
        elif dropped and not op.attr("count_include_pad", 0):
            pads = _pads(op, view, TensorType(DType.FLOAT32, (1, 1, *sizes)))
            changes = {**_attributes(view, pads), "ceil_mode": 0, "auto_pad": None}
    _older(op, patch, OLDER[op.type], **changes)


OLDER = {"MaxPool": 12, "AveragePool": 19, "LpPool": 18}


def _undropped(view: Windows, axis: int, size: int) -> int:
    (extent,) = numbers(view.extent(axis))
    span = size + view.begin[axis] + view.end[axis] - extent
    return -(-span // view.strides[axis]) + 1


def _roi_align_16(op: Op, patch: Patch) -> None:
    mode = op.attr("coordinate_transformation_mode")
    if mode != "output_half_pixel":
        raise _inexpressible(
            op, f"RoiAlign-10 has no coordinate_transformation_mode, which is {mode!r} here"
        )
    _older(op, patch, 10, coordinate_transformation_mode=None)


DOWNGRADES: dict[Key, Steps] = {
    ("", "MaxPool"): {22: _settled, 12: _max_pool_12},
    ("", "AveragePool"): {22: _settled, 19: _average_pool_19},
    ("", "LpPool"): {22: _settled, 18: _lp_pool_18},
    ("", "GlobalMaxPool"): {22: SAME},
    ("", "GlobalAveragePool"): {22: SAME},
    ("", "GlobalLpPool"): {22: SAME},
    ("", "MaxUnpool"): {22: SAME},
    ("", "MaxRoiPool"): {22: SAME},
    ("", "RoiAlign"): {22: SAME, 16: _roi_align_16},
}
