"""normalization: rows that are scaled by what is summed over them."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.spec import Block, KernelSpec, Launch
from isomorph.lowering.context import Group, Lowered, ctype, floating, shape_of
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

SOFTMAX, LOG_SOFTMAX, LAYER, RMS = range(4)
FEW = 256
"""Rows of so many elements are left to one warp."""


def _rows(
    group: Group,
    kind: int,
    columns: int,
    inner: int,
    scale: Value | None = None,
    bias: Value | None = None,
    epsilon: float = 0.0,
) -> Lowered:
    group.alone()
    x = group.operand(0)
    present = [v for v in (x, scale, bias) if v is not None]
    types = (("T", floating(*present)), ("T_OUT", ctype(group.output)))
    functor = group.functor(exclude=present)
    warps = 1 if columns <= FEW else 8
    constants = (("KIND", kind), ("WARPS", warps), ("HAS_BIAS", bias is not None))
    spec = KernelSpec("rows", types, constants, functor.code, threads=warps * 32)
    rows = prod(shape_of(x)) // max(columns, 1)
    block = Block((x, scale, bias, group.output), (rows, columns, inner, float(epsilon)))
    return [Launch(spec, (rows, 1, 1), (block, functor.block), (group.output,))]


def _softmax(group: Group, kind: int) -> Lowered:
    shape = shape_of(group.operand(0))
    axis = int(group.main.attr("axis")) % max(len(shape), 1)
    if not shape:
        return _rows(group, kind, 1, 1)
    return _rows(group, kind, shape[axis], prod(shape[axis + 1 :]))


def _normalized(group: Group, kind: int) -> Lowered:
    shape = shape_of(group.operand(0))
    axis = int(group.main.attr("axis")) % len(shape)
    columns = prod(shape[axis:])
    scale, bias = group.operand(1), group.optional(2)
    for what, value in (("scale", scale), ("bias", bias)):
        if value is not None and prod(shape_of(value)) != columns:
            raise NoKernel(f"its {what} is {value.type}; a whole row of {columns} is wanted")
    return _rows(group, kind, columns, 1, scale, bias, group.main.attr("epsilon"))


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "LayerNormalization"): partial(_normalized, kind=LAYER),
    ("", "LogSoftmax"): partial(_softmax, kind=LOG_SOFTMAX),
    ("", "RMSNormalization"): partial(_normalized, kind=RMS),
    ("", "Softmax"): partial(_softmax, kind=SOFTMAX),
}
