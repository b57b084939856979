"""The node suite at every opset: a sample is judged as recorded; the counts are of the record."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from isomorph.exporters.coverage.suite import OUTCOMES, PATH
from tests.backend import conformance, reexport

SAMPLE = 24
"""Cases that are written for every opset anew, another choice each time."""
REMEDY = "if it is right now: python -m tests.backend.reexport --write"

RECORD = json.loads(reexport.RECORD.read_text("utf-8"))
COUNTS = json.loads(PATH.read_text("utf-8"))


def test_a_sample_is_judged_as_recorded():
    if COUNTS["releases"] != conformance.releases():
        pytest.skip(f"outcomes were recorded with {COUNTS['releases']}")
    seed = int(os.environ.get("CONFORMANCE_SEED") or np.random.default_rng().integers(10**6))
    names = np.random.default_rng(seed).choice(sorted(RECORD), SAMPLE, replace=False).tolist()
    found = {name: reexport.spelled(each) for name, each in reexport.judge_all(names, 1)}
    drift = {n: f"{found[n]}, recorded {RECORD[n]}" for n in names if found[n] != RECORD[n]}
    assert not drift, f"CONFORMANCE_SEED={seed}\n{REMEDY}"


def test_every_case_is_recorded_and_none_is_wrong():
    assert set(RECORD) == set(reexport.compared()), REMEDY
    wrong = [name for name, letters in RECORD.items() if reexport.LETTERS["mismatch"] in letters]
    assert wrong == []


def test_the_counts_are_those_of_the_record():
    assert COUNTS["cases"] == len(RECORD)
    for opset, row in reexport.counted(RECORD).items():
        assert COUNTS["opsets"][str(opset)] == {outcome: row[outcome] for outcome in OUTCOMES}
