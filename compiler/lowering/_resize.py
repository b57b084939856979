"""Resize: which elements each result is made of, and what they weigh, are tables made here."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.codegen.functor import computed_as
from isomorph.codegen.spec import SECTOR, Block, KernelSpec, Launch
from isomorph.ir.semantics import _resize
from isomorph.lowering.context import (
    Alias,
    Group,
    Lowered,
    blocks,
    constant,
    ctype,
    dtype_of,
    itemsize,
    shape_of,
    strides_of,
)
from isomorph.lowering.errors import NoKernel

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value


@dataclass(frozen=True, slots=True)
class Table:
    """One axis: indices (length, taps), −1 for a place outside of what is cropped; weights."""

    axis: int
    indices: np.ndarray
    weights: np.ndarray


def resize(group: Group) -> Lowered:
    """One launch over all the axes that are resized."""
    x, out, op = group.operand(0), group.output, group.main
    shape, sizes = shape_of(x), shape_of(out)
    given = [_numbers(group.optional(i)) for i in (1, 2, 3)]
    found = (t for t in _tables(op, shape, given) if t is not None)
    tables = sorted(found, key=lambda t: t.axis)
    if not tables:
        return Alias(x)
    if not prod(shape) and prod(sizes):
        raise NoKernel(f"there is nothing to read in {shape}")
    kind = ctype(x)
    value = computed_as(kind)
    acc = "float" if value == "float" else "double"
    by_axis = {t.axis: t for t in tables}
    dims: list[tuple[int, int, Table | None]] = []
    for axis, size in enumerate(sizes):
        table, step = by_axis.get(axis), strides_of(shape)[axis]
        if table is None and dims and dims[-1][2] is None:
            dims[-1] = (dims[-1][0] * size, step, None)
        else:
            dims.append((size, step, table))
    starts: list[int] = []
    taps: list[int] = []
    at = 0
    for _, _, table in dims:
        starts.append(at)
        taps.append(0 if table is None else table.indices.shape[1])
        at += 0 if table is None else table.indices.size
    cropped = any((t.indices < 0).any() for t in tables)
    spec = KernelSpec(
        "resample",
        (("T", kind), ("T_VALUE", value), ("ACC", acc)),
        (
            ("RANK", len(dims)),
            ("NEAREST", op.attr("mode") == "nearest"),
            ("CROPPED", cropped),
            ("ROUNDED", dtype_of(x).is_integer),
        ),
        sectors=SECTOR / itemsize(x),
    )
    weights = np.concatenate([t.weights.reshape(-1) for t in tables])
    indices = constant(
        np.concatenate([t.indices.reshape(-1) for t in tables]).astype(np.int32), "indices"
    )
    weighed = constant(weights.astype("float32" if acc == "float" else "float64"), "weights")
    n = prod(sizes)
    words = (
        *(n, float(op.attr("extrapolation_value") or 0.0)),
        *(size for size, _, _ in dims),
        *(step for _, step, _ in dims),
        *taps,
        *starts,
    )
    block = Block((x, indices, weighed, out), words)
    return [Launch(spec, (blocks(n, 256), 1, 1), (block,), (out,))]


def _numbers(value: Value | None) -> np.ndarray | None:
    if value is None:
        return None
    if value.weight is None:
        raise NoKernel(f"%{value.name} is not constant")
    return value.weight.numpy()


def _tables(op: Op, shape: tuple[int, ...], given: list[Any]) -> list[Table | None]:
    mode, (_, scales, sizes) = op.attr("coordinate_transformation_mode"), given
    found = _resize.steps(op.attr, shape, *given)
    if mode == "align_corners" and scales is not None and (sizes is None or not sizes.size):
        for axis, (_, scale), length, _ in found:
            if scale * shape[axis] != length:
                raise NoKernel(
                    f"align_corners with scale {scale} of {shape[axis]}: the standard and run "
                    "times disagree about what fraction of a pixel is left at the end"
                )
    return [
        _table(op, mode, shape[axis], axis, ratio, length, part)
        for axis, ratio, length, part in found
    ]


def _table(
    op: Op,
    mode: str,
    dim: int,
    axis: int,
    ratio: _resize.Ratio,
    length: int,
    part: tuple[float, float],
) -> Table | None:
    same = ratio[0] == ratio[1] and length == dim and part == (0.0, 1.0)
    if same and mode != "tf_half_pixel_for_nn":
        return None
    at = np.arange(length, dtype=np.float64)
    places = _resize.coordinates(mode, at, dim, length, ratio, part)
    if op.attr("mode") == "nearest":
        indices = _resize.nearest(places, op.attr("nearest_mode"))[:, None]
        weights = np.ones(indices.shape)
    else:
        stretch = min(ratio[1] / ratio[0], 1.0) if op.attr("antialias", 0) else 1.0
        indices, weights = _resize.filtered(
            places,
            dim,
            op.attr("mode"),
            stretch,
            op.attr("cubic_coeff_a"),
            exclude_outside=bool(op.attr("exclude_outside", 0)),
        )
    indices = np.clip(indices, 0, max(dim - 1, 0))
    if mode == "tf_crop_and_resize":
        indices = np.where(((places < 0) | (places > dim - 1))[:, None], -1, indices)
    return Table(axis, indices, weights)
