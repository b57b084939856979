"""What onnxruntime's elementwise kernels do otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences import uses
from isomorph.exporters.runtimes.divergences.arrays import f16, f32, f64, i32, i64, ints
from isomorph.exporters.runtimes.divergences.entry import Dies, Divergence, Gives, Off, Probe, ai
from isomorph.ir import schema
from isomorph.ir.schema_microsoft import DOMAIN

NAN, INF = np.nan, np.inf


def _unary(op: str, x: np.ndarray, gives: Gives | Off, *wanted: np.ndarray) -> Probe:
    """An operator of one operand, in that one's type; at opset 12 too, if it is that old."""
    kind = {"float64": "double", "float32": "float"}.get(x.dtype.name, x.dtype.name)
    ends = f"{kind}[{x.size}] x", f"{kind}[{x.size}] y"
    old = schema.since_version("", op.split(maxsplit=1)[0], 12) is not None and kind != "double"
    return Probe(f"y = {op} (x)", *ends, (x,), gives, wanted, (12, 23) if old else (23,))


ENTRIES = (
    Divergence(
        "division-overflow",
        ai("Div", "Mod"),
        "crash",
        "the smallest integer divided by -1 kills the process, at 32 and at 64 bits",
        "Div-14 and Mod-13 leave integer overflow open; the remainder, 0, is a number of the type",
        "onnxruntime/core/providers/cpu/math/element_wise_ops.cc, which looks for divisors of 0 "
        "alone",
        tuple(
            Probe(
                f"y = {op} (x, d)",
                f"int{bits}[1] x, int{bits}[1] d",
                f"int{bits}[1] y",
                (ints(bits, -(2 ** (bits - 1))), ints(bits, -1)),
                Dies("SIGFPE"),
                () if op == "Div" else (ints(bits, 0),),
                (13, 23),
            )
            for op in ("Div", "Mod")
            for bits in (32, 64)
        ),
        judged="FAIL",
        when=uses.divides_by_anything,
        remedy="keep the divisor from -1, or divide in 8 or 16 bits or in floats",
    ),
    Divergence(
        "pow-integers",
        ai("Pow"),
        "integer overflow",
        "Pow of integers is computed in float64: wrong beyond 2⁵³",
        "Pow-15: f(x) = x^exponent in the type of the base",
        "onnxruntime/core/providers/cpu/math/element_wise_ops.cc, PowImpl, measured",
        (
            Probe(
                "y = Pow (x, p)",
                "int64[2] x, int64[2] p",
                "int64[2] y",
                (i64(3, 5), i64(35, 25)),
                Gives((i64(50031545098999704, 298023223876953152),)),
                (i64(3**35, 5**25),),
                (13, 23),
            ),
        ),
        when=uses.is_integer,
        remedy="keep results below 2⁵³, or multiply",
    ),
    Divergence(
        "mod-as-floats",
        ai("Mod"),
        "integer overflow",
        "with fmod, 64-bit integers are divided as float64: wrong beyond 2⁵³",
        "Mod-13: with fmod, the remainder has the sign of the dividend",
        "onnxruntime/core/providers/cpu/math/element_wise_ops.cc, measured",
        (
            Probe(
                "y = Mod <fmod = 1> (x, d)",
                "int64[2] x, int64[2] d",
                "int64[2] y",
                (i64(2**53 + 1, 2**53 + 3), i64(2, 3)),
                Gives((i64(0, 0),)),
                (i64(1, 2),),
                (13, 23),
            ),
        ),
        when=lambda op, graph: bool(op.attr("fmod", 0)) and uses.is_integer(op, graph),
        remedy="keep numbers below 2⁵³, or leave fmod away where none is negative",
    ),
    Divergence(
        "pow-int32-overflow",
        ai("Pow"),
        "integer overflow",
        "powers beyond int32 are its smallest number, where multiplication wraps",
        "Pow-15 leaves integer overflow open",
        "onnxruntime/core/providers/cpu/math/element_wise_ops.cc, a cast from float64, measured",
        (
            Probe(
                "y = Pow (x, p)",
                "int32[1] x, int32[1] p",
                "int32[1] y",
                (i32(3), i32(21)),
                Gives((i32(-(2**31)),)),
            ),
        ),
        judged="UNSPECIFIED",
    ),
    Divergence(
        "sigmoid-tail",
        ai("Sigmoid"),
        "lost accuracy",
        "Sigmoid's rational approximation has an absolute error of up to 2.8·2⁻²⁴: "
        "1 % off at -11.6, zero below -18",
        "Sigmoid-13: 1 / (1 + exp(-x))",
        "onnxruntime/core/mlas/lib/logistic.cpp, clamped at ±18",
        (
            _unary(
                "Sigmoid",
                f32(-11.6, -18.1),
                Gives((f32(9.1195107e-06, 0),), 2),
                f32(9.1660002e-06, 1.3780651e-08),
            ),
        ),
        issue="https://github.com/microsoft/onnxruntime/issues/10154",
    ),
    Divergence(
        "sigmoid-double",
        ai("Sigmoid"),
        "lost accuracy",
        "in float64 its error is absolute, up to 1.5·2⁻⁵³: zero below -37",
        "Sigmoid-13: 1 / (1 + exp(-x))",
        "onnxruntime/core/providers/cpu/activation/activations.h, measured",
        (_unary("Sigmoid", f64(-38), Gives((f64(0),)), f64(3.139132792048e-17)),),
    ),
    Divergence(
        "tanh-above-one",
        ai("Tanh"),
        "lost accuracy",
        "Tanh's rational approximation reaches 1.0000002 for |x| > 8.3",
        "Tanh-13: the hyperbolic tangent, which lies between -1 and 1",
        "onnxruntime/core/mlas/lib/tanh.cpp, clamped at ±9",
        (_unary("Tanh", f32(8.54018), Gives((f32(1.0000002),), 8), f32(1)),),
    ),
    Divergence(
        "exp-minus-one",
        ai("Elu", "Celu", "Selu"),
        "lost accuracy",
        "exp(x) − 1 is computed by subtraction: relative accuracy is lost near 0",
        "Elu-6, Celu-12 and Selu-6: alpha · (exp(x) − 1) for x < 0",
        "onnxruntime/core/providers/cpu/activation/activations.h",
        tuple(
            _unary(op, f32(-3e-8), Gives((f32(gives),), 4), f32(wanted))
            for op, gives, wanted in (
                ("Elu", -5.9604645e-08, -3e-8),
                ("Celu", -5.9604645e-08, -3e-8),
                ("Selu", -1.0479089e-07, -5.274298e-08),
            )
        ),
    ),
    Divergence(
        "gelu-tail",
        ai("Gelu"),
        "lost accuracy",
        "1 + erf(x/√2) is computed by addition: relative accuracy is lost in the left tail",
        "Gelu-20: 0.5 · x · (1 + erf(x / √2))",
        "onnxruntime/core/providers/cpu/tensor/gelu.cc",
        (_unary("Gelu", f32(-6), Gives((f32(-0.0),)), f32(-5.9195262e-09)),),
    ),
    Divergence(
        "gelu-constants",
        ai("Gelu"),
        "lost accuracy",
        "the tanh form in float64 has float32 constants",
        "Gelu-20: 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))",
        "onnxruntime/core/providers/cpu/tensor/gelu.cc, measured",
        (
            _unary(
                'Gelu <approximate = "tanh">',
                f64(2),
                Gives((f64(1.954597689844546),), 10),
                f64(1.954597694087775),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "gelu-factor",
        tuple((DOMAIN, op) for op in ("BiasGelu", "FastGelu", "Gelu", "QuickGelu")),
        "lost accuracy",
        "the factor of x is approximated with an absolute error: relative accuracy is lost in the "
        "left tail",
        "com.microsoft: the formulas in onnxruntime/docs/ContribOperators.md",
        "onnxruntime/contrib_ops/cpu/bert/bias_gelu.cc, contrib_ops/cpu/activations.h, measured",
        (
            *(
                _unary(f"{DOMAIN}.{op}", f32(x), Gives((f32(-0.0),)), f32(wanted))
                for op, x, wanted in (
                    ("FastGelu", -6, -1.1e-10),
                    ("Gelu", -6, -5.9195262e-09),
                    ("QuickGelu", -12, -1.6e-8),
                )
            ),
            Probe(
                f"y = {DOMAIN}.BiasGelu (x, b)",
                "float[1] x, float[1] b",
                "float[1] y",
                (f32(-5), f32(-1)),
                Gives((f32(-0.0),)),
                (f32(-5.9195262e-09),),
            ),
        ),
    ),
    Divergence(
        "fast-gelu-constants",
        ((DOMAIN, "FastGelu"),),
        "lost accuracy",
        "in float64 it has float32 constants",
        "com.microsoft.FastGelu: the formula in onnxruntime/docs/ContribOperators.md",
        "onnxruntime/core/graph/contrib_ops/bert_defs.cc, measured",
        (
            _unary(
                f"{DOMAIN}.FastGelu", f64(1), Gives((f64(0.841191999),), 9), f64(0.8411919906082768)
            ),
        ),
    ),
    Divergence(
        "log-ulps",
        ai("Log"),
        "lost accuracy",
        "Log is off by up to 3.5 ulp near 1",
        "Log-13: the natural logarithm",
        "Eigen's packet logarithm, measured",
        (_unary("Log", f32(*[1.1330702] * 8), Off(3.1, 4), f64(*[0.12493096643018932] * 8)),),
    ),
    Divergence(
        "arc-ulps",
        ai("Asin", "Acos"),
        "lost accuracy",
        "Asin and Acos are off by up to 4.1 ulp",
        "Asin-22 and Acos-22: the arc functions",
        "Eigen's arc functions, measured",
        (
            _unary("Asin", f32(*[-0.500735] * 8), Off(3, 6), f64(*[-0.5244476711569228] * 8)),
            _unary("Acos", f32(*[0.582975] * 8), Off(3, 6), f64(*[0.9484108787241644] * 8)),
        ),
    ),
    Divergence(
        "sine-double",
        ai("Sin", "Cos"),
        "lost accuracy",
        "in float64 the argument is reduced with one constant: the error is absolute, up to 2.5 "
        "units of the argument, and large against values near zero",
        "Sin-22 and Cos-22: sine and cosine",
        "Eigen's packet sine and cosine, measured",
        (
            _unary(
                "Sin",
                f64(*[9.42477796076938] * 8),
                Gives((f64(*[-0.0] * 8),), 3),
                f64(*[3.6739403974420594e-16] * 8),
            ),
            _unary(
                "Cos",
                f64(*[7.853981633974483] * 8),
                Gives((f64(*[0.0] * 8),), 3),
                f64(*[3.061616997868383e-16] * 8),
            ),
        ),
    ),
    Divergence(
        "where-zero",
        ai("Where"),
        "sign of zero",
        "Where loses the sign of −0: it adds its branches",
        "Where-16 returns elements as they are",
        "onnxruntime/core/providers/cpu/tensor/where_op.cc, measured",
        (
            Probe(
                "y = Where (c, x, z)",
                "bool[1] c, float[1] x, float[1] z",
                "float[1] y",
                (np.array([True]), f32(-0.0), f32(1)),
                Gives((f32(0.0),)),
                (f32(-0.0),),
                (13, 23),
            ),
        ),
    ),
    Divergence(
        "clip-nan",
        ai("Clip"),
        "NaN handling",
        "a bound that is NaN does not bound, where minima and maxima in numpy give NaN",
        "Clip-13 leaves NaN open",
        "onnxruntime/core/providers/cpu/math/clip.cc, measured",
        (
            Probe(
                "y = Clip (x, low, high)",
                "float[2] x, float low, float high",
                "float[2] y",
                (f32(-1, 2), np.float32(NAN), np.float32(1)),
                Gives((f32(-1, 1),)),
                (),
                (13, 23),
            ),
        ),
        judged="UNSPECIFIED",
        when=uses.bounds_by_nan,
        remedy="leave a bound away that is none",
        issue="https://github.com/onnx/onnx/issues/6003",
    ),
    Divergence(
        "shrink-constants",
        ai("Shrink"),
        "lost accuracy",
        "in float64 it has lambd and bias of float32",
        "Shrink-9: x − bias for x > lambd",
        "onnxruntime/core/providers/cpu/nn/shrink.cc, measured; attributes are float32",
        (
            _unary(
                "Shrink <lambd = 0.1, bias = 0.1>",
                f64(1),
                Gives((f64(0.8999999761581421),), 12),
                f64(0.9),
            ),
        ),
        limited=True,
    ),
    Divergence(
        "shrink-integers",
        ai("Shrink"),
        "integer overflow",
        "integers are computed in float32: wrong beyond 2²⁴",
        "Shrink-9: x − bias for x > lambd, in the type of x",
        "onnxruntime/core/providers/cpu/nn/shrink.cc, measured",
        tuple(
            Probe(
                "y = Shrink <lambd = 0.5> (x)",
                f"int{bits}[1] x",
                f"int{bits}[1] y",
                (ints(bits, 2**24 + 1),),
                Gives((ints(bits, 2**24),)),
                (ints(bits, 2**24 + 1),),
                (13, 23),
            )
            for bits in (32, 64)
        ),
        when=uses.is_integer,
        remedy="cast to float64 before",
    ),
    Divergence(
        "mish-subnormal",
        ai("Mish"),
        "lost accuracy",
        "Tanh of a subnormal number is a multiple of 2⁻¹⁴²: Mish loses its digits below -90",
        "Mish-22: x · tanh(ln(1 + exp(x)))",
        "onnxruntime/core/mlas/lib/tanh.cpp, which multiplies by 0.005, measured",
        (_unary("Mish", f32(*[-100] * 8), Gives((f32(*[-0.0] * 8),)), f32(*[-3.7200758e-42] * 8)),),
    ),
    Divergence(
        "sign-nan",
        ai("Sign"),
        "NaN handling",
        "in float16 the sign of NaN is 0",
        "Sign-13 of float16 is that of float32, which onnxruntime makes NaN",
        "onnxruntime/core/providers/cpu/math/sign.cc, measured",
        (_unary("Sign", f16(NAN), Gives((f16(0),)), f16(NAN)),),
        limited=True,
    ),
)
