"""TensorProto ↔ Weight."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.ir.errors import InvalidModelError, UnsupportedError
from isomorph.ir.proto.names import utf8
from isomorph.ir.proto.types import decode_dtype
from isomorph.ir.types import DType
from isomorph.ir.weights import Buffer, FileRange, Form, Storage, Weight

if TYPE_CHECKING:
    from onnx import TensorProto

External = Callable[["TensorProto", int], Storage]
"""Opens data that lies outside the model's file, given its message and the length wanted."""

MAX_BYTES = 1 << 40

MAX_RANK = 64
"""Dims that a numpy array can have."""

_WIDE_FIELDS: dict[DType, tuple[str, type[np.generic]]] = {
    DType.FLOAT32: ("float_data", np.float32),
    DType.COMPLEX64: ("float_data", np.float32),
    DType.FLOAT64: ("double_data", np.float64),
    DType.COMPLEX128: ("double_data", np.float64),
    DType.INT64: ("int64_data", np.int64),
    DType.UINT64: ("uint64_data", np.uint64),
    DType.UINT32: ("uint64_data", np.uint64),
}
"""The typed field of an element type that is not in int32_data, and what it holds."""

_INT32_FIELD = frozenset(d for d in DType if 0 < d.bits <= 16) | {DType.INT32}


def decode_tensor(
    proto: TensorProto, where: str, external: External | None = None, *, named: bool = False
) -> Weight:
    """The weight a message holds; its bytes are borrowed where the message has them raw.

    Args:
        proto: the message.
        where: what to call it in errors.
        external: opens data that lies outside the file, given the message and the length wanted.
        named: whether its name and remarks belong to its form; those of an initializer are its
            value's.

    Raises:
        InvalidModelError: when dims, element type and data do not agree.
        UnsupportedError: for more dims than an array can have.
    """
    dtype = decode_dtype(proto.data_type, where)
    shape = tuple(proto.dims)
    size = check_size(shape, dtype, where)
    weight = _decoded(proto, where, external, dtype, shape, size)
    weight.form = _form(proto, weight, named=named)
    return weight


def _decoded(
    proto: TensorProto,
    where: str,
    external: External | None,
    dtype: DType,
    shape: tuple[int, ...],
    size: int,
) -> Weight:
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


_TYPED = Form(typed=True)


def _form(proto: TensorProto, weight: Weight, *, named: bool) -> Form | None:
    """What the message says beyond dims, type and data; `None` when its data is raw."""
    storage = weight.storage
    inline = isinstance(storage, FileRange) and storage.inline
    typed = (
        storage is not None
        and not proto.HasField("data_location")
        and not proto.HasField("raw_data")
    )
    placed = proto.HasField("data_location") and not inline
    if not placed and not (
        named and (proto.HasField("name") or proto.HasField("doc_string") or proto.metadata_props)
    ):
        return _TYPED if typed else None
    kept = onnx.TensorProto()
    if named:
        for name in ("name", "doc_string"):
            if proto.HasField(name):
                setattr(kept, name, utf8(getattr(proto, name)))
        kept.metadata_props.extend(proto.metadata_props)
    if placed:
        kept.data_location = proto.data_location
        kept.external_data.extend(proto.external_data)
    return Form(kept.SerializeToString(), typed)


def check_size(shape: tuple[int, ...], dtype: DType, where: str) -> int:
    """Number of elements, of a tensor that can exist."""
    if any(d < 0 for d in shape):
        raise InvalidModelError(f"{where}: tensor dims {shape} are negative; sizes are expected")
    if len(shape) > MAX_RANK:
        raise UnsupportedError(f"{where}: a tensor of {len(shape)} dims; up to {MAX_RANK} are read")
    if prod(max(d, 1) for d in shape) * max(dtype.bits, 1) > MAX_BYTES * 8:
        raise InvalidModelError(f"{where}: tensor dims {shape} ask for more than 1 TiB")
    return prod(shape)


def encode_tensor(weight: Weight, name: str | None = None, *, as_read: bool = False) -> TensorProto:
    """The message of a weight, its bytes raw.

    Args:
        weight: the weight.
        name: its name.
        as_read: write it the way in which the file states it that it was read from: the same
            fields, the same name unless another is given. Data in other files stays there.
    """
    form = weight.form if as_read else None
    proto = onnx.TensorProto()
    if form is not None and form.message:
        proto.ParseFromString(form.message)
    if name is not None:
        proto.name = name
    proto.data_type = weight.dtype.value
    proto.dims.extend(weight.shape)
    if weight.dtype is DType.STRING:
        proto.string_data.extend(weight.strings)
    elif form is not None and form.typed:
        _fill(proto, weight)
    elif proto.data_location != onnx.TensorProto.EXTERNAL:
        proto.raw_data = bytes(weight.view())
    return proto


def _fill(proto: TensorProto, weight: Weight) -> None:
    """Put the numbers of a weight into the typed field of its element type."""
    dtype, raw = weight.dtype, weight.view()
    if dtype in _INT32_FIELD:
        if dtype.bits == 6:
            words = weight.numpy().reshape(-1).view(np.uint8)
        elif dtype.bits < 8:
            words = np.frombuffer(raw, np.uint8)
        else:
            signed = dtype in (DType.INT8, DType.INT16, DType.INT32)
            words = np.frombuffer(raw, f"{'i' if signed else 'u'}{dtype.numpy.itemsize}")
        proto.int32_data.extend(words.tolist())
        return
    name, form = _WIDE_FIELDS[dtype]
    numbers = np.frombuffer(raw, np.uint32 if dtype is DType.UINT32 else form)
    getattr(proto, name).extend(numbers.tolist())


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
    name, form = _WIDE_FIELDS[dtype]
    field: Any = getattr(proto, name)
    _check(len(field), size * (2 if dtype.is_complex else 1), where, "elements")
    found = np.array(field, form)
    return found.astype(np.uint32).tobytes() if dtype is DType.UINT32 else found.tobytes()
