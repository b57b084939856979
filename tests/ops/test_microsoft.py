"""Operators of onnxruntime's own domain: definitions, meaning, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from isomorph.ir import opdef, schema
from isomorph.ir.dims import symbol
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.ops.microsoft import OPS
from isomorph.ir.schema_microsoft import DEFINITIONS, DOMAIN
from isomorph.ir.types import DType, TensorType
from tests.ops import harness as h


def test_operators_are_complete():
    assert {name for _, name in OPS} == set(DEFINITIONS)
    assert set(schema.operators(DOMAIN)) == {n for d, n in opdef.OPS.rows() if d == DOMAIN}
    assert h.incomplete(OPS) == []


def installed() -> dict[str, Any]:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    every = state.get_all_operator_schema()
    return {s.name: s for s in every if s.domain == DOMAIN and s.since_version == 1}


def default_of(attribute: Any) -> Any:
    made = onnx.AttributeProto()
    made.ParseFromString(attribute._default_value)
    found = onnx.helper.get_attribute_value(made) if made.type else None
    return found.decode() if isinstance(found, bytes) else found


@pytest.mark.parametrize("name", schema.operators(DOMAIN))
def test_definitions_are_those_of_the_installed_release(name: str):
    theirs, ours = installed()[name], schema.canonical(DOMAIN, name)
    assert ours is not None
    variables = {t.type_param_str: frozenset(t.allowed_type_strs) for t in theirs.type_constraints}
    assert ours.type_vars == variables
    for formals, own in ((theirs.inputs, ours.inputs), (theirs.outputs, ours.outputs)):
        found = [(f.name, f.typeStr, str(f.option).split(".")[-1]) for f in formals]
        kinds = {(False, False): "Single", (True, False): "Optional", (False, True): "Variadic"}
        assert [(o.name, o.type_var, kinds[o.optional, o.variadic]) for o in own] == found
        assert [o.homogeneous for o in own] == [f.isHomogeneous for f in formals]
    assert {
        n: (str(a.type).split(".")[-1], a.required, default_of(a))
        for n, a in theirs.attributes.items()
    } == {n: (a.kind, a.required, a.default) for n, a in ours.attributes.items()}


def use(name: str, *operands: Any, outputs: int = 1, **attributes: Any) -> Graph:
    """A graph of one op; operands are types of inputs, or `None`."""
    graph = Graph(name)
    values = [
        None if kind is None else graph.add_input(f"x{n}", kind) for n, kind in enumerate(operands)
    ]
    op = graph.add_op(
        name, values, attributes, outputs=[f"y{n}" for n in range(outputs)], domain=DOMAIN
    )
    graph.outputs = list(op.results)
    infer(graph)
    return graph


def run(name: str, *operands: Any, **attributes: Any) -> np.ndarray:
    arrays = [None if o is None else np.asarray(o) for o in operands]
    kinds = [None if a is None else TensorType(DType.of(a.dtype), a.shape) for a in arrays]
    return interpret(use(name, *kinds, **attributes), [a for a in arrays if a is not None])[0]


U8, F32 = np.uint8, np.float32
ONE, BYTE = TensorType(DType.FLOAT32, ()), TensorType(DType.UINT8, ())


def byte(*shape: Any) -> TensorType:
    return TensorType(DType.UINT8, shape)


def single(*shape: Any) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


def test_a_sum_is_rounded_and_saturated():
    a, b = np.array([0, 10, 200], U8), np.array([0, 5, 250], U8)
    found = run("QLinearAdd", a, F32(1), U8(10), b, F32(2), U8(0), F32(1), U8(3))
    assert found.tolist() == [0, 13, 255]


def test_operands_are_quantized_by_their_own_range():
    """-1 to 1 in 255 steps: 0.5 lies at 63.75 of them, and is 64 steps of 2 / 255."""
    a = np.array([[-1.0, 1.0, 0.5, 0.0]], F32)
    found = run("DynamicQuantizeMatMul", a, np.array([[0], [0], [1], [9]], U8), F32(0.5), None)
    assert found.item() == pytest.approx(64 * 2 / 255 / 2, rel=1e-6)


def test_data_whose_range_is_nothing_is_zero():
    found = run("DynamicQuantizeMatMul", np.zeros((2, 3), F32), np.full((3, 2), 9, U8), F32(0.5))
    assert not found.any()


def test_an_average_of_padding_counts_what_stands_for_zero():
    x = np.full((1, 1, 2, 2), 14, U8)
    shared: dict[str, Any] = {"kernel_shape": (2, 2), "pads": (1, 1, 1, 1), "strides": (2, 2)}
    found = run("QLinearAveragePool", x, F32(1), U8(10), F32(1), U8(0), **shared)
    assert found.ravel().tolist() == [4] * 4
    counted = run(
        "QLinearAveragePool", x, F32(1), U8(10), F32(1), U8(0), count_include_pad=1, **shared
    )
    assert counted.ravel().tolist() == [1] * 4


WRONG = (
    ("QLinearAdd", (byte(2), single(2), BYTE, byte(2), ONE, BYTE, ONE, BYTE), {},
     "operand 1 has shape"),
    ("QLinearAdd", (byte(2), ONE, BYTE, byte(3), ONE, BYTE, ONE, BYTE), {}, "do not broadcast"),
    ("QLinearAveragePool", (byte(1, 1, 4), ONE, BYTE, ONE, BYTE), {"kernel_shape": (2, 2)},
     "rank 3, rank 4 was expected"),
    ("QLinearAveragePool", (byte(1, 4), ONE, BYTE, ONE, BYTE), {"kernel_shape": (2, 2)}, "rank 2"),
    ("QLinearSoftmax", (byte(1, 4), ONE, BYTE, ONE, BYTE), {"opset": 13, "axis": 2}, "axis 2 is"),
    ("QLinearConcat", (ONE, BYTE, byte(2, 3), ONE, BYTE, byte(3, 3), ONE, BYTE), {"axis": 1},
     r"parts of \[2, 3\] elements along axis 0"),
    ("QLinearConcat", (ONE, BYTE, byte(2, 3), ONE), {"axis": 1}, "4 operands"),
    ("QGemm", (byte(2, 3), ONE, BYTE, byte(2, 3), ONE, BYTE), {}, "the summed dims: 3 and 2"),
    ("MatMulIntegerToFloat", (byte(2, 3), byte(3, 4), ONE, ONE, BYTE, BYTE, single(3)), {},
     "one element per column"),
    ("BiasGelu", (single(2, 3), single(2)), {}, "the bias has 2 elements"),
    ("FusedMatMul", (single(2, 3), single(3, 2)), {"transA": 1}, "the summed dims: 2 and 3"),
    ("DynamicQuantizeLSTM",
     (single(5, 1, 3), byte(1, 8, 3), byte(1, 2, 8), None, None, None, None, None, single(1),
      byte(1), single(1), byte(1)), {"hidden_size": 2}, r"operand 1 should have shape \(1, 3, 8\)"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "message"), WRONG)
def test_rules_name_what_does_not_fit(
    name: str, operands: tuple[Any, ...], attributes: dict[str, Any], message: str
):
    with pytest.raises(TypeInferenceError, match=message):
        use(name, *operands, **attributes)


def test_rules_keep_symbols():
    n, m = symbol("n"), symbol("m")
    parts = (byte(n, 3), ONE, BYTE, byte(m, 3), ONE, BYTE)
    found = use("QLinearConcat", ONE, BYTE, *parts, axis=0).outputs[0].type
    assert found == byte(n + m, 3)
    turned = use("FusedMatMul", single(n, m, 4), single(m, 5, 4), transB=1, transBatchA=1)
    assert turned.outputs[0].type == single(m, n, 5)
    found = use("DynamicQuantizeMatMul", single(n, m, 4), byte(4, 5), ONE).outputs[0].type
    assert found == single(n, m, 5)
    weights = (byte(2, 3, 8), byte(2, 2, 8), None, None, None, None, None)
    scales = (single(2), byte(2), single(2), byte(2))
    made = use(
        "DynamicQuantizeLSTM", single(n, m, 3), *weights, *scales,
        outputs=3, direction="bidirectional", hidden_size=2,
    )  # fmt: skip
    assert [o.type for o in made.outputs] == [single(n, 2, m, 2), *[single(2, m, 2)] * 2]
