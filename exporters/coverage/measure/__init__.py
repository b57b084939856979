"""Measure the operator coverage: what changed since the ledger was written, on every core.

Three things are measured, each by itself and stale by itself: an operator through onnxruntime, its
uses on our own kernels (which takes a C++ compiler), and the uses of torch's operators (which takes
torch). Where the compiler or torch is missing, the ledger keeps what was measured elsewhere.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple

from isomorph.exporters.coverage.entries import Entry, Kernels, TorchUse
from isomorph.exporters.coverage.measure import kernels, pytorch
from isomorph.exporters.coverage.measure.digests import digest, kernel_sources
from isomorph.exporters.coverage.measure.releases import releases
from isomorph.exporters.coverage.measure.worker import Worker
from isomorph.exporters.runtimes.tables import load_table
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.instances import INSTANCES
from isomorph.simulator.toolchain import NoCompilerError, compiler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isomorph.exporters.coverage.ledger import Ledger
    from isomorph.exporters.coverage.measure.worker import Job
    from isomorph.ir.opdef import Key

__all__ = ["Stale", "dropped", "measure", "releases", "stale"]


class Stale(NamedTuple):
    """What the ledger lacks, or has measured of something that has changed since.

    Attributes:
        operators: on onnxruntime.
        kernels: operators on our own kernels.
        torch: uses; none where torch is not installed, since nobody can tell.
    """

    operators: tuple[Key, ...] = ()
    kernels: tuple[Key, ...] = ()
    torch: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self)

    def words(self) -> Iterator[str]:
        """One line for each."""
        for key in self.operators:
            yield f"{key[1]} has changed since it was measured"
        for key in self.kernels:
            yield f"the kernels of {key[1]} have changed since they were measured{_unmeasurable()}"
        for name in self.torch:
            yield f"the torch use {name!r} has changed since it was measured"


def stale(ledger: Ledger) -> Stale:
    """What has to be measured for the ledger to be true."""
    entries = ledger.entries
    keys = sorted(INSTANCES.rows())
    operators = (
        k for k in keys if k not in entries or entries[k].digest != digest(k, ledger.releases)
    )
    return Stale(tuple(operators), tuple(_stale_kernels(ledger, keys)), tuple(_stale_uses(ledger)))


def _stale_kernels(ledger: Ledger, keys: list[Key]) -> Iterator[Key]:
    """Planning every use takes seconds, so it is done only where some source has changed."""
    unchanged = ledger.kernels == kernel_sources()
    for key in keys:
        known = ledger.entries[key].kernels.digest if key in ledger.entries else ""
        if not known or not (unchanged or known == kernels.digest(key)):
            yield key


def _stale_uses(ledger: Ledger) -> Iterator[str]:
    if not pytorch.is_here():
        return
    release = ledger.releases.get("torch", "")
    for name, use in pytorch.uses().items():
        known = ledger.torch.get(name)
        if known is None or known.digest != pytorch.digest(use, known.reached, release):
            yield name


def dropped(ledger: Ledger) -> list[Key | str]:
    """Operators and torch uses that the ledger has and nobody else."""
    found: list[Key | str] = sorted(set(ledger.entries) - set(INSTANCES.rows()))
    if pytorch.is_here():
        found += sorted(set(ledger.torch) - set(pytorch.uses()))
    return found


def measure(ledger: Ledger, progress: Callable[[str], None] = lambda _: None) -> list[str]:
    """Bring a ledger up to date, in place; what could not be measured here, in words.

    What was measured before an interruption stays in it.

    Raises:
        UnsupportedError: when no table ships for the installed onnxruntime.
    """
    known = releases()
    if load_table("onnxruntime", known["onnxruntime"], "cpu") is None:
        raise UnsupportedError(
            f"onnxruntime {known['onnxruntime'] or '(none)'} was never probed: "
            "run python -m isomorph.exporters.runtimes.probe first"
        )
    ledger.releases |= known
    for old in dropped(ledger):
        _drop(ledger, old)
    left = stale(ledger)
    jobs: list[Job] = [("operator", key) for key in left.operators]
    notes: list[str] = []
    missing = _unmeasurable()
    if missing and left.kernels:
        notes.append(f"the kernels of {len(left.kernels)} operators were not measured{missing}")
    elif not missing:
        jobs += [("kernels", key) for key in left.kernels]
    jobs += [("torch", name) for name in left.torch]
    if not pytorch.is_here():
        notes.append("uses of torch were not measured: torch is not installed")
    for outcome in run(jobs, progress):
        _keep(ledger, *outcome)
    if not missing:
        ledger.kernels = kernel_sources()
    return notes


def run(
    jobs: list[Job], progress: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[Job, Entry | Kernels | TorchUse]]:
    """The outcomes of jobs, one after another, measured on every core."""
    idle: SimpleQueue[Worker] = SimpleQueue()
    workers = [Worker() for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        idle.put(worker)

    def one(job: Job) -> tuple[Job, Entry | Kernels | TorchUse]:
        kind, which = job
        worker = idle.get()
        try:
            progress(f"measure {which if kind == 'torch' else which[1]} ({kind})")
            told = worker.measure(job)
        finally:
            idle.put(worker)
        if kind == "operator":
            return job, Entry.of_json(told)
        return job, (Kernels if kind == "kernels" else TorchUse).of_json(told)

    pool = ThreadPoolExecutor(len(workers))
    try:
        yield from pool.map(one, jobs)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for worker in workers:
            worker.close()


def _keep(ledger: Ledger, job: Job, outcome: Entry | Kernels | TorchUse) -> None:
    which = job[1]
    if isinstance(outcome, TorchUse):
        ledger.torch[which] = outcome
    elif isinstance(outcome, Kernels):
        ledger.entries[which] = replace(ledger.entries[which], kernels=outcome)
    else:
        before = ledger.entries.get(which)
        ledger.entries[which] = (
            outcome if before is None else replace(outcome, kernels=before.kernels)
        )


def _drop(ledger: Ledger, old: Key | str) -> None:
    if isinstance(old, str):
        del ledger.torch[old]
    else:
        del ledger.entries[old]


def _unmeasurable() -> str:
    """Why kernels cannot be measured here, as the end of a sentence."""
    try:
        compiler()
    except NoCompilerError:
        return " (measuring them takes g++ or clang++ on Linux on x86-64)"
    return ""
