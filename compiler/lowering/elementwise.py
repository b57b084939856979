"""elementwise: chains of pointwise ops, one result element a time."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.spec import Block, KernelSpec, Launch
from isomorph.lowering.context import Alias, Group, Lowered, blocks, ctype, shape_of
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key

VECTOR = {"float": 4, "half_t": 8, "bool_t": 4}
"""Results a thread computes: 16 bytes of floats."""


def pointwise(group: Group) -> Lowered:
    """A group without an anchor."""
    n = prod(shape_of(group.output))
    out = ctype(group.output)
    functor = group.functor()
    spec = KernelSpec(
        "elementwise",
        (("T", out),),
        (("VECTOR", VECTOR[out]),),
        functor.code,
        instructions=functor.instructions(out, VECTOR[out]),
    )
    grid = (blocks(n, 256 * VECTOR[out]), 1, 1)
    block = Block((group.output,), (n,))
    return [Launch(spec, grid, (block, functor.block), (group.output,), in_place=functor.in_place)]


def _identity(group: Group) -> Lowered:
    return Alias(group.operand(0))


def _dropout(group: Group) -> Lowered:
    group.alone()
    mode = group.optional(2)
    if mode is not None and (mode.weight is None or mode.weight.numpy().any()):
        raise NoKernel("training_mode is not known to be false")
    return Alias(group.operand(0))


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "Dropout"): _dropout,
    ("", "Identity"): _identity,
}
