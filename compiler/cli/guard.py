"""What a command does not get past, whatever a model makes it do: time and memory of its process.

Budgets are looked at between ops, and count what ops declare. Here is the net below: an op that
takes too long is interrupted while it is in Python, and an allocation beyond what the machine has
free fails instead of taking the machine down.
"""

from __future__ import annotations

import re
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.ir.budget import current
from isomorph.runtime.contain import memory_limit

if TYPE_CHECKING:
    from collections.abc import Generator

TICK = 0.25
"""Seconds between two looks at the budget."""

SHARE = 0.9
"""Of the memory that is free: the rest is for everybody else."""


@contextmanager
def guarded() -> Generator[None]:
    """Keep the time and the memory of what is evaluated inside; on Linux, time elsewhere too."""
    with _ticking(), memory_limit(None if (free := free_memory()) is None else int(SHARE * free)):
        yield


@contextmanager
def _ticking() -> Generator[None]:
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield  # there is no such clock, or it is somebody else's
        return
    before = signal.signal(signal.SIGALRM, _look)
    signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _look(_: int, __: Any) -> None:
    budget = current()
    if budget is not None and budget.ops:  # an op is being evaluated; elsewhere time may pass
        budget.check()


def free_memory() -> int | None:
    """Bytes that this machine, or the container around this process, has left."""
    free = _number("/proc/meminfo", r"^MemAvailable:\s*(\d+) kB$")
    if free is None:
        return None
    free <<= 10
    most = _number("/sys/fs/cgroup/memory.max", r"^(\d+)$")
    used = _number("/sys/fs/cgroup/memory.current", r"^(\d+)$")
    return free if most is None or used is None else min(free, max(0, most - used))


def _number(path: str, pattern: str) -> int | None:
    try:
        text = Path(path).read_text(encoding="ascii")
    except OSError:
        return None
    found = re.search(pattern, text, re.MULTILINE)
    return None if found is None else int(found[1])
