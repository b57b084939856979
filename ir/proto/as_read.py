"""What a file said beyond what a graph holds, put back into the message that is written.

Each part is put back where the graph still says what it said when it was read; what was edited is
written as the graph has it now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from isomorph.ir import schema
from isomorph.ir.graph import Graph, Op, Value
from isomorph.ir.proto.decode import read_source
from isomorph.ir.proto.kept import (
    KEPT_MODEL,
    PAYLOADS,
    KeptGraph,
    KeptModel,
    KeptNode,
    kept_of,
)
from isomorph.ir.proto.metadata import read_metadata
from isomorph.ir.proto.names import properties

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onnx import AttributeProto, ModelProto, NodeProto, ValueInfoProto

    from isomorph.ir.proto.kept import Seen

    Info = tuple[Value | None, ValueInfoProto | None, Seen | None]
    """A value, what the file said of it, and what that was in the graph."""


def restore_model(model: ModelProto, graph: Graph) -> None:
    """Let a model's header say again what the file's said, where the graph agrees with it."""
    kept = graph.extra.get(KEPT_MODEL)
    if not isinstance(kept, KeptModel):
        return
    said = onnx.ModelProto.FromString(kept.message)
    main = kept_of(graph)
    inner = onnx.GraphProto.FromString(main.message).doc_string if main is not None else ""
    if {schema.normal_domain(o.domain): o.version for o in said.opset_import} == {
        schema.normal_domain(o.domain): o.version for o in model.opset_import
    }:
        model.ClearField("opset_import")
    else:
        said.ClearField("opset_import")
    if graph.doc == (said.doc_string or inner):
        model.ClearField("doc_string")
    else:
        said.ClearField("doc_string")
    read = Graph()
    read_metadata(read, properties(said.metadata_props))
    if (read.metadata, read.constraints, read.domains) == (
        graph.metadata,
        graph.constraints,
        graph.domains,
    ):
        model.ClearField("metadata_props")
    else:
        said.ClearField("metadata_props")
    for name in ("domain", "model_version"):
        if getattr(model, name) == getattr(said, name):
            model.ClearField(name)  # type: ignore[arg-type]
        else:
            said.ClearField(name)  # type: ignore[arg-type]
    model.ClearField("producer_name")
    said.ClearField("ir_version")
    model.MergeFrom(said)


class SaidOfGraph:
    """What the file said of one graph, held against what the graph says now."""

    def __init__(self, graph: Graph, kept: KeptGraph | None) -> None:
        self.graph = graph
        self.kept = kept or KeptGraph()
        self.message = onnx.GraphProto.FromString(self.kept.message)
        self.values = {value.name: value for value in graph.values()}

    def head(self, proto: onnx.GraphProto) -> None:
        """Name, remarks, properties."""
        graph, said = self.graph, self.message
        if graph.name == (said.name or "graph"):
            proto.ClearField("name")
            if said.HasField("name"):
                proto.name = said.name
        model = graph.extra.get(KEPT_MODEL)
        doc = said.doc_string
        if isinstance(model, KeptModel):  # the main graph's remarks may be those of its model
            doc = onnx.ModelProto.FromString(model.message).doc_string or doc
        if said.HasField("doc_string") and graph.doc == doc:
            proto.doc_string = said.doc_string
        given = graph.extra.get("graph_metadata", {})
        if properties(said.metadata_props) == given:
            proto.ClearField("metadata_props")
            proto.metadata_props.extend(said.metadata_props)

    def inputs(self) -> list[Info]:
        """Every input, among them those that the file gives a default: weights of the graph."""
        said = list(zip(self.message.input, self.kept.inputs, strict=True))
        found = self._matched(said)
        if [v for v, _, _ in found if v is not None and v.weight is None] == self.graph.inputs:
            return found
        by_value = {v: info for info in found if (v := info[0]) is not None}
        ordered: list[Info] = [by_value.pop(v, (v, None, None)) for v in self.graph.inputs]
        return ordered + [i for v, i in by_value.items() if v.weight is not None]

    def outputs(self) -> list[Info]:
        """Every output, in the graph's order."""
        said = list(zip(self.message.output, self.kept.outputs, strict=True))
        by_name = {info.name: (info, seen) for info, seen in reversed(said)}
        found: list[Info] = []
        for index, value in enumerate(self.graph.outputs):
            here = said[index] if index < len(said) and said[index][0].name == value.name else None
            info, seen = here or by_name.get(value.name, (None, None))
            found.append((value, info, seen))
        return found

    def value_infos(self) -> list[Info]:
        """What is said of other values, and of none, in the file's order."""
        return self._matched(zip(self.message.value_info, self.kept.value_infos, strict=True))

    def _matched(self, said: Iterable[tuple[ValueInfoProto, Seen | None]]) -> list[Info]:
        found: list[Info] = []
        for info, seen in said:
            value = self.values.get(info.name)
            if value is not None or seen is None:
                found.append((value, info, seen))
        return found


def annotate(proto: onnx.GraphProto, graph: Graph, used: set[str], *, loose: bool) -> None:
    """Annotations of quantization; `loose`, those too that were about nothing."""
    kept = kept_of(graph)
    if kept is None or not kept.annotated:
        return
    wanted = kept.annotated & (used | kept.loose if loose else used)
    for annotation in onnx.GraphProto.FromString(kept.message).quantization_annotation:
        if annotation.tensor_name in wanted:
            proto.quantization_annotation.add().CopyFrom(annotation)


def restore_info(
    proto: ValueInfoProto, value: Value | None, said: ValueInfoProto, seen: Seen | None
) -> None:
    """What the file said of a value; without its type where the value has another one now."""
    proto.CopyFrom(said)
    if value is None or seen is None:
        return
    kind, doc, given = seen
    if value.doc != doc:
        proto.doc_string = value.doc
    if value.metadata != given:
        proto.ClearField("metadata_props")
        add_properties(proto, value.metadata)
    if value.type != kind:
        proto.ClearField("type")


def overload_of(op: Op) -> str:
    """Which of several functions of one name an op calls."""
    kept = op.kept
    return onnx.NodeProto.FromString(kept.message).overload if isinstance(kept, KeptNode) else ""


def restore_node(node: NodeProto, op: Op) -> None:
    """What the file said of a node beyond what its op holds."""
    kept = op.kept
    if not isinstance(kept, KeptNode):
        return
    said = onnx.NodeProto.FromString(kept.message)
    if said.HasField("domain") and schema.normal_domain(said.domain) == op.domain:
        node.domain = said.domain
    if said.HasField("overload"):
        node.overload = said.overload
    for name in ("name", "doc_string"):
        if said.HasField(name) and not getattr(node, name):
            setattr(node, name, "")
    node.device_configurations.extend(said.device_configurations)
    given = properties(said.metadata_props)
    if given and read_source(given) == op.source and given == op.metadata:
        node.ClearField("metadata_props")
        node.metadata_props.extend(said.metadata_props)
    written = {a.name: a for a in node.attribute}
    for attribute in said.attribute:
        made = written.get(attribute.name)
        own = attribute.name if attribute.name in op.attributes else "value"
        seen = kept.values.get(attribute.name)
        if made is not None and (seen is None or op.attributes.get(own) is seen):
            _restore_attribute(made, attribute)


def _restore_attribute(made: AttributeProto, said: AttributeProto) -> None:
    if not any(f.name in PAYLOADS for f, _ in made.ListFields()):
        made.CopyFrom(said)
        return
    if not said.HasField("type"):
        made.ClearField("type")
    if said.HasField("doc_string"):
        made.doc_string = said.doc_string


def add_properties(
    proto: onnx.GraphProto | NodeProto | ValueInfoProto | onnx.TensorProto, given: Mapping[str, str]
) -> None:
    """Key-value properties in the order they are given in."""
    for key, text in given.items():
        proto.metadata_props.add(key=key, value=text)
