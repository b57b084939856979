"""Temporary folders of killed processes are removed by the next one; those in use are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from isomorph.ir import scratch

pytestmark = pytest.mark.skipif(scratch.fcntl is None, reason="folders are locked on POSIX alone")

HOLDS = """
import sys
from isomorph.ir.scratch import Scratch
made = Scratch()
(made.path / "data").write_text("x", encoding="utf-8")
print(made.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def folders(place):
    return [p for p in place.iterdir() if p.name.startswith(scratch.PREFIX)]


def test_a_killed_process_leaves_nothing_for_long(temporary):
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(temporary)},
        encoding="utf-8",
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        scratch.sweep()
        assert len(folders(temporary)) == 1, "it is in use"
        child.send_signal(signal.SIGKILL)
    assert len(folders(temporary)) == 1
    scratch.sweep()
    assert folders(temporary) == []


def test_a_folder_goes_with_its_block(temporary):
    with scratch.scratch() as folder:
        (folder / "data").write_bytes(b"x")
        scratch.sweep()
        assert folder.is_dir()
    assert folders(temporary) == []


def test_a_folder_that_is_being_made_is_left_alone(temporary):
    made = temporary / f"{scratch.PREFIX}new"
    made.mkdir()
    scratch.sweep()
    assert made.is_dir()
