"""pooling: windows that are averaged or whose maximum is taken; whole planes are reductions."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import computed_as
from isomorph.codegen.spec import SECTOR, Block, KernelSpec, Launch
from isomorph.lowering.context import (
    FLOATS,
    STORE,
    Group,
    Lowered,
    blocks,
    ctype,
    dtype_of,
    floating,
    itemsize,
    shape_of,
    temporary,
    word,
)
from isomorph.lowering.convolution import windows
from isomorph.lowering.errors import NoKernel
from isomorph.lowering.indexing import MOST_OWNERS
from isomorph.lowering.movement import fill, framed
from isomorph.lowering.reduction import reduce

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key


def _pool(group: Group, *, maximum: bool) -> Lowered:
    op = group.main
    x = group.operand(0)
    shape, out = shape_of(x), shape_of(group.output)
    if len(shape) > 4 or ctype(x) not in FLOATS or len(op.results) > 1:
        return _window(group, "MAXIMUM" if maximum else "AVERAGE")
    g = windows(op, op.attr("kernel_shape"), shape[2:], out[2:])
    functor = group.functor(exclude=(x,))
    counted = not maximum and bool(op.attr("count_include_pad"))
    spec = KernelSpec(
        "pooling",
        (("T", floating(x)), ("T_OUT", ctype(group.output))),
        (("MAXIMUM", maximum), ("COUNT_PADDING", counted)),
        functor.code,
        sectors=1.0 + g.strides[1],
    )
    n = prod(out)
    words = (n, *g.inputs, *g.outputs, *g.kernel, *g.strides, *g.pads, *g.ends, *g.dilations)
    grid = (blocks(n, 256), 1, 1)
    block = Block((x, group.output), words)
    return [Launch(spec, grid, (block, functor.block), (group.output,))]


KINDS = ("MAXIMUM", "AVERAGE", "NORM")


def _window(group: Group, kind: str) -> Lowered:
    """Any type, up to three axes, and the places of maxima."""
    op, x = group.main, group.operand(0)
    shape, out = shape_of(x), shape_of(group.output)
    g = windows(op, op.attr("kernel_shape"), shape[2:], out[2:], 3)
    places = op.outputs[1] if len(op.outputs) > 1 else None
    element, result = ctype(x), ctype(group.output)
    acc = "float" if element in FLOATS else element
    if acc == "float":
        functor = group.functor(exclude=(x,))
        code, finish = group.finish(functor, result), functor.block
    else:
        group.plain()
        code, finish = STORE.format(bias=element, result=result, sum=acc), Block((None,))
    p = int(op.attr("p") or 2) if kind == "NORM" else 2
    wide = {1: "fabs_(v)", 2: "v * v"}.get(p, f"pow_(fabs_(v), {acc}({p}))")
    root = {1: "v", 2: "sqrt_(v)"}.get(p, f"pow_(v, {acc}(1) / {acc}({p}))")
    if kind != "NORM":
        wide = root = "v"
    code += f"\nDEV {acc} powered({acc} v) {{ return {wide}; }}"
    code += f"\nDEV {acc} rooted({acc} v) {{ return {root}; }}"
    counted = kind == "AVERAGE" and bool(op.attr("count_include_pad"))
    spec = KernelSpec(
        "window",
        (("T", element), ("T_OUT", result), ("ACC", acc)),
        (
            ("KIND", KINDS.index(kind)),
            ("COUNT_PADDING", counted),
            ("PLACES", places is not None),
        ),
        code,
        sectors=max(SECTOR / itemsize(x), 8.0),
    )
    a, b, c = g.inputs
    steps = (1, a, a * b) if op.attr("storage_order") else (b * c, c, 1)
    if op.attr("storage_order") and len(shape) < 5:
        steps = (1, 1, b) if len(shape) == 4 else (1, 1, 1)
    n = prod(out)
    words = (
        *(n, *g.inputs, *g.outputs),
        *(*g.kernel, *g.strides, *g.pads, *g.ends, *g.dilations, *steps),
    )
    block = Block((x, group.output, places), words)
    written = (group.output,) if places is None else (group.output, places)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block, finish), written)]


def _global_norm(group: Group) -> Lowered:
    p = int(group.main.attr("p") or 2)
    if p not in {1, 2}:
        raise NoKernel(f"the norm of order {p} over whole planes")
    return _global(group, f"l{p}")


def _max_unpool(group: Group) -> Lowered:
    """Zeros, then each element to its place; of repeated places the last one wins."""
    op, x, index, out = group.main, group.operand(0), group.operand(1), group.output
    shape, result = shape_of(x), shape_of(out)
    kernel = op.attr("kernel_shape")
    rank = len(kernel)
    strides, pads = op.attr("strides") or (1,) * rank, op.attr("pads") or (0,) * 2 * rank
    sizes = tuple(
        (size - 1) * s + k - begin - end
        for size, s, k, begin, end in zip(
            shape[2:], strides, kernel, pads[:rank], pads[rank:], strict=True
        )
    )
    implied = (*shape[:2], *sizes)
    if any(a > b for a, b in zip(implied, result, strict=True)):
        raise NoKernel(f"output_shape {result} is smaller than {implied}")
    zeros = temporary(dtype_of(x), implied, "zeros")
    full = out if implied == result else temporary(dtype_of(x), implied, "unpooled")
    launches = fill(zeros, 1, 2)
    owners = min(prod(implied), MOST_OWNERS)
    spec = KernelSpec(
        "scatter_nd",
        (("T", word(x)), ("INDEX", "int64_t")),
        (("DEPTH", 1), ("KIND", 0)),
        sectors=32.0,
    )
    words = (prod(implied), 1, prod(shape), owners, prod(implied), 1)
    block = Block((zeros, index, x, full, group.status), words)
    grid = (blocks(owners, 256), 1, 1)
    launches.append(Launch(spec, grid, (block,), (full, group.status)))
    if full is not out:
        launches += framed(full, out, implied, result)
    return launches


def _roi_align(group: Group) -> Lowered:
    x, regions, batch, out = *(group.operand(i) for i in range(3)), group.output
    shape, op = shape_of(x), group.main
    kind = ctype(x)
    acc = computed_as(kind)
    if ctype(regions) != kind or acc not in {"float", "double"}:
        raise NoKernel(f"its operands are {x.type} and {regions.type}")
    if 0 in shape and prod(shape_of(out)):
        raise NoKernel(f"there is nothing to read in {shape}")
    spec = KernelSpec(
        "roi_align",
        (("T", kind), ("INDEX", ctype(batch)), ("ACC", acc)),
        (
            ("HALF_PIXEL", op.attr("coordinate_transformation_mode") == "half_pixel"),
            ("MAXIMUM", op.attr("mode", "avg") == "max"),
        ),
        sectors=SECTOR / itemsize(x),
    )
    n = prod(shape_of(out))
    words = (n, *shape, *shape_of(out)[2:], int(op.attr("sampling_ratio") or 0))
    block = Block((x, regions, batch, out, group.status), (*words, float(op.attr("spatial_scale"))))
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out, group.status))]


def _global(group: Group, kind: str) -> Lowered:
    return reduce(group, range(2, len(shape_of(group.operand(0)))), kind)


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "AveragePool"): partial(_pool, maximum=False),
    ("", "GlobalAveragePool"): partial(_global, kind="mean"),
    ("", "GlobalLpPool"): _global_norm,
    ("", "GlobalMaxPool"): partial(_global, kind="max"),
    ("", "LpPool"): partial(_window, kind="NORM"),
    ("", "MaxPool"): partial(_pool, maximum=True),
    ("", "MaxUnpool"): _max_unpool,
    ("", "RoiAlign"): _roi_align,
}
