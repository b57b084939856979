"""Benchmarks run, and the page shows the figures that are stored."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.project.tree import ROOT

FOLDER = ROOT / "benchmarks"


@pytest.mark.parametrize(
    "command",
    [
        ["ir_layout.py", "--ops", "600", "--repeat", "1"],
        ["graph_scale.py", "--sizes", "300", "600", "--repeat", "1"],
        ["external_data.py", "--mib", "8"],
    ],
    ids=lambda command: command[0],
)
def test_it_runs(command: list[str]):
    done = subprocess.run(
        [sys.executable, FOLDER / command[0], *command[1:]],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= 3


def test_the_page_is_up_to_date():
    program = "import page; print(page.page(), end='')"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=FOLDER,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8") == done.stdout
