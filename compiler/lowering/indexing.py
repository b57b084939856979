"""indexing: elements chosen by integers that only the device knows."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import collapse
from isomorph.codegen.spec import INDICES, SECTOR, Block, KernelSpec, Launch
from isomorph.ir.constants import integers
from isomorph.ir.types import DType
from isomorph.lowering.context import (
    Alias,
    Group,
    Lowered,
    blocks,
    ctype,
    dtype_of,
    itemsize,
    shape_of,
    strides_of,
    temporary,
    word,
)
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

REDUCTIONS = {"none": 0, "add": 1, "mul": 2, "max": 3, "min": 4}
MOST_OWNERS = 4096
"""Threads that share the rows of a ScatterND; each of them reads all of its indices."""


def _index(value: Value) -> str:
    kind = INDICES.get(dtype_of(value))
    if kind is None:
        raise NoKernel(f"its indices are {dtype_of(value)}")
    return kind


def _scattered(value: Value) -> float:
    """Sectors where every lane may ask for one of its own."""
    return max(SECTOR / itemsize(value), 1.0)


def _gather(group: Group) -> Lowered:
    x = group.operand(0)
    axis = int(group.main.attr("axis")) % len(shape_of(x))
    return gathered(group, x, group.operand(1), axis)


def gathered(group: Group, x: Value, index: Value, axis: int) -> Lowered:
    """Elements of an axis by their indices."""
    shape, out = shape_of(x), group.output
    _not_from_nothing(shape[axis], out)
    spec = KernelSpec("indexing", (("T", word(x)), ("INDEX", _index(index))))
    n = prod(shape_of(out))
    words = (n, shape[axis], prod(shape_of(index)), prod(shape[axis + 1 :]))
    block = Block((x, index, out, group.status), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out, group.status))]


def _not_from_nothing(size: int, out: Value) -> None:
    if size == 0 and prod(shape_of(out)):
        raise NoKernel("it gathers from an axis of size 0")


def _gather_elements(group: Group) -> Lowered:
    x, index, out = group.operand(0), group.operand(1), group.output
    shape, places = shape_of(x), shape_of(index)
    if len(shape) != len(places) or not shape:
        raise NoKernel(f"indices of shape {places} of a tensor of shape {shape}")
    axis = int(group.main.attr("axis")) % len(shape)
    _not_from_nothing(shape[axis], out)
    steps = [0 if a == axis else s for a, s in enumerate(strides_of(shape))]
    dims = collapse(places, (steps,)) or [(1, (0,))]
    spec = KernelSpec(
        "gather_elements",
        (("T", word(x)), ("INDEX", _index(index))),
        (("RANK", len(dims)),),
        sectors=_scattered(x),
    )
    n = prod(places)
    view = (*(d for d, _ in dims), *(s for _, (s,) in dims))
    words = (n, shape[axis], strides_of(shape)[axis], *view)
    block = Block((x, index, out, group.status), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out, group.status))]


def _gather_nd(group: Group) -> Lowered:
    x, index, out = group.operand(0), group.operand(1), group.output
    shape, places = shape_of(x), shape_of(index)
    batch, depth = int(group.main.attr("batch_dims") or 0), places[-1]
    if depth == 0:
        raise NoKernel("its tuples of indices are empty")
    for size in shape[batch : batch + depth]:
        _not_from_nothing(size, out)
    inner = prod(shape[batch + depth :])
    spec = KernelSpec(
        "gather_nd", (("T", word(x)), ("INDEX", _index(index))), (("DEPTH", depth),), sectors=32.0
    )
    n = prod(shape_of(out))
    words = (
        *(n, inner, prod(places[batch:-1]), prod(shape[batch:])),
        *shape[batch : batch + depth],
        *strides_of(shape)[batch : batch + depth],
    )
    block = Block((x, index, out, group.status), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out, group.status))]


def _reduction(group: Group) -> tuple[int, str]:
    """What an update does, and the element type that it needs for it."""
    kind = REDUCTIONS[group.main.attr("reduction", "none") or "none"]
    x = group.operand(0)
    return kind, ctype(x) if kind else word(x)


def _scatter_elements(group: Group) -> Lowered:
    x, index, updates, out = *(group.operand(i) for i in range(3)), group.output
    shape, places = shape_of(x), shape_of(index)
    if not prod(places):
        return Alias(x)
    axis = int(group.main.attr("axis")) % len(shape)
    _not_from_nothing(shape[axis], index)
    kind, element = _reduction(group)
    others = [a for a in range(len(shape)) if a != axis]

    def one(values: list[int]) -> list[int]:
        return values or [1]

    steps, own = strides_of(shape), strides_of(places)
    spec = KernelSpec(
        "scatter_elements",
        (("T", element), ("INDEX", _index(index))),
        (("RANK", max(len(others), 1)), ("KIND", kind)),
        sectors=_scattered(x),
    )
    lines = prod(shape[a] for a in others)
    words = (
        *(lines, shape[axis], steps[axis], places[axis], own[axis]),
        *one([shape[a] for a in others]),
        *one([places[a] for a in others]),
        *one([steps[a] for a in others]),
        *one([own[a] for a in others]),
    )
    block = Block((x, index, updates, out, group.status), words)
    return [Launch(spec, (blocks(lines, 256), 1, 1), (block,), (out, group.status))]


def _scatter_nd(group: Group) -> Lowered:
    x, index, updates, out = *(group.operand(i) for i in range(3)), group.output
    shape, places = shape_of(x), shape_of(index)
    depth, tuples = places[-1], prod(places[:-1])
    if not tuples or not prod(shape):
        return Alias(x)
    if depth == 0:
        raise NoKernel("its tuples of indices are empty")
    kind, element = _reduction(group)
    rows, inner = prod(shape[:depth]), prod(shape[depth:])
    owners = min(rows, max(1, MOST_OWNERS // inner))
    spec = KernelSpec(
        "scatter_nd",
        (("T", element), ("INDEX", _index(index))),
        (("DEPTH", depth), ("KIND", kind)),
        sectors=_scattered(x),
    )
    words = (rows, inner, tuples, owners, *shape[:depth], *strides_of(shape[:depth]))
    block = Block((x, index, updates, out, group.status), words)
    grid = (blocks(inner * owners, 256), 1, 1)
    return [Launch(spec, grid, (block,), (out, group.status))]


def _tensor_scatter(group: Group) -> Lowered:
    past, update, begin = group.operand(0), group.operand(1), group.optional(2)
    shape, own, out = shape_of(past), shape_of(update), group.output
    axis = int(group.main.attr("axis")) % len(shape)
    if axis == 0:
        raise NoKernel("its axis is the one of samples")
    circular = group.main.attr("mode", "linear") == "circular"
    if own[axis] > shape[axis]:
        raise NoKernel(f"an update of {own[axis]} entries for {shape[axis]}")
    kind = "int64_t" if begin is None else _index(begin)
    spec = KernelSpec(
        "tensor_scatter",
        (("T", word(past)), ("INDEX", kind)),
        (("CIRCULAR", circular),),
        sectors=2.0,
    )
    n = prod(shape)
    words = (n, prod(shape[1:]), shape[axis], prod(shape[axis + 1 :]), own[axis])
    block = Block((past, update, begin, out, group.status), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out, group.status))]


def _one_hot(group: Group) -> Lowered:
    index, values, out = group.operand(0), group.operand(2), group.output
    shape = shape_of(out)
    axis = int(group.main.attr("axis")) % len(shape)
    n = prod(shape)
    if dtype_of(index) is DType.BOOL:
        raise NoKernel("its indices are truth values")
    spec = KernelSpec("one_hot", (("T", word(values)), ("INDEX", ctype(index))))
    block = Block((index, values, out), (n, shape[axis], prod(shape[axis + 1 :])))
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


def _top_k(group: Group) -> Lowered:
    """Each element counts how many are better: the work grows with the square of the axis."""
    x, op = group.operand(0), group.main
    values, places = (*op.outputs, None)[:2]
    shape, count = shape_of(x), integers(group.operand(1))
    if not count:
        raise NoKernel("how many it takes is not constant")
    axis = int(op.attr("axis", -1)) % len(shape)
    if count[0] > shape[axis]:
        raise NoKernel(f"the best {count[0]} of {shape[axis]}")
    if values is None:
        values = temporary(dtype_of(x), shape_of(op.results[0]), "values")
    spec = KernelSpec(
        "top_k",
        (("T", ctype(x)),),
        (("LARGEST", bool(op.attr("largest", 1))),),
        sectors=_scattered(x),
    )
    n = prod(shape)
    block = Block((x, values, places), (n, shape[axis], prod(shape[axis + 1 :]), count[0]))
    written = (values,) if places is None else (values, places)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), written)]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "Gather"): _gather,
    ("", "GatherElements"): _gather_elements,
    ("", "GatherND"): _gather_nd,
    ("", "OneHot"): _one_hot,
    ("", "ScatterElements"): _scatter_elements,
    ("", "ScatterND"): _scatter_nd,
    ("", "TensorScatter"): _tensor_scatter,
    ("", "TopK"): _top_k,
}
