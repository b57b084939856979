"""Verdicts name the true reason and what to do: sizes of 0, sizes too large, state, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.dims import Constraint, symbol
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType
from isomorph.parity import Status, nodes, verify
from isomorph.parity.strategies import specs_of
from isomorph.parity.strategies.sizes import unfit
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from pathlib import Path


def double(folder: Path) -> Path:
    made = model([node("Add", "x x", "y")], ["x: float32[n]"], ["y: float32[n]"])
    return save(made, folder / "double.onnx")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("x: float32[n in 100000000..200000000]", ["100,000,000 elements", "n in 1..64", "sample"]),
        ("x: float32[100000000]", ["100,000,000 elements", "2,097,152", "sample"]),
    ],
)
def test_sizes_that_cannot_be_generated(tmp_path: Path, spec: str, words: list[str]):
    path = (
        double(tmp_path)
        if "n in" in spec
        else save(
            model([node("Add", "x x", "y")], ["x: float32[100000000]"], ["y: float32[100000000]"]),
            tmp_path / "fixed.onnx",
        )
    )
    verdict = verify(lambda x: x + x, path, inputs=[spec])
    assert verdict.status is Status.INSUFFICIENT, verdict
    for word in words:
        assert word in verdict.reason


def test_a_range_that_no_size_satisfies():
    graph = Graph()
    graph.add_input("x", TensorType(DType.FLOAT32, (symbol("n"),)))
    found = unfit(specs_of(graph), [Constraint.parse("n >= -5"), Constraint.parse("n <= -1")])
    assert "no size of 0 or more satisfies n >= -5, n <= -1" in found
    assert "n in 1..64" in found


def test_a_range_of_large_sizes_that_fit_is_used(tmp_path: Path):
    spec = "x: float32[n in 100000..200000]"
    verdict = verify(lambda x: x + x, double(tmp_path), inputs=[spec], cases=5)
    assert verdict.status is Status.PASS, verdict
    assert min(verdict.dims["n"]) >= 100000


def test_what_fails_only_at_a_size_of_0_says_so(tmp_path: Path):
    nodes = [node("ReduceSum", "x axes", "y", keepdims=0)]
    made = model(nodes, ["x: float32[n, 4]"], ["y: float32[4]"], {"axes": np.array([0])}, opset=17)
    path = save(made, tmp_path / "sum.onnx")

    def function(x: Any) -> Any:
        return x.sum(axis=0) if x.shape[0] else x.sum(axis=0) + np.float32(1)

    spec = "x: float32[n, 4]"
    verdict = verify(function, path, inputs=[spec], replay_folder=tmp_path / "replay")
    assert verdict.status is Status.FAIL
    assert "Only when n = 0 (not at 1, 2" in verdict.reason
    assert "--input 'x: float32[n in 1.., 4]'" in verdict.reason
    assert verify(function, path, inputs=["x: float32[n in 1.., 4]"]).status is Status.PASS


def test_a_reference_with_state_or_randomness_fails(tmp_path: Path):
    calls: list[int] = []

    def stateful(x: Any) -> Any:
        calls.append(1)
        return x * np.float32(len(calls))

    rng = np.random.default_rng(0)
    for function in (stateful, lambda x: x + rng.standard_normal(x.shape)):
        verdict = verify(function, double(tmp_path), inputs=["x: float32[n]"])
        assert verdict.status is Status.FAIL, verdict
        assert "different results on the same input" in verdict.reason


def test_an_error_while_a_node_is_judged_is_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = double(tmp_path)

    def broken(*_: Any) -> Any:
        raise TypeError("ours")

    def unable(*_: Any) -> Any:
        raise UnsupportedError("Add cannot be evaluated")

    monkeypatch.setattr(nodes, "judge", broken)
    with pytest.raises(TypeError, match="ours"):
        verify(path, path, cases=3)
    monkeypatch.setattr(nodes, "judge", unable)
    verdict = verify(path, path, cases=3)
    assert any("not judged: Add cannot be evaluated" in note for note in verdict.notes)


def test_a_table_that_was_read_in_part_is_noted(tmp_path: Path):
    table = np.zeros((5000, 2), "f4")
    made = model([node("Gather", "t i", "y")], ["i: int64[n]"], ["y: float32[n, 2]"], {"t": table})
    path = save(made, tmp_path / "table.onnx")
    for inputs in ([], ["i: int64[n] in 0..4999"]):
        verdict = verify(path, path, cases=20, inputs=inputs)
        assert verdict.status is Status.PASS, verdict
        assert any("i indexes a table of 5,000 rows" in note for note in verdict.notes), verdict
