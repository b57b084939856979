"""What a file says beyond what a graph has a place for: kept while reading, to be written back.

A graph, an op and a weight hold what is meant. How a file puts it is kept beside them as serialized
messages: the order and spelling of remarks, the field that numbers are in, denotations, inputs that
have defaults, what nobody here interprets. `isomorph.ir.proto.as_read` puts it back wherever the
graph still says what it said when it was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import onnx

from isomorph.ir.proto.names import utf8
from isomorph.ir.proto.tensors import decode_tensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from google.protobuf.message import Message
    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.ir.proto.tensors import External
    from isomorph.ir.types import Type

KEPT = "kept"
"""Key of a graph's `extra` for what the file said of the graph."""

KEPT_MODEL = "kept_model"
"""The same for what it said of the model."""

M = TypeVar("M", bound=onnx.ModelProto | onnx.GraphProto | onnx.AttributeProto)

Seen = tuple["Type | None", str, "Mapping[str, str]"]
"""Type, remarks and properties of a value when reading had ended."""

_KINDS = onnx.AttributeProto
_KIND_NAMES = {number: name for name, number in _KINDS.AttributeType.items()}
_MOST_SHOWN = 4

PAYLOADS = ("t", "g", "sparse_tensor", "tensors", "graphs", "sparse_tensors")
"""Fields of an attribute that are written from what the op holds."""


@dataclass(frozen=True, slots=True)
class KeptModel:
    """A model's message without its graph and functions."""

    message: bytes


@dataclass(frozen=True, slots=True)
class KeptGraph:
    """A graph's message without nodes and tensors.

    Attributes:
        message: serialized.
        annotated: names that its annotations of quantization are about.
        loose: those of them that nothing had when reading had ended.
        inputs, outputs, value_infos: for each entry of the message what the value of that name was
            when reading had ended; `None` when nothing had the name.
    """

    message: bytes = b""
    annotated: frozenset[str] = frozenset()
    loose: frozenset[str] = frozenset()
    inputs: tuple[Seen | None, ...] = ()
    outputs: tuple[Seen | None, ...] = ()
    value_infos: tuple[Seen | None, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptNode:
    """The parts of a node's message that an op has no place for.

    Attributes:
        message: serialized.
        values: for each attribute in it, but graphs, what the op held when reading had ended.
    """

    message: bytes
    values: dict[str, Any]


def keep_model(proto: ModelProto, external: External | None) -> KeptModel:
    """What a model says beside its graph and functions; its data in other files is taken in."""
    rest = _without(proto, "graph", "functions")
    take_in(rest, external)
    return KeptModel(rest.SerializeToString())


def take_in(message: Message, external: External | None) -> None:
    """Put the data of tensors that is in other files into the message itself."""
    stack = [message]
    while stack:
        found = stack.pop()
        if isinstance(found, onnx.TensorProto):
            if found.data_location == onnx.TensorProto.EXTERNAL:
                weight = decode_tensor(found, f"tensor {found.name!r}", external)
                found.raw_data = bytes(weight.view())
                found.ClearField("external_data")
                found.ClearField("data_location")
            continue
        for field, value in found.ListFields():
            if field.message_type is not None:
                stack.extend(value if field.is_repeated else [value])


def keep_graph(proto: GraphProto, names: Mapping[str, Value | None]) -> KeptGraph:
    """What a graph says beside its nodes and tensors; `names` are those of its values."""
    rest = _without(proto, "node", "initializer", "sparse_initializer")
    seen = [
        tuple(_seen(names.get(utf8(info.name))) for info in infos)
        for infos in (proto.input, proto.output, proto.value_info)
    ]
    annotated = frozenset(utf8(a.tensor_name) for a in proto.quantization_annotation)
    loose = frozenset(name for name in annotated if name not in names)
    return KeptGraph(rest.SerializeToString(), annotated, loose, *seen)


def _seen(value: Value | None) -> Seen | None:
    return None if value is None else (value.type, value.doc, value.metadata)


def _without(proto: M, *left_out: str) -> M:
    """A copy of a message without some of its fields."""
    made = type(proto)()
    for field, value in proto.ListFields():
        if field.name in left_out:
            continue
        if field.is_repeated:
            getattr(made, field.name).extend(value)
        elif field.message_type is not None:
            getattr(made, field.name).CopyFrom(value)
        else:
            text = field.type == field.TYPE_STRING
            setattr(made, field.name, utf8(value) if text else value)
    return made


def keep_node(
    node: NodeProto, given: Iterable[AttributeProto], op: Op, properties: bool
) -> KeptNode | None:
    """What a node says that its op cannot hold; `None`, as a rule, when that is nothing.

    `properties` says that its key-value properties cannot be had back from the op.
    """
    odd = [a for a in given if _is_odd(a, op)]
    spelled = list(_spelled(node, op))
    if not (odd or spelled or properties or node.device_configurations):
        return None
    kept = onnx.NodeProto()
    for name in spelled:
        setattr(kept, name, utf8(getattr(node, name)))
    kept.device_configurations.extend(node.device_configurations)
    if properties:
        kept.metadata_props.extend(node.metadata_props)
    values: dict[str, Any] = {}
    for attribute in odd:
        made = kept.attribute.add()
        payload = next((p for p in PAYLOADS if p == _field_of(attribute)), None)
        if payload is None:
            made.CopyFrom(attribute)
        else:
            made.MergeFrom(_without(attribute, *PAYLOADS))
        if payload not in ("g", "graphs"):
            values[attribute.name] = op.attributes[_own_name(attribute.name, op)]
    return KeptNode(kept.SerializeToString(), values)


def _spelled(node: NodeProto, op: Op) -> Iterator[str]:
    """Fields that are there and empty, or that an op has in another form or not at all."""
    if node.HasField("domain") and (not op.domain or node.domain != op.domain):
        yield "domain"
    if node.HasField("overload"):
        yield "overload"
    if not op.name and node.HasField("name"):
        yield "name"
    if not op.doc and node.HasField("doc_string"):
        yield "doc_string"


def _own_name(name: str, op: Op) -> str:
    """What an attribute is called in the graph: a sparse constant is a constant there."""
    return name if name in op.attributes else "value"


def _field_of(attribute: AttributeProto) -> str:
    return next(
        (f.name for f, _ in attribute.ListFields() if f.name in PAYLOADS),
        "",
    )


def _is_odd(attribute: AttributeProto, op: Op) -> bool:
    """Whether an attribute would not be written as it is."""
    kind = attribute.type
    if not kind or attribute.HasField("doc_string"):
        return True
    if kind in (_KINDS.TYPE_PROTO, _KINDS.TYPE_PROTOS):
        return True  # denotations
    known = op.schema
    formal = known.attributes.get(attribute.name) if known is not None else None
    return formal is not None and formal.kind != _KIND_NAMES[kind]


def notes_of(graph: Graph, proto: ModelProto) -> tuple[str, ...]:
    """What a user should know of a file's parts that no graph has: they are kept, but not used."""
    notes: list[str] = []
    defaulted = graph.extra.get("defaulted_inputs", ())
    if defaulted and proto.ir_version >= 4:  # before, every initializer had to be an input
        shown = ", ".join(map(repr, defaulted[:_MOST_SHOWN]))
        more = ", …" if len(defaulted) > _MOST_SHOWN else ""
        notes.append(
            f"{len(defaulted)} inputs have a default value ({shown}{more}): they are constants, "
            "and inputs again when the model is written as it was read"
        )
    for name, what in (
        ("training_info", "how to train it"),
        ("configuration", "which devices it is for"),
    ):
        if len(getattr(proto, name)):
            notes.append(
                f"the file says {what} ({name}): that is kept only when the model is written as it "
                "was read"
            )
    return tuple(notes)


def kept_of(graph: Graph) -> KeptGraph | None:
    """What the file said of a graph, `None` when it was not read from one."""
    return graph.extra.get(KEPT)
