"""`import isomorph` is light: what a command does not need, it does not wait for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = {"hypothesis", "onnxruntime", "rich", "sklearn", "sympy", "torch", "typer"}
PROGRAM = "import json, sys, {0}; json.dump(sorted(sys.modules), sys.stdout)"


def loaded_by(module: str) -> set[str]:
    """The names in `sys.modules` of a fresh process that imported one module."""
    command = [sys.executable, "-c", PROGRAM.format(module)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("module", ["isomorph", "isomorph.ir", "isomorph.parity.plugin"])
def test_import_loads_nothing_heavy(module: str):
    assert loaded_by(module) & HEAVY == set()


def test_the_ir_loads_nothing_else_of_isomorph():
    ours = {name for name in loaded_by("isomorph.ir") if name.startswith("isomorph.")}
    assert {name for name in ours if not name.startswith("isomorph.ir.")} == {"isomorph.ir"}
