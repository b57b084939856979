"""A deliberate loss by the user's own metric: beside the figures, and never instead of bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isomorph.ir.errors import IsomorphError
from isomorph.parity import Status, verify
from isomorph.parity.metric import MetricError
from isomorph.parity.recorded import RecordingError
from tests.parity.models import model, node, save

RNG = np.random.default_rng(0)
W = RNG.standard_normal((8, 4)).astype(np.float32)
X = RNG.standard_normal((500, 8)).astype(np.float32)
DATA: dict[str, Any] = {"x": X, "label": (X @ W).argmax(1)}


def file(path: Path, weight: np.ndarray, rows: str = "n", extra: Any = None) -> Path:
    nodes = [node("MatMul", "x w", "t"), extra or node("Relu", "t", "y")]
    made = model(nodes, [f"x: float32[{rows}, 8]"], [f"y: float32[{rows}, 4]"], {"w": weight})
    return save(made, path)


@pytest.fixture
def full(tmp_path: Path) -> Path:
    return file(tmp_path / "full.onnx", W)


@pytest.fixture
def half(tmp_path: Path) -> Path:
    """The weights rounded to float16: another function, on purpose."""
    return file(tmp_path / "half.onnx", W.astype(np.float16).astype(np.float32))


def accuracy(outputs: dict[str, np.ndarray], data: dict[str, np.ndarray]) -> float:
    return float((outputs["y"].argmax(1) == data["label"]).mean())


def errors(outputs: dict[str, np.ndarray], data: dict[str, np.ndarray]) -> int:
    return int((outputs["y"].argmax(1) != data["label"]).sum())


def test_without_a_threshold_it_is_told_and_decides_nothing(full: Path, half: Path, tmp_path: Path):
    verdict = verify(
        full, half, cases=20, metric=accuracy, data=DATA, replay_folder=tmp_path / "replay"
    )
    assert verdict.status is Status.FAIL
    assert verdict.metric is not None
    assert verdict.metric.samples == 500
    assert verdict.metric.met is None
    assert "metric accuracy" in str(verdict)


def test_with_one_it_judges_the_loss_beside_the_figures(full: Path, half: Path, tmp_path: Path):
    np.savez(tmp_path / "data.npz", **DATA)
    verdict = verify(
        full, half, cases=20, metric=accuracy, data=tmp_path / "data.npz", max_loss=0.02
    )
    assert (verdict.status, verdict.exit_code, verdict.cases) == (Status.PASS, 0, 20)
    assert verdict.outputs[0].status is Status.FAIL  # as measured: nothing is loosened
    assert "another function by a deliberate loss (output y)" in verdict.reason
    assert "0.02 allowed" in verdict.reason
    document = verdict.to_json()["metric"]
    assert document["met"] is True
    assert document["name"] == "accuracy"


def test_more_than_allowed_is_lost(full: Path, tmp_path: Path):
    rough = file(tmp_path / "rough.onnx", np.round(W))
    verdict = verify(
        full, rough, cases=20, metric=accuracy, data=DATA, max_loss=0.01,
        replay_folder=tmp_path / "replay",
    )  # fmt: skip
    assert verdict.status is Status.FAIL
    assert "more is lost than is allowed: accuracy" in verdict.reason
    worse = verify(
        full, rough, cases=20, metric=errors, data=DATA, max_loss=1, higher_is_better=False
    )
    assert worse.metric is not None
    assert worse.metric.loss > 1
    assert worse.metric.met is False


def test_no_metric_excuses_what_is_no_loss_of_precision(full: Path, half: Path, tmp_path: Path):
    cast = file(tmp_path / "cast.onnx", W, extra=node("Identity", "t", "y"))
    wrong = verify(
        lambda x: np.maximum(x @ W, 0).astype(np.float64), half, cases=20, metric=accuracy,
        data=DATA, max_loss=1.0, inputs=["x: float32[n, 8]"], replay_folder=tmp_path / "replay",
    )  # fmt: skip
    assert wrong.status is Status.FAIL  # its dtype
    assert "dtype" in wrong.reason
    ports = verify(full, file(tmp_path / "n3.onnx", W, "3"), metric=accuracy,
                   data={"x": X[:3], "label": DATA["label"][:3]}, max_loss=1.0)  # fmt: skip
    assert ports.status is Status.FAIL
    assert "fixed to 3" in ports.reason
    assert verify(full, cast, cases=20, metric=accuracy, data=DATA, max_loss=1.0).exit_code == 0


def test_a_model_of_a_fixed_batch_gets_its_rows(tmp_path: Path):
    fixed = file(tmp_path / "f.onnx", W, "4")
    verdict = verify(fixed, fixed, cases=5, metric=accuracy, data=DATA, max_loss=0.0)
    assert verdict.status is Status.PASS
    data = {name: array[:499] for name, array in DATA.items()}
    with pytest.raises(MetricError, match="takes 4 samples at once; 499 is no multiple"):
        verify(fixed, fixed, metric=accuracy, data=data)


def nan(*_: Any) -> float:
    return float("nan")


def key(_: Any, data: Any) -> Any:
    return data["q"]


def whole(outputs: Any, _: Any) -> Any:
    return outputs["y"]


def text(*_: Any) -> str:
    return "good"


def one(_: Any) -> float:
    return 1.0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": accuracy}, "metric accuracy: it needs data"),
        ({"data": DATA}, "data without a metric"),
        ({"data": DATA, "max_loss": 0.1}, "data and max_loss without a metric"),
        ({"metric": 3, "data": DATA}, "the metric is 3: a function of"),
        ({"metric": one, "data": DATA}, r"called with \(outputs, data\)"),
        ({"metric": nan, "data": DATA}, "gives nan: a finite number"),
        ({"metric": key, "data": DATA}, rf"fails at .*{Path(__file__).name}:\d+: KeyError: 'q'"),
        ({"metric": whole, "data": DATA}, r"gives an array of shape \(500, 4\): one number"),
        ({"metric": text, "data": DATA}, "gives 'good': one number"),
        ({"metric": accuracy, "data": {"q": X}}, "no array for input 'x'; there are 'q'"),
        ({"metric": accuracy, "data": {"x": X[:, :3]}}, "does not take the data"),
        ({"metric": accuracy, "data": {"x": np.float32(3)}}, "axis 0 of every input counts"),
        ({"metric": accuracy, "data": [1]}, "data is list: arrays by name"),
        ({"metric": accuracy, "data": DATA, "max_loss": -1}, "max_loss -1: a number of 0 or more"),
        ({"metric": accuracy, "data": DATA, "max_loss": True}, "max_loss True: a number"),
    ],
)
def test_misuse_is_one_sentence(full: Path, options: dict[str, Any], words: str):
    with pytest.raises(MetricError, match=words) as caught:
        verify(full, full, **options)
    assert isinstance(caught.value, IsomorphError)


def test_data_that_cannot_be_read(full: Path):
    with pytest.raises(RecordingError, match=r"nowhere\.npz cannot be read"):
        verify(full, full, metric=accuracy, data="nowhere.npz")
