"""Heads of attention: their layouts, and typed ops that lead from one to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Value
    from isomorph.ir.patch import Patch
    from isomorph.ir.types import DType

BY_HEADS = (0, 2, 1, 3)
"""(batch, length, heads, size) to (batch, heads, length, size), and back."""


def shape_of(value: Value) -> tuple[int, ...]:
    """The shape of a value whose dims are known to be numbers."""
    return cast("tuple[int, ...]", cast("TensorType", value.type).static_shape)


def dtype_of(value: Value) -> DType:
    """The element type of a tensor."""
    return cast("TensorType", value.type).dtype


def reshaped(patch: Patch, value: Value, shape: tuple[int, ...]) -> Value:
    """The same elements in another shape."""
    wanted = patch.weight(np.array(shape, np.int64))
    kind = TensorType(dtype_of(value), shape)
    return patch.op("Reshape", [value, wanted], {"allowzero": 1}, types=[kind]).output


def transposed(patch: Patch, value: Value, perm: Sequence[int]) -> Value:
    """Axes in another order."""
    shape = shape_of(value)
    kind = TensorType(dtype_of(value), tuple(shape[axis] for axis in perm))
    return patch.op("Transpose", [value], {"perm": tuple(perm)}, types=[kind]).output


def split(patch: Patch, value: Value, heads: int | None) -> Value:
    """(batch, length, heads · size) by heads; what is of rank 4 stays as it is."""
    shape = shape_of(value)
    if len(shape) == 4 or not heads:
        return value
    batch, length, hidden = shape
    return transposed(
        patch, reshaped(patch, value, (batch, length, heads, hidden // heads)), BY_HEADS
    )
