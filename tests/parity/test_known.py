"""The known divergences: each is one, of the installed release, and is judged as is said."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.exporters.runtimes.divergences.entry import Dies, Gives, Stale
from isomorph.exporters.runtimes.limitations import LIMITATIONS, limitations_of
from isomorph.exporters.target import installed
from isomorph.ir import schema
from isomorph.ir.infer import infer
from isomorph.ir.interpret import Program, widen
from isomorph.ir.text import parse
from isomorph.parity import Status
from isomorph.parity.candidate import Candidate
from isomorph.parity.endtoend import compare_optimized
from isomorph.parity.nodes import judge_nodes
from isomorph.parity.probing import GONE, alike, probe_all, show, write
from isomorph.parity.well import judge
from isomorph.parity.worker import Worker, WorkerDiedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isomorph.exporters.runtimes.divergences.entry import Divergence, Probe
    from isomorph.parity.finding import Finding

RELEASE = installed("onnxruntime") or ""
ENTRIES = [pytest.param(entry, id=name) for name, entry in DIVERGENCES.items()]
PROBES = [
    pytest.param(entry, probe, id=f"{name}-{index}")
    for name, entry in DIVERGENCES.items()
    for index, probe in enumerate(entry.probes)
]


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


def observed(entry: Divergence) -> None:
    if RELEASE not in entry.releases:
        pytest.skip(f"it was observed of {', '.join(entry.releases)}, not of {RELEASE}")


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_installed_release_does_as_is_said(entry: Divergence, worker: Worker):
    observed(entry)
    shown = list(probe_all([entry], worker))
    assert shown
    assert [str(s) for s in shown if s.problem] == []


@pytest.mark.parametrize(("entry", "probe"), PROBES)
def test_verify_judges_it_as_is_said(
    entry: Divergence, probe: Probe, worker: Worker, tmp_path: Path
):
    observed(entry)
    wanted = probe.judged or entry.judged
    found: list[Finding] = []
    with Candidate(write(probe, probe.opsets[-1], tmp_path), worker) as candidate:
        feeds = list(probe.feeds)
        if isinstance(probe.gives, Dies):
            assert wanted == "FAIL"
            with pytest.raises(WorkerDiedError, match=probe.gives.signal):
                candidate.run(feeds, optimize=False)
            return
        if entry.optimizer:
            truth, plain = candidate.wide(feeds), candidate.run(feeds, optimize=False)
            other = candidate.run(feeds, optimize=True)
            found += compare_optimized(candidate, feeds, truth, plain, other, thorough=True)
        elif isinstance(probe.gives, Stale):  # what an instrumented session shows is its own
            op = candidate.graph.ops()[-1]
            values = candidate.observe(feeds)
            operands = [None if v is None else values[v] for v in op.inputs]
            found += judge(op, operands, candidate.run(feeds, optimize=False))
        else:
            judge_nodes(candidate, candidate.observe(feeds), lambda _, one: found.append(one))
    worst = max(found, key=lambda f: f.status.rank)
    if probe.gives == Stale(surely=False) and worst.status is Status.PASS:
        return  # what lay in memory was what is defined
    assert worst.status is Status[wanted], worst.reason
    assert wanted != "RUNTIME" or entry.words in worst.reason


@pytest.mark.parametrize(("entry", "probe"), PROBES)
def test_what_is_defined_is_what_the_definition_gives(entry: Divergence, probe: Probe):
    if not probe.wanted:
        assert (probe.judged or entry.judged) == "UNSPECIFIED" or isinstance(probe.gives, Dies)
        return
    graph = parse(probe.text(probe.opsets[-1]))
    found = {wide: Program(graph, wide=wide).run(list(probe.feeds)) for wide in (False, True)}
    for index, value in enumerate(probe.wanted):
        assert any(
            alike(widen(run[index]), widen(value), 4)
            or np.allclose(widen(run[index]), widen(value), 1e-4, 1e-7, equal_nan=True)
            for run in found.values()
            if _numeric(value)
        ) or any(alike(run[index], value, None) for run in found.values())


def _numeric(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_whole(entry: Divergence):
    assert set(entry.versions) == set(entry.ops)
    assert all(entry.versions.values())
    for key, versions in entry.versions.items():
        assert set(versions) <= set(schema.versions(*key))
    assert (entry.kind == "optimizer-made") == bool(entry.optimizer)
    assert (entry.kind == "crash") == all(isinstance(p.gives, Dies) for p in entry.probes)
    assert bool(entry.remedy) == (entry.when is not None)
    assert not (entry.limited and entry.when)
    for words in (entry.what, entry.spec, entry.source):
        assert words
        assert not words.endswith(".")
    for probe in entry.probes:
        if isinstance(probe.gives, Gives) and probe.wanted:
            pairs = zip(probe.gives.values, probe.wanted, strict=True)
            assert not all(alike(g, w, probe.gives.digits) for g, w in pairs)


class TestBothWays:
    """What has changed is told, whichever way it has."""

    entry = DIVERGENCES["where-zero"]

    def told(self, entry: Divergence, probe: Probe, worker: Worker, tmp_path: Path) -> str:
        return show(entry, probe, 23, worker, tmp_path).problem

    def test_it_is_gone(self, worker: Worker, tmp_path: Path):
        kept = replace(
            self.entry.probes[0], feeds=(np.array([True]), np.float32([3]), np.ones(1, "f4"))
        )
        kept = replace(kept, wanted=(np.float32([3]),))
        assert self.told(self.entry, kept, worker, tmp_path) == GONE

    def test_it_is_something_else(self, worker: Worker, tmp_path: Path):
        other = replace(self.entry.probes[0], gives=Gives((np.float32([7]),)))
        assert "it gives [0.]" in self.told(self.entry, other, worker, tmp_path)

    def test_it_dies_no_more(self, worker: Worker, tmp_path: Path):
        entry = DIVERGENCES["division-overflow"]
        mended = replace(entry.probes[0], feeds=(np.int32([7]), np.int32([2])))
        assert "does not die of SIGFPE" in self.told(entry, mended, worker, tmp_path)

    def test_another_optimizer_makes_it(self, worker: Worker, tmp_path: Path):
        entry = replace(DIVERGENCES["double-quantizers-merged"], optimizer="ConstantFolding")
        told = self.told(entry, entry.probes[0], worker, tmp_path)
        assert told.startswith("it is not ConstantFolding alone")

    def test_memory_that_is_written_now(self, worker: Worker, tmp_path: Path):
        entry = DIVERGENCES["sums-of-nothing"]
        found = show(entry, entry.probes[0], 23, worker, tmp_path)
        assert not found.problem
        zeros = replace(self.entry.probes[0], gives=Stale(), wanted=(np.float32([0.0]),))
        assert self.told(self.entry, zeros, worker, tmp_path) == GONE


class TestLimitations:
    """What is wrong in any use of a kind is a `Limitation`, and an entry that shows it."""

    @staticmethod
    def rows_of(entry: Divergence) -> list[str]:
        rows: list[str] = []
        for probe in entry.probes:
            graph = parse(probe.text(probe.opsets[-1]))
            infer(graph)
            for _, op in graph.walk():
                rows += [r.reason for r in limitations_of(op, "onnxruntime", entry.releases[0])]
        return rows

    @pytest.mark.parametrize("entry", [e for e in ENTRIES if e.values[0].limited])
    def test_an_entry_that_says_so_has_one(self, entry: Divergence):
        assert self.rows_of(entry)

    def test_each_is_shown_by_an_entry(self):
        shown = {r for e in DIVERGENCES.values() if e.limited for r in self.rows_of(e)}
        missing = {k for k, rows in LIMITATIONS.items() if any(r.reason not in shown for r in rows)}
        assert not missing
