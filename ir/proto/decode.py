"""ModelProto → Graph. Nodes may be unsorted; captures of subgraphs become explicit operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from isomorph.ir import schema
from isomorph.ir.errors import InvalidModelError, UnsupportedError
from isomorph.ir.graph import EmptyList, Graph, Op, Value
from isomorph.ir.proto.tensors import External, decode_tensor
from isomorph.ir.proto.types import decode_type
from isomorph.ir.source import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onnx import AttributeProto, GraphProto, ModelProto, NodeProto

MAX_DEPTH = 64

SOURCE_KEY = "isomorph.source"
"""Node metadata under which the user's `file:line` is kept."""


def decode_model(proto: ModelProto, external: External | None = None) -> Graph:
    """The main graph of a model, with its opset imports and metadata.

    Raises:
        InvalidModelError: when the model breaks the format's rules; says where.
        UnsupportedError: for constructs that are not read yet.
    """
    opsets = {schema.normal_domain(o.domain): o.version for o in proto.opset_import}
    if proto.functions:
        from onnx.inliner import inline_local_functions

        proto = inline_local_functions(proto)
        opsets |= {schema.normal_domain(o.domain): o.version for o in proto.opset_import}
    if not opsets:
        raise InvalidModelError("the model imports no operator set")
    graph = _Decoder(opsets, external).graph(proto.graph, {}, depth=0)
    graph.opsets = opsets
    graph.doc = proto.doc_string or proto.graph.doc_string
    graph.metadata = {p.key: p.value for p in proto.metadata_props}
    graph.extra = {
        "ir_version": proto.ir_version,
        "producer_name": proto.producer_name,
        "producer_version": proto.producer_version,
        "domain": proto.domain,
        "model_version": proto.model_version,
        "quantization": list(proto.graph.quantization_annotation),
    }
    return graph


class _Decoder:
    def __init__(self, opsets: Mapping[str, int], external: External | None) -> None:
        self.opsets = opsets
        self.external = external

    def graph(self, proto: GraphProto, outer: Mapping[str, Value], depth: int) -> Graph:
        """One graph; names that it does not define are taken from `outer` and captured."""
        if depth > MAX_DEPTH:
            raise InvalidModelError(f"subgraphs are nested deeper than {MAX_DEPTH}")
        graph = Graph(proto.name or "graph")
        scope: dict[str, Value] = {}
        stated = {v.name: v for v in proto.value_info}
        self._sources(graph, proto, scope)
        captured: dict[str, Value] = {}
        for node in _in_order(proto.node, scope, outer):
            self._node(graph, node, scope, outer, captured, stated, depth)
        for info in proto.output:
            value = scope.get(info.name) or self._capture(graph, info.name, outer, captured)
            if value is None:
                raise InvalidModelError(f"graph {graph.name!r}: nothing computes its output {info.name!r}")
            if info.HasField("type"):
                found = decode_type(info.type, f"output {info.name!r}")
                value.type = value.type if value.weight is not None or found is None else found
            value.doc = info.doc_string or value.doc
            graph.outputs.append(value)
        return graph

    def _sources(self, graph: Graph, proto: GraphProto, scope: dict[str, Value]) -> None:
        if proto.sparse_initializer:
            raise UnsupportedError("sparse initializers are not read yet; store them dense")
        weights = {}
        for tensor in proto.initializer:
            if tensor.name in weights:
                raise InvalidModelError(f"initializer {tensor.name!r} is defined twice")
            weights[tensor.name] = decode_tensor(
                tensor, f"initializer {tensor.name!r}", self.external
            )
        seen: set[str] = set()
        for info in proto.input:
            if info.name in seen:
                raise InvalidModelError(f"input {info.name!r} is defined twice")
            seen.add(info.name)
            if info.name in weights:
                continue  # before IR version 4 every initializer had to be an input as well
            found = decode_type(info.type, f"input {info.name!r}") if info.HasField("type") else None
            value = graph.add_input(info.name, found)
            value.doc = info.doc_string
            scope[info.name] = value
        for name, weight in weights.items():
            scope[name] = graph.add_weight(weight, name)

    def _node(
        self,
        graph: Graph,
        node: NodeProto,
        scope: dict[str, Value],
        outer: Mapping[str, Value],
        captured: dict[str, Value],
        stated: Mapping[str, onnx.ValueInfoProto],
        depth: int,
    ) -> None:
        where = f"node {node.name or '|'.join(node.output)!r} ({node.op_type})"
        inputs: list[Value | None] = []
        for name in node.input:
            value = scope.get(name) or self._capture(graph, name, outer, captured) if name else None
            if name and value is None:
                raise InvalidModelError(f"{where}: nothing computes its input {name!r}")
            inputs.append(value)
        domain = schema.normal_domain(node.domain)
        opset = self.opsets.get(domain)
        if opset is None:
            raise InvalidModelError(f"{where}: the model does not import the domain {domain!r}")
        since = schema.since_version(domain, node.op_type, opset)
        visible = _Chain(scope, outer)
        subgraphs: list[tuple[Graph, dict[str, Value]]] = []
        attributes: dict[str, Any] = {}
        for attribute in node.attribute:
            attributes[attribute.name] = self._attribute(attribute, where, visible, subgraphs, depth)
        captures = self._join_captures(graph, subgraphs, scope, outer, captured)
        for name in node.output:
            if name and name in scope:
                raise InvalidModelError(f"{where}: {name!r} is computed twice")
        op = graph.add_op(
            node.op_type,
            inputs,
            attributes,
            outputs=[n or None for n in node.output],
            domain=domain,
            version=since or opset,
            captures=captures,
            source=_source(node),
            name=node.name,
        )
        op.doc = node.doc_string
        op.metadata = {p.key: p.value for p in node.metadata_props if p.key != SOURCE_KEY}
        for name, value in zip(node.output, op.outputs, strict=True):
            if value is not None:
                scope[name] = value
                info = stated.get(name)
                if info is not None and info.HasField("type"):
                    value.type = decode_type(info.type, f"value {name!r}")

    def _attribute(
        self,
        proto: AttributeProto,
        where: str,
        visible: _Chain,
        subgraphs: list[tuple[Graph, dict[str, Value]]],
        depth: int,
    ) -> Any:
        where = f"{where}, attribute {proto.name!r}"
        kind = onnx.AttributeProto
        match proto.type:
            case kind.FLOAT:
                return proto.f
            case kind.INT:
                return proto.i
            case kind.STRING:
                return _string(proto.s)
            case kind.TENSOR:
                return decode_tensor(proto.t, where, self.external)
            case kind.GRAPH:
                return self._subgraph(proto.g, visible, subgraphs, depth)
            case kind.FLOATS:
                return tuple(proto.floats) or EmptyList("FLOATS")
            case kind.INTS:
                return tuple(proto.ints) or EmptyList("INTS")
            case kind.STRINGS:
                return tuple(_string(s) for s in proto.strings) or EmptyList("STRINGS")
            case kind.TENSORS:
                found = (decode_tensor(t, where, self.external) for t in proto.tensors)
                return tuple(found) or EmptyList("TENSORS")
            case kind.GRAPHS:
                made = (self._subgraph(g, visible, subgraphs, depth) for g in proto.graphs)
                return tuple(made) or EmptyList("GRAPHS")
            case kind.TYPE_PROTO:
                return decode_type(proto.tp, where)
            case _:
                raise UnsupportedError(f"{where}: attributes of this kind are not read yet")

    def _subgraph(
        self,
        proto: GraphProto,
        visible: _Chain,
        subgraphs: list[tuple[Graph, dict[str, Value]]],
        depth: int,
    ) -> Graph:
        made = self.graph(proto, visible, depth + 1)
        subgraphs.append((made, {v.name: v for v in made.captures}))
        return made

    def _capture(
        self, graph: Graph, name: str, outer: Mapping[str, Value], captured: dict[str, Value]
    ) -> Value | None:
        """The inner stand-in of an outer value, made at its first use."""
        if name in captured:
            return captured[name]
        found = outer.get(name)
        if found is None:
            return None
        made = graph.add_capture(name, found.type)
        made.metadata = {"outer": name}
        captured[name] = made
        return made

    def _join_captures(
        self,
        graph: Graph,
        subgraphs: list[tuple[Graph, dict[str, Value]]],
        scope: dict[str, Value],
        outer: Mapping[str, Value],
        captured: dict[str, Value],
    ) -> list[Value]:
        """Give all subgraphs of one op the same captures, in the order of first use."""
        wanted: dict[str, Any] = {}
        for sub, _ in subgraphs:
            for value in sub.captures:
                wanted.setdefault(value.metadata["outer"], value.type)
        for sub, _ in subgraphs:
            own = {v.metadata["outer"]: v for v in sub.captures}
            sub.captures.clear()
            for name, known in wanted.items():
                if name in own:
                    sub.captures.append(own[name])
                else:
                    sub.add_capture(name, known)
        result: list[Value] = []
        for name in wanted:
            value = scope.get(name) or self._capture(graph, name, outer, captured)
            assert value is not None, name
            result.append(value)
        return result


class _Chain(dict[str, "Value"]):
    """Names of a scope, then of the scopes around it, without copying either."""

    def __init__(self, inner: Mapping[str, Value], outer: Mapping[str, Value]) -> None:
        super().__init__()
        self.inner, self.outer = inner, outer

    def get(self, key: str, default: Any = None) -> Any:
        return self.inner.get(key) or self.outer.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self.inner or key in self.outer


def _in_order(
    nodes: Iterable[NodeProto], scope: Mapping[str, Value], outer: Mapping[str, Value]
) -> Iterable[NodeProto]:
    """The nodes, sorted when the file has them out of order; a cycle is an error."""
    listed = list(nodes)
    ready = set(scope)
    ordered = True
    reads: list[set[str]] = []
    made: dict[str, int] = {}
    for index, node in enumerate(listed):
        wanted = _reads(node)
        reads.append(wanted)
        if ordered and not all(n in ready or n in outer for n in wanted):
            ordered = False
        for name in node.output:
            if name:
                ready.add(name)
                made.setdefault(name, index)
    if ordered:
        return listed
    waiting = [len({made[n] for n in wanted if n in made}) for wanted in reads]
    readers: dict[int, list[int]] = {}
    for index, wanted in enumerate(reads):
        for producer in {made[n] for n in wanted if n in made}:
            readers.setdefault(producer, []).append(index)
    order = [i for i, count in enumerate(waiting) if not count]
    for index in order:
        for reader in readers.get(index, ()):
            waiting[reader] -= 1
            if not waiting[reader]:
                order.append(reader)
    if len(order) != len(listed):
        stuck = [listed[i].name or listed[i].op_type for i, c in enumerate(waiting) if c]
        raise InvalidModelError(f"the graph has a cycle through {', '.join(stuck[:8])}")
    return [listed[i] for i in order]


def _reads(node: NodeProto) -> set[str]:
    """Names a node reads, those of its subgraphs' outer references included."""
    found = {n for n in node.input if n}
    stack = [g for a in node.attribute for g in ([a.g] if a.HasField("g") else a.graphs)]
    for graph in stack:
        inner = {i.name for i in graph.input} | {i.name for i in graph.initializer}
        inner |= {o for n in graph.node for o in n.output}
        used: set[str] = {o.name for o in graph.output}
        for child in graph.node:
            used |= _reads(child)
        found |= used - inner
    return found


def _string(raw: bytes) -> str | bytes:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _source(node: NodeProto) -> Source | None:
    for prop in node.metadata_props:
        if prop.key == SOURCE_KEY:
            place, _, module = prop.value.partition(" ")
            file, _, line = place.rpartition(":")
            if line.isdigit():
                return Source(file, int(line), module)
    return None
