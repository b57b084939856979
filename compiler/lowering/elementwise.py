"""elementwise: chains of pointwise ops, one result element a time."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import LONGEST, Line, Operand, access, computed_as, render
from isomorph.codegen.spec import NARROW, SIZES, Block, KernelSpec, Launch
from isomorph.ir.types import DType
from isomorph.lowering.context import (
    Alias,
    Group,
    Lowered,
    blocks,
    broadcast_strides,
    ctype,
    dtype_of,
    itemsize,
    shape_of,
    stored,
)
from isomorph.lowering.errors import NoKernel
from isomorph.lowering.expressions import cast_text
from isomorph.lowering.movement import copy, fill

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

ROUND_MODES = {"up": 0, "down": 1, "nearest": 2}
"""Of a cast to powers of two."""


def vector(ctype: str) -> int:
    """Results that a thread computes: 16 bytes, and 8 elements at most."""
    return min(LONGEST, 16 // SIZES[ctype])


def pointwise(group: Group) -> Lowered:
    """A group without an anchor."""
    n = prod(shape_of(group.output))
    out = ctype(group.output)
    functor = group.functor()
    spec = KernelSpec(
        "elementwise",
        (("T", out), ("VALUE", computed_as(out))),
        (("VECTOR", vector(out)),),
        functor.code,
        instructions=functor.instructions(out, vector(out)),
    )
    grid = (blocks(n, 256 * vector(out)), 1, 1)
    block = Block((group.output,), (n,))
    return [Launch(spec, grid, (block, functor.block), (group.output,), in_place=functor.in_place)]


def _identity(group: Group) -> Lowered:
    return Alias(group.operand(0))


def _dropout(group: Group) -> Lowered:
    """Its operand, and a mask of ones: where it draws nothing."""
    ratio, mode = group.optional(1), group.optional(2)
    drawn = mode is not None and (mode.weight is None or mode.weight.numpy().any())
    if drawn and (ratio is None or ratio.weight is None or ratio.weight.numpy().any()):
        raise NoKernel("training_mode is not known to be false")
    x, masks = group.operand(0), group.main.outputs[1:]
    if masks and masks[0] is not None:
        n = prod(shape_of(x))
        return [*copy(x, group.output, (n,), (1,), (1,)), *fill(masks[0])]
    return Alias(x)


def _cast(group: Group) -> Lowered:
    """To or from a type that only storage has; the casts between all others are expressions."""
    x, out = group.operand(0), group.output
    target, dtype = stored(out), dtype_of(out)
    saturate = str(bool(group.main.attr("saturate", 1))).lower()
    match dtype:
        case _ if dtype in NARROW and dtype.is_integer:
            text = "int32_t(int64_t(a0))"
        case DType.FLOAT8E8M0:
            mode = group.main.attr("round_mode", "up")
            text = f"rounded_exponent(single(a0), {saturate}, {ROUND_MODES[mode]})"
        case _ if dtype in NARROW:
            text = f"rounded_to<{target}>(single(a0), {saturate})"
        case _:
            text = cast_text(dtype, "a0")
    return expression(out, [(x, shape_of(x))], text)


def expression(
    out: Value, reads: Sequence[tuple[Value, tuple[int, ...]]], text: str
) -> list[Launch]:
    """One expression, over `a0`, `a1`, …: operands in shapes that broadcast to the result's."""
    shape, target = shape_of(out), stored(out)
    n, own = prod(shape), computed_as(target)
    operands = [
        Operand(v, stored(v), access(shape, broadcast_strides(seen, shape))) for v, seen in reads
    ]
    code = render(operands, [Line("t0", own, text)], "t0", own)
    width = vector(target)
    spec = KernelSpec("elementwise", (("T", target), ("VALUE", own)), (("VECTOR", width),), code)
    values = Block(
        tuple(o.value for o in operands), tuple(w for o in operands for w in o.access.words)
    )
    return [Launch(spec, (blocks(n, 256 * width), 1, 1), (Block((out,), (n,)), values), (out,))]


def _bit_cast(group: Group) -> Lowered:
    x = group.operand(0)
    if itemsize(x) != itemsize(group.output):
        raise NoKernel(f"{dtype_of(x)} and {dtype_of(group.output)} are of different sizes")
    return Alias(x)


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "BitCast"): _bit_cast,
    ("", "Cast"): _cast,
    ("", "Dropout"): _dropout,
    ("", "Identity"): _identity,
}
