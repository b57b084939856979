"""Constants however a graph holds them: as a weight, or as the result of a `Constant` op."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.types import DType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value


def constant(value: Value | None) -> Weight | None:
    """The weight that a value always has; `None` when it is absent or computed."""
    if value is None:
        return None
    if value.weight is not None:
        return value.weight
    op = value.producer
    if op is None or op.key != ("", "Constant"):
        return None
    return constant_of(op)


def constant_of(op: Op) -> Weight | None:
    """What a `Constant` op yields; `None` when it holds a sparse tensor."""
    for name, given in op.attributes.items():
        match name:
            case "value":
                return given
            case "value_float" | "value_floats":
                return Weight.of(np.asarray(given, np.float32), DType.FLOAT32)
            case "value_int" | "value_ints":
                return Weight.of(np.asarray(given, np.int64), DType.INT64)
            case "value_string" | "value_strings":
                return Weight.of(np.array(given, object), DType.STRING)
            case _:
                continue
    return None


def numbers(value: Value | None) -> np.ndarray | None:
    """The same as an array."""
    found = constant(value)
    return None if found is None else found.numpy()


def integers(value: Value | None) -> tuple[int, ...] | None:
    """The elements of a constant integer vector (or scalar), such as axes."""
    found = numbers(value)
    return None if found is None else tuple(int(v) for v in found.reshape(-1))
