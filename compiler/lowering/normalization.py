"""normalization: rows that are scaled by what is summed over them."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.spec import CONTIGUOUS, SECTOR, Block, KernelSpec, Launch
from isomorph.lowering.context import Group, Lowered, ctype, floating, itemsize, shape_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

SOFTMAX, LOG_SOFTMAX, LAYER, RMS = range(4)
FEW = 256
"""Rows of so many elements are left to one warp."""


def _rows(
    group: Group,
    kind: int,
    columns: int,
    inner: int = 1,
    first: Sequence[tuple[Value, tuple[int, ...], str]] = (),
    epsilon: float = 0.0,
) -> Lowered:
    group.alone()
    x = group.operand(0)
    functor = group.functor(first, exclude=(x,))
    warps = 1 if columns <= FEW else 8
    spec = KernelSpec(
        "rows",
        (("T", floating(x)), ("T_OUT", ctype(group.output))),
        (("KIND", kind), ("WARPS", warps)),
        functor.code,
        threads=warps * 32,
        sectors=CONTIGUOUS if inner == 1 else SECTOR / itemsize(x),  # a lane to each step
    )
    rows = prod(shape_of(x)) // max(columns, 1)
    block = Block((x, group.output), (rows, columns, inner, float(epsilon)))
    return [Launch(spec, (rows, 1, 1), (block, functor.block), (group.output,))]


def _softmax(group: Group, kind: int) -> Lowered:
    shape = shape_of(group.operand(0))
    if not shape:
        return _rows(group, kind, 1)
    axis = int(group.main.attr("axis")) % len(shape)
    return _rows(group, kind, shape[axis], prod(shape[axis + 1 :]))


def _affine(
    group: Group, seen: Callable[[tuple[int, ...]], tuple[int, ...]]
) -> list[tuple[Value, tuple[int, ...], str]]:
    """Scale and bias, each in the shape in which it broadcasts to the result."""
    forms = ("({x} * {a})", "({x} + {a})")
    given = ((group.optional(1 + n), form) for n, form in enumerate(forms))
    return [(v, seen(shape_of(v)), form) for v, form in given if v is not None]


def _over_axes(group: Group, kind: int) -> Lowered:
    """Layer and RMS normalization: over an axis and all behind it."""
    shape = shape_of(group.operand(0))
    columns = prod(shape[int(group.main.attr("axis")) % len(shape) :])
    affine = _affine(group, lambda own: own)
    return _rows(group, kind, columns, first=affine, epsilon=group.main.attr("epsilon"))


def _over_planes(group: Group) -> Lowered:
    """Group and instance normalization: over the channels of a group and all behind them."""
    shape = shape_of(group.operand(0))
    groups = int(group.main.attr("num_groups", shape[1]))
    columns = prod(shape[1:]) // max(groups, 1)
    affine = _affine(group, lambda own: (*own, *[1] * (len(shape) - 2)))
    return _rows(group, LAYER, columns, first=affine, epsilon=group.main.attr("epsilon"))


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "GroupNormalization"): _over_planes,
    ("", "InstanceNormalization"): _over_planes,
    ("", "LayerNormalization"): partial(_over_axes, kind=LAYER),
    ("", "LogSoftmax"): partial(_softmax, kind=LOG_SOFTMAX),
    ("", "RMSNormalization"): partial(_over_axes, kind=RMS),
    ("", "Softmax"): partial(_softmax, kind=SOFTMAX),
}
