"""quantized: rounding to a scale and back, and products of integers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.spec import Block, KernelSpec, Launch
from isomorph.ir.types import DType
from isomorph.lowering.context import (
    STORE,
    Group,
    Lowered,
    blocks,
    ctype,
    dtype_of,
    shape_of,
    stored,
    strides_of,
)
from isomorph.lowering.convolution import Sums, direct, windows
from isomorph.lowering.errors import NoKernel
from isomorph.lowering.linear import Exact, exact_product, matmul

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

ROUNDED = {
    DType.FLOAT32: "{}",
    DType.FLOAT16: "round_half({})",
    DType.BFLOAT16: "round_bfloat({})",
}
"""A float32 in the precision of a quotient."""


def _spread(group: Group) -> tuple[int, ...]:
    """Words of `struct spread`."""
    shape, own = shape_of(group.operand(0)), shape_of(group.operand(1))
    zero = group.optional(2)
    if zero is not None and prod(shape_of(zero)) != prod(own):
        raise NoKernel(f"zero points of shape {shape_of(zero)} for scales of shape {own}")
    if prod(own) == 1 and len(own) < 2:
        return (1, 1, 1, 0, 0, 0)
    block = int(group.main.attr("block_size") or 0)
    axis = 0 if len(shape) == 1 else int(group.main.attr("axis", 1)) % len(shape)
    inner, size = prod(shape[axis + 1 :]), shape[axis]
    if len(own) == 1 and not block and own[0] == size:
        return (max(inner, 1), max(size, 1), 1, 0, 1, 0)
    if block and own == tuple(-(-d // block) if a == axis else d for a, d in enumerate(shape)):
        steps = strides_of(own)
        return (max(inner, 1), max(size, 1), block, steps[axis] * own[axis], steps[axis], 1)
    raise NoKernel(f"scales of shape {own} for an operand of shape {shape}")


def _quantize(group: Group) -> Lowered:
    x, scale, zero, out = group.operand(0), group.operand(1), group.optional(2), group.output
    named = int(group.main.attr("precision") or 0)
    precision = DType(named) if named else dtype_of(scale)
    if precision is DType.FLOAT8E8M0:
        precision = dtype_of(x)
    if not precision.is_float:
        precision = DType.FLOAT32
    if precision not in ROUNDED or dtype_of(x) is DType.FLOAT64:
        raise NoKernel(f"its quotients are {precision}")
    form = ROUNDED[precision]
    quotient = form.format(f"({form.format('a')} / {form.format('b')})")
    if dtype_of(out) is DType.FLOAT8E8M0:
        raise NoKernel("powers of two are no scale to quantize to")
    spec = KernelSpec(
        "quantize",
        (("T", stored(x)), ("S", stored(scale)), ("T_OUT", stored(out))),
        (("SATURATE", bool(group.main.attr("saturate", 1))),),
        f"DEV float quotient(float a, float b) {{ return {quotient}; }}",
    )
    n = prod(shape_of(x))
    block = Block((x, scale, zero, out), (n, *_spread(group)))
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


def _dequantize(group: Group) -> Lowered:
    x, scale, zero, out = group.operand(0), group.operand(1), group.optional(2), group.output
    to, bits = dtype_of(out), dtype_of(x).bits
    if to not in ROUNDED:
        raise NoKernel(f"its results are {to}")
    short = dtype_of(scale) is not DType.FLOAT32 or to is DType.FLOAT32
    real = "float" if bits <= 8 and short else "double"
    text = "v" if real == "float" or to is DType.FLOAT32 else "single(v)"
    spec = KernelSpec(
        "dequantize",
        (("T", stored(x)), ("S", stored(scale)), ("T_OUT", stored(out)), ("R", real)),
        (),
        f"DEV float stored({real} v) {{ return float({text}); }}",
    )
    n = prod(shape_of(x))
    block = Block((x, scale, zero, out), (n, *_spread(group)))
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


FINISH = """
struct Finish {{
  const {scale}* first;
  const {scale}* second;
  const {scale}* last;
  const {result}* zero;
  const int32_t* bias;
  uint32_t first_step, second_step;
  DEV {result} operator()(int32_t sum, uint32_t m, uint32_t n) const {{
    if (bias) sum = wrap_add(sum, bias[n]);
    float by = single(value(first[m * first_step])) * single(value(second[n * second_step]));
    float v = float(sum) * (by / single(value(last[0])));
    return quantizing<{result}>::f(v, float(value(zero[0])), true);
  }}
}};"""
"""A sum of products, brought to the scale of the result."""


def _one(value: Value, what: str) -> None:
    if prod(shape_of(value)) != 1:
        raise NoKernel(f"{what} of shape {shape_of(value)}; one number is taken")


def _per(value: Value | None, count: int, what: str) -> int:
    """1 where there is one number for each of so many, 0 where it is one for all."""
    shape = () if value is None else shape_of(value)
    if prod(shape) != 1 and shape != (count,):
        raise NoKernel(f"{what} of shape {shape}; one number or {count} are taken")
    return int(prod(shape) != 1)


def _integers(*values: Value) -> None:
    for value in values:
        if dtype_of(value) not in {DType.INT8, DType.UINT8}:
            raise NoKernel(f"products of {dtype_of(value)}; of 8-bit integers they have a kernel")


def _requantized(group: Group, rows: int, columns: int, bias: Value | None) -> tuple[str, Block]:
    """`struct Finish` of QLinearMatMul and QLinearConv, and its parameters."""
    first, second, last = group.operand(1), group.operand(4), group.operand(6)
    zero = group.operand(7)
    _one(last, "a scale of the result")
    _one(zero, "a zero point of the result")
    _integers(group.output)
    kinds = {ctype(v) for v in (first, second, last)}
    if len(kinds) > 1 or not kinds <= {"float", "half_t", "bfloat_t"}:
        raise NoKernel(f"its scales are {', '.join(sorted(kinds))}")
    code = FINISH.format(scale=kinds.pop(), result=ctype(group.output))
    steps = (_per(first, rows, "scales"), _per(second, columns, "scales"))
    return code, Block((first, second, last, zero, bias), steps)


def _matmul_integer(group: Group) -> Lowered:
    a, b, zeros = group.operand(0), group.operand(1), (group.optional(2), group.optional(3))
    return _product(
        group, a, b, zeros, STORE.format(bias="int32_t", result="int32_t", sum="int32_t")
    )


def _qlinear_matmul(group: Group) -> Lowered:
    a, b = group.operand(0), group.operand(3)
    made = matmul(a, b, rows=False)
    code, finish = _requantized(group, made.m, made.n, None)
    return _product(group, a, b, (group.operand(2), group.operand(5)), code, finish)


def _product(
    group: Group,
    a: Value,
    b: Value,
    zeros: tuple[Value | None, Value | None],
    code: str,
    finish: Block | None = None,
) -> Lowered:
    _integers(a, b)
    made = matmul(a, b, rows=False)
    _per(zeros[0], made.m, "zero points")
    _per(zeros[1], made.n, "zero points")
    return exact_product(group, made, Exact("int32_t", code, finish or Block((None,)), zeros))


def _conv_integer(group: Group) -> Lowered:
    x, w, zeros = group.operand(0), group.operand(1), (group.optional(2), group.optional(3))
    code = STORE.format(bias="int32_t", result="int32_t", sum="int32_t")
    return _convolution(group, x, w, zeros, code, Block((None,)))


def _qlinear_conv(group: Group) -> Lowered:
    x, w = group.operand(0), group.operand(3)
    code, finish = _requantized(group, 1, shape_of(w)[0], group.optional(8))
    return _convolution(group, x, w, (group.operand(2), group.operand(5)), code, finish)


def _convolution(
    group: Group,
    x: Value,
    w: Value,
    zeros: tuple[Value | None, Value | None],
    code: str,
    finish: Block,
) -> Lowered:
    _integers(x, w)
    if zeros[0] is not None:
        _one(zeros[0], "a zero point")
    _per(zeros[1], shape_of(w)[0], "zero points")
    shape, out = shape_of(x), shape_of(group.output)
    g = windows(group.main, shape_of(w)[2:], shape[2:], out[2:], 3)
    return direct(group, g, Sums(x, w, "int32_t", code, finish, zeros))


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "ConvInteger"): _conv_integer,
    ("", "DequantizeLinear"): _dequantize,
    ("", "MatMulInteger"): _matmul_integer,
    ("", "QLinearConv"): _qlinear_conv,
    ("", "QLinearMatMul"): _qlinear_matmul,
    ("", "QuantizeLinear"): _quantize,
}
