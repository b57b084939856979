"""Which uses of an operator a divergence shows in, as far as a graph tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.constants import numbers
from isomorph.ir.dims import Expr
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Graph, Op, Value

SIZES = frozenset({"Shape", "Size"})
JOINS = frozenset({"Add", "Concat", "Max", "Mul"})
MOVES = frozenset(
    {
        *("Abs", "Cast", "Expand", "Flatten", "Gather", "Identity", "ReduceMax", "ReduceProd"),
        *("ReduceSum", "Reshape", "Slice", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze"),
    }
)
"""Operators that make no negative number of numbers that are none, of all operands or the first."""
DEEPEST = 32


def kind_of(value: Value | None) -> TensorType | None:
    """The type of a tensor."""
    kind = None if value is None else value.type
    return kind if isinstance(kind, TensorType) else None


def dtype_of(op: Op, index: int = 0) -> DType | None:
    """The element type of an operand."""
    kind = kind_of(op.input(index))
    return None if kind is None else kind.dtype


def dim_of(value: Value | None, axis: int) -> Dim:
    """The size along an axis, where it is known."""
    kind = kind_of(value)
    return None if kind is None or kind.shape is None else kind.shape[axis]


def is_integer(op: Op, _graph: Graph) -> bool:
    dtype = dtype_of(op)
    return dtype is not None and dtype.is_integer


def is_float(op: Op, _graph: Graph) -> bool:
    dtype = dtype_of(op)
    return dtype is not None and dtype.is_float


def may_be_nothing(dim: Dim, graph: Graph) -> bool:
    """Whether a size is 0, or a symbol that no constraint keeps from it; unknown ones are not."""
    if not isinstance(dim, Expr):
        return dim == 0
    name = str(dim)
    return name in dim.symbols() and all(c.holds({name: 0}) is not False for c in graph.constraints)


def is_size(value: Value | None, depth: int = 0) -> bool:
    """Whether a value is made of shapes, and of constants that are not negative."""
    if value is None:
        return True
    constant = numbers(value)
    if constant is not None:
        return constant.dtype.kind in "iu" and not bool((constant < 0).any())
    made = value.producer
    if made is None or made.domain or depth > DEEPEST:
        return False
    if made.type in JOINS:
        return all(is_size(v, depth + 1) for v in made.inputs)
    return made.type in SIZES or (made.type in MOVES and is_size(made.inputs[0], depth + 1))


def divides_by_anything(op: Op, _graph: Graph) -> bool:
    """Integers of 32 bits or more by what is computed, and is no size; or by -1."""
    dtype = dtype_of(op)
    if dtype is None or not (dtype.is_integer and dtype.is_signed) or dtype.bits < 32:
        return False
    if op.type == "Mod" and op.attr("fmod", 0):
        return False
    divisor = numbers(op.input(1))
    if divisor is not None:
        return bool((divisor == -1).any())
    return not is_size(op.input(1)) and not is_size(op.input(0))


def multiplies_integers(op: Op, graph: Graph) -> bool:
    return is_integer(op, graph) and not is_size(op.input(0))


def bounds_by_nan(op: Op, _graph: Graph) -> bool:
    bounds = (numbers(op.input(1)), numbers(op.input(2)))
    return any(b is not None and b.dtype.kind == "f" and np.isnan(b).any() for b in bounds)


def is_scalar(op: Op, _graph: Graph) -> bool:
    kind = kind_of(op.input(0))
    return kind is not None and kind.rank == 0


def sums_nothing(op: Op, _graph: Graph) -> bool:
    return dim_of(op.input(0), -1) == 0


def casts_to_few_bits(op: Op, _graph: Graph) -> bool:
    dtype, target = dtype_of(op), kind_of(op.outputs[0])
    return (
        dtype is not None
        and dtype.is_float
        and target is not None
        and target.dtype.is_integer
        and target.dtype.bits < 8
    )


def casts_unsaturated(op: Op, _graph: Graph) -> bool:
    target = kind_of(op.outputs[0])
    narrow = target is not None and target.dtype in (DType.FLOAT8E4M3FN, DType.FLOAT8E5M2)
    return narrow and not op.attr("saturate", 1)


def steps_in_floats(op: Op, graph: Graph) -> bool:
    """A progression of floats that is not known to be short."""
    length = dim_of(op.outputs[0], 0)
    return is_float(op, graph) and not (isinstance(length, int) and length <= 64)


def reduces_nothing(op: Op, _graph: Graph) -> bool:
    """Nothing, along an axis that is counted from the end."""
    kind, given = kind_of(op.input(0)), numbers(op.input(1))
    if kind is None or kind.shape is None or 0 not in kind.shape:
        return False
    axes = op.attr("axes", ()) if given is None else given.reshape(-1).tolist()
    return any(axis < 0 for axis in (*(axes or ()), op.attr("axis", 0) or 0))


def batch_may_be_nothing(op: Op, graph: Graph) -> bool:
    return may_be_nothing(dim_of(op.input(0), 1), graph)


def lacks_zero_point(op: Op, _graph: Graph) -> bool:
    return op.input(2) is None or op.input(4) is None


def joins_rows_of_nothing(op: Op, graph: Graph) -> bool:
    return len(op.inputs) > 1 and may_be_nothing(dim_of(op.input(0), 0), graph)


def pairs_twice(op: Op, _graph: Graph) -> bool:
    """A DequantizeLinear after the second of two pairs with other scales, or zero points."""
    found: list[Op] = []
    at: Op | None = op
    for name in ("DequantizeLinear", "QuantizeLinear", "DequantizeLinear", "QuantizeLinear"):
        if at is None or at.key != ("", name):
            return False
        found.append(at)
        at = None if at.inputs[0] is None else at.inputs[0].producer
    second, first = found[0], found[2]
    grids = [(numbers(q.input(1)), numbers(q.input(2))) for q in (first, second)]
    if any(scale is None or scale.size != 1 for scale, _ in grids):
        return False
    return any(not np.array_equal(a, b) for a, b in zip(*grids, strict=True))


def rounds_angles(op: Op, _graph: Graph) -> bool:
    """A transform of a length that is known, and no power of two."""
    if op.type == "DFT":
        stated = numbers(op.input(1))
        axis = numbers(op.input(2))
        along = op.attr("axis", 1) if op.version < 20 else -2 if axis is None else int(axis)
        points = dim_of(op.input(0), along) if stated is None else int(stated.reshape(-1)[0])
    else:
        stated = numbers(op.input(3))
        window = dim_of(op.input(2), 0) if op.input(2) is not None else None
        points = window if stated is None else int(stated.reshape(-1)[0])
    return isinstance(points, int) and points > 0 and bool(points & (points - 1))
