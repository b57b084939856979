"""pooling: windows that are averaged or whose maximum is taken; whole planes are reductions."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.spec import Block, KernelSpec, Launch
from isomorph.lowering.context import Group, Lowered, blocks, ctype, floating, shape_of
from isomorph.lowering.convolution import windows
from isomorph.lowering.reduction import reduce

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key


def _pool(group: Group, *, maximum: bool) -> Lowered:
    op = group.main
    group.alone()
    x = group.operand(0)
    shape, out = shape_of(x), shape_of(group.output)
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


def _global(group: Group, kind: str) -> Lowered:
    return reduce(group, range(2, len(shape_of(group.operand(0)))), kind)


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "AveragePool"): partial(_pool, maximum=False),
    ("", "GlobalAveragePool"): partial(_global, kind="mean"),
    ("", "GlobalMaxPool"): partial(_global, kind="max"),
    ("", "MaxPool"): partial(_pool, maximum=True),
}
