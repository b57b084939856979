"""Faults that must be found: each planted in a file, each over many seeds."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.parity import Status, verify
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import onnx

SEEDS = range(20)
CASES = 40


def caught(reference: Any, candidate: Path, folder: Path, **options: Any) -> list[str]:
    """Why each seed's verdict is FAIL; fails for a seed whose verdict is anything else."""
    reasons = []
    for seed in SEEDS:
        verdict = verify(
            reference,
            candidate,
            cases=CASES,
            seed=seed,
            replay_folder=folder / "replay",
            reducing=0,
            **options,
        )
        assert verdict.status is Status.FAIL, f"seed {seed}: {verdict}"
        assert verdict.exit_code == 3
        reasons.append(verdict.reason)
    return reasons


def mlp(
    seed: int, change: Callable[[dict[str, np.ndarray]], None] | None = None
) -> onnx.ModelProto:
    rng = np.random.default_rng(seed)
    weights = {
        "w1": rng.standard_normal((8, 16)).astype("f4"),
        "b1": rng.standard_normal(16).astype("f4"),
        "w2": rng.standard_normal((16, 3)).astype("f4"),
    }
    if change is not None:
        change(weights)
    nodes = [
        node("MatMul", "x w1", "h"),
        node("Add", "h b1", "hb"),
        node("Relu", "hb", "r"),
        node("MatMul", "r w2", "y"),
    ]
    return model(nodes, ["x: float32[batch, 8]"], ["y: float32[batch, 3]"], weights)


def one(kind: str, spec: str, result: str, **attributes: Any) -> onnx.ModelProto:
    return model([node(kind, "x", "y", **attributes)], [f"x: {spec}"], [f"y: {result}"])


def test_an_output_that_is_all_nan(tmp_path: Path):
    good = save(one("Relu", "float32[n, 4]", "float32[n, 4]"), tmp_path / "good.onnx")
    nodes = [node("Relu", "x", "r"), node("Mul", "r bad", "y")]
    weights = {"bad": np.array(np.nan, "f4")}
    bad = save(
        model(nodes, ["x: float32[n, 4]"], ["y: float32[n, 4]"], weights), tmp_path / "bad.onnx"
    )
    caught(good, bad, tmp_path)


def test_a_shape_of_three_against_four_by_three(tmp_path: Path):
    def reference(x: Any) -> Any:
        return np.zeros((4, 3), np.float32) + x

    made = model([node("Identity", "x", "y")], ["x: float32[3]"], ["y: float32[3]"])
    bad = save(made, tmp_path / "bad.onnx")
    reasons = caught(reference, bad, tmp_path, inputs=["x: float32[3]"])
    assert all("(4, 3)" in r for r in reasons)


def test_a_declared_shape_of_three_against_four_by_three(tmp_path: Path):
    good = model(
        [node("Expand", "x s", "y")],
        ["x: float32[3]"],
        ["y: float32[4, 3]"],
        {"s": np.array([4, 3])},
    )
    bad = one("Identity", "float32[3]", "float32[3]")
    caught(save(good, tmp_path / "good.onnx"), save(bad, tmp_path / "bad.onnx"), tmp_path)


def test_float64_against_float32(tmp_path: Path):
    def reference(x: Any) -> Any:
        return np.sqrt(np.abs(x)).astype(np.float32)

    nodes = [node("Abs", "x", "a"), node("Sqrt", "a", "s"), node("Cast", "s", "y", to=11)]
    bad = save(model(nodes, ["x: float32[n]"], ["y: float64[n]"]), tmp_path / "bad.onnx")
    reasons = caught(reference, bad, tmp_path, inputs=["x: float32[n]"])
    assert all("float64" in r for r in reasons)


@pytest.mark.parametrize("names", [True, False])
def test_swapped_outputs(tmp_path: Path, names: bool):
    nodes = [node("Sin", "x", "a"), node("Cos", "x", "b")]
    good = model(nodes, ["x: float32[n]"], ["a: float32[n]", "b: float32[n]"])
    if names:
        bad = model(nodes, ["x: float32[n]"], ["b: float32[n]", "a: float32[n]"])
    else:
        swapped = [node("Cos", "x", "a"), node("Sin", "x", "b")]
        bad = model(swapped, ["x: float32[n]"], ["a: float32[n]", "b: float32[n]"])
    caught(save(good, tmp_path / "good.onnx"), save(bad, tmp_path / "bad.onnx"), tmp_path)


def test_one_weight_off_by_a_tenth_of_a_percent(tmp_path: Path):
    good = save(mlp(0), tmp_path / "good.onnx")
    for seed in SEEDS:
        rng = np.random.default_rng(seed)

        def change(weights: dict[str, np.ndarray], rng: Any = rng) -> None:
            name = ("w1", "b1", "w2")[rng.integers(3)]
            flat = weights[name].reshape(-1)
            flat[rng.integers(flat.size)] *= np.float32(1.001)

        bad = save(mlp(0, change), tmp_path / "bad.onnx")
        verdict = verify(good, bad, cases=CASES, seed=seed, replay_folder=tmp_path / "replay")
        assert verdict.status is Status.FAIL, verdict
        assert verdict.first_divergence is not None


def test_one_weight_off_in_a_long_product_at_two_scales(tmp_path: Path):
    for scale in (1.0, 1e-4):
        rng = np.random.default_rng(1)
        weight = (rng.standard_normal((4096, 2)) * scale).astype("f4")

        def make(w: np.ndarray) -> onnx.ModelProto:
            return model(
                [node("MatMul", "x w", "y")],
                ["x: float32[n, 4096]"],
                ["y: float32[n, 2]"],
                {"w": w},
            )

        good = save(make(weight), tmp_path / "good.onnx")
        off = weight.copy()
        off[17, 1] *= np.float32(0.999)
        caught(good, save(make(off), tmp_path / "bad.onnx"), tmp_path)


@pytest.mark.parametrize("kind", ["file", "function"])
def test_layer_norm_with_another_epsilon(tmp_path: Path, kind: str):
    scale = np.linspace(0.5, 1.5, 16).astype("f4")

    def make(epsilon: float) -> onnx.ModelProto:
        nodes = [node("LayerNormalization", "x s b", "y", epsilon=epsilon)]
        weights = {"s": scale, "b": np.zeros(16, "f4")}
        return model(nodes, ["x: float32[n, 16]"], ["y: float32[n, 16]"], weights)

    def function(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale

    bad = save(make(1e-6), tmp_path / "bad.onnx")
    good: Any = save(make(1e-5), tmp_path / "good.onnx") if kind == "file" else function
    caught(good, bad, tmp_path, inputs=["x: float32[n, 16]"])


def test_a_branch_on_the_batch_baked_in(tmp_path: Path):
    def reference(x: Any) -> Any:
        return x * 2 if x.shape[0] > 3 else x + 1

    nodes = [node("Add", "x one", "y")]
    weights = {"one": np.array(1, "f4")}
    bad = save(
        model(nodes, ["x: float32[batch, 4]"], ["y: float32[batch, 4]"], weights),
        tmp_path / "bad.onnx",
    )
    caught(reference, bad, tmp_path, inputs=["x: float32[batch, 4]"])


def test_a_batch_fixed_in_the_file(tmp_path: Path):
    good = one("Relu", "float32[batch, 4]", "float32[batch, 4]")
    bad = one("Relu", "float32[2, 4]", "float32[2, 4]")
    caught(save(good, tmp_path / "good.onnx"), save(bad, tmp_path / "bad.onnx"), tmp_path)


def test_a_dropped_negative_zero(tmp_path: Path):
    good = one("Neg", "float32[n]", "float32[n]")
    bad = model(
        [node("Sub", "zero x", "y")],
        ["x: float32[n]"],
        ["y: float32[n]"],
        {"zero": np.array(0, "f4")},
    )
    reasons = caught(save(good, tmp_path / "good.onnx"), save(bad, tmp_path / "bad.onnx"), tmp_path)
    assert all("sign of zero" in r for r in reasons)


def test_an_integer_division_that_kills_the_run_time(tmp_path: Path):
    def reference(a: Any, b: Any) -> Any:
        with np.errstate(all="ignore"):
            quotient = np.abs(a.astype(np.int64)) // np.maximum(np.abs(b.astype(np.int64)), 1)
        return (np.sign(a) * np.sign(b) * quotient).astype(np.int32)

    made = model([node("Div", "a b", "y")], ["a: int32[n]", "b: int32[n]"], ["y: int32[n]"])
    bad = save(made, tmp_path / "bad.onnx")
    specs = ["a: int32[n] in -2147483648..-2147483648", "b: int32[n] in -1..-1"]
    reasons = caught(reference, bad, tmp_path, inputs=specs)
    assert all("SIGFPE" in r for r in reasons)


def test_the_replay_of_a_failure_fails_by_itself(tmp_path: Path):
    good = save(mlp(0), tmp_path / "good.onnx")

    def change(weights: dict[str, np.ndarray]) -> None:
        weights["w2"][3, 1] *= np.float32(1.01)

    bad = save(mlp(0, change), tmp_path / "bad.onnx")
    verdict = verify(good, bad, cases=CASES, replay_folder=tmp_path / "replay")
    assert verdict.replay == tmp_path / "replay"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(verdict.replay)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "another function" in done.stdout
