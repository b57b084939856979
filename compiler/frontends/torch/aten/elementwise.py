"""Arithmetic, comparison, logic and rounding, with torch's own type promotion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from isomorph.frontends.torch.errors import NotLowered
from isomorph.frontends.torch.scope import Number
from isomorph.frontends.torch.symbols import dtype_of
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value


def unary(op: str, **attributes: Any) -> Rule:
    """An operator on the operand in the result's element type."""

    def rule(ctx: Context, x: Value) -> Value:
        return ctx(op, ctx.cast(x, ctx.result_dtype), **attributes)

    return rule


def whole_or(op: str) -> Rule:
    """An operator that leaves integers as they are."""

    def rule(ctx: Context, x: Value) -> Value:
        return ctx(op, x) if ctx.dtype(x).is_float else x

    return rule


def pair(ctx: Context, x: Any, y: Any) -> tuple[Value, Value, DType]:
    """Two operands in the result's element type."""
    dtype = ctx.result_dtype
    return ctx.tensor(x, dtype), ctx.tensor(y, dtype), dtype


def compared(op: str) -> Rule:
    """A comparison in the operands' common element type."""

    def rule(ctx: Context, x: Any, y: Any) -> Value:
        dtype = ctx.promoted(*ctx.node.args[:2])
        if dtype is DType.BOOL and op != "Equal":
            dtype = DType.UINT8
        return ctx(op, ctx.tensor(x, dtype), ctx.tensor(y, dtype))

    return rule


def differs(ctx: Context, x: Any, y: Any) -> Value:
    return ctx("Not", compared("Equal")(ctx, x, y))


def add(ctx: Context, x: Any, y: Any, *, alpha: Any = 1) -> Value:
    a, b, dtype = pair(ctx, x, y)
    if dtype is DType.BOOL:
        return ctx("Or", a, b)
    return ctx("Add", a, _scaled(ctx, b, alpha, dtype))


def sub(ctx: Context, x: Any, y: Any, *, alpha: Any = 1) -> Value:
    a, b, dtype = pair(ctx, x, y)
    return ctx("Sub", a, _scaled(ctx, b, alpha, dtype))


def rsub(ctx: Context, x: Any, y: Any, alpha: Any = 1) -> Value:
    return sub(ctx, y, x, alpha=alpha)


def mul(ctx: Context, x: Any, y: Any) -> Value:
    a, b, dtype = pair(ctx, x, y)
    return ctx("And" if dtype is DType.BOOL else "Mul", a, b)


def div(ctx: Context, x: Any, y: Any, *, rounding_mode: str | None = None) -> Value:
    a, b, dtype = pair(ctx, x, y)
    if rounding_mode == "floor":
        return _floored(ctx, a, b)
    quotient = ctx("Div", a, b)
    if rounding_mode == "trunc" and dtype.is_float:
        return truncated(ctx, quotient)
    return quotient


def floor_divide(ctx: Context, x: Any, y: Any) -> Value:
    a, b, _ = pair(ctx, x, y)
    return _floored(ctx, a, b)


def remainder(ctx: Context, x: Any, y: Any) -> Value:
    """torch's: the rest of the division towards zero, moved to the divisor's sign."""
    a, b, dtype = pair(ctx, x, y)
    return _remainder(ctx, a, b) if dtype.is_float else ctx("Mod", a, b)


def fmod(ctx: Context, x: Any, y: Any) -> Value:
    a, b, _ = pair(ctx, x, y)
    return ctx("Mod", a, b, fmod=1)


def power(ctx: Context, x: Any, y: Any) -> Value:
    a, b, dtype = pair(ctx, x, y)
    if isinstance(y, (int, float)) and dtype.is_float:
        match float(y):
            case 1.0:
                return a
            case 2.0:
                return ctx("Mul", a, a)
            case 0.5:
                return ctx("Sqrt", a)
            case -1.0:
                return ctx("Reciprocal", a)
            case _:
                pass
    if dtype.is_float or dtype in {DType.INT32, DType.INT64}:
        return ctx("Pow", a, b)
    return ctx.cast(ctx("Pow", *(ctx.cast(v, DType.INT64) for v in (a, b))), dtype)


def extreme(op: str) -> Rule:
    """Max or Min of two tensors."""

    def rule(ctx: Context, x: Any, y: Any) -> Value:
        a, b, dtype = pair(ctx, x, y)
        if dtype is DType.BOOL:
            return ctx("Or" if op == "Max" else "And", a, b)
        return ctx(op, a, b)

    return rule


def logical(op: str) -> Rule:
    """A logical operator on whatever is true or not."""

    def rule(ctx: Context, x: Any, y: Any) -> Value:
        return ctx(op, ctx.tensor(x, DType.BOOL), ctx.tensor(y, DType.BOOL))

    return rule


def bitwise(op: str, on_bool: str) -> Rule:
    """A bitwise operator, logical on booleans."""

    def rule(ctx: Context, x: Any, y: Any) -> Value:
        a, b, dtype = pair(ctx, x, y)
        return ctx(on_bool if dtype is DType.BOOL else op, a, b)

    return rule


def bitwise_not(ctx: Context, x: Value) -> Value:
    return ctx("Not" if ctx.dtype(x) is DType.BOOL else "BitwiseNot", x)


def logical_not(ctx: Context, x: Value) -> Value:
    return ctx("Not", ctx.cast(x, DType.BOOL))


def where(ctx: Context, condition: Value, x: Any, y: Any) -> Value:
    dtype = ctx.result_dtype
    return ctx("Where", ctx.cast(condition, DType.BOOL), ctx.tensor(x, dtype), ctx.tensor(y, dtype))


def masked_fill(ctx: Context, x: Value, mask: Value, value: Any) -> Value:
    return ctx("Where", mask, ctx.tensor(value, ctx.dtype(x)), x)


def clamp(ctx: Context, x: Value, low: Any = None, high: Any = None) -> Value:
    dtype = ctx.result_dtype
    found = ctx.cast(x, dtype)
    scalars = all(v is None or isinstance(v, (int, float)) for v in (low, high))
    if scalars and (dtype.is_float or dtype in {DType.INT32, DType.INT64}):
        if low is not None and high is not None and low > high:
            low = high
        limits = [None if v is None else ctx.tensor(v, dtype) for v in (low, high)]
        return ctx("Clip", found, *limits)
    if low is not None:
        found = ctx("Max", found, ctx.tensor(low, dtype))
    return found if high is None else ctx("Min", found, ctx.tensor(high, dtype))


def clamp_max(ctx: Context, x: Value, high: Any) -> Value:
    return clamp(ctx, x, None, high)


def absolute(ctx: Context, x: Value) -> Value:
    return x if ctx.dtype(x) is DType.BOOL else ctx("Abs", x)


def rsqrt(ctx: Context, x: Value) -> Value:
    return ctx("Reciprocal", ctx("Sqrt", ctx.cast(x, ctx.result_dtype)))


def square(ctx: Context, x: Value) -> Value:
    return ctx("Mul", x, x)


def exp2(ctx: Context, x: Value) -> Value:
    dtype = ctx.result_dtype
    return ctx("Pow", ctx.const(2.0, dtype), ctx.cast(x, dtype))


def expm1(ctx: Context, x: Value) -> Value:
    """exp(x) − 1 as 2·exp(x/2)·sinh(x/2), which keeps its digits near 0."""
    dtype = ctx.result_dtype
    half = ctx("Mul", ctx.cast(x, dtype), ctx.const(0.5, dtype))
    return ctx("Mul", ctx("Mul", ctx("Exp", half), ctx("Sinh", half)), ctx.const(2.0, dtype))


def log1p(ctx: Context, x: Value) -> Value:
    """log(1 + x) as x·log(u)/(u − 1), u = 1 + x, which keeps its digits near 0 (Kahan)."""
    dtype = ctx.result_dtype
    x = ctx.cast(x, dtype)
    one = ctx.const(1.0, dtype)
    u = ctx("Add", x, one)
    gap = ctx("Sub", u, one)
    exact = ctx("Equal", gap, ctx.const(0.0, dtype))
    plain = ctx("Or", exact, ctx("IsInf", u))
    safe = ctx.where(plain, one, gap)
    log = ctx("Log", u)
    near = ctx("Div", ctx("Mul", x, log), safe)
    return ctx.where(exact, x, ctx.where(ctx("IsInf", u), log, near))


def log_of(base: float) -> Rule:
    """A logarithm to another base."""

    def rule(ctx: Context, x: Value) -> Value:
        dtype = ctx.result_dtype
        log = ctx("Log", ctx.cast(x, dtype))
        return ctx("Mul", log, ctx.const(1.0 / math.log(base), dtype))

    return rule


def rounded(ctx: Context, x: Value, *, decimals: int = 0) -> Value:
    dtype = ctx.dtype(x)
    if not dtype.is_float:
        return x
    if decimals == 0:
        return ctx("Round", x)
    scale = ctx.const(10.0 ** abs(decimals), dtype)
    up, down = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    return ctx(down, ctx("Round", ctx(up, x, scale)), scale)


def truncated(ctx: Context, x: Value) -> Value:
    if not ctx.dtype(x).is_float:
        return x
    negative = ctx("Less", x, ctx.const(0.0, ctx.dtype(x)))
    return ctx.where(negative, ctx("Ceil", x), ctx("Floor", x))


def fraction(ctx: Context, x: Value) -> Value:
    return ctx("Sub", x, truncated(ctx, x))


def isnan(ctx: Context, x: Value) -> Value:
    return ctx("IsNaN", x) if ctx.dtype(x).is_float else _no(ctx, x)


def isinf(ctx: Context, x: Value) -> Value:
    return ctx("IsInf", x) if ctx.dtype(x).is_float else _no(ctx, x)


def isfinite(ctx: Context, x: Value) -> Value:
    if not ctx.dtype(x).is_float:
        return ctx("Not", _no(ctx, x))
    return ctx("Not", ctx("Or", ctx("IsNaN", x), ctx("IsInf", x)))


def atan2(ctx: Context, y: Value, x: Value) -> Value:
    a, b, dtype = pair(ctx, y, x)
    zero, pi = ctx.const(0.0, dtype), ctx.const(math.pi, dtype)
    angle = ctx("Atan", ctx("Div", a, b))
    left = ctx("Less", b, zero)
    turned = ctx.where(ctx("Less", a, zero), ctx("Sub", angle, pi), ctx("Add", angle, pi))
    half = ctx("Mul", ctx("Sign", a), ctx.const(math.pi / 2, dtype))
    sides = ctx.where(left, turned, angle)
    return ctx.where(ctx("Equal", b, zero), half, sides)


def addcmul(ctx: Context, x: Value, a: Value, b: Value, *, value: Any = 1) -> Value:
    dtype = ctx.result_dtype
    product = ctx("Mul", ctx.cast(a, dtype), ctx.cast(b, dtype))
    return ctx("Add", ctx.cast(x, dtype), _scaled(ctx, product, value, dtype))


def addcdiv(ctx: Context, x: Value, a: Value, b: Value, *, value: Any = 1) -> Value:
    dtype = ctx.result_dtype
    quotient = ctx("Div", ctx.cast(a, dtype), ctx.cast(b, dtype))
    return ctx("Add", ctx.cast(x, dtype), _scaled(ctx, quotient, value, dtype))


def lerp(ctx: Context, x: Value, y: Value, weight: Any) -> Value:
    dtype = ctx.result_dtype
    return ctx("Add", x, ctx("Mul", ctx.tensor(weight, dtype), ctx("Sub", y, x)))


def to_dtype(ctx: Context, x: Value, *args: Any, **kwargs: Any) -> Value:
    """Every form of `.to`: only the element type matters here."""
    found = ctx.result
    if not isinstance(found, torch.Tensor):
        raise NotLowered("a conversion to something that is no tensor")
    return ctx.cast(x, dtype_of(found.dtype))


def item(ctx: Context, x: Value) -> Any:
    """A tensor of one element as a number: the symbol that torch gives it is read from here."""
    value = ctx.result
    scalar = ctx.reshape(x, ())
    if isinstance(value, torch.SymInt):
        dim = ctx.symbols.dim(value)
        ctx.scope.numbers[str(dim)] = ctx.cast(scalar, DType.INT64)
        return dim
    if isinstance(value, torch.SymFloat):
        ctx.scope.numbers[str(value.node.expr)] = ctx.cast(scalar, DType.FLOAT64)
        return Number(value.node.expr)
    raise NotLowered(".item() of a bool", "the tensor itself, in torch.where")


def _no(ctx: Context, x: Value) -> Value:
    return ctx.full(ctx.shape(x), False, DType.BOOL)


def _scaled(ctx: Context, x: Value, alpha: Any, dtype: DType) -> Value:
    if isinstance(alpha, (int, float)) and alpha == 1:
        return x
    return ctx("Mul", x, ctx.tensor(alpha, dtype))


def _remainder(ctx: Context, a: Value, b: Value) -> Value:
    dtype = ctx.dtype(a)
    zero = ctx.const(0.0, dtype)
    rest = ctx("Mod", a, b, fmod=1)
    opposite = ctx("Xor", ctx("Less", rest, zero), ctx("Less", b, zero))
    crossed = ctx("And", ctx("Not", ctx("Equal", rest, zero)), opposite)
    return ctx.where(crossed, ctx("Add", rest, b), rest)


def _floored(ctx: Context, a: Value, b: Value) -> Value:
    """Torch's `div_floor`: exact remainder first, then a quotient next to an integer."""
    dtype = ctx.dtype(a)
    if not dtype.is_float:
        rest = ctx("Mod", a, b)
        return ctx("Div", ctx("Sub", a, rest), b)
    zero, one = ctx.const(0.0, dtype), ctx.const(1.0, dtype)
    rest = ctx("Mod", a, b, fmod=1)
    quotient = ctx("Div", ctx("Sub", a, rest), b)
    opposite = ctx("Xor", ctx("Less", rest, zero), ctx("Less", b, zero))
    crossed = ctx("And", ctx("Not", ctx("Equal", rest, zero)), opposite)
    quotient = ctx.where(crossed, ctx("Sub", quotient, one), quotient)
    lower = ctx("Floor", quotient)
    far = ctx("Greater", ctx("Sub", quotient, lower), ctx.const(0.5, dtype))
    near = ctx.where(far, ctx("Add", lower, one), lower)
    plain = ctx("Div", a, b)
    signed = ctx("Mul", zero, plain)
    return ctx.where(
        ctx("Equal", b, zero), plain, ctx.where(ctx("Equal", quotient, zero), signed, near)
    )


_TO = (
    "aten.to.dtype",
    "aten.to.dtype_layout",
    "aten.to.device",
    "aten.to.other",
    "aten._to_copy.default",
    "aten.type_as.default",
)

ATEN: dict[str, Rule] = {
    **dict.fromkeys(_TO, to_dtype),
    **{
        f"aten.{name}.default": unary(op)
        for name, op in {
            "acos": "Acos",
            "acosh": "Acosh",
            "asin": "Asin",
            "asinh": "Asinh",
            "atan": "Atan",
            "atanh": "Atanh",
            "cos": "Cos",
            "cosh": "Cosh",
            "erf": "Erf",
            "exp": "Exp",
            "log": "Log",
            "neg": "Neg",
            "reciprocal": "Reciprocal",
            "sign": "Sign",
            "sin": "Sin",
            "sinh": "Sinh",
            "sqrt": "Sqrt",
            "tan": "Tan",
            "tanh": "Tanh",
        }.items()
    },
    **{
        f"aten.{name}.{overload}": compared(op)
        for name, op in {
            "eq": "Equal",
            "ge": "GreaterOrEqual",
            "gt": "Greater",
            "le": "LessOrEqual",
            "lt": "Less",
        }.items()
        for overload in ("Tensor", "Scalar")
    },
    **{
        f"aten.{name}.{overload}": rule
        for name, rule in {
            "add": add,
            "div": div,
            "fmod": fmod,
            "mul": mul,
            "ne": differs,
            "remainder": remainder,
            "rsub": rsub,
            "sub": sub,
        }.items()
        for overload in ("Tensor", "Scalar")
    },
    **{
        f"aten.bitwise_{name}.{overload}": bitwise(op, on_bool)
        for name, op, on_bool in (
            ("and", "BitwiseAnd", "And"),
            ("or", "BitwiseOr", "Or"),
            ("xor", "BitwiseXor", "Xor"),
        )
        for overload in ("Tensor", "Scalar", "Scalar_Tensor")
    },
    "aten.__and__.Tensor": bitwise("BitwiseAnd", "And"),
    "aten.__or__.Tensor": bitwise("BitwiseOr", "Or"),
    "aten.__xor__.Tensor": bitwise("BitwiseXor", "Xor"),
    "aten.abs.default": absolute,
    "aten.addcdiv.default": addcdiv,
    "aten.addcmul.default": addcmul,
    "aten.atan2.default": atan2,
    "aten.bitwise_not.default": bitwise_not,
    "aten.ceil.default": whole_or("Ceil"),
    "aten.clamp.Tensor": clamp,
    "aten.clamp.default": clamp,
    "aten.clamp_max.Tensor": clamp_max,
    "aten.clamp_max.default": clamp_max,
    "aten.clamp_min.Tensor": clamp,
    "aten.clamp_min.default": clamp,
    "aten.div.Scalar_mode": div,
    "aten.div.Tensor_mode": div,
    "aten.exp2.default": exp2,
    "aten.expm1.default": expm1,
    "aten.floor.default": whole_or("Floor"),
    "aten.floor_divide.Scalar": floor_divide,
    "aten.floor_divide.default": floor_divide,
    "aten.frac.default": fraction,
    "aten.isfinite.default": isfinite,
    "aten.isinf.default": isinf,
    "aten.isnan.default": isnan,
    "aten.item.default": item,
    "aten._local_scalar_dense.default": item,
    "aten.lerp.Scalar": lerp,
    "aten.lerp.Tensor": lerp,
    "aten.log10.default": log_of(10.0),
    "aten.log1p.default": log1p,
    "aten.log2.default": log_of(2.0),
    "aten.logical_and.default": logical("And"),
    "aten.logical_not.default": logical_not,
    "aten.logical_or.default": logical("Or"),
    "aten.logical_xor.default": logical("Xor"),
    "aten.masked_fill.Scalar": masked_fill,
    "aten.masked_fill.Tensor": masked_fill,
    "aten.max.other": extreme("Max"),
    "aten.maximum.default": extreme("Max"),
    "aten.min.other": extreme("Min"),
    "aten.minimum.default": extreme("Min"),
    "aten.pow.Scalar": power,
    "aten.pow.Tensor_Scalar": power,
    "aten.pow.Tensor_Tensor": power,
    "aten.round.decimals": rounded,
    "aten.round.default": rounded,
    "aten.rsqrt.default": rsqrt,
    "aten.square.default": square,
    "aten.trunc.default": truncated,
    "aten.where.Scalar": where,
    "aten.where.ScalarOther": where,
    "aten.where.ScalarSelf": where,
    "aten.where.self": where,
}
