"""The reductions: meaning, shapes and versions."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.ops.reduction import OPS
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from tests.ops import harness as h

NAMES = sorted(name for _, name in OPS)
REDUCE = [name for name in NAMES if name.startswith("Reduce")]
X = np.random.default_rng(3).uniform(0.25, 2, (2, 3, 4)).astype(np.float32)
LONG = np.longdouble

FORMULAS = {
    "ReduceL1": lambda x: abs(x).sum(1),
    "ReduceL2": lambda x: np.sqrt((x * x).sum(1)),
    "ReduceLogSum": lambda x: np.log(x.sum(1)),
    "ReduceLogSumExp": lambda x: np.log(np.exp(x).sum(1)),
    "ReduceMax": lambda x: x.max(1),
    "ReduceMean": lambda x: x.mean(1),
    "ReduceMin": lambda x: x.min(1),
    "ReduceProd": lambda x: x.prod(1),
    "ReduceSum": lambda x: x.sum(1),
    "ReduceSumSquare": lambda x: (x * x).sum(1),
}


@pytest.mark.parametrize("name", NAMES)
def test_reference(name: str) -> None:
    # numpy widens small integers that the reference squares and sums
    wrong = {"int32", "uint32"} if name == "ReduceSumSquare" else set[str]()
    h.sweep(h.check_reference, name, where=lambda *case: str(case[2]) not in wrong)


@pytest.mark.parametrize("name", NAMES)
def test_runtime(name: str) -> None:
    h.sweep(h.check_runtime, name)


@pytest.mark.parametrize("name", NAMES)
def test_runtime_at_older_opsets(name: str) -> None:
    h.sweep(h.check_runtime_at_older_opsets, name, ("float32", "int64"))


@pytest.mark.parametrize("name", NAMES)
def test_float64_is_the_same_function(name: str) -> None:
    h.sweep(h.check_narrow, name)


@pytest.mark.parametrize("name", NAMES)
def test_rule(name: str) -> None:
    h.sweep(h.check_rule, name)


@pytest.mark.parametrize("name", NAMES)
def test_versions(name: str) -> None:
    h.sweep(h.check_versions, name, (*h.REPRESENTATIVE, "int8", "float16"))


def one(name: str, x: np.ndarray, axes: list[int] | None = None, **attributes: int) -> np.ndarray:
    graph = Graph()
    operands = [graph.add_input("x", TensorType(DType.of(x.dtype), x.shape))]
    if axes is not None:
        operands.append(graph.add_weight(Weight.of(np.array(axes, np.int64))))
    graph.outputs = [graph.add_op(name, operands, attributes).output]
    return interpret(graph, [x])[0]


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_float64_accuracy(name: str) -> None:
    x = np.random.default_rng(0).uniform(0.25, 2, (50, 37))
    found = one(name, x, [1], keepdims=0)
    wanted = FORMULAS[name](x.astype(LONG))
    assert float(np.max(np.abs(found - wanted) / np.abs(wanted))) < 2 * 37 * 2.0**-53


def test_log_sum_exp_does_not_overflow() -> None:
    found = one("ReduceLogSumExp", np.array([1000.0, 1000.0], np.float32))
    assert found == pytest.approx(1000 + np.log(2))
    assert one("ReduceLogSumExp", np.full(2, -np.inf, np.float32)) == -np.inf
    assert one("ReduceLogSumExp", np.array([np.inf, 0], np.float32)) == np.inf


def test_means_of_integers_truncate() -> None:
    assert one("ReduceMean", np.array([-3, -4], np.int32), keepdims=0) == -3


def test_number_of_elements_is_known() -> None:
    graph = Graph()
    kind = TensorType(DType.FLOAT32, (symbol("n"), 3))
    x = graph.add_input("x", kind)
    shape = graph.add_op("Shape", [x]).output
    size = graph.add_op("ReduceProd", [shape]).output
    flat = graph.add_op("Reshape", [x, size]).output
    graph.outputs = [flat]
    infer(graph)
    assert str(flat.type) == "float32[3*n]"


@pytest.mark.parametrize(
    ("name", "opset"),
    [(n, o) for n in REDUCE for o in (6, 11, 12, 13) if (n, o) != ("ReduceSum", 13)],
)
@pytest.mark.parametrize("attributes", [{}, {"axes": [1]}, {"axes": [0, 2], "keepdims": 0}])
def test_axes_as_attribute(name: str, opset: int, attributes: dict[str, object]) -> None:
    h.check_upgrade(*h.old_model(opset, name, [X], **attributes))


@pytest.mark.parametrize("name", ["ReduceLogSum", "ReduceLogSumExp"])
def test_logarithms_of_integers(name: str) -> None:
    x = np.array([[3, 5], [1, 60]], np.int64)
    total = np.log(x.sum(1)) if name == "ReduceLogSum" else np.log(np.exp(x.astype(float)).sum(1))
    model = h.old_model(13, name, [x], axes=[1], keepdims=0)
    h.check_upgrade(*model, [total.astype(np.int64)])


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("opset", [6, 11, 12])
def test_older_arguments_of_extremes(name: str, opset: int) -> None:
    h.check_upgrade(*h.old_model(opset, name, [X], axis=1, keepdims=0))


def test_axes_at_run_time_are_named() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3)))
    axes = graph.add_input("where", TensorType(DType.INT64, (1,)))
    graph.outputs = [graph.add_op("ReduceMax", [x, axes]).output]
    infer(graph)
    (stuck,) = downgrade(graph, 17)
    assert "%where" in stuck.reason
    assert stuck.lowest == 18
