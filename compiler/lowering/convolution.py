"""convolution: implicit matrix products over one or two axes; the rest a result at a time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import computed_as
from isomorph.codegen.spec import SECTOR, Block, KernelSpec, Launch
from isomorph.ir.constants import integers
from isomorph.ir.ops.convolution import transposed
from isomorph.lowering.context import (
    FLOATS,
    STORE,
    Group,
    Lowered,
    blocks,
    ctype,
    floating,
    itemsize,
    shape_of,
)
from isomorph.lowering.errors import NoKernel
from isomorph.passes.tile import SIMT, TN, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over some axes; where there are fewer, the first are of size 1."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    ends: tuple[int, ...]
    dilations: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def windows(
    op: Op, kernel: Sequence[int], inputs: Sequence[int], outputs: Sequence[int], axes: int = 2
) -> Windows:
    """The geometry of a convolution or pooling over so many axes, `auto_pad` resolved."""
    rank = len(inputs)
    if not 1 <= rank <= axes:
        raise NoKernel(f"windows over {rank} axes have no kernel; over 1 to {axes} they have")
    strides = tuple(op.attr("strides") or (1,) * rank)
    dilations = tuple(op.attr("dilations") or (1,) * rank)
    pads: list[int] = list(op.attr("pads") or (0,) * (2 * rank))
    auto = op.attr("auto_pad", "NOTSET")
    auto = auto.decode() if isinstance(auto, bytes) else auto
    if auto.startswith("SAME"):
        for axis in range(rank):
            covered = (outputs[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1
            total = max(covered - inputs[axis], 0)
            less, more = total // 2, total - total // 2
            pads[axis], pads[axis + rank] = (less, more) if auto == "SAME_UPPER" else (more, less)
    elif auto == "VALID":
        pads = [0] * (2 * rank)

    def all_of(values: Sequence[int], missing: int) -> tuple[int, ...]:
        return (*[missing] * (axes - rank), *values)

    return Windows(
        all_of(kernel, 1),
        all_of(strides, 1),
        all_of(pads[:rank], 0),
        all_of(pads[rank:], 0),
        all_of(dilations, 1),
        all_of(inputs, 1),
        all_of(outputs, 1),
    )


def _conv(group: Group) -> Lowered:
    op = group.main
    x, w, bias = group.operand(0), group.operand(1), group.optional(2)
    shape, filters, out = shape_of(x), shape_of(w), shape_of(group.output)
    rank = len(shape)
    if rank > 4 or ctype(x) not in FLOATS:
        return _direct(group, windows(op, filters[2:], shape[2:], out[2:], 3))
    g = windows(op, filters[2:], shape[2:], out[2:])
    groups = op.attr("group")
    m, k = filters[0] // groups, prod(filters[1:])
    plane = prod(g.outputs)
    n = shape[0] * plane
    first = []
    if bias is not None:
        first = [(bias, (filters[0], *[1] * (len(shape) - 2)), "({x} + {a})")]
    functor = group.functor(first, exclude=(x, w))
    kind, out, vectors = floating(x, w), ctype(group.output), plane % TN == 0
    tile = choose(SIMT, m, n, k, groups, 4, group.device)
    spec = KernelSpec(
        "conv_igemm",
        (("T", kind), ("T_OUT", out)),
        (*tile.constants, ("ALIGNED", vectors)),
        functor.code,
        threads=tile.bm // tile.tm * (tile.bn // tile.tn),
        instructions=("LDS.128", *(functor.instructions(out, TN) if vectors else ())),
        sectors=1.5 + g.strides[1],  # rows of the image are cut anywhere
    )
    words = (
        shape[0],
        shape[1],
        *g.inputs,
        filters[0],
        *g.outputs,
        *g.kernel,
        *(m, n, k),
        *g.strides,
        *g.pads,
        *g.dilations,
    )
    grid = (blocks(n, tile.bn), blocks(m, tile.bm), groups)
    block = Block((x, w, group.output), words)
    return [
        Launch(
            spec,
            grid,
            (block, functor.block),
            (group.output,),
            in_place=functor.in_place,
            flops=2 * groups * m * n * k,
        )
    ]


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of products over windows.

    Attributes:
        x, w: operands.
        zeros: what is taken from each first, if anything.
        acc: the type of a sum.
        code: `struct Finish`.
        finish: its parameters.
        transposed: whether windows are written instead of read.
    """

    x: Value
    w: Value
    acc: str
    code: str
    finish: Block
    zeros: tuple[Value | None, Value | None] = (None, None)
    transposed: bool = False


def direct(group: Group, g: Windows, s: Sums) -> Lowered:
    """The launch of sums of products over windows of three axes."""
    shape, filters, out = shape_of(s.x), shape_of(s.w), shape_of(group.output)
    if 0 in shape[1:2]:
        raise NoKernel("it has no channels")
    spec = KernelSpec(
        "conv_direct",
        (("T", ctype(s.x)), ("TW", ctype(s.w)), ("T_OUT", ctype(group.output)), ("ACC", s.acc)),
        (("TRANSPOSED", s.transposed),),
        s.code,
        sectors=SECTOR / itemsize(s.x),
    )
    n, zero = prod(out), s.zeros[1]
    per_channel = zero is not None and prod(shape_of(zero)) > 1
    groups = int(group.main.attr("group") or 1)
    words = (
        *(n, shape[1], out[1], groups, int(per_channel)),
        *(*g.inputs, *g.outputs, *g.kernel),
        *(*g.strides, *g.pads, *g.dilations),
    )
    block = Block((s.x, s.w, *s.zeros, group.output), words)
    flops = 2 * n * prod(filters[1:])
    grid = (blocks(n, 256), 1, 1)
    return [Launch(spec, grid, (block, s.finish), (group.output,), flops=flops)]


def _direct(group: Group, g: Windows, *, into: bool = False) -> Lowered:
    """Of floats, with what joined it; or of float64."""
    x, w, bias = group.operand(0), group.operand(1), group.optional(2)
    kind, result = ctype(x), ctype(group.output)
    if kind in FLOATS:
        out = shape_of(group.output)
        first = []
        if bias is not None:
            first = [(bias, (out[1], *[1] * (len(out) - 2)), "({x} + {a})")]
        functor = group.functor(first, exclude=(x, w))
        sums = Sums(x, w, "float", group.finish(functor, result), functor.block)
    else:
        group.plain()
        code = STORE.format(bias=kind, result=result, sum=kind)
        sums = Sums(x, w, kind, code, Block((bias,)))
    return direct(group, g, replace(sums, transposed=into))


def _conv_transpose(group: Group) -> Lowered:
    op = group.main
    kernel, spatial = shape_of(group.operand(1))[2:], shape_of(group.operand(0))[2:]
    places = transposed(op.attr, kernel, spatial, NoKernel)
    outputs = shape_of(group.output)[2:]
    g = windows(op, kernel, spatial, outputs, 3)
    begins = tuple(int(p.begin or 0) for p in places)
    pads = (*[0] * (3 - len(begins)), *begins)
    return _direct(group, replace(g, pads=pads), into=True)


def _deform_conv(group: Group) -> Lowered:
    op, x, w, offset = group.main, *(group.operand(i) for i in range(3))
    bias, mask, out = group.optional(3), group.optional(4), group.output
    shape, filters, result = shape_of(x), shape_of(w), shape_of(out)
    axes = len(shape) - 2
    g = windows(op, filters[2:], shape[2:], result[2:], axes)
    kind = ctype(x)
    spec = KernelSpec(
        "deform_conv",
        (("T", kind), ("ACC", computed_as(kind))),
        (("AXES", axes),),
        sectors=SECTOR / itemsize(x),
    )
    n, groups, moved = prod(result), op.attr("group") or 1, op.attr("offset_group") or 1
    words = (
        *(n, shape[1], result[1], groups, moved, prod(g.kernel), prod(g.outputs)),
        *(*g.inputs, *g.outputs, *g.kernel, *g.strides, *g.pads, *g.dilations),
    )
    block = Block((x, w, offset, bias, mask, out), words)
    flops = 2 * n * prod(filters[1:])
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,), flops=flops)]


def _col2im(group: Group) -> Lowered:
    x, out, op = group.operand(0), group.output, group.main
    image, kernel = integers(group.operand(1)), integers(group.operand(2))
    if image is None or kernel is None:
        raise NoKernel("its shapes are not constant")
    strides, dilations = op.attr("strides") or (1,) * len(image), op.attr("dilations")
    pads = op.attr("pads") or (0,) * (2 * len(image))
    counts = [
        (size + begin + end - (k - 1) * d - 1) // s + 1
        for size, k, s, d, begin, end in zip(
            image,
            kernel,
            strides,
            dilations or (1,) * len(image),
            pads[: len(image)],
            pads[len(image) :],
            strict=True,
        )
    ]
    g = windows(op, kernel, image, counts, 3)
    kind = ctype(x)
    spec = KernelSpec(
        "col2im", (("T", kind), ("ACC", computed_as(kind))), sectors=SECTOR / itemsize(x)
    )
    n = prod(shape_of(out))
    words = (n, *g.inputs, *g.kernel, *g.outputs, *g.strides, *g.pads, *g.dilations)
    return [Launch(spec, (blocks(n, 256), 1, 1), (Block((x, out), words),), (out,))]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "Col2Im"): _col2im,
    ("", "Conv"): _conv,
    ("", "ConvTranspose"): _conv_transpose,
    ("", "DeformConv"): _deform_conv,
}
