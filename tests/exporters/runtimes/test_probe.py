"""Probing: what is seen is what happens, a dying process is an answer, tables survive a round."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isomorph.exporters.runtimes import worker
from isomorph.exporters.runtimes.cases import cases
from isomorph.exporters.runtimes.probe import (
    Notes,
    dump,
    newest_ir_version,
    newest_opset,
    observe,
    summarize,
)
from isomorph.exporters.runtimes.prober import Prober, essence
from isomorph.exporters.runtimes.tables import Table, known_tables, load_table, path_of
from isomorph.exporters.target import installed, limits_of
from isomorph.ir.instances import INSTANCES

if TYPE_CHECKING:
    from isomorph.exporters.runtimes.tables import Observed

SAMPLE = 6
"""Operators whose observations are repeated."""


@pytest.fixture(scope="module")
def prober():
    with Prober() as found:
        yield found


class Deadly:
    """Ends the process that unpickles it."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (9,)


def test_a_model_that_kills_the_process_is_a_crash_and_the_next_is_tried(prober: Prober):
    case = next(cases(("", "MatMul"), 21, 10, []))
    outcome, why = prober.ask(worker.Job(Deadly(), {}))  # type: ignore[arg-type]
    assert (outcome, why) == ("crash", "the process died with code 9")
    assert prober.ask(case.job) == ("runs", "")


def test_a_process_that_dies_once_is_no_crash(prober: Prober):
    case = next(cases(("", "MatMul"), 21, 10, []))
    (prober._process or prober._start()).kill()
    assert prober.ask(case.job) == ("runs", "")


def test_bytes_that_are_no_model_are_a_load_error(prober: Prober):
    outcome, why = prober.ask(worker.Job(b"not a model", {}))
    assert outcome == "load-error"
    assert "\n" not in why


def test_a_wrong_feed_is_a_run_error(prober: Prober):
    case = next(cases(("", "MatMul"), 21, 10, []))
    feeds = {n: np.zeros((7, 7, 7), a.dtype) for n, a in case.job.feeds.items()}
    assert prober.ask(worker.Job(case.job.model, feeds))[0] == "run-error"


def test_essence_drops_places_in_the_source():
    text = (
        "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation "
        "for X(1)\n\nStacktrace:\n a"
    )
    assert essence(text) == "Could not find an implementation for X(1)"


def test_ranks_are_told_apart_only_where_they_differ():
    good, bad = ("runs", ""), ("no-kernel", "no kernel")
    same = summarize({"float32": {3: [good], 4: [good]}})
    assert same.look_up("float32", 7) == ("runs", None)
    differ = summarize({"float32": {3: [good], 4: [bad]}})
    assert differ.look_up("float32", 3)[0] == "runs"
    assert differ.look_up("float32", 4)[0] == "fails"
    assert differ.look_up("float32", 5)[0] == "unknown"
    mixed = summarize({"float32": {3: [good, bad]}})
    assert mixed.look_up("float32", 3)[0] == "some"
    assert mixed.look_up("int8", 3)[0] == "unknown"


@pytest.mark.parametrize("name", known_tables(), ids="-".join)
def test_a_shipped_table_is_written_as_it_reads(name: tuple[str, str, str]):
    text = path_of(*name).read_text(encoding="utf-8")
    table = load_table(*name)
    assert table is not None
    assert dump(Table.of_json(json.loads(text))) == text
    limits, observed = limits_of(table.runtime, table.release)
    assert observed
    assert (limits.opset, limits.ir_version) == (table.newest_opset, table.newest_ir_version)


@pytest.mark.parametrize("name", known_tables(), ids="-".join)
def test_every_operator_with_instances_was_probed(name: tuple[str, str, str]):
    table = load_table(*name)
    assert table is not None
    missing = set(INSTANCES.rows()) - set(table.ops)
    newer = {k for k in missing if not list(cases(k, table.newest_opset, 13, []))}
    assert missing == newer, "run python -m isomorph.exporters.runtimes.probe"


def test_a_sample_of_the_installed_release_is_seen_again(prober: Prober):
    release = installed("onnxruntime") or ""
    table = load_table("onnxruntime", release, "cpu")
    if table is None:
        pytest.skip(f"no table ships for onnxruntime {release}")
    assert newest_opset(prober) == table.newest_opset
    assert newest_ir_version(prober, table.newest_opset) == table.newest_ir_version
    keys = sorted(table.ops)
    for key in (keys[n] for n in np.random.default_rng().choice(len(keys), SAMPLE, replace=False)):
        again = observe(key, table.newest_opset, table.newest_ir_version, prober, Notes())
        assert _plain(again) == _plain(table.ops[key]), key


def _plain(found: dict[int, Observed]) -> dict[int, tuple[list[str], list[str], list[str]]]:
    return {
        v: (sorted(o.runs), sorted(o.some), sorted(s for f in o.fails for s in f.signatures))
        for v, o in found.items()
    }
