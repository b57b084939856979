"""Types of values: element types, tensors with symbolic dims, sequences, optionals, maps."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from isomorph.ir.dims import Dim, Expr, dim_text, substitute

if TYPE_CHECKING:
    from collections.abc import Mapping


class DType(Enum):
    """An ONNX element type; the value is its number in `onnx.TensorProto.DataType`."""

    FLOAT32 = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    FLOAT64 = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28

    def __str__(self) -> str:
        return self.name.lower()

    @cached_property
    def numpy(self) -> np.dtype[Any]:
        """The numpy dtype that holds one element (ml_dtypes for what numpy lacks)."""
        return _NUMPY[self]

    @cached_property
    def bits(self) -> int:
        """Bits of one element as ONNX stores it; 0 for strings."""
        return _BITS.get(self, 0 if self is DType.STRING else self.numpy.itemsize * 8)

    @cached_property
    def schema_name(self) -> str:
        """The name that operator schemas use, such as `tensor(float16)`."""
        return f"tensor({_SCHEMA_NAMES.get(self, self.name.lower())})"

    @property
    def is_float(self) -> bool:
        """Any real floating type, from float64 to float4."""
        return self in _FLOATS

    @property
    def is_integer(self) -> bool:
        """Any signed or unsigned integer; bool is not one."""
        return self in _INTEGERS

    @property
    def is_signed(self) -> bool:
        """Signed integers, floats and complex numbers."""
        return self in _FLOATS or self.is_complex or self in _SIGNED

    @property
    def is_complex(self) -> bool:
        """complex64 or complex128."""
        return self in (DType.COMPLEX64, DType.COMPLEX128)

    @staticmethod
    @cache
    def of(dtype: object) -> DType:
        """The element type of a numpy dtype, a name such as `float32`, or an ONNX number."""
        if isinstance(dtype, DType):
            return dtype
        if isinstance(dtype, int):
            try:
                return DType(dtype)
            except ValueError:
                last = max(d.value for d in DType)
                raise ValueError(f"no element type has number {dtype}; 1 to {last} do") from None
        if isinstance(dtype, str) and dtype.upper() in DType.__members__:
            return DType[dtype.upper()]
        found = np.dtype(cast("Any", dtype))
        if not found.isnative:
            found = found.newbyteorder("=")
        if found.kind in "OUST":
            return DType.STRING
        try:
            return _FROM_NUMPY[found]
        except KeyError:
            raise TypeError(f"no ONNX element type for numpy dtype {found!r}") from None


_ML = {
    DType.BFLOAT16: ml_dtypes.bfloat16,
    DType.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    DType.FLOAT8E4M3FNUZ: ml_dtypes.float8_e4m3fnuz,
    DType.FLOAT8E5M2: ml_dtypes.float8_e5m2,
    DType.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    DType.UINT4: ml_dtypes.uint4,
    DType.INT4: ml_dtypes.int4,
    DType.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
    DType.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu,
    DType.UINT2: ml_dtypes.uint2,
    DType.INT2: ml_dtypes.int2,
    DType.FLOAT6E2M3: ml_dtypes.float6_e2m3fn,
    DType.FLOAT6E3M2: ml_dtypes.float6_e3m2fn,
}
_NUMPY: dict[DType, np.dtype[Any]] = {
    d: np.dtype(_ML.get(d, object if d is DType.STRING else d.name.lower())) for d in DType
}
_FROM_NUMPY = {n: d for d, n in _NUMPY.items() if d is not DType.STRING}
_BITS = {
    DType.UINT4: 4,
    DType.INT4: 4,
    DType.FLOAT4E2M1: 4,
    DType.UINT2: 2,
    DType.INT2: 2,
    DType.FLOAT6E2M3: 6,
    DType.FLOAT6E3M2: 6,
}
_SCHEMA_NAMES = {DType.FLOAT32: "float", DType.FLOAT64: "double"}
_FLOATS = frozenset(d for d in DType if d.name.startswith(("FLOAT", "BFLOAT")))
_SIGNED = frozenset(d for d in DType if d.name.startswith("INT"))
_INTEGERS = _SIGNED | {d for d in DType if d.name.startswith("UINT")}

Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor: its element type, and its shape (`None` when even the rank is unknown).

    A dim is an int, a symbolic `Expr`, or `None` when nothing is known of it.
    """

    dtype: DType
    shape: Shape | None = None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[...]"
        return f"{self.dtype}[{', '.join(dim_text(d) for d in self.shape)}]"

    @property
    def rank(self) -> int | None:
        """Number of dims, or `None` when unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def static_shape(self) -> tuple[int, ...] | None:
        """The shape when every dim is a number, else `None`."""
        if self.shape is None or not all(isinstance(d, int) for d in self.shape):
            return None
        return cast("tuple[int, ...]", self.shape)

    def bind(self, dims: Mapping[str, int | Expr]) -> TensorType:
        """The same type with symbolic dims replaced."""
        if self.shape is None:
            return self
        return TensorType(self.dtype, tuple(substitute(d, dims) for d in self.shape))


@dataclass(frozen=True, slots=True)
class SparseType:
    """A sparse tensor of one element type."""

    dtype: DType
    shape: Shape | None = None

    def __str__(self) -> str:
        return f"sparse({TensorType(self.dtype, self.shape)})"


@dataclass(frozen=True, slots=True)
class SequenceType:
    """A sequence of values of one type."""

    element: Type

    def __str__(self) -> str:
        return f"seq({self.element})"


@dataclass(frozen=True, slots=True)
class OptionalType:
    """A value that may be absent."""

    element: Type

    def __str__(self) -> str:
        return f"optional({self.element})"


@dataclass(frozen=True, slots=True)
class MapType:
    """A map from scalar keys to values."""

    key: DType
    value: Type

    def __str__(self) -> str:
        return f"map({self.key}, {self.value})"


Type = TensorType | SparseType | SequenceType | OptionalType | MapType


def innermost(kind: Type | None) -> TensorType | None:
    """The tensors that sequences, optionals and maps hold; a tensor itself; else `None`."""
    while isinstance(kind, SequenceType | OptionalType | MapType):
        kind = kind.value if isinstance(kind, MapType) else kind.element
    return kind if isinstance(kind, TensorType) else None


def schema_name(kind: Type | None) -> str | None:
    """What operator schemas call a type, such as `seq(tensor(float))`; `None` when unknown."""
    match kind:
        case TensorType():
            return kind.dtype.schema_name
        case SparseType():
            return f"sparse_{kind.dtype.schema_name}"
        case SequenceType():
            inner = schema_name(kind.element)
            return None if inner is None else f"seq({inner})"
        case OptionalType():
            inner = schema_name(kind.element)
            return None if inner is None else f"optional({inner})"
        case MapType():
            inner = schema_name(kind.value)
            return None if inner is None else f"map({kind.key},{inner})"
        case None:
            return None
