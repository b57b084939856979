"""TensorProto ↔ Weight."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import onnx

from isomorph.ir.errors import InvalidModelError
from isomorph.ir.proto.types import decode_dtype
from isomorph.ir.types import DType
from isomorph.ir.weights import Buffer, Storage, Weight

if TYPE_CHECKING:
    from onnx import TensorProto

External = Callable[["TensorProto", int], Storage]
"""Opens data that lies outside the model's file, given its message and the length wanted."""

MAX_BYTES = 1 << 40

_INT32_FIELD = frozenset(
    d
    for d in DType
    if d.bits <= 16 and d not in (DType.STRING,)
) | {DType.INT32}


def decode_tensor(proto: TensorProto, where: str, external: External | None = None) -> Weight:
    """The weight a message holds; its bytes are borrowed where the message has them raw.

    Args:
        proto: the message.
        where: what to call it in errors.
        external: opens data that lies outside the file, given the message and the length wanted.

    Raises:
        InvalidModelError: when dims, element type and data do not agree.
    """
    dtype = decode_dtype(proto.data_type, where)
    shape = tuple(proto.dims)
    if any(d < 0 for d in shape):
        raise InvalidModelError(f"{where}: tensor dims {shape} are negative")
    size = prod(shape)
    if size * max(dtype.bits, 1) > MAX_BYTES * 8:
        raise InvalidModelError(f"{where}: tensor dims {shape} ask for more than 1 TiB")
    if dtype is DType.STRING:
        _check(len(proto.string_data), size, where, "strings")
        return Weight(dtype, shape, None, tuple(proto.string_data))
    weight = Weight(dtype, shape, None)
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        if external is None:
            raise InvalidModelError(f"{where}: its data lies in another file, which is not read here")
        weight.storage = external(proto, weight.nbytes)
    elif proto.HasField("raw_data"):
        _check(len(proto.raw_data), weight.nbytes, where, "bytes")
        weight.storage = Buffer(proto.raw_data)
    else:
        weight.storage = Buffer(_typed(proto, dtype, size, where))
    return weight


def encode_tensor(weight: Weight, name: str = "") -> TensorProto:
    """The message of a weight, its bytes raw."""
    proto = onnx.TensorProto(name=name, data_type=weight.dtype.value)
    proto.dims.extend(weight.shape)
    if weight.dtype is DType.STRING:
        proto.string_data.extend(weight.strings)
    else:
        proto.raw_data = bytes(weight.view())
    return proto


def _check(found: int, wanted: int, where: str, what: str) -> None:
    if found != wanted:
        raise InvalidModelError(f"{where}: its dims and type need {wanted} {what}, it has {found}")


def _typed(proto: TensorProto, dtype: DType, size: int, where: str) -> bytes:
    """The packed bytes of data that lies in one of the message's typed fields."""
    if dtype in _INT32_FIELD:
        words = np.array(proto.int32_data, np.int32)
        if dtype.bits < 8 and dtype is not DType.BOOL:
            _check(len(words), (size * dtype.bits + 7) // 8, where, "packed elements")
            return words.astype(np.uint8).tobytes()
        _check(len(words), size, where, "elements")
        width = np.dtype(f"u{dtype.numpy.itemsize}")
        return words.astype(width).tobytes()
    field, form = {
        DType.FLOAT32: (proto.float_data, np.float32),
        DType.COMPLEX64: (proto.float_data, np.float32),
        DType.FLOAT64: (proto.double_data, np.float64),
        DType.COMPLEX128: (proto.double_data, np.float64),
        DType.INT64: (proto.int64_data, np.int64),
        DType.UINT64: (proto.uint64_data, np.uint64),
        DType.UINT32: (proto.uint64_data, np.uint32),
    }[dtype]
    _check(len(field), size * (2 if dtype.is_complex else 1), where, "elements")
    return np.array(field, form).tobytes()
