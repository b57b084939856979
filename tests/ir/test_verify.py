"""Every invariant, broken on purpose, is reported with op, value and expectation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.errors import InvalidGraphError, TypeInferenceError
from isomorph.ir.graph import Graph, Value
from isomorph.ir.text import parse
from isomorph.ir.verify import verify
from tests.ir.graphs import VECTOR, branch, build, conditional, tensor, vector

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = "a = Relu(x)\nb, c = Split(a)\nd = Add(b, c)\ne = Softmax(d)\nf = Cast(e)"


def sound() -> tuple[Graph, dict[str, Value]]:
    graph, v = build(PROGRAM)
    v["b"].producer.attributes["num_outputs"] = 2
    v["f"].producer.attributes["to"] = 1
    return graph, v


def setting(name: str, field: str, given: Any) -> Callable[[Graph, dict[str, Value]], None]:
    """Overwrite a field of the op that makes a value."""
    return lambda _, v: setattr(v[name].producer, field, given(v) if callable(given) else given)


def attribute(name: str, key: str, given: Any) -> Callable[[Graph, dict[str, Value]], None]:
    return lambda _, v: v[name].producer.attributes.__setitem__(key, given)


def typed(name: str, dtype: str) -> Callable[[Graph, dict[str, Value]], None]:
    return lambda _, v: setattr(v[name], "type", tensor(dtype, 4))


BROKEN = {
    "two values are called %a": lambda _, v: setattr(v["b"], "name", "a"),
    "a value of %, %c = Split-18(%a) has no name": lambda _, v: setattr(v["b"], "name", ""),
    "input %x stands there twice": lambda g, v: g.inputs.append(v["x"]),
    "input %q is not a node": lambda g, _: g.inputs.append(Value("q", VECTOR)),
    "%x is no input, no constant, and no op computes it": lambda g, _: g.inputs.clear(),
    "output %q is not computed here": lambda g, _: g.outputs.append(Value("q", VECTOR)),
    "output %z is not computed here": lambda g, v: g.outputs.append(
        Value("z", VECTOR, v["a"].producer)
    ),
    "%d = Add-14(%b, %b): its edges do not carry its operands": setting(
        "d", "inputs", lambda v: (v["b"], v["b"])
    ),
    "operand %b is no result of %b2, %c = Split-18(%a)": lambda _, v: setattr(
        v["b"].producer, "outputs", (Value("b2", VECTOR, v["b"].producer), v["c"])
    ),
    "result %d names %a = Relu-14(%x) as its producer": lambda _, v: setattr(
        v["d"], "producer", v["a"].producer
    ),
    "no version 12 of Relu exists, 6 is in force": setting("a", "version", 12),
    "%a = Relu-14(): 0 inputs, 1 to 1 are allowed": lambda g, v: (
        setattr(v["a"].producer, "inputs", ()),
        g.nx.remove_edge(v["x"], v["a"].producer),
    ),
    "2 outputs, 1 to 1 are allowed": lambda _, v: setattr(
        v["d"].producer, "outputs", (v["d"], Value("d2", VECTOR, v["d"].producer))
    ),
    "attribute 'to' is missing": lambda _, v: v["f"].producer.attributes.clear(),
    "Softmax-13 has no attribute 'scale'": attribute("e", "scale", 1),
    "attribute 'axis' is 'last' (str), INT is expected": attribute("e", "axis", "last"),
    "attribute 'axis' is 1.0 (float), INT is expected": attribute("e", "axis", 1.0),
    "operand 0 is complex64[4], which Softmax-13 forbids": typed("d", "complex64"),
    "result 0 is int32[4], which Softmax-13 forbids": typed("e", "int32"),
    "operand 0 is float32[4], operand 1 is float16[4]; they share Add's type T": typed(
        "c", "float16"
    ),
}


@pytest.mark.parametrize("message", BROKEN)
def test_what_is_broken_is_reported(message: str):
    graph, v = sound()
    verify(graph)
    BROKEN[message](graph, v)
    with pytest.raises(InvalidGraphError, match=f"after the pass: .*(?s:.*){re.escape(message)}"):
        verify(graph, after="the pass")


def test_numpy_numbers_are_numbers():
    graph, v = sound()
    v["e"].producer.attributes["axis"] = np.int64(0)
    verify(graph)


def test_subgraphs_are_checked():
    graph = conditional()
    verify(graph)
    (op,) = graph.ops()
    inner: Graph = op.attributes["then_branch"]
    inner.ops()[0].version = 999
    with pytest.raises(InvalidGraphError, match=r"then_out.*no version 999 of Add"):
        verify(graph)


def test_captures_fit_their_subgraph():
    graph = conditional()
    (op,) = graph.ops()
    op.attributes["else_branch"].captures[1].type = tensor("int64", 4)
    with pytest.raises(
        InvalidGraphError, match=r"captures %y: float32\[4\], its else_branch takes"
    ):
        verify(graph)
    op.attributes["else_branch"] = branch("else", "Mul")
    op.attributes["else_branch"].captures.pop()
    with pytest.raises(InvalidGraphError, match="captures 2 values, its else_branch takes 1"):
        verify(graph)


def test_all_that_is_broken_is_told_at_once():
    graph, v = sound()
    v["b"].name = v["c"].name = "a"
    v["e"].producer.attributes["scale"] = 2
    with pytest.raises(InvalidGraphError, match=r"^3 broken invariants"):
        verify(graph)


def test_operators_that_nobody_knows_are_left_alone():
    graph = Graph()
    op = graph.add_op("Own", [graph.add_weight(vector(1))], {"x": object()}, domain="my", version=3)
    graph.outputs = [op.output]
    verify(graph)


def test_operands_that_a_file_states_no_types_of_are_the_users():
    graph = parse("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2] x, int64[2] i) => (float[2] y) { h = Exp(x)  k = Abs(i)  y = Add(h, k) }
    """)
    with pytest.raises(TypeInferenceError, match=r"(?s)1 operands.*Add.*operand 1 is int64"):
        upgrade(graph)
