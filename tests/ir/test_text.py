"""The text form reads back as the same graph."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.ir.errors import InvalidModelError
from isomorph.ir.graph import Graph
from isomorph.ir.text import graph_opsets, parse, to_text
from isomorph.ir.types import SequenceType
from isomorph.ir.verify import verify
from isomorph.ir.weights import Weight
from tests.ir.graphs import VECTOR, build, conditional, contents, tensor, vector


def plain() -> Graph:
    return build("a = Relu(x)\nb, c = Split(a)\nd = Add(b, c)", inputs="x y")[0]


def attributes() -> Graph:
    graph, v = build("a = Relu(x)")
    attributes = {"axis": -1, "keepdims": 0}
    first = graph.add_op("ArgMax", [v["a"]], attributes, outputs=["first"])
    pooled = graph.add_op(
        "LpPool",
        [graph.add_input("p", tensor("float16", "n", 3, 8))],
        {"kernel_shape": (2,), "p": 3},
    )
    padded = graph.add_op(
        "LeakyRelu", [v["a"]], {"alpha": 0.25}, outputs=["leaky"], name="named node"
    )
    graph.outputs = [first.output, pooled.output, padded.output]
    return graph


def symbolic() -> Graph:
    graph = Graph("symbolic")
    x = graph.add_input("x", tensor("int64", "batch", 3, None))
    graph.outputs = [graph.add_op("Neg", [x]).output]
    graph.outputs[0].type = tensor("int64", "batch", 3, None)
    return graph


def weighted() -> Graph:
    graph, v = build("a = Relu(x)")
    numbers = graph.add_weight(vector(1.5, -2, 0, 4), "numbers")
    shape = graph.add_weight(Weight.of(np.array([2, -1])), "shape")
    added = graph.add_op("Add", [v["a"], numbers]).output
    graph.outputs = [graph.add_op("Reshape", [added, shape]).output, numbers]
    return graph


def optional() -> Graph:
    graph, v = build("a = Relu(x)")
    high = graph.add_weight(vector(1), "high")
    clip = graph.add_op("Clip", [v["a"], None, high])
    drop = graph.add_op("Dropout", [clip.output], outputs=["kept", None])
    graph.outputs = [drop.output]
    return graph


def old() -> Graph:
    graph = Graph("old")
    graph.opsets = {"": 9, "ai.onnx.ml": 1}
    x = graph.add_input("x", VECTOR)
    graph.outputs = [graph.add_op("Upsample", [x], {"scales": (2.0,)}, version=7).output]
    return graph


def sequence() -> Graph:
    graph = Graph("sequence")
    x = graph.add_input("x", SequenceType(VECTOR))
    graph.outputs = [graph.add_op("SequenceLength", [x]).output]
    graph.outputs[0].type = tensor("int64")
    return graph


@pytest.mark.parametrize(
    "make", [plain, attributes, symbolic, weighted, optional, sequence, conditional]
)
def test_round_trip(make):
    graph = make()
    verify(graph)
    text = to_text(graph)
    again = parse(text)
    verify(again)
    assert to_text(again) == text
    graph.opsets = again.opsets
    for op in graph.ops():
        for value in op.results:
            if value not in graph.outputs:
                value.type = None
    assert comparable(again) == comparable(graph)


def comparable(graph: Graph) -> list[object]:
    """Contents without the inner names of captures, which the text form has no place for."""
    for _, op in graph.walk():
        for _, sub in op.subgraphs():
            for inner, outer in zip(sub.captures, op.captures, strict=True):
                inner.name, inner.type = outer.name, None
    return contents(graph)


def test_opsets_make_the_ops_mean_what_they_are():
    graph = old()
    assert graph_opsets(graph) == {"": 9, "ai.onnx.ml": 1}
    assert graph_opsets(conditional())[""] == 25
    graph.opsets = {"ai.onnx.ml": 3}
    assert graph_opsets(graph) == {"": 7, "ai.onnx.ml": 3}
    assert "Upsample" in to_text(graph)


def test_what_cannot_be_read_says_why():
    with pytest.raises(InvalidModelError, match="cannot read the text form"):
        parse("<ir_version: 8>")
