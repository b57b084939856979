"""The more precise of two types for one value, and what is certain of a value of either."""

from __future__ import annotations

from isomorph.ir.dims import Dim, Expr
from isomorph.ir.types import (
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseType,
    TensorType,
    Type,
)


def merge(stated: Type | None, inferred: Type) -> Type:
    """The more precise of two types for one value.

    Numbers win over symbols, inferred expressions over stated names, anything over unknown.

    Raises:
        ValueError: when they contradict each other.
    """
    if stated is None:
        return inferred
    match stated, inferred:
        case TensorType(), TensorType():
            if stated.dtype is not inferred.dtype:
                raise ValueError(f"inferred {inferred}, but {stated} is stated")
            return TensorType(stated.dtype, merge_shapes(stated.shape, inferred.shape))
        case SparseType(), SparseType() if stated.dtype is inferred.dtype:
            return SparseType(stated.dtype, merge_shapes(stated.shape, inferred.shape))
        case SequenceType(a), SequenceType(b):
            return SequenceType(merge(a, b))
        case OptionalType(a), OptionalType(b):
            return OptionalType(merge(a, b))
        case MapType(key, a), MapType(other, b) if key is other:
            return MapType(key, merge(a, b))
        case _:
            raise ValueError(f"inferred {inferred}, but {stated} is stated")


def merge_shapes(stated: Shape | None, inferred: Shape | None) -> Shape | None:
    """The more precise of two shapes; raises ValueError on a contradiction."""
    if stated is None or inferred is None:
        return inferred if stated is None else stated
    if len(stated) != len(inferred):
        raise ValueError(f"inferred rank {len(inferred)}, but rank {len(stated)} is stated")
    return tuple(_merge_dim(a, b) for a, b in zip(stated, inferred, strict=True))


def _merge_dim(stated: Dim, inferred: Dim) -> Dim:
    if isinstance(stated, int) and isinstance(inferred, int) and stated != inferred:
        raise ValueError(f"inferred dim {inferred}, but {stated} is stated")
    if inferred is None or (isinstance(inferred, Expr) and isinstance(stated, int)):
        return stated
    return inferred


def either(a: Type | None, b: Type | None) -> Type | None:
    """What is certain of a value that has one of two types.

    Raises:
        ValueError: when kinds or element types differ.
    """
    if a is None or b is None:
        return None
    match a, b:
        case TensorType(), TensorType() if a.dtype is b.dtype:
            if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
                return TensorType(a.dtype, None)
            dims = (x if x == y else None for x, y in zip(a.shape, b.shape, strict=True))
            return TensorType(a.dtype, tuple(dims))
        case SequenceType(x), SequenceType(y):
            element = either(x, y)
            return None if element is None else SequenceType(element)
        case MapType(key, x), MapType(other, y) if key is other:
            element = either(x, y)
            return None if element is None else MapType(key, element)
        case OptionalType(x), OptionalType(y):
            element = either(x, y)
            return None if element is None else OptionalType(element)
        case OptionalType(x), SequenceType() | TensorType():
            element = either(x, b)
            return None if element is None else OptionalType(element)
        case SequenceType() | TensorType(), OptionalType():
            return either(b, a)
        case _ if a == b:
            return a
        case _:
            raise ValueError(f"{a} and {b} differ in kind or element type")
