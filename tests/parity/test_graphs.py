"""Drawn graphs are what they are said to be: valid, typed, deterministic, of the ops asked for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isomorph.exporters.onnx.writer import to_proto
from isomorph.ir.graph import Graph  # noqa: TC001 - Hypothesis reads what tests take
from isomorph.ir.interpret import interpret
from isomorph.ir.opdef import OPS
from isomorph.ir.text import to_text
from isomorph.ir.types import DType, TensorType
from isomorph.ir.verify import verify
from isomorph.parity import strategies
from isomorph.parity.strategies.choices import Seeded
from isomorph.parity.strategies.graphs import grow
from isomorph.parity.strategies.growing import DisagreementError, Fresh, Growing, Use
from isomorph.parity.strategies.uses import every_operator, operators_of
from tests.fuzz.graphs import checked

SLOW = settings(
    max_examples=40, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@SLOW
@given(strategies.graphs())
def test_a_drawn_graph_is_valid(graph: Graph):
    verify(graph)
    model = to_proto(graph)
    checked(model)
    assert graph.outputs


@SLOW
@given(strategies.graphs(ops=["Add", "Mul", "Relu", "com.microsoft.FastGelu"], most=5))
def test_only_the_ops_asked_for_are_drawn(graph: Graph):
    assert {op.type for op in graph.ops()} <= {"Add", "Mul", "Relu", "FastGelu"}


@SLOW
@given(st.data())
def test_inputs_of_a_drawn_graph_are_drawn_too(data: st.DataObject):
    graph = data.draw(strategies.graphs(ops=["Add", "MatMul", "Softmax", "Transpose"], most=4))
    drawn = data.draw(strategies.inputs(graph))
    assert set(drawn) == {v.name for v in graph.inputs}


@pytest.mark.parametrize("index", range(40))
def test_the_inputs_that_come_with_a_graph_run_through_it(index: int):
    grown = grow(Seeded(f"test-{index}"), every_operator(), strict=True)
    found = interpret(grown.graph, grown.feeds)
    assert len(found) == len(grown.graph.outputs)
    for value, array in zip(grown.graph.outputs, found, strict=True):
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            assert np.ndim(array) == len(value.type.shape)


def test_a_seed_gives_one_graph():
    keys = every_operator()
    one, two = (to_text(grow(Seeded("same"), keys).graph) for _ in range(2))
    assert one == two


def test_an_operator_that_is_not_supported_is_named():
    with pytest.raises(ValueError, match="'Nope' is not supported"):
        operators_of(["Nope"])
    with pytest.raises(ValueError, match="no operators"):
        operators_of([])


def test_every_operator_that_has_a_table_is_drawn_from():
    assert set(every_operator()) == set(OPS.rows())


def test_a_rule_that_contradicts_its_evaluation_is_told(monkeypatch: pytest.MonkeyPatch):
    x = Fresh(TensorType(DType.FLOAT32, (2, 3)), np.zeros((2, 3), np.float32))
    use = Use(("", "Neg"), (x,), {})

    def wrong(op: Any, _operands: Any, **_: Any) -> list[Any]:
        return [np.zeros((3, 2), np.float32)]

    monkeypatch.setattr("isomorph.parity.strategies.growing.evaluate", wrong)
    assert Growing().add(use) == ()
    with pytest.raises(DisagreementError, match=r"Neg-13.*says float32\[2, 3\], it is"):
        Growing(strict=True).add(use)
