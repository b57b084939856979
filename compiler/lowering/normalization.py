"""normalization: rows that are scaled by what is summed over them."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.spec import CONTIGUOUS, SECTOR, Block, KernelSpec, Launch
from isomorph.lowering.context import Group, Lowered, blocks, ctype, floating, itemsize, shape_of
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

SOFTMAX, LOG_SOFTMAX, LAYER, RMS, NORM_1, NORM_2, NORM_MOST = range(7)
FEW = 256
"""Rows of so many elements are left to one warp."""


def rows(
    group: Group,
    kind: int,
    columns: int,
    inner: int = 1,
    first: Sequence[tuple[Value, tuple[int, ...], str]] = (),
    epsilon: float = 0.0,
) -> Lowered:
    """One block a row; `first` are operands of the op that come before what joined it."""
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
    count = prod(shape_of(x)) // max(columns, 1)
    block = Block((x, group.output), (count, columns, inner, float(epsilon)))
    return [Launch(spec, (count, 1, 1), (block, functor.block), (group.output,))]


def _softmax(group: Group, kind: int) -> Lowered:
    shape = shape_of(group.operand(0))
    if not shape:
        return rows(group, kind, 1)
    axis = int(group.main.attr("axis")) % len(shape)
    return rows(group, kind, shape[axis], prod(shape[axis + 1 :]))


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
    return rows(group, kind, columns, first=affine, epsilon=group.main.attr("epsilon"))


def _over_planes(group: Group) -> Lowered:
    """Group and instance normalization: over the channels of a group and all behind them."""
    shape = shape_of(group.operand(0))
    groups = int(group.main.attr("num_groups", shape[1]))
    columns = prod(shape[1:]) // max(groups, 1)
    affine = _affine(group, lambda own: (*own, *[1] * (len(shape) - 2)))
    return rows(group, LAYER, columns, first=affine, epsilon=group.main.attr("epsilon"))


def _to_norm(group: Group) -> Lowered:
    p = int(group.main.attr("p") or 2)
    return _softmax(group, NORM_1 if p == 1 else NORM_2)


def _lrn(group: Group) -> Lowered:
    x, out, op = group.operand(0), group.output, group.main
    shape, kind = shape_of(x), ctype(x)
    spec = KernelSpec("lrn", (("T", kind),), sectors=2.0)
    n = prod(shape)
    factors = (float(op.attr(name)) for name in ("bias", "alpha", "beta"))
    words = (n, shape[1], prod(shape[2:]), int(op.attr("size")), *factors)
    return [Launch(spec, (blocks(n, 256), 1, 1), (Block((x, out), words),), (out,))]


def _training(group: Group) -> Lowered:
    """By the batch's own statistics, which move the running ones; without, it is an expression."""
    op, x, out = group.main, group.operand(0), group.output
    scale, shift, mean, variance = (group.operand(i) for i in range(1, 5))
    if not op.attr("training_mode"):
        raise NoKernel(f"its operands are {x.type} and {scale.type}")
    shape = shape_of(x)
    kinds = (("T", floating(x)), ("S", floating(scale, shift)), ("R", floating(mean, variance)))
    moved = [*op.outputs[1:3], None, None][:2]
    spec = KernelSpec("batch_norm", kinds, sectors=2.0)
    words = (shape[0], shape[1], prod(shape[2:]), float(op.attr("epsilon")))
    block = Block(
        (x, scale, shift, mean, variance, out, *moved), (*words, float(op.attr("momentum")))
    )
    written = (out, *(v for v in moved if v is not None))
    return [Launch(spec, (shape[1], 1, 1), (block,), written)]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "BatchNormalization"): _training,
    ("", "GroupNormalization"): _over_planes,
    ("", "InstanceNormalization"): _over_planes,
    ("", "LayerNormalization"): partial(_over_axes, kind=LAYER),
    ("", "LRN"): _lrn,
    ("", "LogSoftmax"): partial(_softmax, kind=LOG_SOFTMAX),
    ("", "LpNormalization"): _to_norm,
    ("", "RMSNormalization"): partial(_over_axes, kind=RMS),
    ("", "Softmax"): partial(_softmax, kind=SOFTMAX),
}
