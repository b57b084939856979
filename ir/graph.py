"""The graph: operators and source values are nodes of a networkx graph, values lie on its edges.

`graph.nx` is the networkx graph itself: any of its algorithms works on it. Only this package
mutates it; passes edit through `isomorph.ir.patch`, front ends build through `Graph.add_*`.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Self, cast

import networkx as nx

from isomorph.ir import schema
from isomorph.ir.bulk import uncollected
from isomorph.ir.dims import Dim, Expr, symbol
from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.indexed import IndexedList
from isomorph.ir.names import Names
from isomorph.ir.order import CycleError, stable_order
from isomorph.ir.types import innermost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from isomorph.ir.dims import Constraint
    from isomorph.ir.source import Source
    from isomorph.ir.types import Type
    from isomorph.ir.weights import Weight


class EmptyList(tuple[Any, ...]):  # noqa: SLOT001 - a tuple subclass cannot have slots with values
    """An empty list attribute that remembers what kind of list it is (`INTS`, `STRINGS`, …)."""

    kind: str

    def __new__(cls, kind: str) -> Self:
        made = super().__new__(cls)
        made.kind = kind
        return made


Attribute = Any
"""int, float, str, bytes, Weight, Graph, Type, or a tuple of one of them."""


class Value:
    """A named, typed result: of an op, a graph input, or a constant (then `weight` is set)."""

    __slots__ = ("doc", "metadata", "name", "producer", "type", "weight")

    def __init__(
        self,
        name: str,
        type: Type | None = None,  # noqa: A002 - the field's own word
        producer: Op | None = None,
        weight: Weight | None = None,
    ) -> None:
        self.name = name
        self.type = type
        self.producer = producer
        self.weight = weight
        self.doc = ""
        self.metadata: Mapping[str, str] = {}

    def __repr__(self) -> str:
        return f"%{self.name}: {self.type}" if self.type is not None else f"%{self.name}"


class Op:
    """One operator: domain, type, the version it is meant in, operands, results, attributes.

    `captures` are the outer values that the op's subgraphs use, in the order of each subgraph's
    own `captures`. `version` is the schema's since_version (for unknown domains, the opset).
    `kept` is what the file says of it that no other field holds (`isomorph.ir.proto.kept`).
    """

    __slots__ = (
        "attributes",
        "captures",
        "doc",
        "domain",
        "inputs",
        "kept",
        "metadata",
        "name",
        "outputs",
        "source",
        "type",
        "version",
    )

    def __init__(
        self,
        domain: str,
        type: str,  # noqa: A002
        version: int,
        inputs: tuple[Value | None, ...],
        attributes: dict[str, Attribute],
        captures: tuple[Value, ...] = (),
        source: Source | None = None,
        name: str = "",
    ) -> None:
        self.domain = domain
        self.type = type
        self.version = version
        self.inputs = inputs
        self.outputs: tuple[Value | None, ...] = ()
        self.attributes = attributes
        self.captures = captures
        self.source = source
        self.name = name
        self.doc = ""
        self.metadata: Mapping[str, str] = {}
        self.kept: object = None

    @property
    def key(self) -> tuple[str, str]:
        """(domain, type): the key of every aspect table."""
        return self.domain, self.type

    @property
    def schema(self) -> schema.Schema | None:
        """The definition at the op's own version, `None` for unknown operators."""
        return schema.schema(self.domain, self.type, self.version)

    @property
    def operands(self) -> tuple[Value, ...]:
        """Every value the op reads: present inputs, then captures."""
        return tuple(v for v in self.inputs if v is not None) + self.captures

    @property
    def results(self) -> tuple[Value, ...]:
        """Every output that is present."""
        return tuple(v for v in self.outputs if v is not None)

    @property
    def output(self) -> Value:
        """The first output."""
        first = self.outputs[0]
        if first is None:
            raise InvalidGraphError(f"{self}: its first output is absent")
        return first

    def attr(self, name: str, default: Attribute = None) -> Attribute:
        """An attribute's value, else the schema's default, else `default`."""
        if name in self.attributes:
            return self.attributes[name]
        known = self.schema
        if known is not None and name in known.attributes:
            found = known.attributes[name].default
            if found is not None:
                return found
        return default

    def with_attributes(self, attributes: dict[str, Attribute]) -> Op:
        """An op like this one but for its attributes; it is in no graph."""
        made = Op(self.domain, self.type, self.version, self.inputs, attributes, self.captures)
        made.outputs = self.outputs
        return made

    def input(self, index: int) -> Value | None:
        """The operand at a position, `None` when absent or past the end."""
        return self.inputs[index] if index < len(self.inputs) else None

    def subgraphs(self) -> Iterator[tuple[str, Graph]]:
        """(attribute name, graph) of every subgraph."""
        for name, value in self.attributes.items():
            for graph in graphs_in(value):
                yield name, graph

    @property
    def where(self) -> str:
        """`file:line` when known, else the node's name, else its first output's."""
        if self.source is not None and str(self.source):
            return str(self.source)
        return self.name or next((v.name for v in self.results), "")

    def __repr__(self) -> str:
        outs = ", ".join(f"%{v.name}" if v else "_" for v in self.outputs)
        ins = ", ".join(f"%{v.name}" if v else "_" for v in self.inputs)
        domain = f"{self.domain}." if self.domain else ""
        return f"{outs} = {domain}{self.type}-{self.version}({ins})"


class Graph:
    """A dataflow graph of `Op`s with named inputs and outputs.

    Attributes:
        nx: the networkx graph. Its nodes are every `Op`, and every `Value` that no op produces
            (inputs, captures, weights); an edge's `values` (a dict whose keys they are) flow
            along it.
        inputs: the graph's inputs, in order.
        captures: inner stand-ins of the outer values that a subgraph uses.
        opsets: the opset imports as read, or empty for a captured graph.
        constraints: relations between dims that must hold.
        domains: value range by input name, as the user stated it: (low, high), inclusive.
        functions: messages of the model's local functions whose calls were left to stand, by
            (domain, name, overload).
        metadata: the model's own key-value properties.
        origin: what it was captured from, for reports.
    """

    def __init__(self, name: str = "graph") -> None:
        self.nx: nx.DiGraph[Op | Value] = nx.DiGraph()
        self.name = name
        self.doc = ""
        self.inputs: list[Value] = []
        self._outputs: IndexedList[Value] = IndexedList()
        self.captures: list[Value] = []
        self.opsets: dict[str, int] = {}
        self.constraints: list[Constraint] = []
        self.domains: dict[str, tuple[float, float]] = {}
        self.functions: dict[tuple[str, str, str], Any] = {}
        self.metadata: dict[str, str] = {}
        self.origin = ""
        self.extra: dict[str, Any] = {}
        self._names = Names()

    @property
    def outputs(self) -> list[Value]:
        """The graph's outputs, in order; one value may stand here more than once."""
        return self._outputs

    @outputs.setter
    def outputs(self, values: Iterable[Value]) -> None:
        self._outputs = IndexedList(values)

    # -- building -------------------------------------------------------------------------

    def add_input(self, name: str, type: Type | None = None) -> Value:  # noqa: A002
        """Append a graph input; the name is made unique."""
        value = self.source_value(name, type)
        self.inputs.append(value)
        return value

    def add_capture(self, name: str, type: Type | None = None) -> Value:  # noqa: A002
        """Append the stand-in of an outer value to a subgraph."""
        value = self.source_value(name, type)
        self.captures.append(value)
        return value

    def add_weight(self, weight: Weight, name: str = "weight") -> Value:
        """Add a constant; the same `Weight` object may be added under several names."""
        value = self.source_value(name, weight.type)
        value.weight = weight
        return value

    def add_op(
        self,
        type: str,  # noqa: A002
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        outputs: int | Sequence[str | None] = 1,
        domain: str = "",
        version: int | None = None,
        captures: Sequence[Value] = (),
        source: Source | None = None,
        name: str = "",
    ) -> Op:
        """Append an op; `outputs` is a count, or names with `None` for absent ones.

        `version` is an opset, by default the canonical one; the op has the version of its schema
        that is in force there. Attributes whose value is `None` are left out.
        """
        if version is None:
            found = schema.canonical(domain, type)
            if found is None:
                raise InvalidGraphError(f"no operator {domain or 'ai.onnx'}.{type} is known")
            version = found.since
        else:
            version = schema.since_version(domain, type, version) or version
        given = {k: v for k, v in (attributes or {}).items() if v is not None}
        op = Op(domain, type, version, tuple(inputs), given, tuple(captures), source, name)
        self.nx.add_node(op)
        try:
            self.link(op)
        except InvalidGraphError:
            self.nx.remove_node(op)
            raise
        names = [type.lower()] * outputs if isinstance(outputs, int) else outputs
        op.outputs = tuple(
            None if n is None else Value(self.unique_name(n), None, op) for n in names
        )
        return op

    def unique_name(self, wanted: str) -> str:
        """`wanted`, or `wanted_1`, `wanted_2`, … when it is taken; the result is reserved."""
        return self._names.unique(wanted)

    def rename(self, value: Value, name: str) -> None:
        """Give a value exactly this name; whoever holds the name gets another."""
        if value.name == name:
            return
        if name in self._names:
            for other in self.values():
                if other.name == name and other is not value:
                    other.name = self.unique_name(name)
        self._names.reserve(name)
        value.name = name

    # -- reading --------------------------------------------------------------------------

    def ops(self) -> list[Op]:
        """Every op, in the order they were added."""
        return [n for n in self.nx if isinstance(n, Op)]

    def sorted_ops(self) -> list[Op]:
        """Every op after those it depends on, and otherwise in the order of adding.

        An op that was added late stands right before the first op that needs it.

        Raises:
            InvalidGraphError: if there is a cycle; the message names its ops.
        """
        try:
            order = stable_order(self.nx.pred)
        except CycleError as error:
            shown = "; ".join(map(str, error.nodes))
            raise InvalidGraphError(f"the graph has a cycle: {shown}") from None
        return [n for n in order if isinstance(n, Op)]

    def values(self) -> Iterator[Value]:
        """Every value: inputs, captures, weights, results."""
        for node in self.nx:
            if isinstance(node, Op):
                yield from node.results
            else:
                yield node

    def weights(self) -> list[Value]:
        """Every constant of this graph, in the order they were added."""
        return [n for n in self.nx if isinstance(n, Value) and n.weight is not None]

    def consumers(self, value: Value) -> list[Op]:
        """The ops that read a value, each once; being a graph output does not count."""
        return list(self._readers(value))

    def is_output(self, value: Value) -> bool:
        """Whether a value is one of the graph's outputs."""
        return self._outputs.holds(value)

    def is_used(self, value: Value) -> bool:
        """Whether any op reads the value or it is a graph output."""
        return self.is_output(value) or any(True for _ in self._readers(value))

    def is_shared(self, value: Value) -> bool:
        """Whether more than one op reads the value."""
        return sum(1 for _ in islice(self._readers(value), 2)) > 1

    def graphs(self) -> Iterator[Graph]:
        """This graph, then the subgraphs of its ops, outermost first, without recursion limits.

        The graph that is given may be edited before the next one is asked for.
        """
        stack: list[Graph] = [self]
        while stack:
            graph = stack.pop()
            yield graph
            stack.extend(g for op in graph.ops() for _, g in op.subgraphs())

    def walk(self) -> Iterator[tuple[Graph, Op]]:
        """Every (graph, op) here and in subgraphs."""
        return ((graph, op) for graph in self.graphs() for op in graph.ops())

    def symbols(self) -> dict[str, Dim]:
        """The symbolic dims of the graph's inputs: name → expression, in order of appearance."""
        found: dict[str, Dim] = {}
        for value in self.inputs:
            kind = innermost(value.type)
            for dim in (kind and kind.shape) or ():
                if isinstance(dim, Expr):
                    for name in sorted(dim.symbols()):
                        found.setdefault(name, symbol(name))
        return found

    def __len__(self) -> int:
        return sum(isinstance(n, Op) for n in self.nx)

    def __repr__(self) -> str:
        ins = ", ".join(map(str, self.inputs))
        outs = ", ".join(map(str, self.outputs))
        return f"<Graph {self.name}({ins}) -> ({outs}), {len(self)} ops>"

    # -- for isomorph.ir alone --------------------------------------------------------------

    def source_value(self, name: str, type: Type | None) -> Value:  # noqa: A002
        """A new value that no op produces."""
        value = Value(self.unique_name(name), type)
        self.nx.add_node(value)
        return value

    def link(self, op: Op) -> None:
        """Add the edges of an op's operands.

        Raises:
            InvalidGraphError: if one is not of this graph; then no edge was added.
        """
        edges: dict[Op | Value, dict[Value, None]] = {}
        for value in op.operands:
            node = value if value.producer is None else value.producer
            if node not in self.nx:
                raise InvalidGraphError(f"{op}: operand %{value.name} is not of this graph")
            edges.setdefault(node, {})[value] = None
        for node, values in edges.items():
            self.nx.add_edge(node, op, values=values)

    def relink(self, op: Op, old: Value, new: Value) -> None:
        """Let an op read one value instead of another; the cost is that of these two edges."""
        op.inputs = tuple(new if v is old else v for v in op.inputs)
        op.captures = tuple(new if v is old else v for v in op.captures)
        source: Op | Value = old.producer or old
        values: dict[Value, None] = self.nx.edges[source, op]["values"]
        del values[old]
        if not values:
            self.nx.remove_edge(source, op)
        source = new.producer or new
        if self.nx.has_edge(source, op):
            self.nx.edges[source, op]["values"][new] = None
        else:
            self.nx.add_edge(source, op, values={new: None})

    def unlink(self, op: Op) -> None:
        """Remove the edges of an op's operands."""
        self.nx.remove_edges_from([(node, op) for node in self.nx.pred[op]])

    def drop(self, node: Op | Value) -> None:
        """Remove a node, and the edges at it."""
        self.nx.remove_node(node)

    def replace_output(self, old: Value, new: Value) -> None:
        """Let a value stand wherever another does among the outputs."""
        self._outputs.replace(old, new)

    def _readers(self, value: Value) -> Iterator[Op]:
        producer = value.producer
        try:
            edges = self.nx.succ[value if producer is None else producer]
        except KeyError:
            raise InvalidGraphError(f"%{value.name} is not of this graph") from None
        every = producer is None or len(producer.outputs) == 1
        for op, edge in edges.items():
            if isinstance(op, Op) and (every or value in edge["values"]):
                yield op


@uncollected()
def graphs_in(value: Attribute) -> tuple[Graph, ...]:
    """The graphs that an attribute holds."""
    if isinstance(value, Graph):
        return (value,)
    items = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else ()
    return items if items and isinstance(items[0], Graph) else ()
