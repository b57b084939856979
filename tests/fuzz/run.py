"""Processes that try one thing after another; one that dies is replaced."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tests.fuzz.mutate import mutant
from tests.fuzz.seeds import FILES, seeds
from tests.fuzz.stages import Escape, check

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Outcome = tuple[str, Escape | None]

MEMORY = 768 << 20
"""Bytes of address space that a worker may come to need beyond what it has when it starts."""

STUCK = 30.0
"""Seconds after which a worker that does not come to its next file is ended."""

MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there
"""Where files that are read once are put, if there is such a place."""


class Job(Protocol):
    """What is tried, by number."""

    def begin(self, folder: Path) -> Callable[[int], Outcome]:
        """Make ready in a process of its own, with a folder of its own; then: try one."""
        ...


class Mutants:
    """Mutated files, read, shown, optimized and written."""

    def __init__(self, seed: int, originals: Sequence[bytes]) -> None:
        self.seed, self.originals = seed, originals

    def begin(self, folder: Path) -> Callable[[int], Outcome]:
        for name, data in FILES.items():
            folder.joinpath(name).write_bytes(data)

        def try_one(index: int) -> Outcome:
            data = mutant(self.originals, self.seed, index)
            return check(folder / "m.onnx", data, index)

        return try_one


@dataclass
class Result:
    """Outcomes of many trials, and one of each kind that escaped."""

    outcomes: Counter[str] = field(default_factory=Counter[str])
    escapes: dict[str, tuple[Escape, int]] = field(default_factory=dict[str, tuple[Escape, int]])
    seen: Counter[str] = field(default_factory=Counter[str])

    def add(self, outcome: str, escape: Escape | None, index: int) -> None:
        self.outcomes[outcome if escape is None else "escaped"] += 1
        if escape is not None:
            self.seen[escape.key] += 1
            self.escapes.setdefault(escape.key, (escape, index))

    def merge(self, other: Result) -> None:
        self.outcomes += other.outcomes
        self.seen += other.seen
        for key, found in other.escapes.items():
            self.escapes.setdefault(key, found)


def fuzz(
    count: int, seed: int = 0, *, workers: int = 2, suite: bool = True, say: bool = False
) -> Result:
    """What so many mutants come to."""
    job = Mutants(seed, seeds(suite=suite))
    return run(job, range(count), workers=workers, what="files" if say else "")


def run(job: Job, indices: range, *, workers: int = 2, what: str = "") -> Result:
    """What trying all of these comes to; `what` they are is told now and then, unless empty."""
    place = MEMORY_DISK if MEMORY_DISK.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=place) as folder:
        each = [Worker(Path(folder, str(i)), indices[i::workers], job) for i in range(workers)]
        for worker in each:
            worker.start()
        start = last = time.monotonic()
        while any([worker.tend() for worker in each]):  # noqa: C419 - all, each time
            time.sleep(0.05)
            if what and time.monotonic() - last > 30:
                last = time.monotonic()
                done = sum(w.done for w in each)
                rate = done / (last - start)
                print(f"{done:,} {what}, {rate:.0f} a second", file=sys.stderr, flush=True)
        total = Result()
        for worker in each:
            for result in worker.results():
                total.merge(result)
        return total


class Worker:
    """A process with its own share of a job; where it stands can be seen from outside."""

    def __init__(self, folder: Path, share: range, job: Job) -> None:
        folder.mkdir()
        self.folder, self.share, self.job = folder, share, job
        self.place = mmap(-1, 8)
        self.lost = Result()
        self.starts = 0
        self.next = 0
        self.pid = 0
        self.seen = (0, 0.0)

    @property
    def done(self) -> int:
        return int.from_bytes(self.place[:8], "little")

    def start(self) -> None:
        self.starts += 1
        self.seen = (-1, time.monotonic())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other threads of a test run hold no lock of ours
            self.pid = os.fork()
        if self.pid:
            return
        status = 1
        try:
            self.work()
            status = 0
        finally:
            os._exit(status)

    def work(self) -> None:
        _limit_memory()
        warnings.simplefilter("error")  # nobody who loads a model should be told of our arithmetic
        with contextlib.suppress(OSError):
            os.nice(10)
        result = Result()
        try_one = self.job.begin(self.folder)
        for at in range(self.next, len(self.share)):
            self.place[:8] = at.to_bytes(8, "little")
            index = self.share[at]
            outcome, escape = try_one(index)
            result.add(outcome, escape, index)
            if at % 200 == 0:
                self.keep(result)
        self.keep(result)
        self.place[:8] = len(self.share).to_bytes(8, "little")

    def keep(self, result: Result) -> None:
        new = self.folder / f"result-{self.starts}.new"
        new.write_bytes(pickle.dumps(result))
        new.replace(new.with_suffix(".pickle"))

    def tend(self) -> bool:
        """Whether there is still something to do; a dead or stuck process is replaced."""
        if not self.pid:
            return False
        ended, status = os.waitpid(self.pid, os.WNOHANG)
        now, place = time.monotonic(), self.done
        if not ended:
            if place != self.seen[0]:
                self.seen = (place, now)
            elif now - self.seen[1] > STUCK:
                os.kill(self.pid, signal.SIGKILL)
            return True
        self.pid = 0
        if place >= len(self.share):
            return False
        signed = os.waitstatus_to_exitcode(status)
        stuck = signed == -signal.SIGKILL
        kind = f"stuck for {STUCK:g} s" if stuck else f"the process died with status {signed}"
        self.lost.add("", Escape("process", kind, kind), self.share[place])
        self.next = place + 1
        self.start()
        return True

    def results(self) -> list[Result]:
        paths = sorted(self.folder.glob("result-*.pickle"))
        return [self.lost, *(pickle.loads(p.read_bytes()) for p in paths)]  # noqa: S301 - ours


def _limit_memory() -> None:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - no text that a Path would help with
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, now + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
