"""Cases that run as one batch: only where rows do not meet, and a bad one is still shown alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph
from isomorph.ir.interpret import Program
from isomorph.ir.types import DType, TensorType
from isomorph.parity import Status, verify
from isomorph.parity.case import Case
from isomorph.parity.court import Court
from isomorph.parity.strategies import specs_of
from isomorph.parity.together import Together
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from pathlib import Path

    import onnx

RNG = np.random.default_rng(0)
APART: dict[str, tuple[list[Any], list[str], list[str], dict[str, np.ndarray]]] = {
    "elementwise": ([node("Exp", "x", "y")], ["x: float32[n, 3]"], ["y: float32[n, 3]"], {}),
    "rows": (
        [node("MatMul", "x w", "h"), node("Softmax", "h", "y", axis=-1)],
        ["x: float32[n, 4]"],
        ["y: float32[n, 5]"],
        {"w": RNG.normal(size=(4, 5)).astype("f4")},
    ),
    "the second axis": (
        [node("ReduceSum", "x axis", "y", keepdims=0)],
        ["x: float32[2, n, 3]"],
        ["y: float32[n, 3]"],
        {"axis": np.array([0])},
    ),
}
MEETING: dict[str, tuple[list[Any], list[str], list[str], dict[str, np.ndarray]]] = {
    "a mean over the batch": (
        [node("ReduceMean", "x", "m", axes=[0]), node("Sub", "x m", "y")],
        ["x: float32[n, 3]"],
        ["y: float32[n, 3]"],
        {},
    ),
    "a softmax over the batch": (
        [node("Softmax", "x", "y", axis=0)],
        ["x: float32[n, 3]"],
        ["y: float32[n, 3]"],
        {},
    ),
    "an element counted from the end": (
        [node("Gather", "x last", "y", axis=0)],
        ["x: float32[n, 3]"],
        ["y: float32[3]"],
        {"last": np.array(-1)},
    ),
    "a product of the batch with itself": (
        [node("Transpose", "x", "t"), node("MatMul", "x t", "y")],
        ["x: float32[n, 3]"],
        ["y: float32[n, n]"],
        {},
    ),
}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Case]:
    """Every case that is put before the court."""
    found: list[Case] = []
    judge = Court.try_case

    def watched(self: Court, case: Case) -> bool:
        found.append(case)
        return judge(self, case)

    monkeypatch.setattr(Court, "try_case", watched)
    return found


def _made(parts: tuple[list[Any], list[str], list[str], dict[str, np.ndarray]]) -> onnx.ModelProto:
    nodes, inputs, outputs, weights = parts
    return model(nodes, inputs, outputs, weights)


@pytest.mark.parametrize("name", APART)
def test_rows_that_do_not_meet_run_together(name: str, tmp_path: Path, seen: list[Case]):
    path = save(_made(APART[name]), tmp_path / "m.onnx")
    verdict = verify(path, path, cases=640)
    assert verdict.status is Status.PASS, verdict
    assert verdict.cases == 640 == sum(case.count for case in seen)
    assert len(seen) < 200
    assert max(case.count for case in seen) >= 8
    for case in seen:
        assert {case.dims["n"]} <= {s for v in case.inputs for s in np.shape(v)}


@pytest.mark.parametrize("name", MEETING)
def test_rows_that_meet_run_apart(name: str, tmp_path: Path, seen: list[Case]):
    path = save(_made(MEETING[name]), tmp_path / "m.onnx")
    verdict = verify(path, path, cases=256)
    assert verdict.status is Status.PASS, verdict
    assert {case.count for case in seen} == {1}


def test_bounds_of_a_size_hold_for_what_runs_together(tmp_path: Path, seen: list[Case]):
    path = save(_made(APART["rows"]), tmp_path / "m.onnx")
    verdict = verify(path, path, cases=256, inputs=["x: float32[n in 1..4, 4]"])
    assert verdict.status is Status.PASS
    assert max(case.dims["n"] for case in seen) <= 4


def test_what_has_no_batch_must_be_the_same_to_run_together():
    graph = Graph("scaled")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (symbol("n"), 3)))
    s = graph.add_input("s", TensorType(DType.FLOAT32, ()))
    graph.outputs = [graph.add_op("Mul", [x, s]).output]
    together = Together(specs_of(graph), [], [Program(graph, wide=True).run])
    rows = np.ones((2, 3), np.float32)
    one, two, three = (
        Case([rows * factor, np.float32(scale)], {"n": 2}, hostile=False)
        for factor, scale in ((1, 4), (2, 5), (3, 4))
    )
    assert together.join([one, two]) is None
    joined = together.join([one, three])
    assert joined is not None
    assert joined.count == 2
    assert joined.dims == {"n": 4}
    assert joined.inputs[0].tolist() == [[1] * 3] * 2 + [[3] * 3] * 2


def test_a_rare_fault_is_found_in_the_crowd_and_shown_alone(tmp_path: Path, seen: list[Case]):
    """A slope that is wrong by 1e-4 below −2.5 only: one row in many shows it."""
    right, wrong = (
        model(
            [
                node("Add", "x shift", "u"),
                node("LeakyRelu", "u", "v", alpha=alpha),
                node("Sub", "v shift", "y"),
            ],
            ["x: float32[n, 2]"],
            ["y: float32[n, 2]"],
            {"shift": np.array(2.5, "f4")},
        )
        for alpha in (1.0, 0.9999)
    )
    verdict = verify(save(right, tmp_path / "a.onnx"), save(wrong, tmp_path / "b.onnx"), cases=3000)
    assert verdict.status is Status.FAIL
    assert verdict.replay is not None
    with np.load(next(verdict.replay.glob("*.npz"))) as kept:
        assert min(a.size for a in kept.values()) <= 2 * max(
            c.dims["n"] for c in seen if c.count < 2
        )
