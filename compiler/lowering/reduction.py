"""reduction: folds over any axes, one warp a result."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import collapse
from isomorph.codegen.spec import CONTIGUOUS, SECTOR, Block, KernelSpec, Launch
from isomorph.ir.constants import integers
from isomorph.lowering.context import (
    Group,
    Lowered,
    blocks,
    ctype,
    floating,
    itemsize,
    shape_of,
    strides_of,
)
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.opdef import Key

PER_BLOCK = 8
KINDS = {
    "sum": ("Sum", "v", "v"),
    "mean": ("Sum", "v", "v / divisor"),
    "max": ("Largest", "v", "v"),
    "min": ("Smallest", "v", "v"),
    "prod": ("Product", "v", "v"),
    "l1": ("Sum", "fabsf(v)", "v"),
    "l2": ("Sum", "v * v", "sqrtf(v)"),
    "sum_square": ("Sum", "v * v", "v"),
    "log_sum": ("Sum", "v", "logf(v)"),
}
"""The fold, what is done to each term before it, and to the result after it."""


def reduce(group: Group, axes: Sequence[int], kind: str) -> Lowered:
    """Fold the anchor's first operand over axes, which are not negative."""
    x = group.operand(0)
    shape = shape_of(x)
    if any(axis not in range(len(shape)) for axis in axes):
        raise NoKernel(f"axes {tuple(axes)} of {x.type}")
    strides = strides_of(shape)
    kept = _view([a for a in range(len(shape)) if a not in axes], shape, strides)
    reduced = _view(sorted(set(axes)), shape, strides)
    fold, before, after = KINDS[kind]
    functor = group.functor(exclude=(x,))
    code = "\n".join(
        [
            f"using Fold = {fold};",
            f"DEV float prepare(float v) {{ return {before}; }}",
            f"DEV float finish(float v, float divisor) {{ return {after}; }}",
            functor.code,
        ]
    )
    spec = KernelSpec(
        "reduce",
        (("T", floating(x)), ("T_OUT", ctype(group.output))),
        (("KEPT", len(kept) // 2), ("REDUCED", len(reduced) // 2)),
        code,
        sectors=CONTIGUOUS if reduced[-1] == 1 else SECTOR / itemsize(x),  # a lane to each row
    )
    results, terms = prod(shape_of(group.output)), prod(shape[a] for a in set(axes))
    block = Block((x, group.output), (results, terms, float(terms), *kept, *reduced))
    grid = (blocks(results, PER_BLOCK), 1, 1)
    return [Launch(spec, grid, (block, functor.block), (group.output,))]


def _view(axes: Sequence[int], shape: Sequence[int], strides: Sequence[int]) -> tuple[int, ...]:
    dims = collapse([shape[a] for a in axes], ([strides[a] for a in axes],)) or [(1, (0,))]
    return (*(size for size, _ in dims), *(step for _, (step,) in dims))


def _reduce(group: Group, kind: str) -> Lowered:
    op = group.main
    rank = len(shape_of(group.operand(0)))
    given = group.optional(1)
    axes = integers(given)
    if given is not None and axes is None:
        raise NoKernel("its axes are not constant")
    if not axes:
        axes = () if op.attr("noop_with_empty_axes") else tuple(range(rank))
    return reduce(group, [a % rank for a in axes], kind)


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "ReduceL1"): partial(_reduce, kind="l1"),
    ("", "ReduceL2"): partial(_reduce, kind="l2"),
    ("", "ReduceLogSum"): partial(_reduce, kind="log_sum"),
    ("", "ReduceMax"): partial(_reduce, kind="max"),
    ("", "ReduceMean"): partial(_reduce, kind="mean"),
    ("", "ReduceMin"): partial(_reduce, kind="min"),
    ("", "ReduceProd"): partial(_reduce, kind="prod"),
    ("", "ReduceSum"): partial(_reduce, kind="sum"),
    ("", "ReduceSumSquare"): partial(_reduce, kind="sum_square"),
}
