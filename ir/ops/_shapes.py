"""Shape rules that many operators share, and arithmetic on known contents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.context import broadcast
from isomorph.ir.dims import Expr, floor_div, maximum, minimum
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.opdef import ShapeRule
    from isomorph.ir.types import Type

    Arithmetic = Callable[[int | Expr, int | Expr], Dim]


def same(ctx: Context) -> tuple[Type | None, ...]:
    """The result has the first operand's type."""
    return (ctx.type(0),)


def same_kept(ctx: Context) -> tuple[Type | None, ...]:
    """The same, and its contents too; sequences and optionals have none."""
    if isinstance(ctx.type(0), TensorType):
        keep_contents(ctx)
    return (ctx.type(0),)


def typed(dtype: DType) -> ShapeRule:
    """The result has the first operand's shape and a fixed element type."""

    def rule(ctx: Context) -> tuple[Type | None, ...]:
        return (TensorType(dtype, ctx.shape(0)),)

    return rule


def broadcasting(ctx: Context) -> tuple[Type | None, ...]:
    """All operands broadcast; the result has the first's element type."""
    return (tensor(ctx.dtype(0), broadcast(ctx, *every_shape(ctx))),)


def comparing(ctx: Context) -> tuple[Type | None, ...]:
    """All operands broadcast to a tensor of truth values."""
    return (TensorType(DType.BOOL, broadcast(ctx, *every_shape(ctx))),)


def arithmetic(function: Arithmetic) -> ShapeRule:
    """Broadcasting, with known contents computed by `function`."""

    def rule(ctx: Context) -> tuple[Type | None, ...]:
        combine(ctx, function)
        return broadcasting(ctx)

    return rule


def arithmetic_unary(function: Callable[[int | Expr], Dim]) -> ShapeRule:
    """The first operand's type, with known contents computed by `function`."""

    def rule(ctx: Context) -> tuple[Type | None, ...]:
        elements, rank = ctx.dims(0), ctx.rank(0)
        if elements is not None and rank in (0, 1) and ctx.dtype(0) in CARRIED:
            ctx.know(tuple(None if e is None else function(e) for e in elements), scalar=not rank)
        return (ctx.type(0),)

    return rule


def tensor(dtype: DType | None, shape: tuple[Dim, ...] | None) -> TensorType | None:
    """A tensor type where the element type is known."""
    return None if dtype is None else TensorType(dtype, shape)


def every_shape(ctx: Context) -> list[tuple[Dim, ...] | None]:
    """The shapes of all operands."""
    return [ctx.shape(i) for i in range(len(ctx.op.inputs))]


CARRIED = (DType.INT32, DType.INT64)
"""Contents are computed in these, where dims do not overflow."""


def keep_contents(ctx: Context, index: int = 0) -> None:
    """The first result has the elements of an operand."""
    elements, rank = ctx.dims(index), ctx.rank(index)
    if elements is not None and rank in (0, 1):
        ctx.know(elements, scalar=rank == 0)


def combine(ctx: Context, function: Arithmetic) -> None:
    """Record the elements of the first result, element by element of the operands, from left."""
    columns = contents(ctx)
    if columns is None or ctx.dtype(0) not in CARRIED:
        return
    found: list[Dim] = []
    for row in zip(*columns, strict=True):
        total = row[0]
        for element in row[1:]:
            total = None if total is None or element is None else function(total, element)
        found.append(total)
    ctx.know(tuple(found), scalar=all(ctx.rank(i) == 0 for i in range(len(ctx.op.inputs))))


def contents(ctx: Context) -> list[tuple[Dim, ...]] | None:
    """The elements of every operand, broadcast to one length; `None` unless all have some."""
    given: list[tuple[Dim, ...]] = []
    for index in range(len(ctx.op.inputs)):
        elements = ctx.dims(index)
        if elements is None or ctx.rank(index) not in (0, 1):
            return None
        given.append(elements)
    lengths = {len(g) for g in given} - {1}
    if len(lengths) > 1:
        return None
    length = lengths.pop() if lengths else 1
    return [g * length if len(g) == 1 else g for g in given]


def not_negative(dim: int | Expr) -> bool:
    """Whether a dim is at least 0 for any size of its symbols (False when in doubt)."""
    if isinstance(dim, int):
        return dim >= 0
    if all(c >= 0 and all(map(_atom_not_negative, m)) for m, c in dim.terms):
        return True
    if len(dim.terms) == 2:
        # max(a, b) - c, as sizes of windows are clamped
        (first, factor), (last, offset) = dim.terms
        if factor == 1 and last == () and len(first) == 1 and first[0][0] == "max":
            return any(not_negative(side + offset) for side in first[0][1:])
    return False


def _atom_not_negative(atom: tuple[object, ...]) -> bool:
    match atom:
        case ("sym", _):
            return True
        case ("div", int() | Expr() as above, int() | Expr() as below):
            return not_negative(above) and not_negative(below)
        case ("max", int() | Expr() as a, int() | Expr() as b):
            return not_negative(a) or not_negative(b)
        case _:
            return False


def add(a: int | Expr, b: int | Expr) -> Dim:
    """The sum."""
    return a + b


def subtract(a: int | Expr, b: int | Expr) -> Dim:
    """The difference."""
    return a - b


def negate(a: int | Expr) -> Dim:
    """The negative."""
    return -a


def multiply(a: int | Expr, b: int | Expr) -> Dim:
    """The product."""
    return a * b


def truncating_div(a: int | Expr, b: int | Expr) -> Dim:
    """Integer division towards zero; `None` where the sign of an inexact quotient is open."""
    if b == 0:
        return None
    quotient = floor_div(a, b)
    if quotient * b == a or (not_negative(a) and not_negative(b)):
        return quotient
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b) if (a < 0) != (b < 0) else quotient
    return None


def floor_mod(a: int | Expr, b: int | Expr) -> Dim:
    """The remainder with the divisor's sign."""
    return None if b == 0 else a - floor_div(a, b) * b


def larger(a: int | Expr, b: int | Expr) -> Dim:
    """The larger of two."""
    if a != b and not_negative(a - b):
        return a
    return b if not_negative(b - a) else maximum(a, b)


def smaller(a: int | Expr, b: int | Expr) -> Dim:
    """The smaller of two."""
    if a != b and not_negative(a - b):
        return b
    return a if not_negative(b - a) else minimum(a, b)


def equal(a: int | Expr, b: int | Expr) -> Dim:
    """1 or 0 where it is decided whether two are equal."""
    difference = a - b
    if isinstance(difference, int):
        return int(difference == 0)
    apart = not_negative(difference - 1) or not_negative(-difference - 1)
    return 0 if apart else None
