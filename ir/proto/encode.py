"""Graph → ModelProto. Explicit captures become the format's implicit outer references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
import onnx.helper

from isomorph.ir.errors import InvalidGraphError, UnsupportedError
from isomorph.ir.graph import EmptyList, Graph, Op, Value
from isomorph.ir.proto.as_read import (
    SaidOfGraph,
    annotate,
    overload_of,
    restore_info,
    restore_model,
    restore_node,
)
from isomorph.ir.proto.decode import SOURCE_KEY
from isomorph.ir.proto.kept import kept_of
from isomorph.ir.proto.metadata import metadata_of
from isomorph.ir.proto.sparse import encode_sparse
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

    from isomorph.ir.proto.kept import Seen

    Place = Callable[[Weight, str], TensorProto]
    """Makes the message of a weight that has a name in the file."""

    Scopes = tuple[set[str], ...]
    """Names visible around a graph, outermost graph first."""

DEEPEST = 31
"""Levels of subgraphs in a file: three messages each, of which protobuf's readers take 100."""

_TRIES = 16

_TYPES = (TensorType, SparseType, SequenceType, OptionalType, MapType)


def encode_model(
    graph: Graph,
    opsets: Mapping[str, int],
    ir_version: int,
    place: Place = encode_tensor,
    *,
    value_infos: bool = False,
    as_read: bool = False,
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
        as_read: write what was not edited since it was read the way the file had it, to the last
            field; inputs that have defaults among it.
    """
    model = onnx.ModelProto(ir_version=ir_version)
    model.producer_name = "isomorph"
    model.doc_string = graph.doc
    model.domain = graph.extra.get("domain", "")
    model.model_version = graph.extra.get("model_version", 0)
    for domain, version in sorted(opsets.items()):
        model.opset_import.append(onnx.helper.make_opsetid(domain, version))
    given = metadata_of(graph).items()
    for key, value in given if as_read else sorted(given):
        model.metadata_props.add(key=key, value=value)
    model.functions.extend(graph.functions.values())
    if as_read:
        restore_model(model, graph)
    _Encoder(place, value_infos, as_read).graph(graph, model.graph, {}, ())
    return model


def encode_attribute(name: str, value: Any, op: Op | None = None) -> AttributeProto:
    """The message of an attribute that is no graph; the op's schema decides int against float."""
    return _Encoder(encode_tensor, value_infos=False, as_read=False).attribute(
        name, value, op, {}, ()
    )


class _Encoder:
    def __init__(self, place: Place, value_infos: bool, as_read: bool) -> None:
        self.place = place
        self.value_infos = value_infos
        self.as_read = as_read
        self.tried: dict[str, int] = {}

    def graph(
        self, graph: Graph, proto: GraphProto, outer: Mapping[Value, str], around: Scopes
    ) -> None:
        """Fill in one graph; `outer` names its captures, `around` are the names visible there."""
        if len(around) > DEEPEST:
            raise UnsupportedError(
                f"graph {graph.name!r} lies deeper than {DEEPEST} levels of subgraphs; no "
                "reader of the format takes more"
            )
        said = SaidOfGraph(graph, kept_of(graph) if self.as_read else None)
        proto.name = graph.name
        if around and graph.doc:
            proto.doc_string = graph.doc
        names = self._names(graph, outer, around)
        visible = {names[value] for value in graph.inputs}
        for info in said.inputs():
            self._info(proto.input.add(), names, *info)
        for value in graph.weights():
            if value.weight is not None:
                self._weight(proto, value, value.weight, names[value])
                visible.add(names[value])
        stated = self.value_infos and graph.extra.get("value_infos", True)
        silent = set(graph.outputs)
        for info in said.value_infos():
            self._info(proto.value_info.add(), names, *info)
            silent |= {info[0]} if info[0] is not None else set()
        for op in graph.sorted_ops():
            self._node(op, proto.node.add(), names, (*around, visible))
            for value in op.results:
                visible.add(names[value])
                if stated and value.type is not None and value not in silent:
                    self._info(proto.value_info.add(), names, value)
        for info in said.outputs():
            self._info(proto.output.add(), names, *info)
        for key, text in sorted(graph.extra.get("graph_metadata", {}).items()):
            proto.metadata_props.add(key=key, value=text)
        annotate(proto, graph, set(names.values()), loose=self.as_read)
        if self.as_read:
            said.head(proto)

    def _names(self, graph: Graph, outer: Mapping[Value, str], around: Scopes) -> dict[Value, str]:
        """What each value is called in the file: like nothing around it, as the standard wants it.

        What is written as it was read may hide names around it that nothing in the graph means.
        """
        names: dict[Value, str] = {v: outer[v] for v in graph.captures}
        taken = {names[v] for v in graph.captures if self.as_read and graph.is_used(v)}
        for value in graph.values():
            if value not in names:
                names[value] = name = self._free_name(
                    value.name, taken, () if self.as_read else around
                )
                taken.add(name)
        return names

    def _free_name(self, wanted: str, taken: set[str], around: Scopes) -> str:
        """A name that nothing in the graph has, and nothing around it at that point."""
        name, count = wanted, 0
        while not name or name in taken or any(name in scope for scope in around):
            count += 1
            if count == _TRIES:  # many subgraphs want it: go on where the last one ended
                count = max(count, self.tried.get(wanted, 0) + 1)
            name = f"{wanted}__{count}"
        if count >= _TRIES:
            self.tried[wanted] = count
        return name

    def _info(
        self,
        proto: onnx.ValueInfoProto,
        names: Mapping[Value, str],
        value: Value | None,
        said: onnx.ValueInfoProto | None = None,
        seen: Seen | None = None,
    ) -> None:
        if said is not None:
            restore_info(proto, value, said, seen)
        if value is None:
            return
        proto.name = names[value]
        if said is None:
            _describe(proto, value, ordered=not self.as_read)
        if value.type is not None and (said is None or seen is None or value.type != seen[0]):
            proto.type.CopyFrom(encode_type(value.type))

    def _weight(self, proto: GraphProto, value: Value, weight: Weight, name: str) -> None:
        if self.as_read and weight.form is not None and weight.form.sparse is not None:
            sparse = proto.sparse_initializer.add()
            sparse.CopyFrom(encode_sparse(weight, name))
            _describe(sparse.values, value, ordered=False)
            return
        tensor = self.place(weight, name)
        _describe(tensor, value, ordered=not self.as_read)
        proto.initializer.append(tensor)

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
        given = op.metadata.items()
        for key, text in given if self.as_read else sorted(given):
            node.metadata_props.add(key=key, value=text)
        if op.source is not None and op.source.line:
            place = f"{op.source} {op.source.module}".strip()
            node.metadata_props.add(key=SOURCE_KEY, value=place)
        if self.as_read:
            restore_node(node, op)
        elif op.kept is not None and op.schema is None and (overload := overload_of(op)):
            node.overload = overload

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
        if kind == "TENSOR" and self.as_read and _is_sparse(value):
            proto.name, kind = "sparse_value", "SPARSE_TENSOR"
        proto.type = kinds.AttributeType.Value(kind)  # type: ignore[assignment] - its stub
        match kind:
            case "INT":
                proto.i = int(value)
            case "FLOAT":
                proto.f = float(value)
            case "STRING":
                proto.s = _bytes(value)
            case "TENSOR":
                proto.t.CopyFrom(encode_tensor(value, as_read=self.as_read))
            case "INTS":
                proto.ints.extend(int(v) for v in value)
            case "FLOATS":
                proto.floats.extend(float(v) for v in value)
            case "STRINGS":
                proto.strings.extend(_bytes(v) for v in value)
            case "TENSORS":
                proto.tensors.extend(encode_tensor(v, as_read=self.as_read) for v in value)
            case "SPARSE_TENSOR":
                proto.sparse_tensor.CopyFrom(encode_sparse(value, as_read=self.as_read))
            case "SPARSE_TENSORS":
                proto.sparse_tensors.extend(encode_sparse(v, as_read=self.as_read) for v in value)
            case "TYPE_PROTO":
                proto.tp.CopyFrom(encode_type(value))
            case "TYPE_PROTOS":
                proto.type_protos.extend(encode_type(v) for v in value)
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


def _describe(proto: onnx.ValueInfoProto | TensorProto, value: Value, *, ordered: bool) -> None:
    if value.doc:
        proto.doc_string = value.doc
    given = value.metadata.items()
    for key, text in sorted(given) if ordered else given:
        proto.metadata_props.add(key=key, value=text)


def _is_sparse(value: Any) -> bool:
    return isinstance(value, Weight) and value.form is not None and value.form.sparse is not None


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
            return "SPARSE_TENSOR" if _is_sparse(value) else "TENSOR"
        case Graph():
            return "GRAPH"
        case _:
            return "TYPE_PROTO" if isinstance(value, _TYPES) else "UNDEFINED"
