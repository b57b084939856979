"""elementwise: how the canonical version becomes older ones."""

from __future__ import annotations

from functools import reduce
from math import pi
from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._older import (
    computing,
    inexpressible,
    older,
    refuse,
    same,
    single,
    widened,
)
from isomorph.exporters.onnx.downgrade._shift import bit_shift_28
from isomorph.ir.build import Build, restate
from isomorph.ir.constants import numbers
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite, Steps

WIDER = DType.FLOAT64


def _gelu_20(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    x, dtype = computing(build)
    one, two = build.const(1, dtype), build.const(2, dtype)
    if op.attr("approximate", "none") == "tanh":
        cube = build("Mul", x, build("Mul", x, x))
        inner = build("Add", x, build("Mul", build.exact(0.044715, dtype), cube))
        scale = build("Sqrt", build("Div", two, build.exact(pi, dtype)))
        factor = build("Tanh", build("Mul", scale, inner))
    else:
        factor = build("Erf", build("Div", x, build("Sqrt", two)))
    half = build("Mul", x, build.const(0.5, dtype))
    build.done(build.cast(build("Mul", half, build("Add", factor, one)), build.dtype()))


def _swish_24(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    x, dtype = computing(build)
    alpha = single(op, "alpha")
    scaled = x if alpha == 1 else build("Mul", x, build.const(alpha, dtype))
    build.done(build.cast(build("Mul", x, build("Sigmoid", scaled)), build.dtype()))


def _hard_swish_14(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    x, dtype = computing(build)
    line = build("Add", build("Div", x, build.const(6, dtype)), build.const(0.5, dtype))
    gate = build("Clip", line, build.const(0, dtype), build.const(1, dtype))
    build.done(build.cast(build("Mul", x, gate), build.dtype()))


def _mish_18(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    x = build.operand()
    build.done(build("Mul", x, build("Tanh", build("Softplus", x))))


def _celu_28(op: Op, patch: Patch) -> None:
    if Build(op, patch).dtype() is DType.FLOAT64:
        _celu_12(op, patch)
    else:
        widened(op, patch)


def _celu_12(op: Op, patch: Patch) -> None:
    """For alpha > 0, max(0, x) + min(0, alpha (exp(x/alpha) - 1)) is alpha Elu(x/alpha)."""
    build = Build(op, patch)
    x, dtype = build.operand(), build.dtype()
    alpha, zero = build.const(single(op, "alpha"), dtype), build.const(0, dtype)
    scaled = build("Div", x, alpha)
    if single(op, "alpha") > 0:
        build.done(build("Mul", alpha, build("Elu", scaled)))
        return
    curve = build("Mul", alpha, build("Sub", build("Exp", scaled), build.const(1, dtype)))
    build.done(build("Add", build("Max", x, zero), build("Min", curve, zero)))


def _mod_28(op: Op, patch: Patch) -> None:
    """The floored remainder of floats is the truncated one, moved to the divisor's side of zero."""
    build = Build(op, patch)
    dtype = build.dtype()
    if op.attr("fmod", 0) or not dtype.is_float:
        older(op, patch)
        return
    (a, dtype), (b, _) = computing(build, 0), computing(build, 1)
    zero = build.const(0, dtype)
    rest = build("Mod", a, b, fmod=1)
    negative = build("Less", b, zero)
    beyond = build("Xor", build("Less", rest, zero), negative)
    moved = build("Where", beyond, build("Add", rest, b), rest)
    signed_zero = build("Where", negative, build.const(-0.0, dtype), zero)
    result = build("Where", build("Equal", rest, zero), signed_zero, moved)
    build.done(build.cast(result, build.dtype()))


def _or_equal(strict: str) -> Rewrite:
    """Of a NaN neither holds, so it is not the negation of the opposite."""

    def step(op: Op, patch: Patch) -> None:
        build = Build(op, patch)
        a, b = build.operand(0), build.operand(1)
        build.done(build("Or", build(strict, a, b), build("Equal", a, b)))

    return step


def _extreme_12(strict: str) -> Rewrite:
    """Max and Min of integers, pair by pair."""

    def step(op: Op, patch: Patch) -> None:
        build = Build(op, patch)
        if not build.dtype().is_integer:
            older(op, patch)
            return

        def pick(a: Value, b: Value) -> Value:
            return build("Where", build(strict, a, b), a, b)

        build.done(reduce(pick, [v for v in op.inputs if v is not None]))

    return step


def _clip_12(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    if not build.dtype().is_integer:
        older(op, patch)
        return
    result, low, high = build.operand(), op.input(1), op.input(2)
    if low is not None:
        result = build("Max", result, low)
    if high is not None:
        result = build("Min", result, high)
    build.done(result)


def _relu_14(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    if not build.dtype().is_integer:
        older(op, patch)
        return
    x, zero = build.operand(), build.const(0, build.dtype())
    build.done(build("Where", build("Less", x, zero), zero, x))


def _cast(op: Op, patch: Patch) -> None:
    """Attributes matter for the 8-bit floats alone."""
    kind = op.output.type
    to = kind.dtype if isinstance(kind, TensorType) else DType(op.attr("to", 1))
    keep = ["to"]
    if to.name.startswith("FLOAT8"):
        keep.append("saturate")
    if to is DType.FLOAT8E8M0:
        keep.append("round_mode")
    older(op, patch, keep)


def _cast_like_15(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    build.done(build("Cast", build.operand(), to=build.dtype(1).value))


def _identity(op: Op, patch: Patch) -> None:
    """Sequences since 14, optionals since 16."""
    if op.inputs[0] is not None and not isinstance(op.inputs[0].type, TensorType | None):
        refuse(op, f"Identity-{op.version} is the first that takes {op.inputs[0].type}")
    older(op, patch)


def _dropout_12(op: Op, patch: Patch) -> None:
    """Before 12 the ratio was an attribute, and what the mask holds outside training was open."""
    training, ratio = numbers(op.input(2)), numbers(op.input(1))
    drops_nothing = op.input(1) is not None and ratio is not None and float(ratio) == 0
    if op.input(2) is not None and not drops_nothing:
        if training is None:
            refuse(op, "Dropout before opset 12 cannot be told at run time whether it trains")
        if training:
            refuse(op, "Dropout before opset 12 cannot train")
    build = Build(op, patch)
    x = build.operand()
    mask = op.outputs[1] if len(op.outputs) > 1 else None
    if mask is None:
        given = {} if ratio is None else {"ratio": float(ratio)}
        restate(op, patch, 10, (x,), given)
        return
    keeps = Weight.of([True])
    build.done(
        build("Identity", x),
        build("ConstantOfShape", build("Shape", x), value=keeps),
    )


def _pow_15(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    if build.dtype(1) is not DType.BFLOAT16:
        older(op, patch)
        return
    restate(op, patch, 13, (op.inputs[0], build.cast(build.operand(1), DType.FLOAT32)))


def _pow_12(op: Op, patch: Patch) -> None:
    """Both operands had one type, a float; other pairs are computed in one that holds both."""
    build = Build(op, patch)
    base, exponent = build.dtype(0), build.dtype(1)
    if not base.is_float:
        refuse(op, f"Pow before opset 12 does not allow {base}")
    if base is exponent:
        restate(op, patch, 7)
        return
    small = all((d.is_float and d.bits <= 32) or d.bits <= 16 for d in (base, exponent))
    common = DType.FLOAT32 if small else WIDER
    operands = [build.cast(build.operand(i), common) for i in (0, 1)]
    build.done(build.cast(build("Pow", *operands), base))


def _bitwise_not_18(op: Op, patch: Patch) -> None:
    """In two's complement, ¬x = -1 - x; of unsigned numbers it is the highest less x."""
    build = Build(op, patch)
    dtype = build.dtype()
    ones = -1 if dtype.is_signed else 2**dtype.bits - 1
    build.done(build("Sub", build.const(ones, dtype), build.operand()))


_bits = inexpressible("older opsets have no operators on bits")

DOWNGRADES: dict[Key, Steps] = {
    ("", "Abs"): same(13),
    ("", "Acos"): {22: widened},
    ("", "Acosh"): {22: widened},
    ("", "Add"): {14: widened, **same(13)},
    ("", "And"): {},
    ("", "Asin"): {22: widened},
    ("", "Asinh"): {22: widened},
    ("", "Atan"): {22: widened},
    ("", "Atanh"): {22: widened},
    ("", "BitCast"): {26: inexpressible("older opsets cannot reinterpret bits")},
    ("", "BitShift"): {28: bit_shift_28},
    ("", "BitwiseAnd"): {18: _bits},
    ("", "BitwiseNot"): {18: _bitwise_not_18},
    ("", "BitwiseOr"): {18: _bits},
    ("", "BitwiseXor"): {18: _bits},
    ("", "Cast"): {**dict.fromkeys((28, 25, 24, 23, 21, 19), _cast), **same(13)},
    ("", "CastLike"): {**dict.fromkeys((25, 24, 23, 21, 19), _cast), 15: _cast_like_15},
    ("", "Ceil"): same(13),
    ("", "Celu"): {28: _celu_28, 12: _celu_12},
    ("", "Clip"): {12: _clip_12, **same(13)},
    ("", "Cos"): {22: widened},
    ("", "Cosh"): {22: widened},
    ("", "Div"): {14: widened, **same(13)},
    ("", "Dropout"): {12: _dropout_12, **same(22, 13)},
    ("", "Elu"): {22: widened},
    ("", "Equal"): same(19, 13),
    ("", "Erf"): same(13),
    ("", "Exp"): same(13),
    ("", "Floor"): same(13),
    ("", "Gelu"): {20: _gelu_20},
    ("", "Greater"): same(13),
    ("", "GreaterOrEqual"): {16: widened, 12: _or_equal("Greater")},
    ("", "HardSigmoid"): {22: widened},
    ("", "HardSwish"): {22: widened, 14: _hard_swish_14},
    ("", "Identity"): {16: _identity, 14: _identity, **same(25, 24, 23, 21, 19, 13)},
    ("", "IsInf"): {20: widened},
    ("", "IsNaN"): {20: widened, **same(13)},
    ("", "LeakyRelu"): {16: widened},
    ("", "Less"): same(13),
    ("", "LessOrEqual"): {16: widened, 12: _or_equal("Less")},
    ("", "Log"): same(13),
    ("", "Max"): {12: _extreme_12("Greater"), **same(13)},
    ("", "Mean"): same(13),
    ("", "Min"): {12: _extreme_12("Less"), **same(13)},
    ("", "Mish"): {22: widened, 18: _mish_18},
    ("", "Mod"): {28: _mod_28, **same(13)},
    ("", "Mul"): {14: widened, **same(13)},
    ("", "Neg"): same(13),
    ("", "Not"): {},
    ("", "Or"): {},
    ("", "PRelu"): {16: widened},
    ("", "Pow"): {15: _pow_15, 12: _pow_12, **same(13)},
    ("", "Reciprocal"): same(13),
    ("", "Relu"): {14: _relu_14, **same(13)},
    ("", "Round"): {22: widened},
    ("", "Selu"): {22: widened},
    ("", "Shrink"): {},
    ("", "Sigmoid"): same(13),
    ("", "Sign"): same(13),
    ("", "Sin"): {22: widened},
    ("", "Sinh"): {22: widened},
    ("", "Softplus"): {22: widened},
    ("", "Softsign"): {22: widened},
    ("", "Sqrt"): same(13),
    ("", "Sub"): {14: widened, **same(13)},
    ("", "Sum"): same(13),
    ("", "Swish"): {24: _swish_24},
    ("", "Tan"): {22: widened},
    ("", "Tanh"): same(13),
    ("", "ThresholdedRelu"): {22: widened},
    ("", "Where"): {16: widened},
    ("", "Xor"): {},
}
