"""`isomorph divergences`: the table, one entry, JSON, the page, and an exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.exporters.runtimes.divergences.page import render
from tests.realmodels import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "isomorph", "divergences", *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


def test_the_page_is_what_the_database_says():
    page = ROOT / "docs" / "divergences.md"
    assert page.read_text(encoding="utf-8") == render(), "run: isomorph divergences --write"


def test_all_of_them_in_one_document():
    done = run("--json")
    assert done.returncode == 0, done.stdout
    document = json.loads(done.stdout)
    assert [entry["name"] for entry in document["divergences"]] == list(DIVERGENCES)
    assert document["problems"] == []
    assert document["probed"] == []


def test_one_of_them_is_probed():
    done = run("where-zero", "--probe")
    assert done.returncode == 0, done.stdout
    assert "Where loses the sign of −0" in done.stdout
    assert "2 of 2 probes show what is stated" in done.stdout


def test_an_operator_has_all_that_are_about_it():
    document = json.loads(run("sigmoid", "--json").stdout)
    found = [entry["name"] for entry in document["divergences"]]
    assert found == ["sigmoid-tail", "sigmoid-double"]


def test_a_name_that_there_is_not_is_a_bad_call():
    done = run("where-zeros")
    assert done.returncode == 2
    assert "did you mean where-zero" in done.stderr


def test_a_page_that_is_out_of_date_is_exit_code_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from typer import Exit

    from isomorph.cli import divergences

    page = tmp_path / "docs" / "divergences.md"
    page.parent.mkdir()
    page.write_text("old", encoding="utf-8")
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(divergences, "_page", lambda: page)
    with pytest.raises(Exit) as caught:
        divergences.divergences()
    assert caught.value.exit_code == 1
    with pytest.raises(Exit) as caught:
        divergences.divergences(write=True)
    assert caught.value.exit_code == 0
    assert page.read_text(encoding="utf-8") == render()
