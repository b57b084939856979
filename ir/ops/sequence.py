"""sequence: what each operator is: sequences of tensors, and values that may be absent.

The known content of a sequence is its length; that of a truth value, 0 or 1.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from isomorph.ir.dims import Dim, Expr, floor_div
from isomorph.ir.merge import either
from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops._bounds import Bounds
from isomorph.ir.ops.control_flow import assume
from isomorph.ir.types import DType, OptionalType, SequenceType, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.context import Context
    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.types import Shape, Type

    Types = tuple[Type | None, ...]


# -- sequences ----------------------------------------------------------------------------------


def _construct(ctx: Context) -> Types:
    kinds = [ctx.tensor(i) for i in range(len(ctx.op.inputs))]
    ctx.know((len(kinds),), scalar=True)
    return (_sequence(_shared(ctx, kinds)),)


def _empty(ctx: Context) -> Types:
    ctx.know((0,), scalar=True)
    return (SequenceType(TensorType(DType(ctx.attr("dtype") or DType.FLOAT32.value))),)


def _at(ctx: Context) -> Types:
    element = _element(ctx, 0)
    made = _made_by(ctx, "SequenceConstruct")
    position = ctx.array(1)
    if made is not None and position is not None and position.size == 1:
        count, at = len(made.inputs), int(position.reshape(-1)[0])
        if not -count <= at < count:
            raise ctx.error(f"position {at} of a sequence of {count}")
        chosen = made.inputs[at % count]
        return (element if chosen is None or chosen.type is None else chosen.type,)
    return (element,)


def _insert(ctx: Context) -> Types:
    kinds = [_element(ctx, 0), ctx.tensor(1)]
    length = _length(ctx)
    if length is not None:
        ctx.know((length + 1,), scalar=True)
    if length == 0:
        kinds = kinds[1:]
    return (_sequence(_shared(ctx, kinds)),)


def _erase(ctx: Context) -> Types:
    length = _length(ctx)
    if length is not None:
        ctx.know((length - 1,), scalar=True)
    return (_sequence(_element(ctx, 0)),)


def _count(ctx: Context) -> Types:
    length = _length(ctx)
    _element(ctx, 0)
    if length is not None:
        ctx.know((length,), scalar=True)
    return (TensorType(DType.INT64, ()),)


def _split(ctx: Context) -> Types:
    x = ctx.tensor(0)
    if x is None:
        return (None,)
    if x.shape is None:
        return (SequenceType(TensorType(x.dtype)),)
    axis = ctx.axis(ctx.attr("axis"), x.rank or 0)
    whole = x.shape[axis]
    if not ctx.has(1):
        if whole is not None:
            ctx.know((whole,), scalar=True)
        kept: Shape = (1,) if ctx.attr("keepdims") else ()
        return (SequenceType(TensorType(x.dtype, _with(x.shape, axis, kept))),)
    count, size = _parts(ctx, whole)
    if count is not None:
        ctx.know((count,), scalar=True)
    return (SequenceType(TensorType(x.dtype, _with(x.shape, axis, (size,)))),)


def _parts(ctx: Context, whole: Dim) -> tuple[Dim, Dim]:
    """How many parts a split makes, and the size they share."""
    lengths, rank = ctx.dims(1), ctx.rank(1)
    if rank == 1:
        shape = ctx.shape(1)
        count = len(lengths) if lengths is not None else (shape or (None,))[0]
        return count, lengths[0] if lengths and len(set(lengths)) == 1 else None
    if rank != 0 or lengths is None or lengths[0] is None or whole is None:
        return None, None
    part = lengths[0]
    if isinstance(part, int) and part < 1:
        raise ctx.error(f"split is {part}, at least 1 was expected")
    count = -floor_div(-whole, part)
    if part == whole or (isinstance(whole, int) and isinstance(part, int) and whole < part):
        return count, whole
    even = whole - floor_div(whole, part) * part == 0
    return count, part if even else None


def _concat(ctx: Context) -> Types:
    element = _element(ctx, 0)
    if not isinstance(element, TensorType) or element.shape is None:
        return (element if isinstance(element, TensorType) else None,)
    length, axis, shape = _length(ctx), ctx.attr("axis"), element.shape
    if ctx.attr("new_axis"):
        axis = ctx.axis(axis, len(shape) + 1)
        return (TensorType(element.dtype, (*shape[:axis], length, *shape[axis:])),)
    axis = ctx.axis(axis, len(shape))
    each = shape[axis]
    total = None if length is None or each is None else length * each
    return (TensorType(element.dtype, _with(shape, axis, (total,))),)


def _map(ctx: Context) -> Types:
    body: Graph = ctx.attr("body")
    if len(body.inputs) != len(ctx.op.inputs) or len(body.outputs) != len(ctx.op.outputs):
        raise ctx.error(
            f"its body takes {len(body.inputs)} inputs and yields {len(body.outputs)}, not "
            f"{len(ctx.op.inputs)} and {len(ctx.op.outputs)}"
        )
    _element(ctx, 0)
    kinds = [ctx.type(i) for i in range(len(ctx.op.inputs))]
    assume(ctx, body, [k.element if isinstance(k, SequenceType) else k for k in kinds])
    whole = [i if isinstance(k, TensorType) else None for i, k in enumerate(kinds)]
    ctx.infer_subgraph(body, whole)
    length = _length(ctx)
    if length is not None:
        for index in range(len(body.outputs)):
            ctx.know((length,), scalar=True, output=index)
    return tuple(_sequence(v.type) for v in body.outputs)


# -- optionals ----------------------------------------------------------------------------------


def _optional(ctx: Context) -> Types:
    element: Type | None = ctx.type(0) if ctx.has(0) else ctx.attr("type")
    if not ctx.has(0) and element is None:
        raise ctx.error("neither an input nor a type says what it may hold")
    return (None if element is None else OptionalType(element),)


def _get(ctx: Context) -> Types:
    found = ctx.type(0)
    return (found.element if isinstance(found, OptionalType) else found,)


def _has(ctx: Context) -> Types:
    found = ctx.type(0)
    if not ctx.has(0) or isinstance(found, TensorType | SequenceType):
        ctx.know((int(ctx.has(0)),), scalar=True)
    made = _made_by(ctx, "Optional")
    if made is not None:
        ctx.know((int(made.input(0) is not None),), scalar=True)
    return (TensorType(DType.BOOL, ()),)


# -- shared -------------------------------------------------------------------------------------


def _element(ctx: Context, index: int) -> Type | None:
    """What a sequence holds; raises TypeInferenceError for other kinds."""
    found = ctx.type(index)
    if found is not None and not isinstance(found, SequenceType):
        raise ctx.error(f"operand {index} is {found}, a sequence was expected")
    return None if found is None else found.element


def _sequence(element: Type | None) -> Type | None:
    return None if element is None else SequenceType(element)


def _shared(ctx: Context, kinds: Sequence[Type | None]) -> Type | None:
    """What is certain of every element: its type at least, where that of one is known."""
    known = [k for k in kinds if k is not None]
    if len(known) < len(kinds):
        known += [TensorType(k.dtype) for k in known[:1] if isinstance(k, TensorType)]
    if not known:
        return None
    try:
        return reduce(either, known)
    except ValueError as error:
        raise ctx.error(str(error)) from None


def _length(ctx: Context) -> int | Expr | None:
    """How many elements the first operand has, where that is known."""
    found = ctx.dims(0)
    if not found or found[0] is None:
        return None
    return Bounds(ctx.constraints).at_least(found[0], 0)


def _made_by(ctx: Context, kind: str) -> Op | None:
    value = ctx.op.input(0)
    op = None if value is None else value.producer
    return op if op is not None and op.key == ("", kind) else None


def _with(shape: Shape, axis: int, dims: Shape) -> Shape:
    """The shape with other dims in the place of one."""
    return (*shape[:axis], *dims, *shape[axis + 1 :])


_EXACT = Tolerance.EXACT

OPS: dict[Key, OpDef] = {
    ("", "SequenceConstruct"): OpDef(_construct, _EXACT),
    ("", "SequenceEmpty"): OpDef(_empty, _EXACT),
    ("", "SequenceAt"): OpDef(_at, _EXACT),
    ("", "SequenceErase"): OpDef(_erase, _EXACT),
    ("", "SequenceInsert"): OpDef(_insert, _EXACT),
    ("", "SequenceLength"): OpDef(_count, _EXACT),
    ("", "SequenceMap"): OpDef(_map, Tolerance.CONTROL),
    ("", "SplitToSequence"): OpDef(_split, _EXACT),
    ("", "ConcatFromSequence"): OpDef(_concat, _EXACT),
    ("", "Optional"): OpDef(_optional, _EXACT),
    ("", "OptionalGetElement"): OpDef(_get, _EXACT),
    ("", "OptionalHasElement"): OpDef(_has, _EXACT),
}
