"""TensorProto ↔ Weight."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import onnx

from isomorph.ir.errors import InvalidModelError, UnsupportedError
from isomorph.ir.proto.types import decode_dtype
from isomorph.ir.types import DType
from isomorph.ir.weights import Buffer, Storage, Weight

if TYPE_CHECKING:
    from onnx import SparseTensorProto, TensorProto

External = Callable[["TensorProto", int], Storage]
"""Opens data that lies outside the model's file, given its message and the length wanted."""

MAX_BYTES = 1 << 40

MAX_DENSE = 1 << 28
"""Bytes that a sparse tensor may have once it is dense."""

_INT32_FIELD = frozenset(d for d in DType if 0 < d.bits <= 16) | {DType.INT32}


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
    size = _size(shape, dtype, where)
    if proto.HasField("segment"):
        raise UnsupportedError(f"{where}: tensors in segments are not read; store it in one piece")
    if dtype is DType.STRING:
        _check(len(proto.string_data), size, where, "strings")
        return Weight(dtype, shape, None, tuple(proto.string_data))
    weight = Weight(dtype, shape, None)
    if proto.data_location == onnx.TensorProto.EXTERNAL:
        if external is None:
            raise InvalidModelError(
                f"{where}: its data lies in another file, which cannot be found without the "
                "model's path; read the model from its file"
            )
        weight.storage = external(proto, weight.nbytes)
    elif proto.HasField("raw_data"):
        raw = proto.raw_data
        _check(len(raw), weight.nbytes, where, "bytes")
        weight.storage = Buffer(raw)
    else:
        weight.storage = Buffer(_typed(proto, dtype, size, where))
    return weight


def decode_sparse(proto: SparseTensorProto, where: str, external: External | None = None) -> Weight:
    """The dense weight that a sparse message stands for.

    Raises:
        InvalidModelError: when indices leave the dims or do not ascend.
        UnsupportedError: when the dense tensor would be too large.
    """
    shape = tuple(proto.dims)
    values = decode_tensor(proto.values, f"{where}, values", external)
    if _size(shape, values.dtype, where) * max(values.dtype.bits, 8) > MAX_DENSE * 8:
        raise UnsupportedError(
            f"{where}: sparse with dims {shape}; up to {MAX_DENSE >> 20} MiB are made dense"
        )
    indices = decode_tensor(proto.indices, f"{where}, indices", external)
    count = values.size
    if indices.dtype is not DType.INT64 or indices.shape not in ((count,), (count, len(shape))):
        raise InvalidModelError(
            f"{where}: indices are {indices.type}; int64[{count}] or int64[{count}, {len(shape)}] "
            "is expected"
        )
    flat: np.ndarray = indices.numpy()
    if flat.ndim == 2:
        bounds = np.array(shape, np.int64)
        if count and bool(((flat < 0) | (flat >= bounds)).any()):
            raise InvalidModelError(f"{where}: an index lies outside of dims {shape}")
        strides = np.cumprod([1, *shape[:0:-1]], dtype=np.int64)[::-1][: len(shape)]
        flat = (flat * strides).sum(axis=1)
    if count and (flat[0] < 0 or flat[-1] >= prod(shape) or bool((np.diff(flat) <= 0).any())):
        raise InvalidModelError(f"{where}: its indices do not ascend within dims {shape}")
    fill = b"" if values.dtype is DType.STRING else 0
    dense = np.full(prod(shape), fill, values.dtype.numpy)
    dense[flat] = values.numpy().reshape(-1)
    return Weight.of(dense.reshape(shape), values.dtype)


def _size(shape: tuple[int, ...], dtype: DType, where: str) -> int:
    """Number of elements, of a tensor that can exist."""
    if any(d < 0 for d in shape):
        raise InvalidModelError(f"{where}: tensor dims {shape} are negative; sizes are expected")
    if prod(max(d, 1) for d in shape) * max(dtype.bits, 1) > MAX_BYTES * 8:
        raise InvalidModelError(f"{where}: tensor dims {shape} ask for more than 1 TiB")
    return prod(shape)


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
        if dtype in (DType.FLOAT6E2M3, DType.FLOAT6E3M2):  # the one kind that is not packed there
            _check(len(words), size, where, "elements")
            codes = (words & 0x3F).astype(np.uint8)
            return bytes(Weight.of(codes.view(dtype.numpy), dtype).view())
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
        DType.UINT32: (proto.uint64_data, np.uint64),
    }[dtype]
    _check(len(field), size * (2 if dtype.is_complex else 1), where, "elements")
    found = np.array(field, form)
    return found.astype(np.uint32).tobytes() if dtype is DType.UINT32 else found.tobytes()
