"""Every kind of values and every size has its turn, whatever the seed; thresholds are aimed at."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType
from isomorph.parity import Status, verify
from isomorph.parity import engine as room
from isomorph.parity.strategies import HOSTILE, ORDINARY, plan, specs_of
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from pathlib import Path

CASES = 200
SEEDS = range(8)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_every_kind_is_drawn_for_every_input_and_every_size_is_tried(count: int, seed: int):
    graph = Graph()
    for index in range(count):
        graph.add_input(f"x{index}", TensorType(DType.FLOAT32, (symbol("n"), 4)))
    specs = [s.anchored([0.5]) for s in specs_of(graph)]
    sizes = [{"n": n} for n in (2, 3, 1, 5, 7, 0)]
    seen: dict[int, set[str]] = {i: set() for i in range(count)}
    dims: set[int] = set()
    left = CASES - len(sizes)
    for batch in plan(specs, sizes, profile="all", count=left // room.BATCHES, seed=seed):
        dims.add(dict(batch.dims)["n"])
        for index, kind in enumerate(batch.kinds):
            if prod(specs[index].sizes(dict(batch.dims))):
                seen[index].add(kind)
        left -= batch.count
        if left <= 0:
            break
    assert dims == {0, 1, 2, 3, 5, 7}
    for kinds in seen.values():
        assert kinds == {*ORDINARY, *HOSTILE}


@pytest.mark.parametrize("seed", SEEDS)
def test_large_and_huge_and_special_values_reach_the_models(seed: int, tmp_path: Path):
    path = clip(tmp_path, "clip", 1000.0)
    seen: list[np.ndarray] = []

    def function(x: Any) -> Any:
        seen.append(np.asarray(x, np.float64).reshape(-1))
        return np.clip(x, np.float32(0), np.float32(1000))

    verify(function, path, inputs=["x: float32[n]"], cases=CASES, seed=seed)
    values = np.concatenate(seen)
    size = np.abs(values)
    assert ((size > 1e3) & (size < 1e4)).any()
    assert ((size > 1e20) & (size < 1e36)).any()
    assert (np.isfinite(size) & (size > 1e37)).any()
    assert ((size > 0) & (size < 2.0**-126)).any()
    assert ((size > 0) & (size < 1e-30)).any()
    assert np.isposinf(values).any()
    assert np.isneginf(values).any()
    assert np.isnan(values).any()
    assert ((values == 0) & np.signbit(values)).any()


def clip(folder: Path, name: str, top: float) -> Path:
    bounds = {"low": np.array(0, "f4"), "high": np.array(top, "f4")}
    made = model([node("Clip", "x low high", "y")], ["x: float32[n]"], ["y: float32[n]"], bounds)
    return save(made, folder / f"{name}.onnx")


def greater(folder: Path, name: str, value: float) -> Path:
    made = model(
        [node("Greater", "x c", "y")],
        ["x: float32[n]"],
        ["y: bool[n]"],
        {"c": np.array(value, "f4")},
    )
    return save(made, folder / f"{name}.onnx")


def hinge(folder: Path, name: str, factor: float) -> Path:
    weight = np.ones((4, 2), "f4")
    weight[1, 1] *= np.float32(factor)
    nodes = [node("Sub", "x c", "s"), node("Relu", "s", "r"), node("MatMul", "r w", "y")]
    constants = {"c": np.array(500, "f4"), "w": weight}
    made = model(nodes, ["x: float32[n, 4]"], ["y: float32[n, 2]"], constants)
    return save(made, folder / f"{name}.onnx")


PAIRS: dict[str, tuple[Any, float, float]] = {
    "a bound of 1000": (clip, 1000.0, 1001.0),
    "a bound of 65504": (clip, 65504.0, float("inf")),
    "a threshold": (greater, 0.5, 0.5001),
    "a threshold by sixty ulps": (greater, 0.5, 0.5 + 60 * 2.0**-24),
    "a weight behind a hinge": (hinge, 1.0, 1.001),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_what_shows_only_far_out_or_between_two_thresholds_is_found(pair: str, tmp_path: Path):
    make, one, other = PAIRS[pair]
    good, bad = make(tmp_path, "good", one), make(tmp_path, "bad", other)
    for seed in SEEDS:
        verdict = verify(good, bad, seed=seed, replay_folder=tmp_path / "replay")
        assert verdict.status is Status.FAIL, f"seed {seed}: {verdict}"
        verdict = verify(good, good, seed=seed)
        assert verdict.status is Status.PASS, f"seed {seed}: {verdict}"


def test_a_threshold_of_a_function_is_aimed_at(tmp_path: Path):
    bad = greater(tmp_path, "bad", 0.5001)
    verdict = verify(
        lambda x: x > 0.5, bad, inputs=["x: float32[n]"], replay_folder=tmp_path / "replay"
    )
    assert verdict.status is Status.FAIL, verdict
