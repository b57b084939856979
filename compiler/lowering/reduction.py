"""reduction: folds over any axes, one warp a result."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import collapse, computed_as
from isomorph.codegen.spec import CONTIGUOUS, SECTOR, Block, KernelSpec, Launch
from isomorph.ir.constants import integers
from isomorph.lowering.context import (
    Group,
    Lowered,
    blocks,
    ctype,
    dtype_of,
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
    "l1": ("Sum", "fabs_(v)", "v"),
    "l2": ("Sum", "v * v", "sqrt_(v)"),
    "sum_square": ("Sum", "v * v", "v"),
    "log_sum": ("Sum", "v", "log_(v)"),
}
"""The fold, what is done to each term before it, and to the result after it."""

OF_INTEGERS = {
    "mean": ("Sum", "v", "divided(v, divisor)"),
    "l1": ("Sum", "magnitude(v)", "v"),
    "l2": ("Sum", "wrap_mul(v, v)", "sqrt(double(v))"),
    "sum_square": ("Sum", "wrap_mul(v, v)", "v"),
    "log_sum": ("Sum", "v", "log(double(v))"),
}
"""The same for integers, where it is written otherwise."""


def reduce(group: Group, axes: Sequence[int], kind: str) -> Lowered:
    """Fold the anchor's first operand over axes, which are not negative."""
    x = group.operand(0)
    shape = shape_of(x)
    if any(axis not in range(len(shape)) for axis in axes):
        raise NoKernel(f"axes {tuple(axes)} of {x.type}")
    strides = strides_of(shape)
    kept = _view([a for a in range(len(shape)) if a not in axes], shape, strides)
    reduced = _view(sorted(set(axes)), shape, strides)
    kind_of, own = ctype(x), computed_as(ctype(x))
    forms = OF_INTEGERS if dtype_of(x).is_integer else {}
    fold, before, after = forms.get(kind, KINDS[kind])
    functor = group.functor(exclude=(x,)) if own == "float" else group.plain()
    code = "\n".join(
        [
            f"using Fold = {fold};",
            f"DEV {own} prepare({own} v) {{ return {before}; }}",
            f"DEV {own} finish({own} v, {own} divisor) {{ return {after}; }}",
            functor.code,
        ]
    )
    spec = KernelSpec(
        "reduce",
        (("T", kind_of), ("T_OUT", ctype(group.output)), ("VALUE", own)),
        (("KEPT", len(kept) // 2), ("REDUCED", len(reduced) // 2)),
        code,
        sectors=CONTIGUOUS if reduced[-1] == 1 else SECTOR / itemsize(x),  # a lane to each row
    )
    results, terms = prod(shape_of(group.output)), prod(shape[a] for a in set(axes))
    block = Block((x, group.output), (results, terms, *kept, *reduced))
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


def _argument(group: Group, *, most: bool, hard: bool = False) -> Lowered:
    """The place of an extreme element along an axis, or 1 there and 0 elsewhere (`hard`)."""
    x, out = group.operand(0), group.output
    shape = shape_of(x) or (1,)
    axis = int(group.main.attr("axis", -1 if hard else 0)) % len(shape)
    if not shape[axis] and prod(shape_of(out)):
        raise NoKernel("it looks for an element in an axis of size 0")
    last = bool(group.main.attr("select_last_index", 0))
    spec = KernelSpec(
        "arg",
        (("T", ctype(x)), ("T_OUT", ctype(out))),
        (("MOST", most), ("LAST", last), ("HARD", hard)),
        sectors=max(SECTOR / itemsize(x), 4.0),
    )
    rows, inner = prod(shape) // max(shape[axis], 1), prod(shape[axis + 1 :])
    block = Block((x, out), (rows, shape[axis], inner))
    return [Launch(spec, (blocks(rows, PER_BLOCK), 1, 1), (block,), (out,))]


def _cumulative(group: Group, *, product: bool) -> Lowered:
    x, out = group.operand(0), group.output
    shape = shape_of(x)
    given = integers(group.operand(1))
    if not given:
        raise NoKernel("its axis is not constant")
    axis = given[0] % max(len(shape), 1)
    kind = ctype(x)
    flags = (("EXCLUSIVE", "exclusive"), ("REVERSE", "reverse"))
    spec = KernelSpec(
        "cumulative",
        (("T", kind), ("VALUE", computed_as(kind)), ("Fold", "Product" if product else "Sum")),
        tuple((name, bool(group.main.attr(attribute, 0))) for name, attribute in flags),
        sectors=max(SECTOR / itemsize(x), 4.0),
    )
    rows, inner = prod(shape) // max(shape[axis], 1), prod(shape[axis + 1 :])
    block = Block((x, out), (rows, shape[axis], inner))
    return [Launch(spec, (blocks(rows, PER_BLOCK), 1, 1), (block,), (out,))]


LOWERINGS: dict[Key, Callable[[Group], Lowered]] = {
    ("", "ArgMax"): partial(_argument, most=True),
    ("", "ArgMin"): partial(_argument, most=False),
    ("", "CumProd"): partial(_cumulative, product=True),
    ("", "CumSum"): partial(_cumulative, product=False),
    ("", "Hardmax"): partial(_argument, most=True, hard=True),
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
