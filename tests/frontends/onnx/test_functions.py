"""Local functions and operators' own bodies, inlined: same results, same names outside."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx.checker
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator

from isomorph.ir import schema
from isomorph.ir.errors import InvalidModelError
from isomorph.ir.patch import Patch
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.proto.encode import encode_model
from isomorph.ir.proto.function import inline_body
from isomorph.ir.verify import verify
from tests.frontends.onnx.suite import suite_models

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph

TEXT = """
<ir_version: 10, opset_import: ["": 21, "local": 1]>
g (float[2] x, float[2] w, bool c) => (float[2] y, float[2] same) {
    a = local.scaled <alpha: float = 3.0> (x, w)
    b = local.scaled (a, w)
    same, unused = local.both (x)
    y = local.choice (c, b)
}

<domain: "local", opset_import: ["": 13]>
shifted (x, by) => (y) { y = Add (x, by) }

<domain: "local", opset_import: ["": 13, "local": 1]>
scaled <alpha: float = 2.0> (x, bias) => (y) {
    k = Constant <value_float: float = @alpha> ()
    p = Mul (x, k)
    one = Constant <value_float: float = 1.0> ()
    y = local.shifted (p, one)
}

<domain: "local", opset_import: ["": 21]>
both (x) => (first, second) { first = Identity (x)  second = Neg (x) }

<domain: "local", opset_import: ["": 21]>
choice (c, v) => (r) {
    n = Neg (v)
    r = If (c) <
        then_branch = t () => (float[2] p) { p = Abs (n) },
        else_branch = e () => (float[2] q) { q = Mul (n, v) }
    >
}
"""


def written(graph: Graph) -> onnx.ModelProto:
    return encode_model(graph, graph.opsets, 10)


def test_functions_are_inlined_with_their_own_opsets():
    model = onnx.parser.parse_model(TEXT)
    graph = decode_model(model)
    verify(graph)
    assert graph.opsets == {"": 21}
    assert {(op.type, op.version) for op in graph.ops() if op.type == "Constant"} == {
        ("Constant", 13)
    }
    assert [v.name for v in graph.outputs] == ["y", "same"]
    names = [v.name for v in graph.values()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("condition", [True, False])
def test_inlined_functions_compute_the_same(condition: bool):
    model = onnx.parser.parse_model(TEXT)
    made = written(decode_model(model))
    onnx.checker.check_model(made)
    feeds = {
        "x": np.array([1, -2], np.float32),
        "w": np.zeros(2, np.float32),
        "c": np.array(condition),
    }
    expected, found = (
        onnxruntime.InferenceSession(m.SerializeToString()).run(None, feeds) for m in (model, made)
    )
    np.testing.assert_array_equal(found, expected)


def test_a_result_that_is_an_input_keeps_its_name():
    model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (float[2] x) => (float[2] y) { y = local.same (x) }
    <domain: "local", opset_import: ["": 21]>
    same (a) => (a) { unused = Neg (a) }
    """)
    graph = decode_model(model)
    assert [v.name for v in graph.outputs] == ["y"]
    onnx.checker.check_model(written(graph))


def test_an_optional_operand_that_the_call_leaves_out_is_absent():
    model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (float[2] x, float hi) => (float[2] y) { y = local.f (x, , hi) }
    <domain: "local", opset_import: ["": 21]>
    f (x, lo, hi) => (y) { y = Clip (x, lo, hi) }
    """)
    (op,) = decode_model(model).ops()
    assert [v and v.name for v in op.inputs] == ["x", None, "hi"]


def test_a_call_with_too_many_operands():
    model = onnx.parser.parse_model(TEXT)
    model.graph.node[0].input.append("x")
    with pytest.raises(InvalidModelError, match="3 inputs and 1 outputs, the function takes 2"):
        decode_model(model)


UNCOMPARABLE = {
    "CastLike": "the reference has no Cast of the version that the body imports",
    "Bernoulli": "random",
    "Range": "the reference's Loop scans from the second step on",
}


def bodies() -> dict[str, onnx.ModelProto]:
    """One model of the standard's suite per operator and version that has a body."""
    found: dict[str, onnx.ModelProto] = {}
    for model in suite_models().values():
        if len(model.graph.node) != 1:
            continue
        node = model.graph.node[0]
        opset = {o.domain: o.version for o in model.opset_import}.get(node.domain, 0)
        since = schema.since_version(node.domain, node.op_type, opset)
        given = [a.name for a in node.attribute]
        key = f"{node.op_type}-{since} of {len(node.input)}, {' '.join(given)}"
        if since and len(node.input) and all(node.input):
            found.setdefault(key, model)
    return found


def test_bodies_of_operators_compute_what_the_operators_do():
    generator = np.random.default_rng(0)
    compared: set[str] = set()
    for key, model in bodies().items():
        graph = decode_model(model)
        (op,) = graph.ops()
        patch = Patch(graph, op)
        if op.type in UNCOMPARABLE or not inline_body(op, patch):
            continue
        patch.apply()
        verify(graph)
        assert op not in graph.ops()
        if any(
            schema.since_version(o.domain, o.type, graph.opsets[""]) != o.version
            for o in graph.ops()
        ):
            continue  # a body in newer ops, for a driver to take on
        feeds = {i.name: _random(i, generator) for i in model.graph.input}
        if any(v is None for v in feeds.values()):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = ReferenceEvaluator(model).run(None, feeds)
            made = ReferenceEvaluator(encode_model(graph, graph.opsets, 13)).run(None, feeds)
        for a, b in zip(made, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5, err_msg=key)
        compared.add(op.type)
    assert len(compared) > 20, sorted(compared)


def _random(info: onnx.ValueInfoProto, generator: np.random.Generator) -> np.ndarray | None:
    kind = info.type.tensor_type
    shape = [d.dim_value for d in kind.shape.dim]
    if kind.elem_type == onnx.TensorProto.FLOAT:
        return generator.normal(size=shape).astype(np.float32)
    return None
