"""text: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.context import broadcast
from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.types import Shape, Type

    Types = tuple[Type | None, ...]


def _texts(ctx: Context, index: int = 0) -> Shape | None:
    """The shape of an operand; raises TypeInferenceError unless it holds texts."""
    found = ctx.dtype(index)
    if found not in {None, DType.STRING}:
        raise ctx.error(f"operand {index} is {ctx.type(index)}, texts were expected")
    return ctx.shape(index)


def _concat(ctx: Context) -> Types:
    return (TensorType(DType.STRING, broadcast(ctx, _texts(ctx, 0), _texts(ctx, 1))),)


def _split(ctx: Context) -> Types:
    shape = _texts(ctx)
    parts = None if shape is None else (*shape, None)
    return TensorType(DType.STRING, parts), TensorType(DType.INT64, shape)


def _match(ctx: Context) -> Types:
    return (TensorType(DType.BOOL, _texts(ctx)),)


def _normalize(ctx: Context) -> Types:
    """A vector, or a matrix of one row; how many texts are left is known when it runs."""
    shape = _texts(ctx)
    if shape is None:
        return (TensorType(DType.STRING),)
    rows = shape[0] if len(shape) == 2 else 1
    if len(shape) not in {1, 2} or (isinstance(rows, int) and rows != 1):
        raise ctx.error("a vector, or a matrix of one row, was expected")
    return (TensorType(DType.STRING, (*(1 for _ in shape[1:]), None)),)


def _tf_idf(ctx: Context) -> Types:
    shape = ctx.shape(0)
    if shape is None:
        return (TensorType(DType.FLOAT32),)
    if len(shape) not in {1, 2}:
        raise ctx.error("a vector or a matrix was expected")
    indexes: tuple[int, ...] = ctx.attr("ngram_indexes") or ()
    if not indexes or min(indexes) < 0:
        raise ctx.error(f"ngram_indexes are {list(indexes)}, at least one from 0 on was expected")
    return (TensorType(DType.FLOAT32, (*shape[:-1], max(indexes) + 1)),)


OPS: dict[Key, OpDef] = {
    ("", "StringConcat"): OpDef(_concat, Tolerance.EXACT),
    ("", "StringSplit"): OpDef(_split, Tolerance.EXACT),
    ("", "StringNormalizer"): OpDef(_normalize, Tolerance.EXACT),
    ("", "RegexFullMatch"): OpDef(_match, Tolerance.EXACT),
    ("", "TfIdfVectorizer"): OpDef(_tf_idf, Tolerance.ELEMENTWISE),
}
