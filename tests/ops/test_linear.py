from __future__ import annotations

import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.dims import symbol
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.infer import infer
from isomorph.ir.instances import Arg, Instance, build
from isomorph.ir.interpret import interpret
from isomorph.ir.opdef import OPS
from isomorph.ir.types import DType, TensorType
from tests.ops import harness
from tests.ops._dot import check_dot_bound
from tests.ops._geometry import check_shapes, one_op

KEYS = [key for key in OPS.rows() if OPS.family(key) == "linear"]


def reference_knows(key, instance, dtype):
    # Its Det returns float64 for bfloat16, and numpy's det takes no float16.
    return key[1] != "Det" or dtype in {DType.FLOAT32, DType.FLOAT64}


def inference_is_sound(key, instance, dtype):
    # Of two symbols under one ellipsis, onnx takes the first, which may be the 1 that broadcasts.
    return instance.note != "implicit"


@pytest.mark.parametrize("key", KEYS)
class TestEveryInstance:
    def test_reference(self, key):
        harness.sweep(harness.check_reference, key, where=reference_knows)

    def test_runtime(self, key):
        harness.sweep(harness.check_runtime, key, ("float32", "float64", "int32"))

    def test_narrow(self, key):
        harness.sweep(harness.check_narrow, key)

    def test_rule(self, key):
        harness.sweep(harness.check_rule, key, ("float32",), where=inference_is_sound)

    def test_versions(self, key):
        harness.sweep(harness.check_versions, key, ("float32", "bfloat16", "int32", "uint8"))


A = Arg
DOTS = (
    ("MatMul", Instance((A((5, 300)), A((300, 7))))),
    ("MatMul", Instance((A((3, 4, 65), low=0.0), A((65,), low=0.0)))),
    ("Gemm", Instance((A((9, 200)), A((6, 200)), A((6,))), {"transB": 1})),
    ("Einsum", Instance((A((2, 5, 3, 40)), A((2, 6, 3, 40))), {"equation": "bqhd,bkhd->bhqk"})),
    ("Einsum", Instance((A((20, 30)), A((30, 20))), {"equation": "ij,ji->"})),
)


@pytest.mark.parametrize(("op", "instance"), DOTS)
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16])
def test_rounding_stays_below_the_dot_bound(op, instance, dtype):
    check_dot_bound(("", op), instance, dtype)


SQUARE = np.arange(12, dtype=np.float32).reshape(3, 4)
OLD = (
    (6, "MatMul", (SQUARE, SQUARE.T.copy()), {}),
    (9, "MatMul", (SQUARE.astype(np.int32), SQUARE.T.astype(np.int32)), {}),
    (6, "Gemm", (SQUARE, SQUARE.T.copy(), np.ones((3, 3), np.float32)), {"alpha": 0.5}),
    (6, "Gemm", (SQUARE, SQUARE.T.copy(), np.arange(3, dtype=np.float32)),
     {"broadcast": 1, "beta": 2.0}),
    (6, "Gemm", (SQUARE, SQUARE.T.copy(), np.ones((3, 1), np.float32)), {"broadcast": 1}),
    (6, "Gemm", (SQUARE.T.copy(), SQUARE.T.copy(), np.ones(1, np.float32)),
     {"broadcast": 1, "transA": 1}),
    (7, "Gemm", (SQUARE, SQUARE, np.ones(3, np.float32)), {"transB": 1}),
    (9, "Gemm", (SQUARE.astype(np.int64), SQUARE.T.astype(np.int64), np.ones((3, 1), np.int64)),
     {}),
)  # fmt: skip


@pytest.mark.parametrize(("opset", "op", "operands", "attributes"), OLD)
def test_old_models(opset, op, operands, attributes):
    model, feeds = harness.old_model(opset, op, operands, **attributes)
    graph = harness.check_upgrade(model, feeds)
    assert "broadcast" not in graph.ops()[0].attributes


def test_gemm_6_scales_its_bias():
    """The reference interpreter forgets beta where broadcast is 0."""
    operands = (SQUARE, SQUARE.T.copy(), np.ones((3, 3), np.float32))
    model, feeds = harness.old_model(6, "Gemm", operands, beta=2.0)
    harness.check_upgrade(model, feeds, [SQUARE @ SQUARE.T + 2])


def test_gemm_6_without_broadcast_wants_a_full_bias():
    model, feeds = harness.old_model(6, "Gemm", (SQUARE, SQUARE.T.copy(), np.ones(3, np.float32)))
    graph = harness.decode_model(model)
    with pytest.raises(TypeInferenceError, match=r"shape \(3,\), \(3, 3\) was expected"):
        interpret(graph, feeds)


B, N, M = symbol("b"), symbol("n"), symbol("m")
SYMBOLIC = (
    (one_op("MatMul", (B, N, 4), (4, M)), (B, N, M)),
    (one_op("MatMul", (B, 1, N, 4), (B, 3, 4, M)), (B, 3, N, M)),
    (one_op("MatMul", (B, N), (N,)), (B,)),
    (one_op("Gemm", (N, B), (N, M), transA=1), (B, M)),
    (one_op("Einsum", (B, N, 8), (B, M, 8), equation="bid,bjd->bij"), (B, N, M)),
    (one_op("Einsum", (B, N, 3), (B, N, 3), equation="...c,...c"), (B, N)),
    (one_op("Einsum", (B, N * 2), equation="ij->ji"), (N * 2, B)),
    (one_op("Det", (B, N, N)), (B,)),
)


@pytest.mark.parametrize(("graph", "shape"), SYMBOLIC)
def test_rules_keep_symbols(graph, shape):
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, shape)


WRONG = (
    (one_op("MatMul", (2, 3), (4, 5)), "3 and 4 do not agree"),
    (one_op("MatMul", (2, 3, 4), (5, 4, 2)), "dims 2, 5 do not broadcast"),
    (one_op("MatMul", (), (3,)), "a scalar operand"),
    (one_op("Gemm", (2, 3), (4, 3)), "3 and 4 do not agree"),
    (one_op("Gemm", (2, 3), (3, 4), (3,)), "3 and 4 do not agree"),
    (one_op("Gemm", (2, 3, 4), (3, 4)), "operand 0 has rank 3, a matrix was expected"),
    (one_op("Einsum", (2, 3), equation="ij,jk"), "2 terms for 1 operands"),
    (one_op("Einsum", (2, 3), equation="ijk->i"), "'ijk' of the equation 'ijk->i' does not fit"),
    (one_op("Einsum", (2, 3), equation="ij->k"), "'k'"),
    (one_op("Einsum", (2, 3), (4, 5), equation="ij,jk->ik"), "dims 3, 4 do not broadcast"),
    (one_op("Det", (2, 3)), "rows and columns: 2 and 3"),
)


@pytest.mark.parametrize(("graph", "message"), WRONG)
def test_rules_name_what_does_not_fit(graph, message):
    with pytest.raises(TypeInferenceError, match=message):
        infer(graph)


@pytest.mark.parametrize(
    ("equation", "shapes", "ops"),
    [
        ("bqhd,bkhd->bhqk", ((B, N, 3, 8), (B, M, 3, 8)), {"Transpose", "MatMul"}),
        ("bij,bjk->bik", ((B, N, 4), (B, 4, M)), {"MatMul"}),
        ("aij,ijb->ab", ((N, 3, 4), (3, 4, M)), {"Unsqueeze", "Mul", "ReduceSum"}),
        ("aij,ijb->ab", ((2, 3, 4), (3, 4, 5)), {"Reshape", "MatMul"}),
        ("i,j->ij", ((N,), (M,)), {"Unsqueeze", "Mul"}),
        ("ij->i", ((N, M),), {"ReduceSum"}),
    ],
)
def test_einsum_without_einsum(equation, shapes, ops):
    graph = one_op("Einsum", *shapes, equation=equation)
    infer(graph)
    assert downgrade(graph, 11) == []
    assert {op.type for op in graph.ops()} == ops
    sizes = {"b": 2, "n": 3, "m": 5}
    rng = np.random.default_rng(0)
    feeds = [
        rng.integers(-9, 9, t.static_shape).astype(np.float32)
        for t in (TensorType(DType.FLOAT32, s).bind(sizes) for s in shapes)
    ]
    np.testing.assert_array_equal(interpret(graph, feeds)[0], np.einsum(equation, *feeds))


def test_einsum_diagonal_of_unknown_length_needs_einsum():
    graph = one_op("Einsum", (N, N), equation="ii->i")
    infer(graph)
    (stuck,) = downgrade(graph, 11)
    assert "the diagonal's length (n) is symbolic" in stuck.reason
    assert stuck.lowest == 12


def test_capital_letters_come_first_in_an_implicit_result():
    graph, feeds = build(
        ("", "Einsum"), Instance((A((2, 3)), A((4,))), {"equation": "aB,C"}), DType.FLOAT32
    )
    np.testing.assert_array_equal(interpret(graph, feeds)[0], np.einsum("aB,C->BCa", *feeds))


def test_det_runs_in_onnxruntime_below_opset_22():
    for instance in harness.INSTANCES.get(("", "Det")):
        graph, feeds = build(("", "Det"), instance, DType.FLOAT32)
        infer(graph)
        wanted = interpret(graph, feeds)
        assert downgrade(graph, 21) == []
        found = harness.by_runtime(harness.encode(graph, 21), feeds)
        harness.agree(("", "Det"), feeds, found, wanted, 2.0**-24)


def test_integers_wrap():
    graph, _ = build(("", "MatMul"), Instance((A((1, 2)), A((2, 1)))), DType.INT32)
    big = np.full((1, 2), 2**30, np.int32)
    assert interpret(graph, [big, np.full((2, 1), 2, np.int32)])[0].item() == 0


EMPTY = (
    ("MatMul", Instance((A((0, 3, 0)), A((0, 0))))),
    ("Gemm", Instance((A((0, 0)), A((0, 3)), A((3,))))),
    ("Einsum", Instance((A((0, 2)), A((2, 0))), {"equation": "ij,jk->ik"})),
    ("Einsum", Instance((A((3, 0)),), {"equation": "ij->i"})),
    ("Det", Instance((A((0, 2, 2)),))),
    ("Det", Instance((A((2, 0, 0)),))),
)


@pytest.mark.parametrize(("op", "instance"), EMPTY)
def test_empty_tensors(op, instance):
    assert check_shapes(("", op), instance) is not None
