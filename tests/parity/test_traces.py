"""Generating inputs leaves nothing in the folder where it runs."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import os, sys
sys.path.insert(0, ".")
import own
from isomorph.ir.text import parse
from isomorph.parity.strategies import batches, draw
from hypothesis.configuration import storage_directory

home = storage_directory(intent_to_write=False).home_directory
text = '<ir_version: 10, opset_import: ["": 21]> g (float[n] x) => (float[n] y) { y = Neg(x) }'
graph = parse(text)
first = [draw(batches(graph, sizes=[{"n": 2}]), 200, seed) for seed in range(10)]
assert storage_directory(intent_to_write=False).home_directory == home
print(sorted(os.listdir(".")))
"""


def test_no_folder_of_hypothesis_appears(tmp_path: Path):
    (tmp_path / "own.py").write_text(
        "NUMBERS = 12345, 67890\n", "utf-8"
    )  # which Hypothesis would read
    done = subprocess.run(
        [sys.executable, "-B", "-c", SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.stdout.strip() == "['own.py']", done.stderr
