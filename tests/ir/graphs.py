"""Small graphs for tests, and the random dataflow that properties run on."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph, Op, Value
from isomorph.ir.interpret import interpret
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

VECTOR = TensorType(DType.FLOAT32, (4,))
HALF = TensorType(DType.FLOAT32, (2,))


def tensor(dtype: str, *shape: int | str | None) -> TensorType:
    """A tensor type; names are symbols."""
    dims = tuple(symbol(d) if isinstance(d, str) else d for d in shape)
    return TensorType(DType[dtype.upper()], dims)


def vector(*numbers: float) -> Weight:
    """A float32 constant."""
    return Weight.of(np.array(numbers, np.float32))


def build(text: str, inputs: str = "x") -> tuple[Graph, dict[str, Value]]:
    """A graph of float32[4] from lines `a, b = Op(x, y)`; the last line's results are its outputs.

    Returns the graph, and its values by name.
    """
    graph = Graph("made")
    named = {name: graph.add_input(name, VECTOR) for name in inputs.split()}
    for line in filter(None, map(str.strip, text.splitlines())):
        left, right = line.split(" = ")
        kind, operands = right.rstrip(")").split("(")
        names = left.split(", ")
        given = [None if n == "_" else named[n] for n in operands.split(", ")]
        op = graph.add_op(kind, given, outputs=names)
        for name, result in zip(names, op.results, strict=True):
            result.type, named[name] = VECTOR, result
        graph.outputs = list(op.results)
    return graph, named


def conditional() -> Graph:
    """If(c) then x + y else x * y, with x and y captured."""
    graph = Graph("outer")
    chosen = graph.add_input("c", TensorType(DType.BOOL, ()))
    x, y = graph.add_input("x", VECTOR), graph.add_input("y", VECTOR)
    branches = {"then_branch": branch("then", "Add"), "else_branch": branch("else", "Mul")}
    op = graph.add_op("If", [chosen], branches, captures=[x, y], outputs=["picked"])
    op.output.type = VECTOR
    graph.outputs = [op.output]
    return graph


def branch(name: str, kind: str) -> Graph:
    """A subgraph that applies one op to two captures."""
    graph = Graph(name)
    operands = [graph.add_capture(f"{name}_{n}", VECTOR) for n in range(2)]
    op = graph.add_op(kind, operands, outputs=[f"{name}_out"])
    op.output.type = VECTOR
    graph.outputs = [op.output]
    return graph


def contents(graph: Graph) -> list[Any]:
    """Everything about a graph but the identity of its objects; equal for equal graphs."""
    ends = (graph.inputs, graph.outputs, graph.captures)
    found: list[Any] = [graph.name, graph.opsets, [[(v.name, v.type) for v in e] for e in ends]]
    found += [(v.name, v.weight and (v.weight.type, v.weight.digest())) for v in graph.weights()]
    for op in graph.sorted_ops():
        inner = dict(op.subgraphs())
        plain = {k: v for k, v in op.attributes.items() if k not in inner}
        found.append((str(op), op.name, op.source, [v.name for v in op.captures], str(plain)))
        found.append([v.type for v in op.results])
        found += [(name, contents(sub)) for name, sub in op.subgraphs()]
    return found


def outcome(graph: Graph, seed: int = 0) -> list[Any]:
    """The graph's outputs on drawn vectors of small whole numbers."""
    rng = np.random.default_rng(seed)
    return interpret(graph, [rng.integers(-3, 4, 4).astype(np.float32) for _ in graph.inputs])


UNARY = ("Identity", "Neg", "Relu", "Abs")
BINARY = ("Add", "Sub", "Mul", "Max")


@st.composite
def dataflows(draw: st.DrawFn) -> Graph:
    """A random graph of float32[4]: fan-out, repeated operands and outputs, weights, Splits."""
    graph = Graph("random")
    values = [graph.add_input(f"in{n}", VECTOR) for n in range(draw(st.integers(1, 2)))]
    values.append(graph.add_weight(vector(1, -2, 0, draw(st.integers(-2, 2)))))
    for _ in range(draw(st.integers(1, 8))):
        values.append(grown(draw, graph, values).results[0])
    graph.outputs = draw(st.lists(st.sampled_from(values), min_size=1, max_size=4))
    return graph


def grown(draw: st.DrawFn, graph: Graph, values: list[Value]) -> Op:
    """One more op on some of the values."""
    kind = draw(st.sampled_from((*UNARY, *BINARY, "Split")))
    picked = st.sampled_from(values)
    if kind == "Split":
        halves = graph.add_op("Split", [draw(picked)], {"num_outputs": 2}, outputs=2)
        order = draw(st.permutations(halves.results))
        for value in halves.results:
            value.type = HALF
        made = graph.add_op("Concat", order, {"axis": 0})
    else:
        made = graph.add_op(kind, [draw(picked) for _ in range(2 if kind in BINARY else 1)])
    made.output.type = VECTOR
    return made
