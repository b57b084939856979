"""What verifying may cost: loops without end, results without measure, run times that hang."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.budget import BudgetError, Limits, bounded
from isomorph.ir.text import parse
from isomorph.parity import engine
from isomorph.parity.engine import verify
from isomorph.parity.verdict import Status
from isomorph.parity.worker import Worker, WorkerHungError
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HEAD = '<ir_version: 10, opset_import: ["": 21]> g'
BODY = "b (int64 i, bool c, float[n] s) => (bool d, float[n] r) { d = Identity(c) r = Neg(s) }"
LOOP = f"y = Loop <body = {BODY}>"
ENDLESS = parse(f"{HEAD} (float[n] x) => (float[n] y) <bool t = {{1}}> {{ {LOOP} (, t, x) }}")
COUNTED = parse(f"{HEAD} (float[n] x, int64 k) => (float[n] y) {{ {LOOP} (k, , x) }}")
HUGE = parse(
    f"{HEAD} (float[n] x) => (float y) <int64[1] s = {{68719476736}}, int64[1] zero = {{0}}>"
    "{ a = Expand(x, s)  y = ReduceSum <keepdims = 0> (a, zero) }"
)
SHORT = Limits(seconds=2)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux alone")


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


def test_a_loop_without_end_is_not_judged_and_soon_told():
    started = time.monotonic()
    verdict = verify(ENDLESS, ENDLESS, limits=SHORT)
    assert time.monotonic() - started < 20
    assert verdict.status is Status.INSUFFICIENT
    assert verdict.exit_code == 2
    assert verdict.cases == 0
    assert [o.status for o in verdict.outputs] == [Status.INSUFFICIENT]
    assert "Loop 'y': not finished after 2 seconds; allow more with --max-seconds" in verdict.reason


def test_a_result_without_measure_is_not_judged():
    verdict = verify(HUGE, HUGE)
    assert verdict.status is Status.INSUFFICIENT
    assert "Expand 'a': its result float64[68,719,476,736] takes 512 GiB" in verdict.reason
    assert "--max-memory" in verdict.reason


def test_inputs_that_ask_for_too_much_are_no_cases_but_others_are():
    k = np.array(2**62)
    samples = [[np.ones(3, np.float32), np.array(n)] for n in (3, 5)]
    costly = [np.ones(3, np.float32), k]
    verdict = verify(COUNTED, COUNTED, samples=[*samples, costly], cases=20, limits=SHORT)
    assert verdict.status is Status.PASS, verdict
    assert verdict.cases >= 2
    assert any("cost too much to judge: Loop 'y'" in n for n in verdict.notes), verdict


def test_inputs_are_found_that_a_loop_can_count_to():
    verdict = verify(COUNTED, COUNTED, cases=50, limits=SHORT)
    assert verdict.status is Status.PASS, verdict
    assert verdict.cases >= 10


def test_a_case_that_could_not_be_judged_to_its_end_does_not_count(monkeypatch):
    made = parse(f"{HEAD} (float[n] x) => (float[n] y) {{ y = Exp(x) }}")

    def costly(*_: Any, **__: Any) -> Any:
        raise BudgetError("costly", "time")

    monkeypatch.setattr("isomorph.parity.court.compare_optimized", costly)
    verdict = verify(made, made, cases=10)
    assert verdict.status is Status.INSUFFICIENT
    assert (verdict.cases, verdict.dims["n"]) == (0, [])


def test_nodes_that_cost_too_much_are_left_out_and_that_is_told(monkeypatch):
    made = parse(f"{HEAD} (float[n] x) => (float[n] y) {{ y = Exp(x) }}")

    def costly(*_: Any) -> None:
        raise BudgetError("costly", "time")

    monkeypatch.setattr("isomorph.parity.court.judge_nodes", costly)
    verdict = verify(made, made, cases=10)
    assert verdict.status is Status.PASS
    assert (verdict.cases, verdict.judged) == (10, 0)
    assert "every node" not in verdict.reason
    assert any("not every node was judged" in n for n in verdict.notes)


class TestTheRunTimesProcess:
    def path(self, tmp_path: Path, graph: Any = ENDLESS) -> Path:
        from isomorph.exporters.onnx.writer import write

        write(graph, tmp_path / "m.onnx")
        return tmp_path / "m.onnx"

    def test_it_is_stopped_when_it_hangs(self, tmp_path: Path, worker: Worker):
        session = worker.load(self.path(tmp_path), optimize=False)
        started = time.monotonic()
        with bounded(Limits(1)), pytest.raises(WorkerHungError, match="did not answer within"):
            worker.run(session, {"x": np.ones(3, np.float32)})
        assert time.monotonic() - started < 10

    def test_hanging_is_no_fault_where_little_time_was_left(self, tmp_path: Path, worker: Worker):
        session = worker.load(self.path(tmp_path), optimize=False)
        with bounded(Limits(1)):
            time.sleep(0.8)
            with pytest.raises(BudgetError, match="--max-seconds"):
                worker.run(session, {"x": np.ones(3, np.float32)})

    @LINUX
    def test_it_takes_no_more_memory_than_it_may(self, tmp_path: Path, worker: Worker):
        session = worker.load(self.path(tmp_path, HUGE), optimize=False)
        x = np.ones(1, np.float32)
        for _ in range(2):
            with bounded(Limits(60, 1 << 30)), pytest.raises(BudgetError, match="1 GiB") as over:
                worker.run(session, {"x": x})
            assert over.value.kind == "memory"

    @LINUX
    def test_a_limit_is_lifted_again(self, tmp_path: Path, worker: Worker):
        made = model([node("Identity", "x", "y")], ["x: float32[n]"], ["y: float32[n]"])
        session = worker.load(save(made, tmp_path / "id.onnx"), optimize=False)
        x = np.ones(1 << 24, np.float32)
        with bounded(Limits(60, 1 << 20)), pytest.raises(BudgetError):
            worker.run(session, {"x": x})
        assert worker.run(session, {"x": x})[0].shape == x.shape

    def test_an_interruption_leaves_no_answer_behind(self, tmp_path: Path, worker: Worker):
        made = model([node("Neg", "x", "y")], ["x: float32[n]"], ["y: float32[n]"])
        session = worker.load(save(made, tmp_path / "neg.onnx"), optimize=False)
        real = worker._answers.get

        def interrupted(timeout: float) -> Any:
            raise KeyboardInterrupt

        worker._answers.get = interrupted  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            worker.run(session, {"x": np.ones(1, np.float32)})
        worker._answers.get = real  # type: ignore[method-assign]
        found = worker.run(session, {"x": np.full(1, 2, np.float32)})
        assert found[0].tolist() == [-2]


def test_a_run_time_that_hangs_where_the_reference_does_not_fails(monkeypatch, tmp_path: Path):
    made = model([node("Neg", "x", "y")], ["x: float32[n]"], ["y: float32[n]"])
    path = save(made, tmp_path / "neg.onnx")

    def hang(*_: Any) -> Any:
        raise WorkerHungError("onnxruntime did not answer within 60 seconds")

    monkeypatch.setattr(engine.Candidate, "observe", hang)
    verdict = verify(path, path, cases=5)
    assert verdict.status is Status.FAIL
    assert "did not answer" in verdict.reason


@LINUX
@pytest.mark.parametrize("size", [1, 1 << 10])
def test_a_limit_that_nothing_runs_within_says_what_to_raise(size):
    made = parse(f"{HEAD} (float[n] x) => (float[n] y) {{ y = Exp(x) }}")
    verdict = verify(made, made, limits=Limits(memory=size), worker=(worker := Worker()))
    worker.close()
    assert (verdict.status, verdict.exit_code) == (Status.INSUFFICIENT, 2)
    assert "may be taken at once" in verdict.reason
    assert "--max-memory" in verdict.reason
    assert "imported" not in str(verdict)
