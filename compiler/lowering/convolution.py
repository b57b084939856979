"""convolution: implicit matrix products over one or two axes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.spec import Block, KernelSpec, Launch
from isomorph.lowering.context import Group, Lowered, blocks, ctype, floating, shape_of
from isomorph.lowering.errors import NoKernel
from isomorph.passes.tile import SIMT, TN, choose

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over two axes; one axis alone is the second of two."""

    kernel: tuple[int, int]
    strides: tuple[int, int]
    pads: tuple[int, int]
    ends: tuple[int, int]
    dilations: tuple[int, int]
    inputs: tuple[int, int]
    outputs: tuple[int, int]


def windows(
    op: Op, kernel: Sequence[int], inputs: Sequence[int], outputs: Sequence[int]
) -> Windows:
    """The geometry of a convolution or pooling, `auto_pad` resolved."""
    rank = len(inputs)
    if rank not in {1, 2}:
        raise NoKernel(f"windows over {rank} axes have no kernel yet; over 1 or 2 they have")
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

    def two(values: Sequence[int], missing: int) -> tuple[int, int]:
        return (missing, values[0]) if rank == 1 else (values[0], values[1])

    return Windows(
        two(kernel, 1),
        two(strides, 1),
        two(pads[:rank], 0),
        two(pads[rank:], 0),
        two(dilations, 1),
        two(inputs, 1),
        two(outputs, 1),
    )


def _conv(group: Group) -> Lowered:
    op = group.main
    x, w, bias = group.operand(0), group.operand(1), group.optional(2)
    shape, filters, out = shape_of(x), shape_of(w), shape_of(group.output)
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


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {("", "Conv"): _conv}
