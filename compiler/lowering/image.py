"""image: elements that are read at places between them."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import computed_as
from isomorph.codegen.spec import SECTOR, Block, KernelSpec, Launch
from isomorph.ir.ops.image import MODES
from isomorph.lowering.context import Group, Lowered, blocks, ctype, itemsize, shape_of
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key

PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
KINDS = {"nearest": 0, "linear": 1, "cubic": 2}


def _grid_sample(group: Group) -> Lowered:
    x, grid, out = group.operand(0), group.operand(1), group.output
    shape, places = shape_of(x), shape_of(grid)
    axes = len(shape) - 2
    if not 1 <= axes <= 3:
        raise NoKernel(f"places along {axes} axes have no kernel; along 1 to 3 they have")
    op = group.main
    kind, value, of_grid = ctype(x), computed_as(ctype(x)), computed_as(ctype(grid))
    mode = MODES[op.attr("mode", "linear")]
    if mode == "nearest":
        acc = of_grid
    else:
        acc = "float" if value == "float" and of_grid == "float" else "double"
    spec = KernelSpec(
        "grid_sample",
        (("T", kind), ("T_VALUE", value), ("G", ctype(grid)), ("ACC", acc)),
        (
            ("AXES", axes),
            ("MODE", KINDS[mode]),
            ("PADDING", PADDINGS[op.attr("padding_mode", "zeros")]),
            ("CORNERS", bool(op.attr("align_corners", 0))),
        ),
        sectors=SECTOR / min(itemsize(x), itemsize(grid)),
    )
    n = prod(shape_of(out))
    block = Block((x, grid, out), (n, shape[1], prod(places[1:-1]), *shape[2:]))
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {("", "GridSample"): _grid_sample}
