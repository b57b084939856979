"""Elementwise ops as expressions in the dialect of the kernels.

Operands are texts, of the types that `codegen.spec.COMPUTED_AS` gives. Functions whose names end in
an underscore take float32 and float64; integers wrap around.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from isomorph.codegen.functor import computed_as
from isomorph.codegen.spec import CTYPES
from isomorph.ir.types import DType, TensorType
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op, Value

    Rule = Callable[[Op, Sequence[str]], str]


def literal(value: float) -> str:
    """A float32 constant; what a file holds of an attribute."""
    narrow = np.float32(value)
    if np.isnan(narrow):
        return "__uint_as_float(0x7fc00000u)"
    if np.isinf(narrow):
        return "INFINITE" if narrow > 0 else "(-INFINITE)"
    text = repr(float(narrow))
    return f"({text if 'e' in text or '.' in text else text + '.0'}f)"


def _text(form: str) -> Rule:
    """A form with `{0}`, `{1}`, … for the operands."""

    def rule(op: Op, a: Sequence[str]) -> str:
        return form.format(*a)

    return rule


def _call(name: str) -> Rule:
    return _text(f"{name}({{0}})")


def _numbers(floats: str, integers: str) -> Rule:
    """A form for floats, and one for integers."""

    def rule(op: Op, a: Sequence[str]) -> str:
        return (integers if _is_integer(op.output) else floats).format(*a)

    return rule


def _truth(sign: str) -> Rule:
    return _text(f"({{0}} {sign} {{1}})")


def _bits(form: str) -> Rule:
    """A form whose result C++ widens."""
    return lambda op, a: f"{_ctype(op.output)}({form.format(*a)})"


def _fold(form: str) -> Rule:
    def rule(op: Op, a: Sequence[str]) -> str:
        return reduce(form.format, a)

    return rule


def _form(form: str, *attributes: str) -> Rule:
    """A form with `{x}` for the operand and each attribute by name."""
    return lambda op, a: form.format(x=a[0], **{n: literal(op.attr(n)) for n in attributes})


def _dtype(value: Value | None) -> DType:
    if value is None or not isinstance(value.type, TensorType):
        raise NoKernel(f"the type of {value and value.name} is not known")
    return value.type.dtype


def _ctype(value: Value | None) -> str:
    dtype = _dtype(value)
    if dtype not in CTYPES:
        raise NoKernel(f"{dtype} is not computed yet")
    return CTYPES[dtype]


def _is_integer(value: Value | None) -> bool:
    return _dtype(value).is_integer


SIGMOID = "sigmoid({x})"


def _mean(op: Op, a: Sequence[str]) -> str:
    return f"(({' + '.join(a)}) / {literal(float(len(a)))})"


def _clip(op: Op, a: Sequence[str]) -> str:
    low, high = op.input(1), op.input(2)
    given = iter(a[1:])
    text = a[0]
    if low is not None:
        text = f"max_nan({text}, {next(given)})"
    if high is not None:
        text = f"min_nan({text}, {next(given)})"
    return text


def _gelu(op: Op, a: Sequence[str]) -> str:
    tanh = op.attr("approximate", b"none") in {b"tanh", "tanh"}
    return f"gelu_{'tanh' if tanh else 'erf'}({a[0]})"


def _batch_norm(op: Op, a: Sequence[str]) -> str:
    own = computed_as(_ctype(op.output))
    x, scale, bias, mean, var = (f"{own}({text})" for text in a)
    return f"(({x} - {mean}) / sqrt_({var} + {literal(op.attr('epsilon'))}) * {scale} + {bias})"


def _is_inf(op: Op, a: Sequence[str]) -> str:
    tests = [
        f"{a[0]} == {sign}INFINITE"
        for sign, name in (("", "detect_positive"), ("-", "detect_negative"))
        if op.attr(name)
    ]
    return f"({' || '.join(tests) or 'false'})"


def _mod(op: Op, a: Sequence[str]) -> str:
    if not _is_integer(op.output):
        return f"{'fmod_' if op.attr('fmod') else 'floor_mod'}({a[0]}, {a[1]})"
    return f"{'remainder_of' if op.attr('fmod') else 'modulo'}({a[0]}, {a[1]})"


def _pow(op: Op, a: Sequence[str]) -> str:
    kinds = [_is_integer(op.inputs[0]), _is_integer(op.inputs[1])]
    own = computed_as(_ctype(op.output))
    match kinds:
        case [True, True]:
            return f"power({a[0]}, {a[1]})"
        case [True, False]:
            return f"cast_to<{own}>(pow(double({a[0]}), double({a[1]})))"
        case _:
            return f"pow_({a[0]}, {own}({a[1]}))"


def _bit_shift(op: Op, a: Sequence[str]) -> str:
    direction = op.attr("direction")
    left = direction in {"LEFT", b"LEFT"}
    return f"shift_{'left' if left else 'right'}({a[0]}, {a[1]})"


def _cast(op: Op, a: Sequence[str]) -> str:
    _ctype(op.inputs[0])
    return cast_text(DType(op.attr("to")), a[0])


def cast_text(target: DType, a: str) -> str:
    """A number as an element type that kernels compute."""
    match target:
        case DType.FLOAT16:
            return f"round_half(single({a}))"
        case DType.BFLOAT16:
            return f"round_bfloat(single({a}))"
        case DType.BOOL:
            return f"({a} != 0)"
        case _:
            return f"cast_to<{CTYPES[target]}>({a})"


EXPRESSIONS: dict[str, Rule] = {
    "Abs": _numbers("fabs_({0})", "magnitude({0})"),
    "Acos": _call("acos_"),
    "Acosh": _call("acosh_"),
    "Add": _numbers("({0} + {1})", "wrap_add({0}, {1})"),
    "And": _text("({0} && {1})"),
    "Asin": _call("asin_"),
    "Asinh": _call("asinh_"),
    "Atan": _call("atan_"),
    "Atanh": _call("atanh_"),
    "BatchNormalization": _batch_norm,
    "BitShift": _bit_shift,
    "BitwiseAnd": _bits("{0} & {1}"),
    "BitwiseNot": _bits("~{0}"),
    "BitwiseOr": _bits("{0} | {1}"),
    "BitwiseXor": _bits("{0} ^ {1}"),
    "Cast": _cast,
    "Ceil": _call("ceil_"),
    "Celu": _form("({x} < 0.0f ? {alpha} * expm1_({x} / {alpha}) : {x})", "alpha"),
    "Clip": _clip,
    "Cos": _call("cos_"),
    "Cosh": _call("cosh_"),
    "Div": _numbers("({0} / {1})", "divided({0}, {1})"),
    "Elu": _form("({x} < 0.0f ? {alpha} * expm1_({x}) : {x})", "alpha"),
    "Equal": _truth("=="),
    "Erf": _call("erf_"),
    "Exp": _call("exp_"),
    "Floor": _call("floor_"),
    "Gelu": _gelu,
    "Greater": _truth(">"),
    "GreaterOrEqual": _truth(">="),
    "HardSigmoid": _form("min_nan(max_nan({alpha} * {x} + {beta}, 0.0f), 1.0f)", "alpha", "beta"),
    "HardSwish": _form("({x} * min_nan(max_nan({x} / 6.0f + 0.5f, 0.0f), 1.0f))"),
    "IsInf": _is_inf,
    "IsNaN": _text("is_nan({0})"),
    "LeakyRelu": _form("({x} < 0.0f ? {alpha} * {x} : {x})", "alpha"),
    "Less": _truth("<"),
    "LessOrEqual": _truth("<="),
    "Log": _call("log_"),
    "Max": _fold("max_nan({}, {})"),
    "Mean": _mean,
    "Min": _fold("min_nan({}, {})"),
    "Mish": _form("({x} * tanh_(softplus({x})))"),
    "Mod": _mod,
    "Mul": _numbers("({0} * {1})", "wrap_mul({0}, {1})"),
    "Neg": _numbers("(-{0})", "negative({0})"),
    "Not": _text("(!{0})"),
    "Or": _text("({0} || {1})"),
    "PRelu": _numbers("({0} < 0.0f ? {1} * {0} : {0})", "({0} < 0 ? wrap_mul({1}, {0}) : {0})"),
    "Pow": _pow,
    "Reciprocal": _text("(1.0f / {0})"),
    "Relu": _text("max_nan({0}, 0)"),
    "Round": _call("rint_"),
    "Selu": _form("({gamma} * ({x} <= 0.0f ? {alpha} * expm1_({x}) : {x}))", "alpha", "gamma"),
    "Shrink": _form(
        "({x} < -{lambd} ? {x} + {bias} : {x} > {lambd} ? {x} - {bias} : 0.0f)", "lambd", "bias"
    ),
    "Sigmoid": _form(SIGMOID),
    "Sign": _numbers(
        "({0} > 0.0f ? 1.0f : {0} < 0.0f ? -1.0f : {0} == 0.0f ? 0.0f : {0})", "sign_of({0})"
    ),
    "Sin": _call("sin_"),
    "Sinh": _call("sinh_"),
    "Softplus": _form("softplus({x})"),
    "Softsign": _form("({x} / (1.0f + fabs_({x})))"),
    "Sqrt": _call("sqrt_"),
    "Sub": _numbers("({0} - {1})", "wrap_sub({0}, {1})"),
    "Sum": _fold("({} + {})"),
    "Swish": _form("({x} * sigmoid({alpha} * {x}))", "alpha"),
    "Tan": _call("tan_"),
    "Tanh": _call("tanh_"),
    "ThresholdedRelu": _form("({x} > {alpha} ? {x} : 0.0f)", "alpha"),
    "Where": _text("({0} ? {1} : {2})"),
    "Xor": _text("({0} != {1})"),
}
"""Rules by op type; `passes.fuse` takes these for pointwise (a test compares)."""
