"""Every limitation that is listed is one: some use shows it on the installed release."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isomorph.exporters.runtimes.limitations import LIMITATIONS
from isomorph.exporters.target import installed
from isomorph.ir import schema
from isomorph.ir.infer import infer
from isomorph.ir.instances import build
from tests.ops import harness, known

if TYPE_CHECKING:
    from isomorph.exporters.runtimes.limitations import Limitation
    from isomorph.ir.opdef import Key

RELEASE = installed("onnxruntime") or ""
ROWS = [
    pytest.param(key, row, id=f"{key[1]}-{row.reason[:40]}")
    for key, rows in LIMITATIONS.items()
    for row in rows
]
COARSE = ("float16", "bfloat16")
"""Element types at which little can be shown; rows that state them are."""


@pytest.mark.parametrize(("key", "row"), ROWS)
def test_it_is_shown(key: Key, row: Limitation):
    if RELEASE not in row.releases:
        pytest.skip(f"it was observed of {', '.join(row.releases)}, not of {RELEASE}")
    shown = 0
    for case in harness.cases([key]):
        _, instance, dtype = case.values
        if str(dtype) in COARSE and str(dtype) not in row.dtypes:
            continue
        graph, _ = build(key, instance, dtype)
        infer(graph)
        if not row.concerns(graph.ops()[0], "onnxruntime", RELEASE):
            continue
        if row.shown_by is not None and instance.note not in row.shown_by:
            continue
        if not known.limited(key, instance, dtype):  # of no elements
            continue
        try:
            harness.check_runtime(key, instance, dtype)
        except pytest.skip.Exception:
            continue
        except AssertionError:
            shown += 1
        else:
            pytest.fail(f"{case.id} is right: it does not show that onnxruntime {row.reason}")
    assert shown, f"no use shows that onnxruntime {row.reason}"


def test_rows_are_about_operators_that_there_are():
    assert not [key for key in LIMITATIONS if not schema.versions(*key)]
