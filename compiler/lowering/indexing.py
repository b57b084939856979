"""indexing: elements chosen by integers that only the device knows."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.spec import INDICES, Block, KernelSpec, Launch
from isomorph.lowering.context import Group, Lowered, blocks, dtype_of, shape_of, word
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key


def _gather(group: Group) -> Lowered:
    x, index, out = group.operand(0), group.operand(1), group.output
    shape = shape_of(x)
    axis = int(group.main.attr("axis")) % len(shape)
    if shape[axis] == 0 and prod(shape_of(out)):
        raise NoKernel("it gathers from an axis of size 0")
    kind = INDICES.get(dtype_of(index))
    if kind is None:
        raise NoKernel(f"its indices are {dtype_of(index)}")
    spec = KernelSpec("indexing", (("T", word(x)), ("INDEX", kind)))
    n = prod(shape_of(out))
    words = (n, shape[axis], prod(shape_of(index)), prod(shape[axis + 1 :]))
    block = Block((x, index, out, group.status), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out, group.status))]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {("", "Gather"): _gather}
