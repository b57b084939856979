"""Memory limits for processes that run what others made, where the platform has them: Linux."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

BASE = 1 << 30
"""What a process is taken to use where the system does not tell."""

_EXHAUSTED = re.compile(r"bad_alloc|bad allocation|[Ff]ailed to allocate|Cannot allocate memory")


def limit_memory(more: int | None) -> None:
    """Let this process take so many bytes more than it has now; `None` lifts the limit.

    An allocation beyond it fails, which a run time reports and survives. On other platforms nothing
    is limited.
    """
    if sys.platform != "linux":
        return
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    soft = hard if more is None else used() + more
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextmanager
def memory_limit(more: int | None) -> Generator[None]:
    """The same for a while; a limit that is there already stays."""
    if sys.platform != "linux" or more is None:
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_DATA)
    if before[0] != resource.RLIM_INFINITY:
        yield
        return
    limit_memory(more)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)


def used() -> int:
    """Bytes of memory that this process has of its own."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return BASE
    found = re.search(r"^VmData:\s*(\d+) kB$", status, re.MULTILINE)
    return BASE if found is None else int(found[1]) << 10


def is_exhausted(words: str) -> bool:
    """Whether an error of a run time says that there was no memory for something."""
    return _EXHAUSTED.search(words) is not None
