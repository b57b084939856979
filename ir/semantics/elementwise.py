"""elementwise: what each operator computes."""

from __future__ import annotations

from functools import reduce
from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.dice import generator
from isomorph.ir.semantics import NEWEST, Impl
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]
    Function = Callable[..., Any]


def _unary(f: Callable[[Array], Any], since: int = 1, until: int = NEWEST) -> Impl:
    """One operand, its dtype and shape kept."""

    def run(call: Call, x: Any) -> Array:
        return n.like(f(n.up(x)), x)

    return Impl(run, since, until)


def _with(f: Callable[..., Any], *names: str, since: int = 1, until: int = NEWEST) -> Impl:
    """The same with float attributes as further arguments."""

    def run(call: Call, x: Any) -> Array:
        return n.like(f(n.up(x), *(call.attr(name) for name in names)), x)

    return Impl(run, since, until)


def _paired(f: Function) -> Function:
    """Two operands of one dtype, which the result keeps."""

    def run(call: Call, a: Any, b: Any) -> Array:
        return n.like(f(n.up(a), n.up(b)), a)

    return run


def _compared(f: Function) -> Function:
    """Two operands of one dtype, a truth value as result."""

    def run(call: Call, a: Any, b: Any) -> Array:
        return np.asarray(f(n.up(a), n.up(b))).astype(bool)

    return run


def _old_broadcast(function: Function) -> Function:
    """The limited broadcasting before opset 7: B's dims meet A's from `axis` on."""

    def run(call: Call, a: Any, b: Any) -> Array:
        a, b = np.asarray(a), np.asarray(b)
        axis = call.attr("axis")
        if call.attr("broadcast") and axis is not None and b.size > 1:
            start = axis % a.ndim
            b = b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))
        elif call.attr("broadcast") and b.size == 1:
            b = b.reshape(())
        return function(call, a, b)

    return run


def _binary(f: Function, wrap: Callable[[Function], Function] = _paired) -> tuple[Impl, ...]:
    """A binary operator, in its form before opset 7 too."""
    function = wrap(f)
    return Impl(_old_broadcast(function), until=6), Impl(function, since=7)


def _variadic(f: Callable[[Array, Array], Any]) -> tuple[Impl, ...]:
    def run(call: Call, *operands: Any) -> Array:
        return n.like(reduce(f, (n.up(x) for x in operands)), operands[0])

    return (Impl(run),)


def _mean(call: Call, *operands: Any) -> Array:
    total = reduce(np.add, (n.up(x) for x in operands))
    return n.like(total / len(operands), operands[0])


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def _celu(x: Array, alpha: float) -> Array:
    return np.maximum(x, 0) + np.minimum(alpha * np.expm1(x / alpha), 0)


def _selu(x: Array, alpha: float, gamma: float) -> Array:
    return gamma * _elu(x, alpha)


def _hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    return np.maximum(0, np.minimum(1, alpha * x + beta))


def _shrink(x: Array, lambd: float, bias: float) -> Array:
    below, above = x < -lambd, x > lambd
    return np.where(below, x + bias, np.where(above, x - bias, 0))


def _gelu(call: Call, x: Any) -> Array:
    a = n.up(x)
    if call.attr("approximate") == "tanh":
        return n.like(0.5 * a * (1 + np.tanh(sqrt(2 / pi) * (a + 0.044715 * a**3))), x)
    # erfc keeps the relative accuracy of the left tail, where 1 + erf would cancel
    return n.like(0.5 * a * n.erfc(-a / sqrt(2)), x)


def _leaky(x: Array, alpha: float) -> Array:
    return np.where(x < 0, alpha * x, x)


def _thresholded(x: Array, alpha: float) -> Array:
    return np.where(x > alpha, x, 0)


def _swish(x: Array, alpha: float) -> Array:
    return x * n.sigmoid(alpha * x)


def _prelu(call: Call, x: Any, slope: Any) -> Array:
    a = n.up(x)
    return n.like(np.where(a < 0, n.up(slope) * a, a), x)


def _prelu_6(call: Call, x: Any, slope: Any) -> Array:
    """Before opset 7, a slope of rank 1 runs along the channels, axis 1."""
    x, slope = np.asarray(x), np.asarray(slope)
    if slope.ndim == 1 and slope.size > 1 and x.ndim > 2:
        slope = slope.reshape(-1, *(1,) * (x.ndim - 2))
    return _prelu(call, x, slope)


def _mod(call: Call, a: Any, b: Any) -> Array:
    x, y = n.up(a), n.up(b)
    if call.attr("fmod"):
        return n.like(np.fmod(x, y), a)
    return n.like(np.mod(x, y), a)


def _pow(call: Call, x: Any, y: Any) -> Array:
    return n.like(n.power(n.up(x), n.up(y)), x)


def _clip(call: Call, x: Any, low: Any = None, high: Any = None) -> Array:
    """Min(max, Max(input, min)); absent bounds are the element type's lowest and highest."""
    a = n.up(x)
    lowest, highest = n.limits(n.declared(call, 0, x))
    low = a.dtype.type(lowest) if low is None else n.up(low)
    high = a.dtype.type(highest) if high is None else n.up(high)
    return n.like(np.minimum(np.maximum(a, low), high), x)


def _clip_6(call: Call, x: Any) -> Array:
    attributes = call.op.attributes
    low, high = (call.attr(name) if name in attributes else None for name in ("min", "max"))
    return _clip(call, x, low, high)


def _cast(call: Call, x: Any) -> Array:
    return n.cast(
        call,
        x,
        n.declared(call, 0, x),
        DType(call.attr("to")),
        saturate=bool(call.attr("saturate", 1)),
        rounding=call.attr("round_mode", "up"),
    )


def _cast_like(call: Call, x: Any, target: Any) -> Array:
    return n.cast(
        call,
        x,
        n.declared(call, 0, x),
        n.declared(call, 1, target),
        saturate=bool(call.attr("saturate", 1)),
        rounding=call.attr("round_mode", "up"),
    )


def _bitcast(call: Call, x: Any) -> Array:
    source, to = n.declared(call, 0, x), DType(call.attr("to"))
    stored = np.asarray(x).astype(source.numpy, copy=False)
    if source.bits < 8:
        codes = (
            stored.astype(np.int8).view(np.uint8) if source.is_integer else stored.view(np.uint8)
        )
        codes &= (1 << source.bits) - 1
        if to.is_integer and to.is_signed:
            top = np.uint8(1 << (to.bits - 1))
            codes = ((codes ^ top).astype(np.int16) - int(top)).astype(np.int8)
        found = codes.astype(to.numpy) if to.is_integer else codes.view(to.numpy)
    else:
        found = stored.view(to.numpy) if stored.ndim else stored.reshape(1).view(to.numpy)[0]
    return np.asarray(found).astype(call.float_dtype(to), copy=False)


def _where(call: Call, condition: Any, x: Any, y: Any) -> Array:
    return n.like(np.where(condition, x, y), x)


def _is_inf(call: Call, x: Any) -> Array:
    a = n.up(x)
    positive = np.isposinf(a) & bool(call.attr("detect_positive"))
    return np.asarray(positive | (np.isneginf(a) & bool(call.attr("detect_negative"))))


def _is_nan(call: Call, x: Any) -> Array:
    return np.asarray(np.isnan(n.up(x)))


def _bit_shift(call: Call, x: Any, y: Any) -> Array:
    x, y = np.asarray(x), np.asarray(y)
    return np.asarray(n.shift(x, y, left=call.attr("direction") == "LEFT"))


def _identity(call: Call, x: Any) -> Any:
    return x


def _dropout(call: Call, x: Any, ratio: Any = None, training: Any = None) -> tuple[Any, Array]:
    """The data itself, and a mask that keeps everything; while training, what chance keeps."""
    share = 0.5 if ratio is None else float(ratio)
    if training is None or not bool(training) or share == 0:
        return x, np.ones(np.shape(x), bool)
    mask: Array = np.asarray(generator(call.op).random(np.shape(x)) >= share)
    kept = np.where(mask, np.asarray(x).astype(np.float64) / (1 - share), 0.0)
    return kept.astype(np.asarray(x).dtype), mask


def _dropout_7(call: Call, x: Any) -> tuple[Any, Array]:
    return x, np.ones_like(x)


def _dropout_6(call: Call, x: Any) -> tuple[Any, Array]:
    training = not call.attr("is_test")
    return _dropout(call, x, call.attr("ratio"), training)[0], np.ones_like(x)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "Abs"): (_unary(np.abs),),
    ("", "Acos"): (_unary(np.arccos),),
    ("", "Acosh"): (_unary(np.arccosh),),
    ("", "Add"): _binary(np.add),
    ("", "And"): _binary(np.logical_and, _compared),
    ("", "Asin"): (_unary(np.arcsin),),
    ("", "Asinh"): (_unary(np.arcsinh),),
    ("", "Atan"): (_unary(np.arctan),),
    ("", "Atanh"): (_unary(np.arctanh),),
    ("", "BitCast"): (Impl(_bitcast),),
    ("", "BitShift"): (Impl(_bit_shift),),
    ("", "BitwiseAnd"): (Impl(_paired(np.bitwise_and)),),
    ("", "BitwiseNot"): (_unary(np.bitwise_not),),
    ("", "BitwiseOr"): (Impl(_paired(np.bitwise_or)),),
    ("", "BitwiseXor"): (Impl(_paired(np.bitwise_xor)),),
    ("", "Cast"): (Impl(_cast, since=6),),
    ("", "CastLike"): (Impl(_cast_like),),
    ("", "Ceil"): (_unary(np.ceil),),
    ("", "Celu"): (_with(_celu, "alpha"),),
    ("", "Clip"): (Impl(_clip_6, until=10), Impl(_clip, since=11, keeps=True)),
    ("", "Cos"): (_unary(np.cos),),
    ("", "Cosh"): (_unary(np.cosh),),
    ("", "Div"): _binary(n.divide),
    ("", "Dropout"): (
        Impl(_dropout_6, until=6),
        Impl(_dropout_7, since=7, until=9),
        Impl(_dropout, since=10),
    ),
    ("", "Elu"): (_with(_elu, "alpha"),),
    ("", "Equal"): _binary(np.equal, _compared),
    ("", "Erf"): (_unary(n.erf),),
    ("", "Exp"): (_unary(np.exp),),
    ("", "Floor"): (_unary(np.floor),),
    ("", "Gelu"): (Impl(_gelu),),
    ("", "Greater"): _binary(np.greater, _compared),
    ("", "GreaterOrEqual"): (Impl(_compared(np.greater_equal)),),
    ("", "HardSigmoid"): (_with(_hard_sigmoid, "alpha", "beta"),),
    ("", "HardSwish"): (_unary(lambda x: x * _hard_sigmoid(x, 1 / 6, 0.5)),),
    ("", "Identity"): (Impl(_identity),),
    ("", "IsInf"): (Impl(_is_inf),),
    ("", "IsNaN"): (Impl(_is_nan),),
    ("", "LeakyRelu"): (_with(_leaky, "alpha"),),
    ("", "Less"): _binary(np.less, _compared),
    ("", "LessOrEqual"): (Impl(_compared(np.less_equal)),),
    ("", "Log"): (_unary(np.log),),
    ("", "Max"): _variadic(np.maximum),
    ("", "Mean"): (Impl(_mean),),
    ("", "Min"): _variadic(np.minimum),
    ("", "Mish"): (_unary(lambda x: x * np.tanh(n.softplus(x))),),
    ("", "Mod"): (Impl(_mod),),
    ("", "Mul"): _binary(np.multiply),
    ("", "Neg"): (_unary(np.negative),),
    ("", "Not"): (_unary(np.logical_not),),
    ("", "Or"): _binary(np.logical_or, _compared),
    ("", "PRelu"): (Impl(_prelu_6, until=6), Impl(_prelu, since=7, keeps=True)),
    ("", "Pow"): (
        Impl(_old_broadcast(_pow), until=6),
        Impl(_pow, since=7),
    ),
    ("", "Reciprocal"): (_unary(lambda x: 1 / x),),
    ("", "Relu"): (_unary(lambda x: np.maximum(x, 0)),),
    ("", "Round"): (_unary(np.rint),),
    ("", "Selu"): (_with(_selu, "alpha", "gamma"),),
    ("", "Shrink"): (_with(_shrink, "lambd", "bias"),),
    ("", "Sigmoid"): (_unary(n.sigmoid),),
    ("", "Sign"): (_unary(np.sign),),
    ("", "Sin"): (_unary(np.sin),),
    ("", "Sinh"): (_unary(np.sinh),),
    ("", "Softplus"): (_unary(n.softplus),),
    ("", "Softsign"): (_unary(lambda x: x / (1 + np.abs(x))),),
    ("", "Sqrt"): (_unary(np.sqrt),),
    ("", "Sub"): _binary(np.subtract),
    ("", "Sum"): _variadic(np.add),
    ("", "Swish"): (_with(_swish, "alpha"),),
    ("", "Tan"): (_unary(np.tan),),
    ("", "Tanh"): (_unary(np.tanh),),
    ("", "ThresholdedRelu"): (_with(_thresholded, "alpha"),),
    ("", "Where"): (Impl(_where),),
    ("", "Xor"): _binary(np.logical_xor, _compared),
}
