"""Numbers just on a step: where nothing is summed, they are there by themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.parity import Status, verify
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from pathlib import Path


def _up(scale: float) -> tuple[list[Any], dict[str, np.ndarray]]:
    """⌊x / scale + ½⌋, which a half takes up."""
    nodes = [node("Div", "x s", "q"), node("Add", "q half", "h"), node("Floor", "h", "y")]
    return nodes, {"s": np.array(scale, "f4"), "half": np.array(0.5, "f4")}


def _even(scale: float) -> tuple[list[Any], dict[str, np.ndarray]]:
    nodes = [node("Div", "x s", "q"), node("Round", "q", "y")]
    return nodes, {"s": np.array(scale, "f4")}


def _times(scale: float) -> tuple[list[Any], dict[str, np.ndarray]]:
    nodes = [node("Mul", "x r", "q"), node("Round", "q", "y")]
    return nodes, {"r": np.array(1 / scale, "f4")}


def _saved(parts: tuple[list[Any], dict[str, np.ndarray]], path: Path, dtype: int) -> Path:
    nodes, weights = parts
    cast = node("Cast", "y", "i", to=dtype)
    return save(model([*nodes, cast], ["x: float32[n, 4]"], ["i: int32[n, 4]"], weights), path)


@pytest.mark.parametrize("scale", [0.25, 0.6405921])
def test_halves_that_are_rounded_otherwise_are_another_function(scale: float, tmp_path: Path):
    one = _saved(_even(scale), tmp_path / "a.onnx", 6)
    two = _saved(_up(scale), tmp_path / "b.onnx", 6)
    for seed in range(5):
        verdict = verify(one, two, cases=200, seed=seed)
        assert verdict.status is Status.FAIL, verdict


@pytest.mark.parametrize("scale", [0.25, 0.3, 0.6405921])
def test_a_reciprocal_that_a_pass_has_rounded_may_turn_a_half(scale: float, tmp_path: Path):
    one = _saved(_even(scale), tmp_path / "a.onnx", 6)
    two = _saved(_times(scale), tmp_path / "b.onnx", 6)
    for seed in range(5):
        verdict = verify(one, two, cases=200, seed=seed)
        assert verdict.exit_code == 0, verdict


def test_a_sum_that_cancels_may_fall_on_either_side(tmp_path: Path):
    def made(first: str, second: str) -> Any:
        nodes = [node("Add", f"x {first}", "t"), node("Add", f"t {second}", "u")]
        nodes += [node("Sub", "u x", "v"), node("Round", "v", "w"), node("Cast", "w", "i", to=6)]
        weights = {"a": np.array(0.1, "f4"), "b": np.array(0.4, "f4")}
        return model(nodes, ["x: float32[n, 4]"], ["i: int32[n, 4]"], weights)

    one = save(made("a", "b"), tmp_path / "a.onnx")
    two = save(made("b", "a"), tmp_path / "b.onnx")
    for seed in range(5):
        assert verify(one, two, cases=100, seed=seed).exit_code == 0


@pytest.mark.parametrize("to", [10, 16, 17])
def test_a_cast_to_what_the_reference_has_nothing_of_is_a_loss(to: int, tmp_path: Path):
    ends = ["x: float32[n, 4]"], ["y: float32[n, 4]"]
    one = save(model([node("Softmax", "x", "y")], *ends, opset=21), tmp_path / "a.onnx")
    nodes = [node("Cast", "x", "c", to=to), node("Cast", "c", "d", to=1), node("Softmax", "d", "y")]
    two = save(model(nodes, *ends, opset=21), tmp_path / "b.onnx")
    verdict = verify(one, two, cases=20)
    assert verdict.status is Status.FAIL
    assert "nothing in the reference is so narrow" in verdict.reason
    assert verify(two, two, cases=20).exit_code == 0
