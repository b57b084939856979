"""movement: copies between strided views, and results that are their operand in another shape."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import collapse
from isomorph.codegen.spec import Block, KernelSpec, Launch
from isomorph.ir.constants import integers
from isomorph.lowering.context import (
    Alias,
    Group,
    Lowered,
    blocks,
    broadcast_strides,
    shape_of,
    strides_of,
    word,
)
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

MOST_BLOCKS = 65535


def copy(
    x: Value,
    out: Value,
    sizes: Sequence[int],
    from_strides: Sequence[int],
    to_strides: Sequence[int],
    from_base: int = 0,
    to_base: int = 0,
) -> list[Launch]:
    """Copy an iteration of these sizes from a view of `x` to a view of `out`."""
    n = prod(sizes)
    dims = collapse(sizes, (from_strides, to_strides)) or [(1, (0, 0))]
    shape = tuple(size for size, _ in dims)
    words = [n, from_base, to_base]
    for side in (0, 1):
        words += [*shape, *(steps[side] for _, steps in dims)]
    spec = KernelSpec("movement", (("T", word(x)),), (("RANK", len(dims)),))
    grid = (min(blocks(n, 256), MOST_BLOCKS), 1, 1)
    whole = n == prod(shape_of(out))
    block = Block((x, out), tuple(words))
    return [Launch(spec, grid, (block,), (out,), partial=not whole)]


def _alias(group: Group) -> Lowered:
    return Alias(group.operand(0))


def _transpose(group: Group) -> Lowered:
    x, out = group.operand(0), group.output
    shape = shape_of(x)
    given = group.main.attr("perm")
    perm = tuple(given) if given is not None else tuple(reversed(range(len(shape))))
    sizes = [shape[a] for a in perm]
    steps = [strides_of(shape)[a] for a in perm]
    dims = collapse(sizes, (steps, strides_of(sizes)))
    if all(a == b for _, (a, b) in dims):
        return Alias(x)
    swapped = _planes(dims)
    if swapped is None:
        return copy(x, out, sizes, steps, strides_of(sizes))
    batch, rows, columns = swapped
    spec = KernelSpec("transpose", (("T", word(x)),))
    grid = (blocks(columns, 32), blocks(rows, 32), batch)
    return [Launch(spec, grid, (Block((x, out), (rows, columns)),), (out,))]


def _planes(dims: Sequence[tuple[int, tuple[int, ...]]]) -> tuple[int, int, int] | None:
    """(batch, rows, columns) when the copy swaps the last two axes of planes, else `None`."""
    if len(dims) not in {2, 3}:
        return None
    (columns, (column_step, _)), (rows, (row_step, _)) = dims[-2:]
    if column_step != 1 or row_step != columns:
        return None
    if len(dims) == 3 and dims[0][1][0] != rows * columns:
        return None
    batch = dims[0][0] if len(dims) == 3 else 1
    return (batch, rows, columns) if batch <= MOST_BLOCKS else None


def _expand(group: Group) -> Lowered:
    x, out = group.operand(0), group.output
    shape = shape_of(out)
    if shape_of(x) == shape:
        return Alias(x)
    return copy(x, out, shape, broadcast_strides(shape_of(x), shape), strides_of(shape))


def _slice(group: Group) -> Lowered:
    x, out = group.operand(0), group.output
    shape, sizes = shape_of(x), shape_of(out)
    given = [integers(group.optional(i)) for i in range(1, 5)]
    for index, found in enumerate(given, 1):
        if found is None and group.optional(index) is not None:
            raise NoKernel("its bounds are not constant")
    starts, axes, steps = given[0] or (), given[2], given[3]
    axes = axes if axes is not None else tuple(range(len(starts)))
    steps = steps if steps is not None else (1,) * len(starts)
    base, strides = 0, list(strides_of(shape))
    for start, axis, step in zip(starts, axes, steps, strict=True):
        size, at = shape[axis], start + shape[axis] if start < 0 else start
        at = min(max(at, 0), size if step > 0 else size - 1)
        base += at * strides[axis]
        strides[axis] *= step
    return copy(x, out, sizes, strides, strides_of(sizes), base)


def _concat(group: Group) -> Lowered:
    out = group.output
    shape = shape_of(out)
    axis = int(group.main.attr("axis")) % len(shape)
    launches: list[Launch] = []
    at = 0
    for index in range(len(group.main.inputs)):
        part = group.operand(index)
        sizes = shape_of(part)
        base = at * strides_of(shape)[axis]
        launches += copy(part, out, sizes, strides_of(sizes), strides_of(shape), 0, base)
        at += sizes[axis]
    return launches


def _split(group: Group) -> Lowered:
    x = group.operand(0)
    shape = shape_of(x)
    axis = int(group.main.attr("axis")) % len(shape)
    launches: list[Launch] = []
    at = 0
    for out in group.op.results:
        sizes = shape_of(out)
        base = at * strides_of(shape)[axis]
        launches += copy(x, out, sizes, strides_of(shape), strides_of(sizes), base)
        at += sizes[axis]
    return launches


def _pad(group: Group) -> Lowered:
    x, out, value = group.operand(0), group.output, group.optional(2)
    mode = group.main.attr("mode", "constant")
    if mode not in {"constant", b"constant"}:
        raise NoKernel(f"mode {mode!r} has no kernel yet; only 'constant' has")
    pads, axes = integers(group.operand(1)), integers(group.optional(3))
    shape, sizes = shape_of(x), shape_of(out)
    if pads is None or (axes is None and group.optional(3) is not None):
        raise NoKernel("its pads are not constant")
    axes = axes if axes is not None else tuple(range(len(shape)))
    before = [0] * len(shape)
    for axis, amount in zip(axes, pads, strict=False):
        before[axis] = amount
    constants = (("RANK", max(len(shape), 1)), ("HAS_VALUE", value is not None))
    spec = KernelSpec("pad", (("T", word(x)),), constants)
    words = (prod(sizes), *(sizes or (1,)), *(shape or (1,)), *(before or (0,)))
    grid = (blocks(prod(sizes), 256), 1, 1)
    return [Launch(spec, grid, (Block((x, value, out), words),), (out,))]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "Concat"): _concat,
    ("", "Expand"): _expand,
    ("", "Flatten"): _alias,
    ("", "Pad"): _pad,
    ("", "Reshape"): _alias,
    ("", "Slice"): _slice,
    ("", "Split"): _split,
    ("", "Squeeze"): _alias,
    ("", "Transpose"): _transpose,
    ("", "Unsqueeze"): _alias,
}
