"""`isomorph coverage`: summary, one operator, JSON, and an exit code that says out of date."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "isomorph", "coverage", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def test_one_operator_is_told_whole():
    done = run("--op", "matmul")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("MatMul (linear)")
    assert "observed of MatMul-13: runs" in done.stdout
    document = json.loads(run("--op", "MatMul", "--json").stdout)
    assert document["op"] == "MatMul"
    assert document["exports"]["13"]
    assert document["kernels"]["dtypes"]["float32"]
    assert "matmul" in [row["name"] for row in document["torch"] if row["alone"]]


def test_an_unknown_operator_is_a_bad_call():
    done = run("--op", "MatMull")
    assert done.returncode == 2
    assert "did you mean MatMul" in done.stderr


def test_the_whole_is_one_document():
    done = run("--json")
    document = json.loads(done.stdout)
    assert document["schema_version"] == 2
    assert document["up_to_date"] == (done.returncode == 0)
    assert document["operators"] == len(document["ops"])
    assert document["torch_uses"]["softmax"]["reached"] == {"aten.softmax.int": ["Softmax"]}


def test_out_of_date_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from typer import Exit

    from isomorph.cli import coverage

    page = tmp_path / "op_coverage.md"
    page.write_text("old", encoding="utf-8")
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(coverage, "_page", lambda: page)
    with pytest.raises(Exit) as caught:
        coverage.coverage()
    assert caught.value.exit_code == 1
    assert page.read_text(encoding="utf-8") == "old"
