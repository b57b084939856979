"""What is read is what was written: names, order, attributes, types, every bit of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ml_dtypes
import numpy as np
import onnx
import onnx.checker
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.parser import parse_graph

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.proto.encode import DEEPEST, encode_model
from isomorph.ir.proto.tensors import decode_tensor, encode_tensor
from isomorph.ir.text import parse
from isomorph.ir.types import DType
from isomorph.ir.verify import verify
from tests.frontends.onnx.suite import LIGHT, normal, suite_models

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.graph import Graph

FIELDS = ("node", "initializer", "input", "output", "value_info")


def again(graph: Graph, ir_version: int = 10) -> onnx.ModelProto:
    return encode_model(graph, graph.opsets, ir_version, value_infos=True)


def differences(model: onnx.ModelProto) -> list[str]:
    """What decoding and encoding changes in a model without local functions."""
    graph = decode_model(model)
    verify(graph)
    written = again(graph, max(model.ir_version, 4))
    onnx.checker.check_model(written)
    before, after = normal(model.graph), normal(written.graph)
    weights = {t.name for t in before.initializer}
    inputs = [i for i in before.input if i.name not in weights]
    del before.input[:]
    before.input.extend(inputs)
    return [f for f in FIELDS if list(getattr(before, f)) != list(getattr(after, f))]


def test_every_model_of_the_standard_survives():
    models = suite_models()
    assert len(models) > 2000
    assert {n: found for n, m in models.items() if (found := differences(m))} == {}


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_models_survive(path: Path):
    assert differences(onnx.load(path)) == []


NUMBERS = {
    TensorProto.FLOAT16: np.float16,
    TensorProto.BFLOAT16: ml_dtypes.bfloat16,
    TensorProto.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    TensorProto.FLOAT8E5M2FNUZ: ml_dtypes.float8_e5m2fnuz,
    TensorProto.FLOAT8E8M0: ml_dtypes.float8_e8m0fnu,
    TensorProto.FLOAT6E2M3: ml_dtypes.float6_e2m3fn,
    TensorProto.FLOAT6E3M2: ml_dtypes.float6_e3m2fn,
    TensorProto.FLOAT4E2M1: ml_dtypes.float4_e2m1fn,
    TensorProto.INT4: ml_dtypes.int4,
    TensorProto.UINT4: ml_dtypes.uint4,
    TensorProto.INT2: ml_dtypes.int2,
    TensorProto.UINT2: ml_dtypes.uint2,
    TensorProto.INT8: np.int8,
    TensorProto.UINT16: np.uint16,
    TensorProto.BOOL: np.bool_,
    TensorProto.INT32: np.int32,
    TensorProto.UINT32: np.uint32,
    TensorProto.INT64: np.int64,
    TensorProto.UINT64: np.uint64,
    TensorProto.FLOAT: np.float32,
    TensorProto.DOUBLE: np.float64,
    TensorProto.COMPLEX64: np.complex64,
    TensorProto.COMPLEX128: np.complex128,
}


@pytest.mark.parametrize("raw", [True, False], ids=["raw", "typed"])
@pytest.mark.parametrize("kind", NUMBERS, ids=TensorProto.DataType.Name)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5)], ids=str)
def test_tensors_of_every_type(kind: int, shape: tuple[int, ...], raw: bool):
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3
    if kind == TensorProto.FLOAT8E8M0:
        numbers = 2**numbers
    elif DType(kind).is_signed:
        numbers -= 1
    array = numbers.astype(np.float32).astype(NUMBERS[kind])
    if raw:
        tensor = numpy_helper.from_array(array)
    else:
        tensor = helper.make_tensor("", kind, shape, array.reshape(-1).tolist())
    weight = decode_tensor(tensor, "t")
    assert weight.dtype.value == kind
    np.testing.assert_array_equal(weight.numpy(), numpy_helper.to_array(tensor))
    back = numpy_helper.to_array(encode_tensor(weight))
    np.testing.assert_array_equal(back, numpy_helper.to_array(tensor))


def test_strings_are_bytes():
    tensor = helper.make_tensor("t", TensorProto.STRING, [3], [b"a", "é".encode(), b"\xff\0"])
    weight = decode_tensor(tensor, "t")
    assert list(encode_tensor(weight, "t").string_data) == list(tensor.string_data)


def test_a_sparse_initializer_becomes_dense():
    text = """
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2, 3] x) => (float[2, 3] y) { y = Add(x, w) }
    """
    for places in ([1, 5], [[0, 1], [1, 2]]):
        model = onnx.parser.parse_model(text)
        model.graph.sparse_initializer.append(
            helper.make_sparse_tensor(
                numpy_helper.from_array(np.array([3, 4], np.float32), "w"),
                numpy_helper.from_array(np.array(places, np.int64)),
                [2, 3],
            )
        )
        (value,) = decode_model(model).weights()
        assert value.weight.numpy().tolist() == [[0, 3, 0], [0, 0, 4]]


def test_a_sparse_constant_becomes_dense():
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.array([3], np.float32)),
        numpy_helper.from_array(np.array([1], np.int64)),
        [2],
    )
    node = helper.make_node("Constant", [], ["y"], sparse_value=sparse)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    model = helper.make_model(
        helper.make_graph([node], "g", [], [y]), opset_imports=[helper.make_opsetid("", 21)]
    )
    (op,) = decode_model(model).ops()
    assert op.attributes["value"].numpy().tolist() == [0, 3]


CAPTURES = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2] x, bool c) => (float[2] y)
<float[2] w = {1, 2}>
{
    a = Add(x, w)
    y = If (c) <
        then_branch = outer () => (float[2] t) {
            b = Neg(a)
            t = If (c) <
                then_branch = deep () => (float[2] u) { u = Mul(b, w) },
                else_branch = flat () => (float[2] v) { v = Add(x, b) }
            >
        },
        else_branch = other () => (float[2] e) { e = Identity(x) }
    >
}
"""


def test_captures_are_operands_at_every_level():
    graph = parse(CAPTURES)
    verify(graph)
    node = graph.ops()[-1]
    assert {v.name for v in node.captures} == {"a", "c", "w", "x"}
    inner = node.attributes["then_branch"].ops()[-1]
    assert {v.name for v in inner.captures} == {"b", "w", "x"}
    written = again(graph)
    onnx.checker.check_model(written, full_check=True)
    assert written.graph == again(decode_model(written)).graph


def test_an_inner_name_may_hide_an_outer_one():
    """The checker forbids it and run times allow it; after reading, every name means one thing."""
    model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2] x, bool c) => (float[2] y) {
        h = Neg(x)
        y = If (c) <
            then_branch = hides () => (float[2] x) { k = Abs(h)  h = Exp(k)  x = Neg(h) },
            else_branch = uses () => (float[2] e) { e = Identity(h) }
        >
    }
    """)
    graph = decode_model(model)
    verify(graph)
    written = again(graph)
    onnx.checker.check_model(written, full_check=True)
    inner = written.graph.node[1].attribute[0].g
    assert [n.op_type for n in inner.node] == ["Abs", "Exp", "Neg"]
    assert inner.node[0].input == ["h"]
    assert inner.node[2].input == inner.node[1].output != ["h"]


def test_unsorted_nodes_are_sorted_and_move_little():
    model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float[2] x, bool c) => (float[2] y) {
        a = Neg(x)
        y = If (c) <
            then_branch = t () => (float[2] p) { p = Add(late, a) },
            else_branch = e () => (float[2] q) { q = Identity(a) }
        >
        b = Exp(a)
        late = Abs(b)
    }
    """)
    written = again(decode_model(model))
    assert [n.op_type for n in written.graph.node] == ["Neg", "Exp", "Abs", "If"]
    onnx.checker.check_model(written, full_check=True)


def test_remarks_and_annotations_survive():
    model = onnx.parser.parse_model(CAPTURES)
    model.graph.node[0].doc_string = "adds"
    model.graph.node[0].metadata_props.add(key="k", value="v")
    model.graph.node[0].metadata_props.add(key="isomorph.source", value="a b.py:12 layer.0")
    model.graph.input[0].doc_string = "pixels"
    model.graph.initializer[0].doc_string = "weights"
    model.graph.metadata_props.add(key="g", value="h")
    model.metadata_props.add(key="author", value="somebody")
    model.graph.quantization_annotation.add(tensor_name="w").quant_parameter_tensor_names.add(
        key="SCALE_TENSOR", value="w"
    )
    graph = decode_model(model)
    op = graph.ops()[0]
    assert (op.source.file, op.source.line, op.source.module) == ("a b.py", 12, "layer.0")
    assert op.where == "a b.py:12"
    written = again(graph)
    for name in ("input", "initializer", "metadata_props", "quantization_annotation"):
        assert list(getattr(normal(written.graph), name)) == list(
            getattr(normal(model.graph), name)
        )
    assert normal(written.graph).node[0] == normal(model.graph).node[0]
    assert list(written.metadata_props) == list(model.metadata_props)


def test_constraints_and_ranges_come_back():
    graph = parse("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float["batch", "h"] x, int64["h"] odd) => (float["batch", "h"] y) { y = Neg(x) }
    """)
    from isomorph.ir.dims import Constraint

    graph.rename(graph.inputs[1], "50%; odd in name")
    graph.constraints = [Constraint.parse("batch >= 4"), Constraint.parse("h % 8 == 0")]
    graph.domains = {"x": (-1.0, 0.1), "50%; odd in name": (0, 150)}
    graph.metadata = {"author": "somebody"}
    found = decode_model(again(graph))
    assert found.constraints == graph.constraints
    assert found.domains == graph.domains
    assert found.metadata == graph.metadata


def test_attributes_of_the_time_before_they_had_kinds():
    model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float[1, 1, 4, 4] x) => (float[1, 1, 2, 2] y) { y = MaxPool <kernel_shape = [3, 3]> (x) }
    """)
    model.graph.node[0].attribute[0].ClearField("type")
    assert decode_model(model).ops()[0].attributes == {"kernel_shape": (3, 3)}


def test_dims_are_numbers_names_and_arithmetic():
    graph = parse("""
    <ir_version: 10, opset_import: ["": 21]>
    g (float["n", "2*n + 1", "a-b", 3] x) => (float["n", "2*n + 1", "a-b", 3] y) { y = Neg(x) }
    """)
    shape = graph.inputs[0].type.shape
    assert shape[1].evaluate({"n": 3}) == 7
    assert str(shape[2]) == "a-b"
    assert [d.dim_param for d in again(graph).graph.input[0].type.tensor_type.shape.dim[:3]] == [
        "n",
        "2*n + 1",
        "a-b",
    ]


@pytest.mark.parametrize("depth", [DEEPEST, DEEPEST + 1])
def test_no_file_is_written_that_no_reader_takes(depth: int):
    """Inlined functions may lie deeper than protobuf's readers go."""
    inner = parse_graph("f () => (float[2] r) { r = Constant <value = float[2] {1, 2}> () }")
    for _ in range(depth):
        outer = parse_graph("f () => (float[2] r) { r = my.ops.Same (x) }")
        outer.node[0].input.pop()
        outer.node[0].attribute.append(helper.make_attribute("body", inner))
        inner = outer
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("my.ops", 1)]
    graph = decode_model(helper.make_model(inner, opset_imports=imports))
    if depth == DEEPEST:
        assert onnx.ModelProto.FromString(again(graph).SerializeToString()) == again(graph)
        return
    with pytest.raises(UnsupportedError, match="no reader of the format takes more"):
        again(graph)
