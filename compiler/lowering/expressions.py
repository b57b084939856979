"""Elementwise ops as expressions of float32 values, in the dialect of the kernels."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.types import DType
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op

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


def _infix(sign: str) -> Rule:
    return _text(f"({{0}} {sign} {{1}})")


def _truth(sign: str) -> Rule:
    return _text(f"({{0}} {sign} {{1}} ? 1.0f : 0.0f)")


def _fold(form: str) -> Rule:
    def rule(op: Op, a: Sequence[str]) -> str:
        return reduce(form.format, a)

    return rule


def _form(form: str, *attributes: str) -> Rule:
    """A form with `{x}` for the operand and each attribute by name."""
    return lambda op, a: form.format(x=a[0], **{n: literal(op.attr(n)) for n in attributes})


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
    x, scale, bias, mean, var = a
    return f"(({x} - {mean}) / sqrtf({var} + {literal(op.attr('epsilon'))}) * {scale} + {bias})"


def _is_inf(op: Op, a: Sequence[str]) -> str:
    tests = [
        f"{a[0]} == {sign}INFINITE"
        for sign, name in (("", "detect_positive"), ("-", "detect_negative"))
        if op.attr(name)
    ]
    return f"({' || '.join(tests) or 'false'} ? 1.0f : 0.0f)"


def _cast(op: Op, a: Sequence[str]) -> str:
    match DType(op.attr("to")):
        case DType.FLOAT32:
            return a[0]
        case DType.FLOAT16:
            return f"round_half({a[0]})"
        case DType.BOOL:
            return f"({a[0]} != 0.0f ? 1.0f : 0.0f)"
        case other:
            raise NoKernel(f"casts to {other} have no kernel yet")


EXPRESSIONS: dict[str, Rule] = {
    "Abs": _call("fabsf"),
    "Acos": _call("acosf"),
    "Acosh": _call("acoshf"),
    "Add": _infix("+"),
    "And": _text("({0} != 0.0f && {1} != 0.0f ? 1.0f : 0.0f)"),
    "Asin": _call("asinf"),
    "Asinh": _call("asinhf"),
    "Atan": _call("atanf"),
    "Atanh": _call("atanhf"),
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Ceil": _call("ceilf"),
    "Celu": _form("({x} < 0.0f ? {alpha} * expm1f({x} / {alpha}) : {x})", "alpha"),
    "Clip": _clip,
    "Cos": _call("cosf"),
    "Cosh": _call("coshf"),
    "Div": _infix("/"),
    "Elu": _form("({x} < 0.0f ? {alpha} * expm1f({x}) : {x})", "alpha"),
    "Equal": _truth("=="),
    "Erf": _call("erff"),
    "Exp": _call("expf"),
    "Floor": _call("floorf"),
    "Gelu": _gelu,
    "Greater": _truth(">"),
    "GreaterOrEqual": _truth(">="),
    "HardSigmoid": _form("min_nan(max_nan({alpha} * {x} + {beta}, 0.0f), 1.0f)", "alpha", "beta"),
    "HardSwish": _form("({x} * min_nan(max_nan({x} / 6.0f + 0.5f, 0.0f), 1.0f))"),
    "IsInf": _is_inf,
    "IsNaN": _text("(is_nan({0}) ? 1.0f : 0.0f)"),
    "LeakyRelu": _form("({x} < 0.0f ? {alpha} * {x} : {x})", "alpha"),
    "Less": _truth("<"),
    "LessOrEqual": _truth("<="),
    "Log": _call("logf"),
    "Max": _fold("max_nan({}, {})"),
    "Mean": _mean,
    "Min": _fold("min_nan({}, {})"),
    "Mish": _form("({x} * tanhf(softplus({x})))"),
    "Mul": _infix("*"),
    "Neg": _text("(-{0})"),
    "Not": _text("({0} != 0.0f ? 0.0f : 1.0f)"),
    "Or": _text("({0} != 0.0f || {1} != 0.0f ? 1.0f : 0.0f)"),
    "PRelu": _text("({0} < 0.0f ? {1} * {0} : {0})"),
    "Pow": _text("powf({0}, {1})"),
    "Reciprocal": _text("(1.0f / {0})"),
    "Relu": _form("max_nan({x}, 0.0f)"),
    "Round": _call("rintf"),
    "Selu": _form("({gamma} * ({x} <= 0.0f ? {alpha} * expm1f({x}) : {x}))", "alpha", "gamma"),
    "Shrink": _form(
        "({x} < -{lambd} ? {x} + {bias} : {x} > {lambd} ? {x} - {bias} : 0.0f)", "lambd", "bias"
    ),
    "Sigmoid": _form(SIGMOID),
    "Sign": _form("({x} > 0.0f ? 1.0f : {x} < 0.0f ? -1.0f : {x} == 0.0f ? 0.0f : {x})"),
    "Sin": _call("sinf"),
    "Sinh": _call("sinhf"),
    "Softplus": _form("softplus({x})"),
    "Softsign": _form("({x} / (1.0f + fabsf({x})))"),
    "Sqrt": _call("sqrtf"),
    "Sub": _infix("-"),
    "Sum": _fold("({} + {})"),
    "Swish": _form("({x} * sigmoid({alpha} * {x}))", "alpha"),
    "Tan": _call("tanf"),
    "Tanh": _call("tanhf"),
    "ThresholdedRelu": _form("({x} > {alpha} ? {x} : 0.0f)", "alpha"),
    "Where": _text("({0} != 0.0f ? {1} : {2})"),
    "Xor": _text("(({0} != 0.0f) != ({1} != 0.0f) ? 1.0f : 0.0f)"),
}
"""Rules by op type; `passes.fuse` takes these for pointwise (a test compares)."""
