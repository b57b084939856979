"""random: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import Type


def _given(ctx: Context) -> tuple[Type | None, ...]:
    """The shape and element type that the attributes say."""
    shape = tuple(int(d) for d in ctx.attr("shape"))
    if any(d < 0 for d in shape):
        raise ctx.error(f"shape is {list(shape)}; sizes of 0 and more were expected")
    return (TensorType(DType(ctx.attr("dtype", 1)), shape),)


def _like(ctx: Context) -> tuple[Type | None, ...]:
    """The operand's shape, and its element type unless another is named."""
    tensor = ctx.tensor(0)
    named = ctx.attr("dtype")
    if tensor is None:
        return (None,)
    dtype = DType(named) if named is not None else tensor.dtype
    if named is None and not dtype.is_float:
        raise ctx.error(f"of {dtype} there are no such numbers; dtype must name a float type")
    return (TensorType(dtype, tensor.shape),)


def _multinomial(ctx: Context) -> tuple[Type | None, ...]:
    shape = ctx.shape(0)
    if shape is not None and len(shape) != 2:
        raise ctx.error(f"rank {len(shape)}; a matrix of (batch, classes) was expected")
    batch = None if shape is None else shape[0]
    return (TensorType(DType(ctx.attr("dtype", 6)), (batch, int(ctx.attr("sample_size", 1)))),)


# Even with a seed, two run times draw different numbers: never folded, never merged.
OPS: dict[Key, OpDef] = {
    ("", name): OpDef(rule, Tolerance.RANDOM, deterministic=False)
    for name, rule in (
        ("Bernoulli", _like),
        ("Multinomial", _multinomial),
        ("RandomNormal", _given),
        ("RandomNormalLike", _like),
        ("RandomUniform", _given),
        ("RandomUniformLike", _like),
    )
}
