"""Shape rules of onnxruntime's operators on quantized tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.context import broadcast
from isomorph.ir.ops import _shapes as s
from isomorph.ir.ops._windows import windows
from isomorph.ir.ops.linear import product_shape
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.opdef import ShapeRule
    from isomorph.ir.types import Shape, Type


def _single(ctx: Context, *indices: int) -> None:
    """Scales and zero points of one element."""
    for index in indices:
        shape = ctx.shape(index)
        if shape is not None and shape != () and not (len(shape) == 1 and shape[0] in (1, None)):
            text = ", ".join("?" if d is None else str(d) for d in shape)
            raise ctx.error(f"operand {index} has shape ({text}), one element was expected")


def pairwise(ctx: Context) -> tuple[Type | None, ...]:
    """QLinearAdd and QLinearMul."""
    _single(ctx, 1, 2, 4, 5, 6, 7)
    return (s.tensor(ctx.dtype(0), broadcast(ctx, ctx.shape(0), ctx.shape(3))),)


def elementwise(ctx: Context) -> tuple[Type | None, ...]:
    """The result has the shape and type of the first operand."""
    _single(ctx, 1, 2, 3, 4)
    return (ctx.type(0),)


def softmax(ctx: Context) -> tuple[Type | None, ...]:
    """The same, along an axis."""
    rank = ctx.rank(0)
    if rank:
        ctx.axis(int(ctx.attr("axis", -1)), rank)
    return elementwise(ctx)


def _first(ctx: Context) -> tuple[Shape | None, bool]:
    """The pooled shape with channels in front, and whether they come last."""
    _single(ctx, 1, 2, 3, 4)
    shape, last = ctx.shape(0), bool(ctx.attr("channels_last", 0))
    if shape is not None and len(shape) < 3:
        raise ctx.error(f"rank {len(shape)}; (N, C, spatial…) was expected")
    if shape is not None and last:
        shape = (shape[0], shape[-1], *shape[1:-1])
    return shape, last


def _pooled(ctx: Context, shape: Shape, last: bool) -> tuple[Type | None, ...]:
    if last:
        shape = (shape[0], *shape[2:], shape[1])
    return (s.tensor(ctx.dtype(0), shape),)


def average_pool(ctx: Context) -> tuple[Type | None, ...]:
    """QLinearAveragePool."""
    kernel = tuple(ctx.attr("kernel_shape", ()) or ())
    if not kernel:
        raise ctx.error("kernel_shape is empty")
    shape, last = _first(ctx)
    shape = shape or (None,) * (len(kernel) + 2)
    if len(shape) != len(kernel) + 2:
        raise ctx.error(f"rank {len(shape)}, rank {len(kernel) + 2} was expected")
    view = windows(ctx.attr, kernel, ctx.error, pooling=True)
    return _pooled(ctx, (*shape[:2], *view.counts(shape[2:])), last)


def global_average_pool(ctx: Context) -> tuple[Type | None, ...]:
    """QLinearGlobalAveragePool."""
    shape, last = _first(ctx)
    if shape is None:
        return (s.tensor(ctx.dtype(0), None),)
    return _pooled(ctx, (*shape[:2], *(1,) * (len(shape) - 2)), last)


def concat(ctx: Context) -> tuple[Type | None, ...]:
    """QLinearConcat: after scale and zero point of the result, three operands for each part."""
    count = len(ctx.op.inputs)
    if count < 5 or (count - 2) % 3:
        raise ctx.error(f"{count} operands; two, and three for each part, were expected")
    parts = range(2, count, 3)
    _single(ctx, 0, 1, *(i + 1 for i in parts), *(i + 2 for i in parts))
    shapes = [ctx.shape(i) for i in parts]
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return (s.tensor(ctx.dtype(1), None),)
    rank = len(known[0])
    if any(len(shape) != rank for shape in known):
        raise ctx.error(f"parts of ranks {sorted({len(shape) for shape in known})}")
    axis = ctx.axis(int(ctx.attr("axis")), rank)
    result: list[Dim] = []
    for at in range(rank):
        dims = [shape[at] for shape in known]
        if at == axis:
            total: Dim = 0
            for dim in dims if len(known) == len(shapes) else [None]:
                total = None if dim is None or total is None else total + dim
            result.append(total)
            continue
        numbers = {d for d in dims if isinstance(d, int)}
        if len(numbers) > 1:
            raise ctx.error(f"parts of {sorted(numbers)} elements along axis {at}")
        result.append(numbers.pop() if numbers else next((d for d in dims if d is not None), None))
    return (s.tensor(ctx.dtype(1), tuple(result)),)


def where(ctx: Context) -> tuple[Type | None, ...]:
    """QLinearWhere."""
    _single(ctx, 2, 3, 5, 6, 7, 8)
    shape = broadcast(ctx, ctx.shape(0), ctx.shape(1), ctx.shape(4))
    return (s.tensor(ctx.dtype(1), shape),)


def product(bias: int) -> ShapeRule:
    """Matmul of the first two operands, float32 or as the bias says."""

    def rule(ctx: Context) -> tuple[Type | None, ...]:
        shape = product_shape(ctx)
        given = ctx.shape(bias)
        if given is not None and (len(given) != 1 or not _equal(given[0], shape)):
            raise ctx.error(f"the bias has shape {given}, one element per column was expected")
        return (s.tensor(ctx.dtype(2), shape),)

    return rule


def _equal(count: Dim, shape: Shape | None) -> bool:
    if not shape:
        return True
    pair = (count, shape[-1])
    return count == shape[-1] or not all(isinstance(d, int) for d in pair)


def gemm(ctx: Context) -> tuple[Type | None, ...]:
    """QGemm: float32, or the type of the result's zero point."""
    _single(ctx, 1, 2, 7, 8)
    dims: list[Dim] = []
    summed: list[Dim] = []
    for index, name, own in ((0, "transA", 0), (3, "transB", 1)):
        shape = ctx.shape(index)
        if shape is not None and len(shape) != 2:
            raise ctx.error(f"operand {index} has rank {len(shape)}, a matrix was expected")
        turned = own ^ int(bool(ctx.attr(name, 0)))
        dims.append(None if shape is None else shape[turned])
        summed.append(None if shape is None else shape[1 - turned])
    if all(isinstance(d, int) for d in summed) and summed[0] != summed[1]:
        raise ctx.error(f"the summed dims: {summed[0]} and {summed[1]} do not agree")
    return (s.tensor(ctx.dtype(8) if ctx.has(8) else DType.FLOAT32, tuple(dims)),)
