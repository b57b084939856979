"""Faults planted in graphs of 200 nodes come out as a few nodes whose replay fails by itself."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest

from isomorph.parity import Status, verify
from isomorph.parity.sources import read
from tests.parity.forests import WIDTH, Forest, forest
from tests.parity.models import save

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isomorph.parity import Verdict

    Plant = Callable[[Forest, Forest], None]

NODES, ELEMENTS = 3, 16
PATIENT = 60.0
"""Seconds for a reduction: a busy machine takes its time to start a process that died."""
COUNT = 100
"""Nodes before the fault, and after it."""


def pair(tmp_path: Path, seed: int, plant: Plant) -> tuple[Path, Path]:
    """A model of 200 nodes and one with a fault in its midst."""
    good = forest(seed, COUNT)
    for _ in range(2):  # the fault is to meet values of every size and sign
        wide = good.add("MatMul", f"x {good.weight(WIDTH, WIDTH)}")
        good.live.append(good.add("Add", f"{wide} {wide}"))
    bad = replace(good, nodes=list(good.nodes), weights=dict(good.weights), live=list(good.live))
    bad.rng = copy.deepcopy(good.rng)
    plant(good, bad)
    for each in (good, bad):
        each.rng = np.random.default_rng(seed + 1000)
        each.until(2 * COUNT)
    made = good.finish(), bad.finish()
    return save(made[0], tmp_path / "good.onnx"), save(made[1], tmp_path / "bad.onnx")


def both(kind: str, inputs: str, good: dict[str, Any], bad: dict[str, Any]) -> Plant:
    """The same node with other attributes."""

    def plant(one: Forest, other: Forest) -> None:
        for each, attributes in ((one, good), (other, bad)):
            given = inputs.format(a=each.live[-1], b=each.live[-2])
            each.live.append(each.add(kind, given, **attributes))

    return plant


def weight(factor: float, one_element: bool) -> Plant:
    def plant(good: Forest, bad: Forest) -> None:
        name = good.weight(WIDTH, WIDTH)
        array = good.weights[name].copy()
        array[(3, 5) if one_element else ...] *= np.float32(factor)
        bad.weights[name] = array
        for each in (good, bad):
            each.live.append(each.add("MatMul", f"{each.live[-1]} {name}"))

    return plant


def kinds(good_kind: str, bad_kind: str, good_inputs: str, bad_inputs: str = "") -> Plant:
    """One operator for another, or other operands."""

    def plant(good: Forest, bad: Forest) -> None:
        for each, kind, inputs in (
            (good, good_kind, good_inputs),
            (bad, bad_kind, bad_inputs or good_inputs),
        ):
            given = inputs.format(a=each.live[-1], b=each.live[-2])
            each.live.append(each.add(kind, given))

    return plant


def epsilon(good: Forest, bad: Forest) -> None:
    name = good.weight(WIDTH)
    bad.weights[name] = good.weights[name]
    for each, value in ((good, 1e-5), (bad, 1e-3)):
        each.live.append(each.add("LayerNormalization", f"{each.live[-1]} {name}", epsilon=value))


def dropped_bias(good: Forest, bad: Forest) -> None:
    name = good.weight(WIDTH)
    bad.weights[name] = good.weights[name]
    good.live.append(good.add("Add", f"{good.live[-1]} {name}"))
    bad.live.append(bad.add("Identity", bad.live[-1]))


def rounded(good: Forest, bad: Forest) -> None:
    """Floor for the truncation that a cast to an integer is."""
    for each in (good, bad):
        start = each.live[-1]
        if each is bad:
            start = each.add("Floor", start)
        whole = each.add("Cast", start, to=onnx.TensorProto.INT32)
        each.live.append(each.add("Cast", whole, to=onnx.TensorProto.FLOAT))


def transposed(good: Forest, bad: Forest) -> None:
    name = good.weight(WIDTH, WIDTH)
    bad.weights[name] = np.ascontiguousarray(good.weights[name].T)
    for each in (good, bad):
        each.live.append(each.add("MatMul", f"{each.live[-1]} {name}"))


PLANTED: dict[str, Plant] = {
    "a weight × 0.999": weight(0.999, one_element=False),
    "one element × 0.999": weight(0.999, one_element=True),
    "a wrong axis": both("Softmax", "{a}", {"axis": 1}, {"axis": 0}),
    "another epsilon": epsilon,
    "another operator": kinds("Tanh", "Sigmoid", "{a}"),
    "swapped operands": kinds("Sub", "Sub", "{a} {b}", "{b} {a}"),
    "a dropped bias": dropped_bias,
    "another operand": kinds("Mul", "Mul", "{a} {b}", "{a} {a}"),
    "a transposed weight": transposed,
    "floor for truncation": rounded,
    "another alpha": both("LeakyRelu", "{a}", {"alpha": 0.01}, {"alpha": 0.02}),
    "tanh for erf": both("Gelu", "{a}", {}, {"approximate": "tanh"}),
}


def small(verdict: Verdict) -> onnx.ModelProto:
    """Assert that the replay is small; its model."""
    assert verdict.replay is not None
    made = onnx.load(verdict.replay / "model.onnx")
    graph = read(verdict.replay / "model.onnx")
    assert sum(1 for _ in graph.walk()) <= NODES, made
    case = np.load(verdict.replay / "case.npz")
    arrays = [case[name] for name in case if name.startswith("input")]
    arrays += [onnx.numpy_helper.to_array(t) for t in made.graph.initializer]
    unusual = sum(int(((a != 0) & (a != 1)).sum()) for a in arrays)
    assert unusual <= ELEMENTS, [a.shape for a in arrays]
    return made


NEEDED = {"numpy", "onnx", "onnxruntime", "pytest", "_pytest", "test_replay"} | {
    "google", "ml_dtypes", "typing_extensions", "packaging", "pygments",
}  # fmt: skip
"""What a replay imports, and what these packages import."""
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in ALLOWED:
            raise ImportError(f"a replay may not import {name}")

ALLOWED = {*sys.stdlib_module_names, *NEEDED}
import numpy, onnx, onnx.reference, onnxruntime, pytest
sys.meta_path.insert(0, Blocked())
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""
"""pytest, with nothing to import but the standard library and what a replay may need."""


def fails(verdict: Verdict) -> str:
    """Assert that the replay fails by itself; what it says."""
    program = f"NEEDED = {sorted(NEEDED)!r}\n{BLOCKED}"
    command = [sys.executable, "-c", program, str(verdict.replay)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", check=False,
        cwd=verdict.replay, env=environment,
    )  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    assert "may not import" not in done.stdout
    return done.stdout


@pytest.mark.parametrize("name", PLANTED)
def test_a_fault_among_200_nodes_becomes_a_few(tmp_path: Path, name: str):
    good, bad = pair(tmp_path, 7, PLANTED[name])
    options = {"cases": 3, "profile": "ordinary", "reducing": PATIENT}
    verdict = verify(good, bad, replay_folder=tmp_path / "replay", **options)
    assert verdict.status is Status.FAIL, verdict
    made = small(verdict)
    dims = {v.type.tensor_type.shape.dim[0].dim_param for v in made.graph.input}
    assert dims == {"batch"}, "a symbolic dim stays symbolic"
    assert "another function" in fails(verdict)
    files = {p.name for p in (tmp_path / "replay").iterdir()}
    expected = {"model.onnx", "reference.onnx", "case.npz", "test_replay.py", "verdict.txt"}
    assert files - {"__pycache__"} == expected


def in_the_midst(tmp_path: Path, plant: Callable[[Forest], None], inputs: list[str]) -> Path:
    """A model of 200 nodes with something in its midst that the run time does not take well."""
    made = forest(7, COUNT)
    plant(made)
    made.until(2 * COUNT)
    return save(made.finish(inputs), tmp_path / "model.onnx")


def integers(*kinds_of: str) -> Callable[[Forest], None]:
    """A chain of integer operators; its result flows on as a float."""

    def plant(each: Forest) -> None:
        each.weights["one"] = np.array(1, "i4")
        last = each.add("Abs", "k")
        for kind in kinds_of:
            operands, _, name = kind.rpartition(" ")
            last = each.add(name, operands.format(last=last))
        whole = each.add("Cast", last, to=onnx.TensorProto.FLOAT)
        each.live.append(each.add("Add", f"{each.live[-1]} {each.add('Tanh', whole)}"))

    return plant


def test_what_the_optimizer_changes_among_200_nodes_becomes_a_few(tmp_path: Path):
    plant = integers("one {last} Div", "{last} m Mul")
    path = in_the_midst(tmp_path, plant, [f"k: int32[batch, {WIDTH}]", f"m: int32[batch, {WIDTH}]"])
    specs = ["k: int32[batch, 8] in 1..9", "m: int32[batch, 8] in 1..20"]
    options = {"cases": 5, "inputs": specs, "reducing": PATIENT}
    verdict = verify(path, path, replay_folder=tmp_path / "replay", **options)
    assert verdict.status in (Status.FAIL, Status.SUSPECT), verdict
    assert [n.op_type for n in small(verdict).graph.node] == ["Div", "Mul"]
    assert "optimizer moves it away from the truth" in fails(verdict)
    assert verdict.blame is not None
    assert verdict.blame.passes == ("DivMulFusion",)


def test_a_death_of_the_run_time_among_200_nodes_becomes_one(tmp_path: Path):
    plant = integers("{last} Neg", "{last} m Div", "{last} Sign")
    path = in_the_midst(tmp_path, plant, ["k: int32[batch, 1]", "m: int32[batch, 1]"])
    low = -(2**31)
    specs = [f"k: int32[batch, 1] in {low}..{low}", "m: int32[batch, 1] in -1..-1"]
    options = {"cases": 5, "inputs": specs, "reducing": PATIENT}
    verdict = verify(path, path, replay_folder=tmp_path / "replay", **options)
    assert verdict.status is Status.FAIL, verdict
    assert [n.op_type for n in small(verdict).graph.node] == ["Div"]
    assert "onnxruntime ended with -8" in fails(verdict)


def test_a_reduction_takes_no_longer_than_it_may(tmp_path: Path):
    good, bad = pair(tmp_path, 7, PLANTED["another operator"])
    options = {"cases": 3, "profile": "ordinary", "replay_folder": tmp_path / "replay"}
    verdict = verify(good, bad, reducing=0, **options)
    assert verdict.replay is not None
    assert sum(1 for _ in read(verdict.replay / "model.onnx").walk()) > 2 * COUNT
    assert "another function" in fails(verdict)
