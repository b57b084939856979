"""A few hundred drawn graphs per run; `python -m tests.fuzz.graph_run COUNT SEED` tries more."""

from __future__ import annotations

import sys

import onnx.defs
import pytest

from isomorph.parity.strategies.uses import every_operator
from tests.fuzz.graph_run import State
from tests.fuzz.graphs import REFUSED, RUNTIME_REFUSED, Graphs
from tests.fuzz.run import Result, run
from tests.fuzz.stages import Escape

SEED = 1
COUNT = 220
"""One for each operator of the sample."""

SAMPLE = tuple(k for k in every_operator() if onnx.defs.has(k[1], k[0]))
"""Operators that onnx defines: others come and go, and each changes what a seed draws."""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and time are Linux's")
def test_drawn_graphs_are_exported_and_judged_without_a_finding():
    result = run(Graphs(SEED, SAMPLE), range(COUNT))
    shown = [f"{key} (graph {SEED}-{at})\n{e.detail}" for key, (e, at) in result.escapes.items()]
    assert not shown, "\n".join(shown)
    assert sum(result.outcomes.values()) == COUNT
    assert result.outcomes["ok"] + result.outcomes["known divergence"] > 0.7 * COUNT
    assert result.outcomes[REFUSED] + result.outcomes[RUNTIME_REFUSED] < 0.25 * COUNT


def test_a_run_is_taken_up_where_it_stopped(tmp_path):
    path = tmp_path / "state.json"
    state = State.read(path)
    result = Result()
    result.add("ok", None, 0)
    result.add("judged", Escape("parity", "FAIL well Add", "off"), 7)
    assert state.add(result) == [("parity: FAIL well Add", 7)]
    state.next = 8
    state.write(path)
    again = State.read(path)
    assert again == state
    assert again.add(result) == []
    assert again.findings["parity: FAIL well Add"]["times"] == 2
    assert again.outcomes["ok"] == 2
