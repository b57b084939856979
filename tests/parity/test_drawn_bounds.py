"""Bounds that drawn graphs showed to be too narrow are as wide as is derived, and no wider."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isomorph.ir.graph import Graph, Op, Value
from isomorph.ir.interpret import Program
from isomorph.ir.schema import canonical
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.parity.constants import Rewritten, digests, numbers, weights
from isomorph.parity.folded import content, folded
from isomorph.parity.noise import Perturbation
from isomorph.parity.verdict import Status
from isomorph.parity.well import judge

BAD = (Status.FAIL, Status.SUSPECT)


def op_of(name: str, operands: list[Any], attributes: dict[str, Any] | None = None) -> Op:
    known = canonical("", name)
    assert known is not None
    given = tuple(None if v is None else Value("x") for v in operands)
    op = Op("", name, known.since, given, attributes or {})
    op.outputs = (Value("y", None, op),)
    return op


def judged(name: str, operands: list[Any], factor: float, **attributes: Any) -> Status:
    """What is said of a result that is the right one times a factor."""
    op = op_of(name, operands, attributes)
    right = np.asarray(evaluate(op, operands)[0])
    return judge(op, operands, [(right * np.float32(factor)).astype(right.dtype)])[0].status


CUBIC = [
    (100 + np.random.default_rng(0).uniform(-2, 2, (1, 1, 8, 8))).astype(np.float32),
    None,
    np.array([1, 1, 2, 2.5], np.float32),
]
SMALL = np.array([[1e-30, 1], [1e-30, 2], [-1e25, 3], [1e30, 4]], np.float32)


@pytest.mark.parametrize("factor", [1.0, 1.001, 0.999])
def test_a_cubic_that_is_a_thousandth_off_is_found(factor: float):
    found = judged("Resize", CUBIC, factor, mode="cubic")
    assert (found in BAD) == (factor != 1)


@pytest.mark.parametrize("factor", [1.0, 1.0001])
def test_a_product_that_is_off_is_found_where_nothing_underflows(factor: float):
    operands = [np.abs(SMALL) + np.float32(1), np.array([0])]
    found = judged("ReduceProd", operands, factor, keepdims=0)
    assert (found in BAD) == (factor != 1)


def test_a_product_of_factors_that_underflow_first_may_be_0():
    operands = [SMALL[:, :1], np.array([0])]
    op = op_of("ReduceProd", operands, {"keepdims": 0})
    (found,) = judge(op, operands, [np.zeros(1, np.float32)])
    assert found.status not in BAD
    far = np.full(1, -1e30, np.float32)
    assert judge(op, operands, [far])[0].status in BAD


def test_products_of_float64_at_both_ends_of_its_range_are_judged():
    a = np.array([[1.797e308, -1.797e308, 0.3147]])
    b = np.array([[7.559e-322], [8.844e-322], [1e-321]])
    op = op_of("MatMul", [a, b])
    right = np.asarray(evaluate(op, [a, b])[0])
    assert judge(op, [a, b], [right * (1 + 2.0**-50)])[0].status not in BAD
    assert judge(op, [a, b], [right * 1.01])[0].status in BAD


def constant(values: list[float], name: str = "Softmax") -> Graph:
    """A graph of one op on a constant."""
    graph = Graph("g")
    w = graph.add_weight(Weight.of(np.array(values, np.float16), DType.FLOAT16), "w")
    made = graph.add_op(name, [w])
    made.output.type = TensorType(DType.FLOAT16, (len(values),))
    graph.outputs = [made.output]
    return graph


def stored(values: np.ndarray) -> Graph:
    """A graph that returns a constant."""
    graph = Graph("g")
    w = graph.add_weight(Weight.of(values, DType.FLOAT16), "w")
    graph.outputs = [graph.add_op("Identity", [w]).output]
    return graph


def test_what_was_folded_is_known_by_what_it_was_rounded_from():
    reference = constant([6.38, -16.89, 28.11])
    (wide,) = Program(reference, wide=True).run([])
    one = np.asarray(wide).astype(np.float16)
    known = folded(reference)
    assert one[2] == 1
    assert known[content(one)] == pytest.approx(np.abs(one.astype(np.float64) - wide))
    candidate = stored(one)
    rewritten = Rewritten(candidate, numbers(weights(reference)), digests(reference), known)
    assert rewritten.count == 1
    moved = np.asarray(rewritten.run(Program(candidate, wide=True), [], 1)[0])
    assert (moved != one).all()
    assert (np.abs(moved - one) <= known[content(one)]).all()
    other = np.nextafter(one, np.float16(0.5))
    assert content(other) not in known


def test_a_transform_rounds_results_that_are_0():
    graph = Graph("g")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 4, 1)))
    made = graph.add_op("DFT", [x])
    graph.outputs = [made.output]
    feeds = [np.array([[[1.0], [2.0], [1.0], [2.0]]], np.float32)]
    program = Program(graph, wide=True)
    plain = np.asarray(program.run(feeds)[0])
    moved = np.asarray(program.run(feeds, change=Perturbation(3).change)[0])
    assert plain[0, 1, 0] == 0
    assert 0 < abs(moved[0, 1, 0]) < 1e-14
