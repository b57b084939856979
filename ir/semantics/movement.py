"""movement: what each operator computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.constants import constant_of
from isomorph.ir.errors import TypeInferenceError, UnsupportedError
from isomorph.ir.ops._cut import clamp, equal_parts
from isomorph.ir.ops._produce import range_length
from isomorph.ir.semantics import Call, Impl
from isomorph.ir.semantics._plain import counted, ints, zero
from isomorph.ir.semantics._resize import resize, resize_10, upsample
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.opdef import Key


def _reshape(call: Call, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    wanted = list(ints(shape))
    if not call.attr("allowzero", 0):
        wanted = [x.shape[i] if n == 0 else n for i, n in enumerate(wanted)]
    return x.reshape(wanted)


def _transpose(call: Call, x: np.ndarray) -> np.ndarray:
    return np.transpose(x, call.attr("perm"))


def _concat(call: Call, *xs: np.ndarray) -> np.ndarray:
    return np.concatenate(xs, axis=call.attr("axis"))


def _split(call: Call, x: np.ndarray, split: Any = None) -> tuple[np.ndarray, ...]:
    axis = call.attr("axis", 0)
    sizes = call.attr("split") if split is None else split
    if sizes is None:
        parts = call.attr("num_outputs", None if call.op.version >= 18 else call.outputs)
        if parts != call.outputs:
            raise ValueError(f"num_outputs is {parts}, not {call.outputs}")
        sizes = equal_parts(x.shape[axis], call.outputs)
    if sum(ints(sizes)) != x.shape[axis] or min(ints(sizes), default=0) < 0:
        raise UnsupportedError(f"{call.op}: sizes {ints(sizes)} do not fit dim {x.shape[axis]}")
    ends = np.cumsum(ints(sizes))
    return tuple(np.split(x, ends[:-1], axis=axis))


def _slice(
    call: Call, x: np.ndarray, starts: Any, ends: Any, axes: Any = None, steps: Any = None
) -> np.ndarray:
    places = range(len(starts)) if axes is None else ints(axes)
    strides = (1,) * len(starts) if steps is None else ints(steps)
    index: list[slice] = [slice(None)] * x.ndim
    for axis, start, end, step in zip(places, ints(starts), ints(ends), strides, strict=True):
        first, last = clamp(start, end, step, x.shape[axis])
        index[axis] = slice(first, None if last < 0 else last, step)
    return x[tuple(index)]


def _slice_1(call: Call, x: np.ndarray) -> np.ndarray:
    return _slice(call, x, call.attr("starts"), call.attr("ends"), call.attr("axes"))


def _squeeze(call: Call, x: np.ndarray, axes: Any = None) -> np.ndarray:
    return np.squeeze(x, None if axes is None else ints(axes))


def _squeeze_1(call: Call, x: np.ndarray) -> np.ndarray:
    return _squeeze(call, x, call.attr("axes"))


def _unsqueeze(call: Call, x: np.ndarray, axes: Any) -> np.ndarray:
    return np.expand_dims(x, ints(axes))


def _unsqueeze_1(call: Call, x: np.ndarray) -> np.ndarray:
    return _unsqueeze(call, x, call.attr("axes"))


def _flatten(call: Call, x: np.ndarray) -> np.ndarray:
    axis = call.attr("axis")
    axis = axis + x.ndim if axis < 0 else axis
    rows = int(np.prod(x.shape[:axis], dtype=np.int64))
    columns = int(np.prod(x.shape[axis:], dtype=np.int64))
    return x.reshape(rows, columns)


def _expand(call: Call, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x, np.broadcast_shapes(x.shape, ints(shape))).copy()


def _tile(call: Call, x: np.ndarray, repeats: np.ndarray) -> np.ndarray:
    found = np.tile(x, ints(repeats))
    if len(ints(repeats)) != np.ndim(x):
        raise TypeInferenceError(f"{call.op}: {np.size(repeats)} repeats for {np.ndim(x)} axes")
    return found


def _pad(
    call: Call, x: np.ndarray, pads: Any, constant_value: Any = None, axes: Any = None
) -> np.ndarray:
    places = list(range(x.ndim)) if axes is None else [a % x.ndim for a in ints(axes)]
    widths = ints(pads)
    fill: Any = (
        zero(x.dtype) if constant_value is None else np.asarray(constant_value).reshape(-1)[0]
    )
    mode = call.attr("mode")
    half = len(widths) // 2
    for axis, before, after in zip(places, widths[:half], widths[half:], strict=True):
        # Negative widths crop first; what is left is padded.
        if x.shape[axis] + min(before, 0) + min(after, 0) < 0:
            raise TypeInferenceError(
                f"{call.op}: {before} and {after} crop more than axis {axis} of {x.shape} has"
            )
        x = np.take(x, counted(x.shape[axis] - max(-after, 0), max(-before, 0)), axis)
        before, after = max(before, 0), max(after, 0)  # noqa: PLW2901
        if not before and not after:
            continue
        if mode == "constant":
            x = _filled(x, axis, before, after, fill)
        else:
            sources: np.ndarray = np.pad(counted(x.shape[axis]), (before, after), mode=mode)
            x = np.take(x, sources, axis)
    return x


def _filled(x: np.ndarray, axis: int, before: int, after: int, fill: Any) -> np.ndarray:
    edges = [
        np.full((*x.shape[:axis], n, *x.shape[axis + 1 :]), fill, x.dtype) for n in (before, after)
    ]
    return np.concatenate([edges[0], x, edges[1]], axis)


def _pad_2(call: Call, x: np.ndarray) -> np.ndarray:
    return _pad(call, x, call.attr("pads"), np.asarray(call.attr("value")).astype(x.dtype))


def _depth_to_space(call: Call, x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape
    block = call.attr("blocksize")
    depth = c // (block * block)
    if call.attr("mode", "DCR") == "DCR":
        moved = x.reshape(n, block, block, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        moved = x.reshape(n, depth, block, block, h, w).transpose(0, 1, 4, 2, 5, 3)
    return moved.reshape(n, depth, h * block, w * block)


def _space_to_depth(call: Call, x: np.ndarray) -> np.ndarray:
    n, c, h, w = x.shape
    block = call.attr("blocksize")
    parts = x.reshape(n, c, h // block, block, w // block, block)
    perm = (0, 3, 5, 1, 2, 4) if call.attr("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
    return parts.transpose(perm).reshape(n, c * block * block, h // block, w // block)


def _shape(call: Call, x: Any) -> np.ndarray:
    return np.array(np.shape(x)[call.attr("start", 0) : call.attr("end")], np.int64)


def _size(call: Call, x: np.ndarray) -> np.ndarray:
    return np.array(x.size, np.int64)


def _constant(call: Call) -> np.ndarray:
    weight = constant_of(call.op)
    if weight is None:
        raise UnsupportedError(f"{call.op}: sparse constants are not read yet; store them dense")
    return weight.numpy().astype(call.float_dtype(weight.dtype), copy=False)


def _constant_of_shape(call: Call, shape: np.ndarray) -> np.ndarray:
    value = call.attr("value")
    dtype = DType.FLOAT32 if value is None else value.dtype
    fill = 0 if value is None else value.numpy().reshape(-1)[0]
    return np.full(ints(shape), fill, call.float_dtype(dtype))


def _range(call: Call, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    first, last, step = (v.reshape(-1)[0] for v in (start, limit, delta))
    dtype = DType.of(start.dtype)
    compute = dtype.numpy
    if dtype in (DType.FLOAT16, DType.BFLOAT16):
        compute = DType(call.attr("stash_type", 1)).numpy
    count = range_length(first, last, step, dtype)
    steps = np.arange(count).astype(compute)
    return (first.astype(compute) + steps * step.astype(compute)).astype(start.dtype)


def _eye_like(call: Call, x: np.ndarray) -> np.ndarray:
    kind = call.attr("dtype")
    dtype = x.dtype if kind is None else call.float_dtype(DType(kind))
    return np.eye(*x.shape, k=call.attr("k", 0), dtype=np.int8).astype(dtype)


def _trilu(call: Call, x: np.ndarray, k: Any = None) -> np.ndarray:
    distance = counted(x.shape[-1]) - counted(x.shape[-2])[:, None]
    offset = 0 if k is None else int(np.asarray(k).reshape(-1)[0])
    kept = distance >= offset if call.attr("upper") else distance <= offset
    return np.where(kept, x, np.full((), zero(x.dtype), x.dtype))


def _reverse_sequence(call: Call, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    time, batch = call.attr("time_axis"), call.attr("batch_axis")
    at = counted(x.shape[time])[:, None]
    places: np.ndarray = np.where(at < lengths, lengths - 1 - at, at)  # [time, batch]
    if (time, batch) not in ((0, 1), (1, 0)):
        raise UnsupportedError(f"{call.op}: time and batch must be axes 0 and 1")
    samples = counted(x.shape[batch])
    return x[places, samples] if time == 0 else x[samples[:, None], places.T]


def _center_crop_pad(call: Call, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    places = call.attr("axes")
    axes: Sequence[int] = range(x.ndim) if places is None else places
    if len({a % x.ndim for a in axes}) < len(axes):
        raise TypeInferenceError(f"{call.op}: axes {tuple(axes)} name an axis twice")
    for axis, wanted in zip(axes, ints(shape), strict=True):
        dim = x.shape[axis]
        if wanted <= dim:
            first = (dim - wanted) // 2
            x = np.take(x, counted(first + wanted, first), axis)
        else:
            first = (wanted - dim) // 2
            x = _filled(x, axis % x.ndim, first, wanted - dim - first, zero(x.dtype))
    return x


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "Reshape"): (Impl(_reshape, 5),),
    ("", "Transpose"): (Impl(_transpose),),
    ("", "Concat"): (Impl(_concat, 4),),
    ("", "Split"): (Impl(_split, 2),),
    ("", "Slice"): (Impl(_slice_1, 1, 9), Impl(_slice, 10)),
    ("", "Squeeze"): (Impl(_squeeze_1, 1, 12), Impl(_squeeze, 13)),
    ("", "Unsqueeze"): (Impl(_unsqueeze_1, 1, 12), Impl(_unsqueeze, 13)),
    ("", "Flatten"): (Impl(_flatten),),
    ("", "Expand"): (Impl(_expand),),
    ("", "Tile"): (Impl(_tile, 6),),
    ("", "Pad"): (Impl(_pad_2, 2, 10), Impl(_pad, 11)),
    ("", "DepthToSpace"): (Impl(_depth_to_space),),
    ("", "SpaceToDepth"): (Impl(_space_to_depth),),
    ("", "Shape"): (Impl(_shape),),
    ("", "Size"): (Impl(_size),),
    ("", "Constant"): (Impl(_constant),),
    ("", "ConstantOfShape"): (Impl(_constant_of_shape),),
    ("", "Range"): (Impl(_range),),
    ("", "EyeLike"): (Impl(_eye_like),),
    ("", "Trilu"): (Impl(_trilu),),
    ("", "ReverseSequence"): (Impl(_reverse_sequence, keeps=True),),
    ("", "CenterCropPad"): (Impl(_center_crop_pad),),
    ("", "Upsample"): (Impl(upsample),),
    ("", "Resize"): (Impl(resize_10, 10, 10), Impl(resize, 11)),
}
