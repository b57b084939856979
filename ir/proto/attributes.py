"""AttributeProto → plain values; references of function bodies are resolved first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from isomorph.ir.errors import InvalidModelError, UnsupportedError
from isomorph.ir.graph import EmptyList, Graph
from isomorph.ir.proto.names import utf8
from isomorph.ir.proto.sparse import decode_sparse
from isomorph.ir.proto.tensors import decode_tensor
from isomorph.ir.proto.types import decode_type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from onnx import AttributeProto, GraphProto, TypeProto

    from isomorph.ir.proto.tensors import External
    from isomorph.ir.types import Type

    Subgraph = Callable[[GraphProto], Graph]

_KINDS = onnx.AttributeProto
_FIELDS = (
    ("f", _KINDS.FLOAT),
    ("i", _KINDS.INT),
    ("s", _KINDS.STRING),
    ("t", _KINDS.TENSOR),
    ("g", _KINDS.GRAPH),
    ("sparse_tensor", _KINDS.SPARSE_TENSOR),
    ("tp", _KINDS.TYPE_PROTO),
)
_LISTS = (
    ("floats", _KINDS.FLOATS),
    ("ints", _KINDS.INTS),
    ("strings", _KINDS.STRINGS),
    ("tensors", _KINDS.TENSORS),
    ("graphs", _KINDS.GRAPHS),
    ("sparse_tensors", _KINDS.SPARSE_TENSORS),
    ("type_protos", _KINDS.TYPE_PROTOS),
)


def resolve(
    given: Iterable[AttributeProto], known: Mapping[str, AttributeProto] | None, where: str
) -> dict[str, AttributeProto]:
    """A node's attributes by name, references to its function's own attributes replaced.

    A reference to an attribute that the call does not give and that has no default is left out.

    Raises:
        InvalidModelError: for duplicates, and for references outside of functions.
    """
    found: dict[str, AttributeProto | None] = {}
    for attribute in given:
        if utf8(attribute.name) in found:
            raise InvalidModelError(f"{where}: attribute {attribute.name!r} is given twice")
        found[attribute.name] = attribute
        if attribute.ref_attr_name:
            if known is None:
                raise InvalidModelError(
                    f"{where}: attribute {attribute.name!r} refers to {attribute.ref_attr_name!r} "
                    "of a function, but stands outside of functions"
                )
            found[attribute.name] = known.get(attribute.ref_attr_name)
    return {name: a for name, a in found.items() if a is not None}


def decode_attribute(
    proto: AttributeProto, where: str, external: External | None, subgraph: Subgraph
) -> Any:
    """The plain value of one attribute; `subgraph` decodes graphs in the op's own scope."""
    where = f"{where}, attribute {proto.name!r}"
    match proto.type or _stated(proto):
        case _KINDS.FLOAT:
            return proto.f
        case _KINDS.INT:
            return proto.i
        case _KINDS.STRING:
            return text(proto.s)
        case _KINDS.TENSOR:
            return decode_tensor(proto.t, where, external, named=True)
        case _KINDS.GRAPH:
            return subgraph(proto.g)
        case _KINDS.FLOATS:
            return tuple(proto.floats) or EmptyList("FLOATS")
        case _KINDS.INTS:
            return tuple(proto.ints) or EmptyList("INTS")
        case _KINDS.STRINGS:
            return tuple(text(s) for s in proto.strings) or EmptyList("STRINGS")
        case _KINDS.TENSORS:
            found = tuple(decode_tensor(t, where, external, named=True) for t in proto.tensors)
            return found or EmptyList("TENSORS")
        case _KINDS.GRAPHS:
            return tuple(subgraph(g) for g in proto.graphs) or EmptyList("GRAPHS")
        case _KINDS.TYPE_PROTO:
            return _type(proto.tp, where)
        case _KINDS.TYPE_PROTOS:
            return tuple(_type(t, where) for t in proto.type_protos) or EmptyList("TYPE_PROTOS")
        case _KINDS.SPARSE_TENSOR:
            return decode_sparse(proto.sparse_tensor, where, external)
        case _KINDS.SPARSE_TENSORS:
            made = tuple(decode_sparse(t, where, external) for t in proto.sparse_tensors)
            return made or EmptyList("SPARSE_TENSORS")
        case kind:
            name = (
                _KINDS.AttributeType.Name(kind) if kind in _KINDS.AttributeType.values() else kind
            )
            raise UnsupportedError(f"{where}: attributes of kind {name} are not read yet")


def _type(proto: TypeProto, where: str) -> Type:
    found = decode_type(proto, where)
    if found is None:
        raise InvalidModelError(f"{where}: it states no type")
    return found


def text(raw: bytes) -> str | bytes:
    """Text when it is UTF-8, else the bytes as they are."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _stated(proto: AttributeProto) -> int:
    """The kind of an attribute from before kinds were written: by the field that is filled."""
    for name, kind in _FIELDS:
        if proto.HasField(name):  # type: ignore[arg-type]
            return kind
    for name, kind in _LISTS:
        if getattr(proto, name):
            return kind
    return _KINDS.UNDEFINED
