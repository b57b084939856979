"""Asking the installed release: one process for all that is asked, and no answer out of turn."""

from __future__ import annotations

import os
from typing import Any

import pytest

from isomorph.exporters.runtimes import live
from isomorph.exporters.runtimes.prober import Prober
from isomorph.exporters.runtimes.worker import Job
from tests.parity.models import model, node


def _model(kind: str) -> bytes:
    return model([node(kind, "x", "y")], ["x: float32[2]"], ["y: float32[2]"]).SerializeToString()


def test_one_process_answers_everything():
    live.ask([_model("Sin")])
    started = live._prober(os.getpid())._process
    assert started is not None
    live.ask([_model("Cos")])
    assert live._prober(os.getpid())._process is started
    assert live._prober(os.getpid() + 1) is not live._prober(os.getpid())


class _Interrupted:
    """What the worker says, and a user who does not wait for it."""

    def __init__(self, said: Any) -> None:
        self.said = said

    def readline(self) -> bytes:
        raise KeyboardInterrupt

    def close(self) -> None:
        self.said.close()


def test_an_answer_that_was_not_waited_for_is_not_the_next_one():
    with Prober() as prober:
        assert prober.ask(Job(_model("Sin"), {}, run=False))[0] == "runs"
        process: Any = prober._process
        process.stdout = _Interrupted(process.stdout)
        with pytest.raises(KeyboardInterrupt):
            prober.ask(Job(b"not a model", {}, run=False))
        assert process.poll() is not None
        assert prober.ask(Job(_model("Cos"), {}, run=False)) == ("runs", "")
