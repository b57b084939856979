"""A few hundred mutated files per run; `python -m tests.fuzz COUNT SEED` tries more."""

from __future__ import annotations

import sys

import pytest

from tests.fuzz.run import fuzz


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and time are Linux's")
def test_mutated_files_end_in_a_graph_or_a_typed_error():
    result = fuzz(600, suite=False)
    shown = [f"{key} (file 0-{at})\n{e.detail}" for key, (e, at) in result.escapes.items()]
    assert not shown, "\n".join(shown)
    assert sum(result.outcomes.values()) == 600
    assert min(result.outcomes[n] for n in ("refused", "written", "optimized")) > 20
