"""The matrix: what is committed is what the ledger says, and the ledger is what is measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from isomorph.exporters.coverage.ledger import PATH, Entry, Ledger, Tally, numbers, spans
from isomorph.exporters.coverage.matrix import NAME, render, short, story
from isomorph.exporters.coverage.measure import dropped, measure, releases, stale
from isomorph.exporters.coverage.measure.digests import sources
from isomorph.ir.instances import INSTANCES
from isomorph.ir.opdef import FAMILIES
from tests.project.tree import ROOT

SAMPLE = 3
"""Operators that are measured anew, another choice each time."""
REMEDY = "run: isomorph coverage --measure --write"


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger.load()


def test_the_page_is_what_the_ledger_says(ledger: Ledger):
    assert Path(ROOT / NAME).read_text(encoding="utf-8") == render(ledger), REMEDY


def test_the_ledger_is_written_as_it_reads(ledger: Ledger):
    assert ledger.dump() == PATH.read_text(encoding="utf-8")


def test_nothing_has_changed_since_it_was_measured(ledger: Ledger):
    assert not dropped(ledger), REMEDY
    assert not stale(ledger), REMEDY


def test_every_operator_is_in_it_once(ledger: Ledger):
    assert set(ledger.entries) == set(INSTANCES.rows())
    assert {e.family for e in ledger.entries.values()} == set(FAMILIES)


def test_a_sample_is_measured_again(ledger: Ledger):
    if ledger.releases != releases():
        pytest.skip(f"measured with {ledger.releases}")
    small = [k for k, e in sorted(ledger.entries.items()) if e.cases.tried <= 150]
    chosen = [small[n] for n in np.random.default_rng().choice(len(small), SAMPLE, replace=False)]
    for key, entry in measure(chosen):
        assert entry == ledger.entries[key], f"{key}: {REMEDY}"


def test_every_operator_is_read_written_and_run(ledger: Ledger):
    for key, entry in ledger.entries.items():
        assert entry.exports, key
        assert any(entry.imports.values()), key
        assert entry.cases.tried or entry.refused, key


def test_a_change_of_a_family_makes_its_operators_stale_and_no_others(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    from isomorph.exporters.coverage.measure import digests

    changed = sources("pooling") + "\nx = 1"
    monkeypatch.setattr(
        digests, "sources", lambda family: changed if family == "pooling" else sources(family)
    )
    found = {ledger.entries[k].family for k in stale(ledger)}
    assert found == {"pooling"}


def test_an_entry_survives_a_round():
    entry = Entry(
        "abc",
        "linear",
        {6: Tally(1, 2)},
        {11: Tally(3, 3), 12: Tally(0, 3)},
        {"float32": Tally(4, 4), "int8": Tally(0, 1)},
        {"bfloat16": (11, 12, 13, 20)},
        {"too old": (11,)},
        ("something",),
        ("matmul",),
    )
    assert Entry.of_json(json.loads(json.dumps(entry.to_json()))) == entry
    assert entry.opsets == (11,)
    assert entry.cases == Tally(4, 5)
    told = story(("", "MatMul"), entry, {"onnxruntime": "0.0.0"})
    assert "not at 11: too old" in told
    assert "differs: something" in told


@pytest.mark.parametrize("values", [(), (11,), (11, 12, 13), (6, 9, 10, 28)], ids=str)
def test_spans_read_back(values: tuple[int, ...]):
    assert numbers(spans(values)) == values


def test_element_types_are_abbreviated_by_group():
    floats = ["float16", "float32", "float64"]
    assert short([*floats, "bool"]) == "floats bool"
    assert short(floats, starred={"float64"}) == "f32 f16 f64*"
    assert short(["float8e4m3fn", "string"]) == "string float8e4m3fn"
