"""Programs of our own kernels as candidates: faults replay, and errors of the judge are errors."""

from __future__ import annotations

import runpy
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import isomorph as iso
from isomorph.ir.errors import IsomorphError, UnsupportedError
from isomorph.ir.text import parse
from isomorph.parity import compiled
from isomorph.parity.compiled import Compiled
from isomorph.parity.verdict import Status
from tests.kernels.support import needs_compiler

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.graph import Graph

pytestmark = needs_compiler
TEXT = """<ir_version: 10, opset_import: ["" : 21]>
g (float[n, 4] x) => (float[n, 3] y)
  <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
{ t = MatMul(x, w)
  y = Relu(t) }"""


def graph(text: str = TEXT) -> Graph:
    return parse(text)


def test_the_replay_of_another_function_fails_by_itself(tmp_path: Path):
    run = iso.compile(graph(TEXT.replace("{1, 2", "{1.01, 2")), device="sim:sm_90")
    verdict = iso.verify(graph(), run, cases=12, replay_folder=tmp_path / "replay")
    assert verdict.status is Status.FAIL
    assert verdict.replay == tmp_path / "replay"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(verdict.replay)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "another function" in done.stdout


def test_the_replay_of_a_faulty_kernel_fails_until_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    from isomorph.lowering.expressions import EXPRESSIONS

    with monkeypatch.context() as patch:
        patch.setitem(EXPRESSIONS, "Relu", lambda _, a: f"(max_nan({a[0]}, 0.0f) * 1.0001f)")
        run = iso.compile(graph(), device="sim:sm_90")
        verdict = iso.verify(graph(), run, cases=12, replay_folder=tmp_path / "replay")
        assert verdict.status is Status.FAIL
        assert verdict.replay is not None
        replay = runpy.run_path(str(verdict.replay / "test_replay.py"))["test_replay"]
        with pytest.raises(AssertionError, match=r"MatMul\+Relu"):
            replay()
    replay()


def test_what_cannot_be_evaluated_is_not_judged_and_said(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise UnsupportedError("it is not evaluated")

    monkeypatch.setattr(compiled, "judge_group", refuse)
    verdict = iso.verify(graph(), iso.compile(graph(), device="sim:sm_90"), cases=4)
    assert verdict.status is Status.PASS
    assert [n.reason for n in verdict.nodes] == ["not judged: it is not evaluated"]


def test_an_error_of_the_judge_is_no_verdict(monkeypatch: pytest.MonkeyPatch):
    def stumble(*_: object) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr(compiled, "judge_group", stumble)
    with pytest.raises(ValueError, match="a bug of ours"):
        iso.verify(graph(), iso.compile(graph(), device="sim:sm_90"), cases=4)


def test_other_devices_are_verified_as_files():
    with pytest.raises(IsomorphError, match="runs no kernels of ours"):
        Compiled(iso.compile(graph(), device="reference"))
