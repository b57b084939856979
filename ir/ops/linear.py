"""linear: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.infer import broadcast
from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops._einsum import read_equation
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim
    from isomorph.ir.infer import Context
    from isomorph.ir.types import Shape, Type


def _same(context: Context, a: Dim, b: Dim, what: str) -> None:
    if isinstance(a, int) and isinstance(b, int) and a != b:
        raise context.error(f"{what}: {a} and {b} do not agree")


def _matmul(context: Context) -> tuple[Type | None, ...]:
    tensor = context.tensor(0)
    return (None if tensor is None else TensorType(tensor.dtype, product_shape(context)),)


def product_shape(context: Context, first: int = 0, second: int = 1) -> Shape | None:
    """The shape of numpy's matmul of two operands; `None` unless both ranks are known."""
    left, right = context.shape(first), context.shape(second)
    if left is None or right is None:
        return None
    if not left or not right:
        raise context.error("a scalar operand; rank 1 or more was expected")
    inner = right[-2:][0]
    _same(context, left[-1], inner, "the summed dims")
    batch = broadcast(context, left[:-2], right[:-2])
    if batch is None:
        return None
    return (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ()))


def gemm(context: Context) -> tuple[Type | None, ...]:
    """The product of two matrices, either of them turned."""
    tensor = context.tensor(0)
    if tensor is None:
        return (None,)
    left = _matrix(context, 0, "transA")
    right = _matrix(context, 1, "transB")
    _same(context, left[1], right[0], "the summed dims")
    result: Shape = (left[0], right[1])
    bias = context.shape(2)
    if bias is not None:
        if len(bias) > 2:
            raise context.error(f"operand 2 has rank {len(bias)}, at most 2 was expected")
        for given, dim in zip(reversed(bias), reversed(result), strict=False):
            if isinstance(given, int) and given != 1:
                _same(context, given, dim, "operand 2 must broadcast to the product; its dims")
    return (TensorType(tensor.dtype, result),)


def _matrix(context: Context, index: int, transposed: str) -> tuple[Dim, Dim]:
    shape = context.shape(index)
    if shape is None:
        return None, None
    if len(shape) != 2:
        raise context.error(f"operand {index} has rank {len(shape)}, a matrix was expected")
    rows, columns = shape
    return (columns, rows) if context.attr(transposed, 0) else (rows, columns)


def _einsum(context: Context) -> tuple[Type | None, ...]:
    tensor = context.tensor(0)
    if tensor is None:
        return (None,)
    ranks = [context.rank(i) for i in range(len(context.op.inputs))]
    equation = read_equation(context.attr("equation"), ranks, context.error)
    if equation is None:
        return (TensorType(tensor.dtype),)
    dims: dict[str, Dim] = {}
    for index, labels in enumerate(equation.terms):
        for label, dim in zip(labels, context.shape(index) or (), strict=True):
            dims[label] = dim if label not in dims else _either(context, label, dims[label], dim)
    return (TensorType(tensor.dtype, tuple(dims[label] for label in equation.result)),)


def _either(context: Context, label: str, a: Dim, b: Dim) -> Dim:
    """One dim of a label's two: an ellipsis broadcasts; a letter's dims are equal."""
    found = (broadcast(context, (a,), (b,)) or (None,))[0]
    if found is None and not label.startswith("."):
        return b if a is None else a
    return found


def _det(context: Context) -> tuple[Type | None, ...]:
    tensor = context.tensor(0)
    if tensor is None or tensor.shape is None:
        return (tensor,)
    if len(tensor.shape) < 2:
        raise context.error(f"rank {len(tensor.shape)}; square matrices were expected")
    _same(context, tensor.shape[-2], tensor.shape[-1], "rows and columns")
    return (TensorType(tensor.dtype, tensor.shape[:-2]),)


# Det is no sum of given products: an elimination, judged by its own conditioning.
OPS: dict[Key, OpDef] = {
    ("", "MatMul"): OpDef(_matmul, Tolerance.DOT),
    ("", "Gemm"): OpDef(gemm, Tolerance.DOT),
    ("", "Einsum"): OpDef(_einsum, Tolerance.DOT),
    ("", "Det"): OpDef(_det, Tolerance.RECURRENT),
}
