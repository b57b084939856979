"""Processes that do one thing after another, and may die of it."""

from __future__ import annotations

import os
import signal
from collections import Counter

from tests.processes import each


def _length(name: str) -> int:
    if name.startswith("deadly"):
        os.kill(os.getpid(), signal.SIGKILL)
    return len(name)


def test_each_is_answered_once_though_some_kill_their_process():
    names = ["a", "deadly", "bb", "ccc", "deadly too", *("d" * n for n in range(4, 12))]
    found = list(each(_length, names, 2, forked=True))
    assert Counter(name for name, _ in found) == Counter(names)
    assert dict(found) == {n: None if n.startswith("deadly") else len(n) for n in names}
