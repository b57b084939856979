"""What drawn graphs found goes through the house, and before the court, without a finding."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.exporters.target import Target
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.infer import infer
from isomorph.ir.schema import ir_version_for
from isomorph.ir.text import parse
from isomorph.parity.case import Case
from isomorph.parity.worker import Worker
from tests.fuzz.drawn import DRAWN
from tests.fuzz.graphs import KNOWN_DIVERGENCE, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.fuzz.drawn import Drawn


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker(20.0)
    yield made
    made.close()


def tried(drawn: Drawn, worker: Worker, folder: Path) -> Any:
    trial = Trial(0, 0, folder, worker)
    trial.source = drawn.opset
    trial.target = Target(drawn.target, ir_version_for(drawn.target), "onnxruntime")
    trial.optimizing = True
    graph = parse(drawn.text)
    infer(graph)
    upgrade(graph)
    feeds = [np.asarray(v) for v in drawn.feeds]
    return trial.tried(graph, [Case(feeds, {}, hostile=drawn.hostile)])


@pytest.mark.skipif(sys.platform != "linux", reason="a process that dies is told by its signal")
@pytest.mark.parametrize("name", DRAWN)
def test_what_was_found_is_found_no_more(name: str, worker: Worker, tmp_path: Path):
    outcome, escape = tried(DRAWN[name], worker, tmp_path)
    assert escape is None, f"{escape.key}\n{escape.detail}" if escape else ""
    assert outcome in ({"no case"} if DRAWN[name].refused else {"ok", KNOWN_DIVERGENCE})
