"""Killed at any moment, an export leaves the old file or the new one, and nothing that stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from isomorph.exporters.onnx.writer import stage, write
from isomorph.frontends.onnx.reader import read
from tests.exporters.onnx.test_writer import chain, target

SCRIPT = Path(__file__).with_name("killing.py")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="victims are forks")
def test_killed_at_every_call_and_at_random_times(tmp_path: Path):
    command = [sys.executable, SCRIPT, tmp_path, "40", "0"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    killed = re.fullmatch(r"killed (\d+) times\n", done.stdout)
    assert killed is not None
    assert int(killed[1]) > 60


def test_leftovers_of_another_machine_are_cleaned(tmp_path: Path):
    for name in (".m.onnx.1.0.tmp", ".m.onnx.999999.3.tmp", ".m.onnx.1.0.data.tmp"):
        (tmp_path / name).write_bytes(b"half")
    (tmp_path / ".other.onnx.1.0.tmp").write_bytes(b"not ours")
    write(chain(), tmp_path / "m.onnx", target(21))
    assert {p.name for p in tmp_path.iterdir()} == {"m.onnx", ".other.onnx.1.0.tmp"}


def test_two_at_a_time_do_not_clean_each_other(tmp_path: Path):
    path = tmp_path / "m.onnx"
    first = stage(chain(3), path, target(21), external=True)
    second = stage(chain(4), path, target(21), external=True)
    second.commit()
    assert len(read(first.path)) == 3
    kept = first.commit()
    assert len(read(path)) == 3
    assert sorted(tmp_path.iterdir()) == sorted(kept.paths)


def test_discarding_what_another_has_put_in_place(tmp_path: Path):
    path = tmp_path / "m.onnx"
    first = stage(chain(3), path, target(21), external=True)
    kept = write(chain(3), path, target(21), external=True)
    first.discard()
    assert sorted(tmp_path.iterdir()) == sorted(kept.paths)


def test_many_threads_over_one_path(tmp_path: Path):
    path = tmp_path / "m.onnx"
    failures: list[BaseException] = []

    def work(count: int) -> None:
        try:
            for _ in range(5):
                write(chain(count), path, target(21), external=True)
        except BaseException as error:  # noqa: BLE001 - reported below
            failures.append(error)

    threads = [threading.Thread(target=work, args=(count,)) for count in (2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    write(chain(5), path, target(21), external=True)
    assert len(list(tmp_path.iterdir())) == 2
    assert [float(np.unique(v.weight.numpy())[0]) for v in read(path).weights()] == [0, 1, 2, 3, 4]
