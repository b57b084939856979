"""`parity_test` and `assert_parity`: what they make of two models, without a test runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.exporters.coverage.report import ExportError
from isomorph.exporters.target import make_target
from isomorph.ir.errors import IsomorphError, SpecError
from isomorph.parity import ParityFailure, Verdict, assert_parity, journal, parity_test
from isomorph.parity.driven import by_hypothesis
from isomorph.parity.engine import verify
from isomorph.parity.journal import Choice, Journal
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SPEC = ["x: float32[n, 3] in 0..31"]


def relu(folder: Path) -> Path:
    made = model([node("Relu", "x", "y")], ["x: float32[n, 3]"], ["y: float32[n, 3]"])
    return save(made, folder / "relu.onnx")


def beyond(x: Any) -> Any:
    """Relu, but for numbers near the end of the domain."""
    return np.where(x > 30, x + 1, np.maximum(x, 0))


def unless_constant(x: Any) -> Any:
    """Relu, but for several numbers that are all the same, which a look for sizes does not try."""
    same = x.size > 3 and bool((x == x[:1, :1]).all()) and bool((x > 0).all())
    return np.maximum(x, 0) + (1 if same else 0)


@pytest.fixture
def heard() -> Iterator[list[tuple[str, Verdict]]]:
    found: list[tuple[str, Verdict]] = []
    mine = Journal(Choice(cases=12), hear=lambda name, verdict: found.append((name, verdict)))
    journal.open_journal(mine)
    yield found
    journal.close_journal(mine)


def test_the_test_belongs_to_who_asks_for_it(tmp_path: Path):
    test = parity_test(lambda x: np.maximum(x, 0), relu(tmp_path), inputs=SPEC, cases=10)
    assert test.__module__ == __name__
    assert test.__code__.co_filename == __file__
    assert "relu.onnx" in (test.__doc__ or "")
    test()


def test_nothing_is_read_before_it_runs(tmp_path: Path):
    test = parity_test(lambda x: x, tmp_path / "nowhere.onnx", inputs=SPEC)
    with pytest.raises(IsomorphError, match=r"nowhere\.onnx"):
        test()


def test_a_failure_is_drawn_and_shrunk_by_hypothesis(tmp_path: Path):
    test = parity_test(
        unless_constant, relu(tmp_path), inputs=SPEC, cases=400, replay_folder=tmp_path / "replay"
    )
    with pytest.raises(ParityFailure) as caught:
        test()
    (words,) = [n for n in caught.value.verdict.notes if n.startswith("Hypothesis shrank")]
    assert "x 2×3 of kind" in words
    again = verify(
        unless_constant, relu(tmp_path), inputs=SPEC, cases=400, driver=by_hypothesis,
        replay_folder=tmp_path / "again",
    )  # fmt: skip
    assert words in again.notes
    assert again.cases == caught.value.verdict.cases


def test_a_target_exports_first(tmp_path: Path):
    verdict = assert_parity(
        lambda x: np.maximum(x, 0), make_target(17), inputs="x: float32[n, 3]", cases=20
    )
    assert verdict.cases == 20
    assert_parity(relu(tmp_path), make_target(13), cases=20)


def test_obstacles_of_a_target_are_told(tmp_path: Path):
    made = model([node("Mish", "x", "y")], ["x: float32[n]"], ["y: float32[n]"], opset=18)
    made.graph.node[0].domain = "acme"
    made.opset_import.add(domain="acme", version=1)
    path = tmp_path / "odd.onnx"
    path.write_bytes(made.SerializeToString())
    with pytest.raises(ExportError, match="Mish"):
        assert_parity(path, make_target(17))


def test_the_journal_chooses_and_hears(tmp_path: Path, heard: list[tuple[str, Verdict]]):
    assert_parity(lambda x: np.maximum(x, 0), relu(tmp_path), inputs=SPEC, cases=50, seed=4)
    with pytest.raises(ParityFailure):
        assert_parity(beyond, relu(tmp_path), inputs=["x: float32[n, 3] in 40..50"])
    assert [(name, v.wanted, v.seed) for name, v in heard] == [
        ("relu.onnx", 12, 4),
        ("relu.onnx", 12, 0),
    ]
    assert [v.exit_code for _, v in heard] == [0, 3]


def test_misuse_is_one_sentence(tmp_path: Path):
    path = relu(tmp_path)
    with pytest.raises(IsomorphError, match="profile 'evil': expected one of ordinary"):
        assert_parity(path, path, profile="evil")
    with pytest.raises(IsomorphError, match="cases 0: a number of 1 or more"):
        assert_parity(path, path, cases=0)
    with pytest.raises(SpecError, match="there is no input 'z'"):
        assert_parity(path, path, inputs=["z: float32[n, 3]"])
    with pytest.raises(TypeError, match="unexpected keyword argument 'case'"):
        assert_parity(path, path, case=3)
