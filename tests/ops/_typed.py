"""Whether a value is of the type that a shape rule gave, and the rule knows what onnx knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.dims import Expr, substitute
from isomorph.ir.types import DType, MapType, OptionalType, SequenceType, TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import TypeProto


def assert_fits(
    kind: Type | None, value: Any, theirs: TypeProto, bound: Mapping[str, int], where: str
) -> None:
    """Assert it of a value and of everything that it holds.

    Args:
        kind: what the rule says.
        value: what was computed.
        theirs: what `onnx.shape_inference` says.
        bound: sizes of symbols.
        where: for messages.
    """
    assert kind is not None, where
    match kind:
        case OptionalType():
            inner = theirs.optional_type.elem_type if theirs.HasField("optional_type") else theirs
            if value is not None:
                assert_fits(kind.element, value, inner, bound, where)
        case SequenceType():
            assert isinstance(value, list), f"{where}, found {type(value)}"
            for index, item in enumerate(value):
                place = f"{where}, element {index}"
                assert_fits(kind.element, item, theirs.sequence_type.elem_type, bound, place)
        case MapType():
            assert isinstance(value, dict), f"{where}, found {type(value)}"
            keys = {isinstance(k, str) for k in value}
            assert keys <= {kind.key is DType.STRING}, f"{where}, found keys {list(value)}"
            for item in value.values():
                assert_fits(kind.value, item, theirs.map_type.value_type, bound, where)
        case TensorType():
            _assert_tensor(kind, value, theirs, bound, where)
        case _:
            raise AssertionError(f"{where}: no value is of such a type here")


def _assert_tensor(
    kind: TensorType, value: Any, theirs: TypeProto, bound: Mapping[str, int], where: str
) -> None:
    array = np.asarray(value, object) if isinstance(value, str) else np.asarray(value)
    assert kind.dtype is DType.of(array.dtype), f"{where}, found {array.dtype}"
    tensor = theirs.tensor_type
    if kind.shape is None:
        assert not tensor.HasField("shape"), f"{where}, but onnx knows {theirs}"
        return
    assert len(kind.shape) == array.ndim, f"{where}, found {array.shape}"
    for axis, (dim, size) in enumerate(zip(kind.shape, array.shape, strict=True)):
        found = substitute(dim, bound) if isinstance(dim, Expr) else dim
        assert found in (None, size), f"{where}, axis {axis} is {size}"
    for axis, dim in enumerate(tensor.shape.dim if tensor.HasField("shape") else ()):
        if dim.HasField("dim_value") or dim.dim_param in bound:
            assert kind.shape[axis] is not None, f"{where}, onnx knows {dim}"
