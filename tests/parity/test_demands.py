"""Waivers and tighter limits: what they do, what they never do, what they refuse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.parity import Status, verify
from isomorph.parity.demands import DemandError
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from pathlib import Path

W = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    nodes = [
        node("MatMul", "x w", "y"),
        node("Neg", "y", "z"),
        node("Greater", "y z", "more"),
    ]
    outputs = ["y: float32[n, 4]", "z: float32[n, 4]", "more: bool[n, 4]"]
    return save(model(nodes, ["x: float32[n, 8]"], outputs, {"w": W}), tmp_path / "two.onnx")


def right(x: Any) -> Any:
    y = x @ W
    return y, -y, y > -y


def wrong(x: Any) -> Any:
    y = x @ W
    return y, -y * np.float32(1.001), y > -y


def test_a_waived_output_does_not_count_and_is_told(path: Path, tmp_path: Path):
    replay = tmp_path / "replay"
    assert verify(wrong, path, cases=20, replay_folder=replay).status is Status.FAIL
    verdict = verify(wrong, path, cases=20, waive={"z": "scaled by the vendor"})
    assert (verdict.status, verdict.exit_code) == (Status.PASS, 0)
    assert verdict.cases == 20  # its failures do not end the run
    assert "waived: z is FAIL (scaled by the vendor)" in verdict.reason
    z = verdict.outputs[1]
    assert (z.status, z.waived) == (Status.FAIL, "scaled by the vendor")
    assert "scaled by the vendor" in str(verdict)
    assert verdict.to_json()["outputs"][1]["waived"] == "scaled by the vendor"


def test_a_waiver_says_nothing_of_other_outputs(path: Path, tmp_path: Path):
    verdict = verify(
        wrong, path, cases=20, waive={"y": "not looked at"}, replay_folder=tmp_path / "replay"
    )
    assert verdict.status is Status.FAIL
    assert "output z" in verdict.reason


def test_a_waiver_of_what_is_right_leaves_it_right(path: Path):
    verdict = verify(right, path, cases=20, waive={"z": "in case"})
    assert "waived" not in verdict.reason
    assert verdict.outputs[1].waived == ""


@pytest.mark.parametrize("limit", [{"max_ulp": 0.01}, {"max_abs": {"y": 0.0}}])
def test_a_limit_fails_what_bounds_pass(path: Path, limit: dict[str, Any]):
    verdict = verify(right, path, cases=20, **limit)
    assert verdict.status is Status.FAIL
    assert "were asked for with max_" in verdict.reason


def test_a_limit_never_passes_what_bounds_fail(path: Path, tmp_path: Path):
    verdict = verify(
        wrong, path, cases=20, max_abs=1e30, max_ulp=1e30, replay_folder=tmp_path / "replay"
    )
    assert verdict.status is Status.FAIL
    assert "another function" in verdict.reason


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"waive": {"q": "why"}}, "waive 'q': there is no such output; there are 'y', 'z', 'more'"),
        ({"waive": {"z": " "}}, "waive 'z': a reason is needed"),
        ({"waive": {"z": 3}}, "waive 'z': a reason is needed"),
        ({"waive": "z"}, "output names with a reason each are expected"),
        ({"waive": dict.fromkeys(("y", "z", "more"), "no")}, "there is nothing left to verify"),
        ({"max_abs": -1.0}, "max_abs -1.0: a number of 0 or more is expected"),
        ({"max_abs": math.inf}, "max_abs inf: a number of 0 or more is expected"),
        ({"max_ulp": math.nan}, "max_ulp nan: a number of 0 or more is expected"),
        ({"max_ulp": {"q": 1}}, "max_ulp: there is no output 'q'"),
        ({"max_ulp": {"more": 1}}, "it is bool, which must be equal: there is nothing to tighten"),
        ({"rtol": 1e-3, "atol": 1e-5}, "rtol, atol: bounds are derived .* max_abs and max_ulp"),
    ],
)
def test_misuse_is_one_sentence(path: Path, options: dict[str, Any], words: str):
    with pytest.raises(DemandError, match=words):
        verify(right, path, **options)
