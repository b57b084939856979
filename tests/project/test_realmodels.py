"""The real models come when asked for, and a machine without network says why they do not."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import realmodels, realmodels_page
from tests.realmodels import CACHE_VARIABLE, HOMES, PACKAGES, real_model

if TYPE_CHECKING:
    from pathlib import Path

FETCH = "from tests.realmodels import fetch; print(fetch({0!r}))"


def test_names_are_unique():
    assert len(HOMES) == sum(len(package.files) for package in PACKAGES)


def test_without_network_the_reason_names_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"'magika': magika==\d.*No matching"):
        real_model("magika")
    assert list(tmp_path.rglob("*.onnx")) == []


def test_processes_that_ask_at_once_download_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real_model("magika")  # skips here without network
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    command = [sys.executable, "-c", FETCH.format("magika")]
    started = [
        subprocess.Popen(command, cwd=realmodels.ROOT, stdout=subprocess.PIPE, encoding="utf-8")
        for _ in range(3)
    ]
    answers = {process.communicate()[0].strip() for process in started}
    (path,) = tmp_path.rglob("*.onnx")
    assert answers == {str(path)}


def test_a_file_that_is_not_the_pinned_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real_model("magika")
    (entry,) = [
        e
        for e in json.loads((realmodels.ROOT / "tests/realmodels.json").read_text("utf-8"))
        if e["name"] == "magika"
    ]
    entry["files"]["magika"]["sha256"] = "0" * 64
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    monkeypatch.setitem(HOMES, "magika", realmodels.Package(**entry))
    with pytest.raises(ValueError, match="has SHA-256"):
        realmodels.fetch("magika")
    assert list(tmp_path.rglob("*.onnx")) == []


def test_the_page_says_what_the_files_hold():
    for package in PACKAGES:
        real_model(next(iter(package.files)))
    assert realmodels_page.PAGE.read_text(encoding="utf-8") == realmodels_page.page()
