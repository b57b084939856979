"""SparseTensorProto ↔ Weight. The dense bytes are made when somebody asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import onnx

from isomorph.ir.errors import InvalidModelError, UnsupportedError
from isomorph.ir.proto.tensors import (
    External,
    check_size,
    decode_tensor,
    encode_tensor,
)
from isomorph.ir.types import DType
from isomorph.ir.weights import Buffer, Form, Weight

if TYPE_CHECKING:
    from onnx import SparseTensorProto

MAX_DENSE = 1 << 28
"""Bytes that a sparse tensor may have once it is dense."""

MAX_STRINGS = 1 << 20
"""Elements that a sparse tensor of strings may have."""


@dataclass(frozen=True, slots=True, eq=False)
class Sparse:
    """Storage of a tensor of which a file states the elements that are not zero.

    `flat` are the places of `values` in row-major order, ascending.
    """

    dtype: DType
    shape: tuple[int, ...]
    values: Weight
    flat: np.ndarray

    @property
    def key(self) -> object:
        return id(self.flat)

    def view(self) -> memoryview:
        """The dense bytes, made anew each time: many such tensors may be small in a file."""
        dense = np.zeros(prod(self.shape), self.dtype.numpy)
        dense[self.flat] = self.values.numpy().reshape(-1)
        return Weight.of(dense, self.dtype).view()


def decode_sparse(proto: SparseTensorProto, where: str, external: External | None = None) -> Weight:
    """The weight that a sparse message stands for.

    Raises:
        InvalidModelError: when indices leave the dims or do not ascend.
        UnsupportedError: when the dense tensor would be too large.
    """
    shape = tuple(proto.dims)
    values = decode_tensor(proto.values, f"{where}, values", external, named=True)
    dtype = values.dtype
    size = check_size(shape, dtype, where)
    limit = MAX_STRINGS if dtype is DType.STRING else MAX_DENSE * 8 // max(dtype.bits, 8)
    if size > limit:
        raise UnsupportedError(
            f"{where}: sparse with dims {shape}; up to {limit} elements of {dtype} are made dense"
        )
    indices = decode_tensor(proto.indices, f"{where}, indices", external, named=True)
    flat = _flat(values, indices, shape, where)
    if dtype is DType.STRING:
        texts = [b""] * size
        for place, text in zip(flat.tolist(), values.strings, strict=True):
            texts[place] = text
        made = Weight(dtype, shape, None, tuple(texts))
    elif values.size == size:
        made = Weight(dtype, shape, Buffer(values.view()))
    else:
        made = Weight(dtype, shape, Sparse(dtype, shape, values, flat))
    made.form = Form(sparse=(values, indices))
    return made


def _flat(values: Weight, indices: Weight, shape: tuple[int, ...], where: str) -> np.ndarray:
    """Places of the values in row-major order."""
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
    return flat


def encode_sparse(
    weight: Weight, name: str | None = None, *, as_read: bool = True
) -> SparseTensorProto:
    """The message of a weight that a file states in sparse form.

    Args:
        weight: has such a form.
        name: of the values; the one that the file has when it is not given.
        as_read: as for `encode_tensor`.
    """
    form = weight.form
    if form is None or form.sparse is None:
        raise ValueError(f"{weight!r} was not read from a sparse tensor")
    values, indices = form.sparse
    proto = onnx.SparseTensorProto(dims=weight.shape)
    proto.values.CopyFrom(encode_tensor(values, name, as_read=as_read))
    proto.indices.CopyFrom(encode_tensor(indices, as_read=as_read))
    return proto
