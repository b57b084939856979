"""Graph → ModelProto. Explicit captures become the format's implicit outer references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
import onnx.helper

from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.graph import EmptyList, Graph, Op, Value
from isomorph.ir.proto.decode import SOURCE_KEY
from isomorph.ir.proto.metadata import metadata_of
from isomorph.ir.proto.tensors import encode_tensor
from isomorph.ir.proto.types import encode_type
from isomorph.ir.types import (
    MapType,
    OptionalType,
    SequenceType,
    SparseType,
    TensorType,
)
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto

    Place = Callable[[Weight, str], TensorProto]
    """Makes the message of a weight that has a name in the file."""

    Scopes = tuple[set[str], ...]
    """Names visible around a graph, outermost graph first."""

_TYPES = (TensorType, SparseType, SequenceType, OptionalType, MapType)


def encode_model(
    graph: Graph,
    opsets: Mapping[str, int],
    ir_version: int,
    place: Place = encode_tensor,
    *,
    value_infos: bool = False,
) -> ModelProto:
    """The message of a graph whose ops already have the versions that `opsets` mean.

    Args:
        graph: the main graph.
        opsets: operator set imports.
        ir_version: of the file.
        place: makes the message of a weight; a writer puts large ones elsewhere. Asked for every
            weight of the main graph first.
        value_infos: state the types of intermediate values too, of graphs that were captured or
            whose file stated some.
    """
    model = onnx.ModelProto(ir_version=ir_version)
    model.producer_name = "isomorph"
    model.doc_string = graph.doc
    model.domain = graph.extra.get("domain", "")
    model.model_version = graph.extra.get("model_version", 0)
    for domain, version in sorted(opsets.items()):
        model.opset_import.append(onnx.helper.make_opsetid(domain, version))
    for key, value in sorted(metadata_of(graph).items()):
        model.metadata_props.add(key=key, value=value)
    _Encoder(place, value_infos).graph(graph, model.graph, {}, ())
    return model


def encode_attribute(name: str, value: Any, op: Op | None = None) -> AttributeProto:
    """The message of an attribute that is no graph; the op's schema decides int against float."""
    return _Encoder(encode_tensor, value_infos=False).attribute(name, value, op, {}, ())


class _Encoder:
    def __init__(self, place: Place, value_infos: bool) -> None:
        self.place = place
        self.value_infos = value_infos

    def graph(
        self, graph: Graph, proto: GraphProto, outer: Mapping[Value, str], around: Scopes
    ) -> None:
        """Fill in one graph; `outer` names its captures, `around` are the names visible there."""
        proto.name = graph.name
        if around and graph.doc:
            proto.doc_string = graph.doc
        names: dict[Value, str] = {v: outer[v] for v in graph.captures}
        taken: set[str] = set()
        for value in graph.values():
            if value not in names:
                names[value] = name = _free_name(value.name, taken, around)
                taken.add(name)
        visible: set[str] = set()
        for value in graph.inputs:
            self._info(proto.input.add(), value, names[value])
            visible.add(names[value])
        for value in graph.weights():
            if value.weight is not None:
                tensor = self.place(value.weight, names[value])
                _describe(tensor, value)
                proto.initializer.append(tensor)
                visible.add(names[value])
        outputs = set(graph.outputs)
        stated = self.value_infos and graph.extra.get("value_infos", True)
        for op in graph.sorted_ops():
            self._node(op, proto.node.add(), names, (*around, visible))
            for value in op.results:
                visible.add(names[value])
                if stated and value.type is not None and value not in outputs:
                    self._info(proto.value_info.add(), value, names[value])
        for value in graph.outputs:
            self._info(proto.output.add(), value, names[value])
        used = set(names.values())
        proto.quantization_annotation.extend(
            q for q in graph.extra.get("quantization", ()) if q.tensor_name in used
        )
        for key, text in sorted(graph.extra.get("graph_metadata", {}).items()):
            proto.metadata_props.add(key=key, value=text)

    def _info(self, proto: onnx.ValueInfoProto, value: Value, name: str) -> None:
        proto.name = name
        _describe(proto, value)
        if value.type is not None:
            proto.type.CopyFrom(encode_type(value.type))

    def _node(self, op: Op, node: NodeProto, names: Mapping[Value, str], around: Scopes) -> None:
        node.op_type = op.type
        if op.domain:
            node.domain = op.domain
        if op.name:
            node.name = op.name
        if op.doc:
            node.doc_string = op.doc
        node.input.extend("" if v is None else names[v] for v in op.inputs)
        node.output.extend("" if v is None else names[v] for v in op.outputs)
        for name, value in op.attributes.items():
            node.attribute.append(self.attribute(name, value, op, names, around))
        for key, text in sorted(op.metadata.items()):
            node.metadata_props.add(key=key, value=text)
        if op.source is not None and op.source.line:
            place = f"{op.source} {op.source.module}".strip()
            node.metadata_props.add(key=SOURCE_KEY, value=place)

    def attribute(
        self,
        name: str,
        value: Any,
        op: Op | None,
        names: Mapping[Value, str],
        around: Scopes,
    ) -> AttributeProto:
        """The message of one attribute."""
        proto = onnx.AttributeProto(name=name)
        kinds = onnx.AttributeProto
        known = op.schema if op is not None else None
        formal = known.attributes.get(name) if known is not None else None
        kind = formal.kind if formal is not None else _kind(value)
        proto.type = kinds.AttributeType.Value(kind)  # type: ignore[assignment] - its stub
        match kind:
            case "INT":
                proto.i = int(value)
            case "FLOAT":
                proto.f = float(value)
            case "STRING":
                proto.s = _bytes(value)
            case "TENSOR":
                proto.t.CopyFrom(encode_tensor(value))
            case "INTS":
                proto.ints.extend(int(v) for v in value)
            case "FLOATS":
                proto.floats.extend(float(v) for v in value)
            case "STRINGS":
                proto.strings.extend(_bytes(v) for v in value)
            case "TENSORS":
                proto.tensors.extend(encode_tensor(v) for v in value)
            case "TYPE_PROTO":
                proto.tp.CopyFrom(encode_type(value))
            case "GRAPH":
                self.graph(value, proto.g, self._captured(op, value, names), around)
            case "GRAPHS":
                for graph in value:
                    self.graph(graph, proto.graphs.add(), self._captured(op, graph, names), around)
            case _:
                raise InvalidGraphError(f"{op}: attribute {name!r} cannot be written: {value!r}")
        return proto

    def _captured(
        self, op: Op | None, graph: Graph, names: Mapping[Value, str]
    ) -> dict[Value, str]:
        outer = op.captures if op is not None else ()
        if len(outer) != len(graph.captures):
            raise InvalidGraphError(
                f"{op}: {len(outer)} values are captured, its subgraph {graph.name!r} has "
                f"{len(graph.captures)}"
            )
        return {inner: names[v] for inner, v in zip(graph.captures, outer, strict=True)}


def _free_name(wanted: str, taken: set[str], around: Scopes) -> str:
    """A name that nothing in the graph has, and nothing around it at that point."""
    name, count = wanted, 0
    while not name or name in taken or any(name in scope for scope in around):
        count += 1
        name = f"{wanted}__{count}"
    return name


def _describe(proto: onnx.ValueInfoProto | TensorProto, value: Value) -> None:
    if value.doc:
        proto.doc_string = value.doc
    for key, text in sorted(value.metadata.items()):
        proto.metadata_props.add(key=key, value=text)


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _kind(value: Any) -> str:
    match value:
        case EmptyList():
            return value.kind
        case tuple() if value:
            return _kind(value[0]) + "S"
        case bool() | int():
            return "INT"
        case float():
            return "FLOAT"
        case str() | bytes():
            return "STRING"
        case Weight():
            return "TENSOR"
        case Graph():
            return "GRAPH"
        case _:
            return "TYPE_PROTO" if isinstance(value, _TYPES) else "UNDEFINED"
