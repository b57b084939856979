"""TypeProto ↔ Type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from isomorph.ir.dims import Dim, Expr, parse_dim, symbol
from isomorph.ir.errors import InvalidModelError, SpecError, UnsupportedError
from isomorph.ir.proto.names import utf8
from isomorph.ir.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseType,
    TensorType,
    Type,
)

if TYPE_CHECKING:
    from onnx import TensorShapeProto, TypeProto

_LONGEST_ARITHMETIC = 256
_MOST_PRODUCTS = 6
_DEEPEST_TYPE = 32


def decode_dtype(number: int, where: str) -> DType:
    """An element type by number; raises InvalidModelError for numbers nobody defined."""
    try:
        return DType(number)
    except ValueError:
        raise InvalidModelError(
            f"{where}: element type {number} does not exist; 1 to {max(d.value for d in DType)} do"
        ) from None


def decode_type(proto: TypeProto, where: str, depth: int = 0) -> Type | None:
    """The type a message states, `None` when it states none.

    Raises:
        InvalidModelError: for element types that do not exist, and dims that are negative.
        UnsupportedError: for types that are nested too deep.
    """
    if depth > _DEEPEST_TYPE:
        raise UnsupportedError(f"{where}: its type is nested deeper than {_DEEPEST_TYPE} levels")
    match proto.WhichOneof("value"):
        case "tensor_type":
            return _tensor(proto.tensor_type, where)
        case "sparse_tensor_type":
            found = _tensor(proto.sparse_tensor_type, where)
            return None if found is None else SparseType(found.dtype, found.shape)
        case "sequence_type":
            inner = decode_type(proto.sequence_type.elem_type, where, depth + 1)
            return None if inner is None else SequenceType(inner)
        case "optional_type":
            inner = decode_type(proto.optional_type.elem_type, where, depth + 1)
            return None if inner is None else OptionalType(inner)
        case "map_type":
            inner = decode_type(proto.map_type.value_type, where, depth + 1)
            key = decode_dtype(proto.map_type.key_type, where)
            return None if inner is None else MapType(key, inner)
        case _:
            return None


def _tensor(proto: TypeProto.Tensor | TypeProto.SparseTensor, where: str) -> TensorType | None:
    if not proto.elem_type:
        return None
    shape = _shape(proto.shape, where) if proto.HasField("shape") else None
    return TensorType(decode_dtype(proto.elem_type, where), shape)


def _shape(proto: TensorShapeProto, where: str) -> Shape:
    return tuple(decode_dim(d, where) for d in proto.dim)


def decode_dim(proto: TensorShapeProto.Dimension, where: str) -> Dim:
    """A dim; text that is arithmetic over names becomes an expression, other text one name.

    Some exporters write -1 for a dim that they do not know.
    """
    match proto.WhichOneof("value"):
        case "dim_value":
            if proto.dim_value < -1:
                raise InvalidModelError(
                    f"{where}: dim {proto.dim_value} is negative; a size is expected"
                )
            return None if proto.dim_value < 0 else proto.dim_value
        case "dim_param":
            return decode_dim_text(proto.dim_param)
        case _:
            return None


def decode_dim_text(text: str) -> Dim:
    """A dim from its text in a file."""
    if not utf8(text):
        return None
    if text.isidentifier() or not is_plain_arithmetic(text):
        return symbol(text)
    try:
        found = parse_dim(text)
    except (SpecError, ZeroDivisionError):
        return symbol(text)
    return found if isinstance(found, Expr) and str(found) == text else symbol(text)


def is_plain_arithmetic(text: str) -> bool:
    """Whether text from a file is small enough to be parsed and multiplied out."""
    return (
        len(text) <= _LONGEST_ARITHMETIC
        and text.count("*") <= _MOST_PRODUCTS
        and text.count("(") <= 2 * _MOST_PRODUCTS
    )


def encode_type(kind: Type) -> TypeProto:
    """The message of a type."""
    proto = onnx.TypeProto()
    match kind:
        case TensorType(dtype, shape):
            _encode_tensor(proto.tensor_type, dtype, shape)
        case SparseType(dtype, shape):
            _encode_tensor(proto.sparse_tensor_type, dtype, shape)
        case SequenceType(element):
            proto.sequence_type.elem_type.CopyFrom(encode_type(element))
        case OptionalType(element):
            proto.optional_type.elem_type.CopyFrom(encode_type(element))
        case MapType(key, value):
            proto.map_type.key_type = key.value
            proto.map_type.value_type.CopyFrom(encode_type(value))
    return proto


def _encode_tensor(
    proto: TypeProto.Tensor | TypeProto.SparseTensor, dtype: DType, shape: Shape | None
) -> None:
    proto.elem_type = dtype.value
    if shape is None:
        return
    proto.shape.SetInParent()
    for dim in shape:
        made = proto.shape.dim.add()
        if isinstance(dim, int):
            made.dim_value = dim
        elif dim is not None:
            made.dim_param = str(dim)
