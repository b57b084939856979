"""elementwise: what each operator is.

ULPs count the rounded operations of one element, from the operator's function body where the
standard gives one, else from its formula.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.context import broadcast
from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _shapes as s
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import Type

EXACT, ROUNDED, JUMP = Tolerance.EXACT, Tolerance.ELEMENTWISE, Tolerance.DISCONTINUOUS


def _unary(ulps: float = 1) -> OpDef:
    return OpDef(s.same, ROUNDED, ulps)


def _cast(ctx: Context) -> tuple[Type | None, ...]:
    return _as(ctx, DType(ctx.attr("to")))


def _cast_like(ctx: Context) -> tuple[Type | None, ...]:
    target = ctx.dtype(1)
    return (None,) if target is None else _as(ctx, target)


def _as(ctx: Context, to: DType) -> tuple[Type | None, ...]:
    source = ctx.dtype(0)
    if to in s.CARRIED and source is not None and source.is_integer:
        s.keep_contents(ctx)
    return (TensorType(to, ctx.shape(0)),)


def _bitcast(ctx: Context) -> tuple[Type | None, ...]:
    to, source = DType(ctx.attr("to")), ctx.dtype(0)
    if source is not None and source.bits != to.bits:
        raise ctx.error(f"{source} has {source.bits} bits, {to} has {to.bits}")
    return (TensorType(to, ctx.shape(0)),)


def _equal(ctx: Context) -> tuple[Type | None, ...]:
    s.combine(ctx, s.equal)
    return s.comparing(ctx)


def _where(ctx: Context) -> tuple[Type | None, ...]:
    chosen, columns = ctx.dims(0), None
    if chosen is None:
        condition = ctx.array(0)
        chosen = None if condition is None else tuple(int(c) for c in condition.reshape(-1))
    x, y = ctx.dims(1), ctx.dims(2)
    ranks = [ctx.rank(i) for i in range(3)]
    if chosen is not None and x is not None and y is not None and set(ranks) <= {0, 1}:
        columns = _aligned(chosen, x, y)
    if columns is not None:
        ctx.know(
            tuple(None if c is None else (a if c else b) for c, a, b in zip(*columns, strict=True)),
            scalar=ranks == [0, 0, 0],
        )
    return (s.tensor(ctx.dtype(1), broadcast(ctx, *s.every_shape(ctx))),)


def _aligned(*columns: tuple[Dim, ...]) -> list[tuple[Dim, ...]] | None:
    lengths = {len(c) for c in columns} - {1}
    if len(lengths) > 1:
        return None
    length = lengths.pop() if lengths else 1
    return [c * length if len(c) == 1 else c for c in columns]


def _mod(ctx: Context) -> tuple[Type | None, ...]:
    if not ctx.attr("fmod"):
        s.combine(ctx, s.floor_mod)
    return s.broadcasting(ctx)


def _prelu(ctx: Context) -> tuple[Type | None, ...]:
    """The slope broadcasts to X, never the other way round."""
    shape, slope = ctx.shape(0), ctx.shape(1)
    if shape is not None and slope is not None:
        if len(slope) > len(shape):
            raise ctx.error("the slope has a higher rank than X")
        both = broadcast(ctx, shape, slope) or ()
        for given, joined in zip(shape, both, strict=True):
            if given == 1 and isinstance(joined, int) and joined != 1:
                raise ctx.error("the slope does not broadcast to X")
    return (ctx.type(0),)


def _dropout(ctx: Context) -> tuple[Type | None, ...]:
    return ctx.type(0), TensorType(DType.BOOL, ctx.shape(0))


OPS: dict[Key, OpDef] = {
    ("", "Abs"): OpDef(s.same, EXACT),
    ("", "Acos"): _unary(),
    ("", "Acosh"): _unary(),
    ("", "Add"): OpDef(s.arithmetic(s.add), ROUNDED, commutative=True),
    ("", "And"): OpDef(s.comparing, EXACT, commutative=True),
    ("", "Asin"): _unary(),
    ("", "Asinh"): _unary(),
    ("", "Atan"): _unary(),
    ("", "Atanh"): _unary(),
    ("", "BitCast"): OpDef(_bitcast, EXACT),
    ("", "BitShift"): OpDef(s.broadcasting, EXACT),
    ("", "BitwiseAnd"): OpDef(s.broadcasting, EXACT, commutative=True),
    ("", "BitwiseNot"): OpDef(s.same, EXACT),
    ("", "BitwiseOr"): OpDef(s.broadcasting, EXACT, commutative=True),
    ("", "BitwiseXor"): OpDef(s.broadcasting, EXACT, commutative=True),
    # correctly rounded, so exact on equal operands; to an integer it jumps
    ("", "Cast"): OpDef(_cast, JUMP),
    ("", "CastLike"): OpDef(_cast_like, JUMP),
    ("", "Ceil"): OpDef(s.same, JUMP),
    ("", "Celu"): _unary(5),  # Div, Elu (3), Mul
    ("", "Clip"): OpDef(s.same, EXACT),
    ("", "Cos"): _unary(),
    ("", "Cosh"): _unary(),
    ("", "Div"): OpDef(s.arithmetic(s.truncating_div), ROUNDED),
    # exact as evaluation; training draws its mask, and its semantics refuse
    ("", "Dropout"): OpDef(_dropout, EXACT, deterministic=False),
    ("", "Elu"): _unary(3),  # Exp, Sub, Mul
    ("", "Equal"): OpDef(_equal, JUMP, commutative=True),
    ("", "Erf"): _unary(),
    ("", "Exp"): _unary(),
    ("", "Floor"): OpDef(s.same, JUMP),
    ("", "Gelu"): _unary(
        10
    ),  # √2, Div, Erf, Add, 2 Mul; tanh form: 2 constants, 5 Mul, 2 Add, Tanh
    ("", "Greater"): OpDef(s.comparing, JUMP),
    ("", "GreaterOrEqual"): OpDef(s.comparing, JUMP),
    ("", "HardSigmoid"): _unary(2),  # Mul, Add
    ("", "HardSwish"): _unary(4),  # 1/6, HardSigmoid (2), Mul
    ("", "Identity"): OpDef(s.same_kept, EXACT),
    ("", "IsInf"): OpDef(s.typed(DType.BOOL), EXACT),
    ("", "IsNaN"): OpDef(s.typed(DType.BOOL), EXACT),
    ("", "LeakyRelu"): _unary(2),  # alpha in the dtype of X, Mul
    ("", "Less"): OpDef(s.comparing, JUMP),
    ("", "LessOrEqual"): OpDef(s.comparing, JUMP),
    ("", "Log"): _unary(),
    ("", "Max"): OpDef(s.arithmetic(s.larger), EXACT, commutative=True),
    ("", "Mean"): OpDef(s.broadcasting, Tolerance.SUM, commutative=True),
    ("", "Min"): OpDef(s.arithmetic(s.smaller), EXACT, commutative=True),
    ("", "Mish"): _unary(5),  # Softplus (3), Tanh, Mul
    ("", "Mod"): OpDef(_mod, ROUNDED),
    ("", "Mul"): OpDef(s.arithmetic(s.multiply), ROUNDED, commutative=True),
    ("", "Neg"): OpDef(s.arithmetic_unary(s.negate), EXACT),
    ("", "Not"): OpDef(s.same, EXACT),
    ("", "Or"): OpDef(s.comparing, EXACT, commutative=True),
    ("", "PRelu"): OpDef(_prelu, ROUNDED),
    ("", "Pow"): OpDef(s.broadcasting, ROUNDED),
    ("", "Reciprocal"): _unary(),
    ("", "Relu"): OpDef(s.same, EXACT),
    ("", "Round"): OpDef(s.same, JUMP),
    ("", "Selu"): _unary(6),  # 2 constants, Exp, Mul, Sub, Mul
    ("", "Shrink"): _unary(2),  # bias in the dtype of X, Add
    ("", "Sigmoid"): _unary(3),  # Exp, Add, Div
    ("", "Sign"): OpDef(s.same, JUMP),
    ("", "Sin"): _unary(),
    ("", "Sinh"): _unary(),
    ("", "Softplus"): _unary(3),  # Exp, Add, Log
    ("", "Softsign"): _unary(2),  # Add, Div
    ("", "Sqrt"): _unary(),
    ("", "Sub"): OpDef(s.arithmetic(s.subtract), ROUNDED),
    ("", "Sum"): OpDef(s.arithmetic(s.add), Tolerance.SUM, commutative=True),
    ("", "Swish"): _unary(6),  # alpha in the dtype of X, Mul, Sigmoid (3), Mul
    ("", "Tan"): _unary(),
    ("", "Tanh"): _unary(),
    ("", "ThresholdedRelu"): OpDef(s.same, JUMP),
    ("", "Where"): OpDef(_where, EXACT),
    ("", "Xor"): OpDef(s.comparing, EXACT, commutative=True),
}
