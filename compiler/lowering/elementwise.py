"""elementwise: chains of pointwise ops, one result element a time."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import LONGEST, computed_as
from isomorph.codegen.spec import SIZES, Block, KernelSpec, Launch
from isomorph.lowering.context import Alias, Group, Lowered, blocks, ctype, shape_of
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key


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
    group.alone()
    mode = group.optional(2)
    if mode is not None and (mode.weight is None or mode.weight.numpy().any()):
        raise NoKernel("training_mode is not known to be false")
    return Alias(group.operand(0))


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "Dropout"): _dropout,
    ("", "Identity"): _identity,
}
