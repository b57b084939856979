"""ModelProto → Graph. Nodes may be unsorted; captures of subgraphs become explicit operands."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from isomorph.ir import schema
from isomorph.ir.bulk import uncollected
from isomorph.ir.errors import InvalidModelError, UnsupportedError
from isomorph.ir.graph import Graph, Op, Value
from isomorph.ir.merge import merge
from isomorph.ir.proto.attributes import decode_attribute, resolve
from isomorph.ir.proto.kept import (
    KEPT,
    KEPT_MODEL,
    keep_graph,
    keep_model,
    keep_node,
    notes_of,
)
from isomorph.ir.proto.local import Functions
from isomorph.ir.proto.metadata import read_metadata
from isomorph.ir.proto.names import properties, utf8
from isomorph.ir.proto.order import MAX_DEPTH, in_order
from isomorph.ir.proto.scope import Frame, Scope, join_captures
from isomorph.ir.proto.sparse import decode_sparse
from isomorph.ir.proto.tensors import External, decode_tensor
from isomorph.ir.proto.types import decode_type
from isomorph.ir.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        NodeProto,
        OperatorSetIdProto,
        TensorProto,
        ValueInfoProto,
    )

    Emit = Callable[..., Op]

SOURCE_KEY = "isomorph.source"
"""Node metadata under which the user's `file:line` is kept."""

_SOURCE = re.compile(r"(.*):(\d{1,9})(?: (.*))?", re.DOTALL)


@uncollected()
def decode_model(
    proto: ModelProto, external: External | None = None, *, keep_functions: bool = False
) -> Graph:
    """The main graph of a model, with its opset imports and metadata; local functions inlined.

    Args:
        proto: the message; it is not changed.
        external: opens data that lies in other files.
        keep_functions: let calls of local functions stand, and keep the functions' own messages in
            `Graph.functions`.

    Raises:
        InvalidModelError: when the model breaks the format's rules; says where.
        UnsupportedError: for constructs that are not read yet.
    """
    opsets = read_opsets(proto.opset_import, "the model")
    functions = Functions(proto.functions)
    functions.check([proto.graph])
    if keep_functions and functions.known:
        decode_model(proto, external)  # what is kept unexpanded must be valid when it is expanded
    kept = functions.kept(external) if keep_functions else {}
    decoder = Decoder(external, Functions() if kept else functions)
    graph = decoder.graph(proto.graph, None, Frame(opsets), depth=0)
    graph.functions.update(kept)
    local = {key[0] for key in functions.known}
    used = {op.domain for _, op in graph.walk()} if local else local
    graph.opsets = {d: v for d, v in opsets.items() if d not in local or d in used}
    graph.doc = utf8(proto.doc_string or proto.graph.doc_string)
    read_metadata(graph, properties(proto.metadata_props))
    graph.extra |= {
        KEPT_MODEL: keep_model(proto, external),
        "ir_version": proto.ir_version,
        "producer_name": utf8(proto.producer_name),
        "producer_version": utf8(proto.producer_version),
        "domain": utf8(proto.domain),
        "model_version": proto.model_version,
    }
    notes = notes_of(graph, proto)
    if notes:
        graph.extra["notes"] = notes
    return graph


def read_opsets(imports: Iterable[OperatorSetIdProto], where: str) -> dict[str, int]:
    """Version by domain.

    Raises:
        InvalidModelError: when there is none, one is below 1, or one domain has two versions.
        UnsupportedError: when a version is newer than what is known here.
    """
    found: dict[str, int] = {}
    for entry in imports:
        domain, version = schema.normal_domain(utf8(entry.domain)), entry.version
        label = domain or "ai.onnx"
        if version < 1:
            raise InvalidModelError(f"{where} imports opset {version} of {label}; 1 is the lowest")
        newest = schema.CANONICAL.get(domain)
        if newest is not None and version > newest:
            raise UnsupportedError(
                f"{where} imports opset {version} of {label}; up to {newest} is supported: "
                "convert it with onnx.version_converter, or export it again at an older opset"
            )
        if found.setdefault(domain, version) != version:
            raise InvalidModelError(
                f"{where} imports opsets {found[domain]} and {version} of {label}; one is expected"
            )
    if not found:
        raise InvalidModelError(f"{where} imports no operator set")
    return found


class Decoder:
    """Decodes graphs, and bodies of functions into graphs."""

    def __init__(self, external: External | None, functions: Functions) -> None:
        self.external = external
        self.functions = functions
        self.decoded: dict[int, tuple[AttributeProto, Any]] = {}

    def graph(self, proto: GraphProto, outer: Scope | None, frame: Frame, depth: int) -> Graph:
        """One graph; names that it does not define are taken from `outer` and captured."""
        return self.scope(proto, outer, frame, depth).graph

    def scope(self, proto: GraphProto, outer: Scope | None, frame: Frame, depth: int) -> Scope:
        """The same, with what its names mean."""
        if depth > MAX_DEPTH:
            raise UnsupportedError(f"its subgraphs are nested deeper than {MAX_DEPTH} levels")
        graph = Graph(utf8(proto.name) or "graph")
        scope = Scope(graph, frame, outer)
        where = f"graph {graph.name!r}"
        self._sources(scope, proto, inner=outer is not None)
        stated = {v.name: v for v in proto.value_info}
        graph.extra["value_infos"] = bool(stated)
        for node in in_order(proto.node, scope, where):
            self.node(scope, node, stated, depth, graph.add_op)
        for info in proto.output:
            self._output(scope, info)
        if proto.metadata_props:
            graph.extra["graph_metadata"] = properties(proto.metadata_props)
        if outer is not None:
            graph.doc = utf8(proto.doc_string)
        if frame.attributes is None:
            graph.extra[KEPT] = keep_graph(proto, scope.names)
        return scope

    def _output(self, scope: Scope, info: ValueInfoProto) -> None:
        try:
            value = scope.find(info.name)
        except KeyError:
            value = None
        if value is None:
            raise InvalidModelError(
                f"graph {scope.graph.name!r}: nothing computes its output {info.name!r}"
            )
        if value.weight is None and (value.producer is not None or value.type is None):
            value.type = _stated_type(info, f"output {info.name!r}") or value.type
        _describe(value, info)
        scope.graph.outputs.append(value)

    def _sources(self, scope: Scope, proto: GraphProto, *, inner: bool) -> None:
        graph = scope.graph
        weights = {t.name: t for t in proto.initializer}
        sparse = {t.values.name: t for t in proto.sparse_initializer}
        if len(weights) != len(proto.initializer) or len(sparse) != len(proto.sparse_initializer):
            raise InvalidModelError(
                f"initializer {_repeated([t.name for t in proto.initializer] + list(sparse))!r} "
                "is defined twice"
            )
        defaults: list[str] = []
        for info in proto.input:
            if utf8(info.name) in scope.names or not info.name:
                raise InvalidModelError(f"input {info.name!r} is defined twice or has no name")
            if info.name in weights or info.name in sparse:
                if inner:
                    raise InvalidModelError(
                        f"subgraph {graph.name!r}: its input {info.name!r} has an initializer"
                    )
                defaults.append(info.name)
                continue  # before IR version 4 every initializer had to be an input as well
            value = graph.add_input(info.name, _stated_type(info, f"input {info.name!r}"))
            _describe(value, info)
            scope.names[info.name] = value
        if defaults:
            graph.extra["defaulted_inputs"] = tuple(defaults)
        for name, tensor in weights.items():
            self._weight(scope, name, decode_tensor(tensor, _label(name), self.external), tensor)
        for name, tensor in sparse.items():
            weight = decode_sparse(tensor, _label(name), self.external)
            self._weight(scope, name, weight, tensor.values)
        for info in proto.input if defaults else ():
            if info.name in weights or info.name in sparse:
                _check_default(info, scope.names[info.name])

    def _weight(self, scope: Scope, name: str, weight: Any, tensor: TensorProto) -> None:
        if utf8(name) in scope.names or not name:
            raise InvalidModelError(f"initializer {name!r} is defined twice or has no name")
        value = scope.graph.add_weight(weight, name)
        _describe(value, tensor)
        scope.names[name] = value

    def node(
        self,
        scope: Scope,
        node: NodeProto,
        stated: Mapping[str, ValueInfoProto],
        depth: int,
        emit: Emit,
        rename: Mapping[str, str] | None = None,
    ) -> None:
        """One node; `emit` adds the op, `rename` gives the results of a body their outer names."""
        frame = scope.frame
        utf8(node.op_type, node.domain, node.overload, node.name, *node.output)
        where = f"node {frame.prefix}{node.name or '|'.join(node.output)!r} ({node.op_type})"
        inputs = [self._input(scope, name, where) for name in node.input]
        domain = schema.normal_domain(node.domain)
        given = resolve(node.attribute, frame.attributes, where)
        function = self.functions.get(domain, node.op_type, node.overload)
        if function is not None:
            self._call(scope, node, function, inputs, given, depth, emit, rename or {})
            return
        opset = frame.opsets.get(domain)
        if opset is None:
            raise InvalidModelError(
                f"{where}: the model does not import the domain {domain or 'ai.onnx'!r}"
            )
        inner: list[Scope] = []

        def subgraph(proto: GraphProto) -> Graph:
            made = self.scope(proto, scope, frame, depth + 1)
            inner.append(made)
            return made.graph

        attributes = {
            name: self._attribute(a, where, subgraph, again=frame.attributes is not None)
            for name, a in given.items()
        }
        if node.op_type == "Constant" and not domain and "sparse_value" in attributes:
            attributes["value"] = attributes.pop("sparse_value")
        op = emit(
            node.op_type,
            inputs,
            attributes,
            outputs=[_result_name(n, rename, frame.prefix) for n in node.output],
            domain=domain,
            version=schema.since_version(domain, node.op_type, opset) or opset,
            captures=join_captures(scope, inner, where) if inner else (),
        )
        if node.name:
            op.name = frame.prefix + node.name
        if node.doc_string:
            op.doc = utf8(node.doc_string)
        plain = True
        if node.metadata_props:
            metadata = properties(node.metadata_props)
            plain = SOURCE_KEY not in metadata and len(metadata) == len(node.metadata_props)
            op.source = read_source(metadata) or op.source
            op.metadata = metadata
        if frame.attributes is None:
            op.kept = keep_node(node, given.values(), op, properties=not plain)
        self.bind(scope, node.output, op.outputs, where)
        if stated:
            for name, value in zip(node.output, op.outputs, strict=True):
                info = stated.get(name)
                if info is not None and value is not None:
                    value.type = _stated_type(info, f"value {name!r}")
                    _describe(value, info)

    def _attribute(
        self,
        proto: AttributeProto,
        where: str,
        subgraph: Callable[[GraphProto], Graph],
        again: bool,
    ) -> Any:
        """One attribute; `again` says that it may come again: functions are called many times."""
        if not again or proto.HasField("g") or proto.graphs:
            return decode_attribute(proto, where, self.external, subgraph)
        found = self.decoded.get(id(proto))
        if found is None:
            value = decode_attribute(proto, where, self.external, subgraph)
            self.decoded[id(proto)] = found = proto, value
        return found[1]

    def bind(
        self, scope: Scope, names: Iterable[str], values: Iterable[Value | None], where: str
    ) -> None:
        """Let names mean values; raises InvalidModelError when one has a meaning already."""
        for name, value in zip(names, values, strict=True):
            if not name:
                continue
            if name in scope.names:
                raise InvalidModelError(f"{where}: {name!r} is computed twice")
            scope.names[name] = value

    def _input(self, scope: Scope, name: str, where: str) -> Value | None:
        if not name:
            return None
        try:
            return scope.find(name)
        except KeyError:
            raise InvalidModelError(f"{where}: nothing computes its input {name!r}") from None

    def _call(
        self,
        scope: Scope,
        node: NodeProto,
        function: FunctionProto,
        inputs: list[Value | None],
        given: Mapping[str, AttributeProto],
        depth: int,
        emit: Emit,
        rename: Mapping[str, str],
    ) -> None:
        """Put a function's body in the place of a node that calls it."""
        frame = scope.frame
        where = f"node {frame.prefix}{node.name or '|'.join(node.output)!r} ({node.op_type})"
        if len(inputs) > len(function.input) or len(node.output) > len(function.output):
            raise InvalidModelError(
                f"{where}: {len(inputs)} inputs and {len(node.output)} outputs, the function takes "
                f"{len(function.input)} and gives {len(function.output)}"
            )
        key = (schema.normal_domain(function.domain), function.name, function.overload)
        prefix = f"{frame.prefix}{node.name or node.op_type}/"
        opsets = dict(frame.opsets) | read_opsets(function.opset_import, f"function {key[1]!r}")
        attributes = {a.name: a for a in function.attribute_proto} | dict(given)
        body = Scope(scope.graph, Frame(opsets, attributes, prefix, (*frame.callers, key)))
        wanted = {
            formal: rename.get(actual) or frame.prefix + actual
            for formal, actual in zip(function.output, node.output, strict=False)
            if actual
        }
        results = self.body(body, function, inputs, depth, emit, wanted)
        self.bind(scope, node.output, results[: len(node.output)], where)

    def body(
        self,
        scope: Scope,
        function: FunctionProto,
        inputs: list[Value | None],
        depth: int,
        emit: Emit,
        wanted: Mapping[str, str],
    ) -> list[Value | None]:
        """Decode a function's nodes; returns its results in order.

        Args:
            scope: fresh, with the function's own frame.
            function: the message.
            inputs: actual values; those past the end are absent.
            depth: of nested subgraphs.
            emit: adds an op.
            wanted: names that results should get, by formal name.
        """
        where = f"function {function.name!r}"
        for index, formal in enumerate(function.input):
            if formal in scope.names:
                raise InvalidModelError(f"{where}: its input {formal!r} is defined twice")
            scope.names[formal] = inputs[index] if index < len(inputs) else None
        stated = {v.name: v for v in function.value_info}
        for node in in_order(function.node, scope, where):
            self.node(scope, node, stated, depth, emit, wanted)
        results: list[Value | None] = []
        for formal in function.output:
            if formal not in scope and formal not in wanted:
                results.append(
                    None
                )  # bodies built for one use leave out what that use does not ask
                continue
            value = self._input(scope, formal, where)
            passed_on = value is not None and any(value is v for v in (*inputs, *results))
            if passed_on and formal in wanted:
                version = schema.since_version("", "Identity", scope.frame.opsets.get("", 1))
                made = emit("Identity", [value], {}, outputs=[wanted[formal]], version=version)
                made.output.type = value.type if value is not None else None
                value = made.output
            results.append(value)
        return results


def _result_name(name: str, rename: Mapping[str, str] | None, prefix: str) -> str | None:
    if not name:
        return None
    return (rename or {}).get(name) or prefix + name


def _check_default(info: ValueInfoProto, value: Value | None) -> None:
    """Before IR version 4 an initializer is an input too: both are one value, of one type."""
    stated = _stated_type(info, f"input {info.name!r}")
    kind = None if value is None else value.type
    try:
        merge(stated, kind or stated)
    except ValueError:
        raise InvalidModelError(
            f"initializer {info.name!r} is {kind}, but the input of the same name is stated "
            f"to be {stated}"
        ) from None


def _label(name: str) -> str:
    return f"initializer {name!r}"


def _repeated(names: list[str]) -> str:
    return next((name for name, times in Counter(names).items() if times > 1), "")


def _stated_type(info: ValueInfoProto, where: str) -> Any:
    return decode_type(info.type, where) if info.HasField("type") else None


def _describe(value: Value, info: ValueInfoProto | TensorProto) -> None:
    if info.doc_string:
        value.doc = utf8(info.doc_string)
    if info.metadata_props:
        value.metadata = properties(info.metadata_props)


def read_source(properties: dict[str, str]) -> Source | None:
    """The place in the user's source that a node's properties name; it is taken out of them."""
    found = _SOURCE.fullmatch(properties.pop(SOURCE_KEY, ""))
    return None if found is None else Source(found[1], int(found[2]), found[3] or "")
