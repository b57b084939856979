"""pooling: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops._windows import windows
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim
    from isomorph.ir.infer import Context
    from isomorph.ir.types import Shape, Type


def _input(context: Context, rank: int | None = None) -> TensorType | None:
    """The pooled tensor; its rank is checked where it is known."""
    tensor = context.tensor(0)
    if tensor is None or tensor.shape is None:
        return tensor
    if rank is not None and len(tensor.shape) != rank:
        raise context.error(f"rank {len(tensor.shape)}, rank {rank} was expected")
    if len(tensor.shape) < 2:
        raise context.error(f"rank {len(tensor.shape)}; (N, C, spatial…) was expected")
    return tensor


def _pool(context: Context) -> tuple[Type | None, ...]:
    kernel = tuple(context.attr("kernel_shape", ()))
    if not kernel:
        raise context.error("kernel_shape is empty")
    tensor = _input(context, len(kernel) + 2)
    if tensor is None:
        return (None,)
    shape = tensor.shape or (None,) * (len(kernel) + 2)
    view = windows(context.attr, kernel, context.error, pooling=True)
    return (TensorType(tensor.dtype, (*shape[:2], *view.counts(shape[2:]))),)


def _max_pool(context: Context) -> tuple[Type | None, ...]:
    (values,) = _pool(context)
    shape = values.shape if isinstance(values, TensorType) else None
    return values, TensorType(DType.INT64, shape)


def _global(context: Context) -> tuple[Type | None, ...]:
    tensor = _input(context)
    if tensor is None or tensor.shape is None:
        return (tensor,)
    ones = (1,) * (len(tensor.shape) - 2)
    return (TensorType(tensor.dtype, (*tensor.shape[:2], *ones)),)


def _max_unpool(context: Context) -> tuple[Type | None, ...]:
    kernel = tuple(context.attr("kernel_shape", ()))
    tensor = _input(context, len(kernel) + 2)
    if tensor is None:
        return (None,)
    rank = len(kernel) + 2
    shape = tensor.shape or (None,) * rank
    if context.has(2):
        wanted = context.dims(2)
        if wanted is not None and len(wanted) != rank:
            raise context.error(f"output_shape has {len(wanted)} numbers, {rank} were expected")
        return (TensorType(tensor.dtype, wanted or (None,) * rank),)
    view = windows(context.attr, kernel, context.error)
    spatial: list[Dim] = []
    for axis, size in enumerate(shape[2:]):
        if size is None:
            spatial.append(None)
            continue
        full = (size - 1) * view.strides[axis] + kernel[axis]
        spatial.append(full - view.begin[axis] - view.end[axis])
    return (TensorType(tensor.dtype, (*shape[:2], *spatial)),)


def _regions(context: Context, pooled: tuple[int, ...]) -> tuple[Type | None, ...]:
    tensor = _input(context, 4)
    if tensor is None:
        return (None,)
    regions: Shape = context.shape(1) or (None,)
    count = regions[0]
    if count is None and context.shape(2):
        count = (context.shape(2) or (None,))[0]
    channels = tensor.shape[1] if tensor.shape is not None else None
    return (TensorType(tensor.dtype, (count, channels, *pooled)),)


def _max_roi_pool(context: Context) -> tuple[Type | None, ...]:
    return _regions(context, tuple(context.attr("pooled_shape")))


def _roi_align(context: Context) -> tuple[Type | None, ...]:
    return _regions(context, (context.attr("output_height", 1), context.attr("output_width", 1)))


# RoiAlign reads where its regions say: how far they move the result is its own conditioning.
OPS: dict[Key, OpDef] = {
    ("", "MaxPool"): OpDef(_max_pool, Tolerance.EXACT),
    ("", "AveragePool"): OpDef(_pool, Tolerance.SUM),
    ("", "LpPool"): OpDef(_pool, Tolerance.SUM),
    ("", "GlobalMaxPool"): OpDef(_global, Tolerance.EXACT),
    ("", "GlobalAveragePool"): OpDef(_global, Tolerance.SUM),
    ("", "GlobalLpPool"): OpDef(_global, Tolerance.SUM),
    ("", "MaxUnpool"): OpDef(_max_unpool, Tolerance.EXACT),
    ("", "MaxRoiPool"): OpDef(_max_roi_pool, Tolerance.DISCONTINUOUS),
    ("", "RoiAlign"): OpDef(_roi_align, Tolerance.RECURRENT),
}
