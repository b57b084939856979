"""movement: copies between strided views, and results that are their operand in another shape."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import collapse
from isomorph.codegen.spec import CONTIGUOUS, INDICES, SECTOR, Block, KernelSpec, Launch
from isomorph.ir.constants import integers
from isomorph.lowering._resize import resize
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


PAD_MODES = {"constant": 0, "edge": 1, "reflect": 2, "wrap": 3}


def _pad(group: Group) -> Lowered:
    x, out, value = group.operand(0), group.output, group.optional(2)
    mode = PAD_MODES[group.main.attr("mode", "constant")]
    pads, axes = integers(group.operand(1)), integers(group.optional(3))
    shape, sizes = shape_of(x), shape_of(out)
    if pads is None or (axes is None and group.optional(3) is not None):
        raise NoKernel("its pads are not constant")
    axes = axes if axes is not None else tuple(range(len(shape)))
    rank, half = len(shape), len(pads) // 2
    before, first, kept = [0] * rank, [0] * rank, list(shape)
    for axis, less, more in zip(axes, pads[:half], pads[half:], strict=True):
        before[axis], first[axis] = max(less, 0), max(-less, 0)
        kept[axis] = max(shape[axis] - max(-less, 0) - max(-more, 0), 0)
    if mode and 0 in kept and prod(sizes):
        raise NoKernel(f"nothing of {shape} is left to pad with")
    has_value = value is not None and not mode
    given = value if has_value else None
    return framed(x, out, shape, sizes, given, mode, before, first, kept)


def framed(
    x: Value,
    out: Value,
    shape: Sequence[int],
    sizes: Sequence[int],
    value: Value | None = None,
    mode: int = 0,
    before: Sequence[int] | None = None,
    first: Sequence[int] | None = None,
    kept: Sequence[int] | None = None,
) -> list[Launch]:
    """A frame around `x`: zeros behind it where nothing else is said."""
    rank, none = len(shape), [0] * len(shape)
    before, first, kept = before or none, first or none, kept or list(shape)
    constants = (("RANK", max(rank, 1)), ("HAS_VALUE", value is not None), ("MODE", mode))
    spec = KernelSpec("pad", (("T", word(x)),), constants, sectors=2.0 if mode else CONTIGUOUS)
    lists = (sizes, shape, before, first, kept) if rank else ((1,), (1,), (0,), (0,), (1,))
    words = (prod(sizes), *(w for part in lists for w in part))
    grid = (blocks(prod(sizes), 256), 1, 1)
    return [Launch(spec, grid, (Block((x, value, out), words),), (out,))]


def _tile(group: Group) -> Lowered:
    x, out = group.operand(0), group.output
    shape, sizes = shape_of(x), shape_of(out)
    if shape == sizes:
        return Alias(x)
    pairs = [
        pair
        for size, whole, step in zip(shape, sizes, strides_of(shape), strict=True)
        for pair in ((whole // max(size, 1), 0), (size, step))
    ]
    counts = [size for size, _ in pairs]
    return copy(x, out, counts, [step for _, step in pairs], strides_of(counts))


def _trilu(group: Group) -> Lowered:
    x, out, k = group.operand(0), group.output, group.optional(1)
    shape = shape_of(x)
    given = integers(k)
    if k is not None and not given:
        raise NoKernel("its diagonal is not constant")
    most = max(shape[-2:]) + 1
    offset = min(max(given[0] if given else 0, -most), most)
    upper = bool(group.main.attr("upper"))
    spec = KernelSpec("trilu", (("T", word(x)),), (("UPPER", upper),), sectors=1.5)  # cut rows
    n = prod(shape)
    block = Block((x, out), (n, *shape[-2:], offset))
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


def fill(out: Value, columns: int | None = None, k: int = 0) -> list[Launch]:
    """Ones everywhere; with `columns`, on one diagonal, and zeros elsewhere."""
    n = prod(shape_of(out))
    spec = KernelSpec("fill", (("T", ctype(out)),), (("DIAGONAL", columns is not None),))
    block = Block((out,), (n, columns or 1, k))
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


def _eye_like(group: Group) -> Lowered:
    rows, columns = shape_of(group.output)
    k = int(group.main.attr("k") or 0)
    return fill(group.output, columns, min(max(k, -rows), columns))


def _reverse_sequence(group: Group) -> Lowered:
    x, lengths, out = group.operand(0), group.operand(1), group.output
    shape = shape_of(x)
    time, batch = (int(group.main.attr(f"{name}_axis")) for name in ("time", "batch"))
    if {time, batch} != {0, 1}:
        raise NoKernel(f"time is axis {time} and batch axis {batch}, not 0 and 1")
    kind = INDICES.get(dtype_of(lengths))
    if kind is None:
        raise NoKernel(f"its lengths are {dtype_of(lengths)}")
    spec = KernelSpec(
        "reverse_sequence",
        (("T", word(x)), ("INDEX", kind)),
        (("TIME_FIRST", time == 0),),
        sectors=max(SECTOR / itemsize(x), 1.0),
    )
    n = prod(shape)
    words = (n, shape[time], shape[batch], prod(shape[2:]))
    block = Block((x, lengths, out, group.status), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out, group.status))]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "Concat"): _concat,
    ("", "Expand"): _expand,
    ("", "EyeLike"): _eye_like,
    ("", "Flatten"): _alias,
    ("", "Pad"): _pad,
    ("", "Reshape"): _alias,
    ("", "Resize"): resize,
    ("", "ReverseSequence"): _reverse_sequence,
    ("", "Slice"): _slice,
    ("", "Split"): _split,
    ("", "Squeeze"): _alias,
    ("", "Tile"): _tile,
    ("", "Transpose"): _transpose,
    ("", "Trilu"): _trilu,
    ("", "Unsqueeze"): _alias,
}
