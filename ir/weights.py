"""Constant tensors that stay where they are until somebody truly needs the numbers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from isomorph.ir.errors import InvalidModelError
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.files import MappedFile

CHUNK = 1 << 24


class Storage(Protocol):
    """Where the bytes of a weight are, little-endian and packed as ONNX packs them."""

    @property
    def key(self) -> object:
        """Equal keys mean the same bytes; identity, not content."""
        ...

    def view(self) -> memoryview:
        """The bytes, mapped or borrowed, never copied without need."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """Bytes that are in memory already."""

    data: bytes | memoryview | np.ndarray

    @property
    def key(self) -> object:
        return id(self.data)

    def view(self) -> memoryview:
        if isinstance(self.data, np.ndarray):
            flat = np.ascontiguousarray(self.data).reshape(-1)
            return flat.view(np.uint8).data
        return memoryview(self.data).cast("B")


@dataclass(frozen=True, slots=True)
class FileRange:
    """A range of a file, mapped on demand; its bounds were checked against the file's size.

    `inline` says that it is a part of a model's own message, which was left in its file.
    """

    file: MappedFile
    offset: int
    length: int
    inline: bool = False

    @property
    def key(self) -> object:
        return self.file.identity, self.offset, self.length

    def __post_init__(self) -> None:
        if self.offset < 0 or self.length < 0 or self.offset + self.length > self.file.size:
            raise InvalidModelError(
                f"{self.file.path}: bytes {self.offset} to {self.offset + self.length} are asked "
                f"for, it has {self.file.size}; it is truncated, or belongs to another model"
            )

    def view(self) -> memoryview:
        return self.file.view()[self.offset : self.offset + self.length]

    def chunks(self) -> Iterator[bytes]:
        """The bytes, read piece by piece instead of mapped."""
        return self.file.chunks(self.offset, self.length)


@dataclass(frozen=True, slots=True)
class Form:
    """How the file that a weight was read from states it, for whoever writes that file again.

    Attributes:
        message: the serialized tensor without dims, element type and data; empty when that is all.
        typed: whether the numbers are in one of the typed fields, not raw.
        sparse: values and indices of a sparse tensor.
    """

    message: bytes = b""
    typed: bool = False
    sparse: tuple[Weight, Weight] | None = None


class Weight:
    """A constant tensor: element type, static shape, and storage.

    `form` is set while it stands as a file stated it.
    """

    __slots__ = ("_digest", "dtype", "form", "shape", "storage", "strings")

    def __init__(
        self,
        dtype: DType,
        shape: tuple[int, ...],
        storage: Storage | None,
        strings: tuple[bytes, ...] = (),
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.storage = storage
        self.strings = strings
        self.form: Form | None = None
        self._digest: bytes | None = None

    @staticmethod
    def of(value: object, dtype: DType | None = None) -> Weight:
        """A weight from an array (whose memory is kept, not copied), a scalar or nested lists."""
        array = np.asarray(value, dtype=dtype.numpy if dtype is not None else None)
        dtype = dtype or DType.of(array.dtype)
        if dtype is DType.STRING:
            items = tuple(_bytes(v) for v in array.reshape(-1).tolist())
            return Weight(dtype, array.shape, None, items)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
        if dtype.bits < 8 and dtype is not DType.BOOL:
            return Weight(dtype, array.shape, Buffer(_pack(array, dtype.bits)))
        return Weight(dtype, array.shape, Buffer(array))

    @property
    def type(self) -> TensorType:
        """The tensor type of the weight."""
        return TensorType(self.dtype, self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes that ONNX needs to store it."""
        if self.dtype is DType.STRING:
            return sum(map(len, self.strings))
        return (self.size * self.dtype.bits + 7) // 8

    def view(self) -> memoryview:
        """The packed little-endian bytes; empty for strings."""
        return self.storage.view() if self.storage is not None else memoryview(b"")

    def chunks(self) -> Iterator[bytes | memoryview]:
        """The same bytes in pieces of at most 16 MiB; those of a file are never all in memory."""
        if isinstance(self.storage, FileRange):
            yield from self.storage.chunks()
            return
        whole = self.view()
        for start in range(0, len(whole), CHUNK):
            yield whole[start : start + CHUNK]

    def numpy(self) -> np.ndarray:
        """The numbers, read-only; a view of the storage wherever one element is whole bytes."""
        if self.dtype is DType.STRING:
            return _frozen(np.array([_text(s) for s in self.strings], object).reshape(self.shape))
        if isinstance(self.storage, Buffer) and isinstance(self.storage.data, np.ndarray):
            data = self.storage.data
            if data.dtype == self.dtype.numpy and data.shape == self.shape:
                return _frozen(data.view())
        raw = np.frombuffer(self.view(), np.uint8)
        if self.dtype.bits < 8 and self.dtype is not DType.BOOL:
            return _frozen(_unpack(raw, self.dtype, self.size).reshape(self.shape))
        return _frozen(raw.view(self.dtype.numpy).reshape(self.shape))

    def digest(self) -> bytes:
        """A hash of dtype, shape and content; computed once."""
        if self._digest is None:
            h = hashlib.sha256(f"{self.dtype}{self.shape}".encode())
            for chunk in self.chunks():
                h.update(chunk)
            for text in self.strings:
                h.update(len(text).to_bytes(8, "little") + text)
            self._digest = h.digest()
        return self._digest

    def same(self, other: Weight) -> bool:
        """Equal in dtype, shape and every bit."""
        if self is other:
            return True
        if (self.dtype, self.shape) != (other.dtype, other.shape):
            return False
        mine, others = self.storage, other.storage
        if mine is not None and others is not None and mine.key == others.key:
            return True
        return self.digest() == other.digest()

    def __repr__(self) -> str:
        return f"Weight({self.type})"


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"{value!r} is {type(value).__name__}, a string or bytes were expected")


def _text(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _pack(array: np.ndarray, bits: int) -> bytes:
    """Pack sub-byte elements, first element in the lowest bits, as ONNX does."""
    codes = np.ascontiguousarray(array).reshape(-1).view(np.uint8) & ((1 << bits) - 1)
    planes = (codes[:, None] >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(planes.reshape(-1), bitorder="little").tobytes()


def _unpack(raw: np.ndarray, dtype: DType, size: int) -> np.ndarray:
    bits = dtype.bits
    planes = np.unpackbits(raw, bitorder="little")[: size * bits].reshape(size, bits)
    codes = (planes << np.arange(bits, dtype=np.uint8)).sum(axis=1, dtype=np.uint8)
    if dtype in (DType.INT4, DType.INT2):
        top = np.uint8(1 << (bits - 1))
        codes = ((codes ^ top).astype(np.int8) - np.int8(top)).astype(np.int8)
        return codes.astype(dtype.numpy)
    if dtype.is_integer:
        return codes.astype(dtype.numpy)
    return codes.view(dtype.numpy)
