"""Standard output holds what we print, whole, or the process says that it could not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
POSIX = pytest.mark.skipif(os.name == "nt", reason="of POSIX shells")
NOISY = """
    import atexit, os, sys
    print("by print")
    os.write(1, b"by descriptor\\n")
    sys.__stdout__.write("by the original stream\\n")
    os.system("echo by a child")
    sys.stdout.close()
    os.chdir("/")
    sys.argv.append("more")
    import warnings
    warnings.simplefilter("error")
    import numpy as np
    np.seterr(all="raise")

    def net(x):
        print("while it runs")
        return np.exp(x) / (1 + np.exp(x))
"""
FLOATS = "x: float32[n, 4]"


def run(*arguments: object, into: str = "", **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "isomorph", *map(str, arguments)]
    if into:
        command = ["bash", "-c", f'"$@" {into}', "bash", *command]
    options = {"capture_output": True, "encoding": "utf-8", "timeout": 120} | options
    return subprocess.run(command, check=False, **options)  # type: ignore[call-overload]


@pytest.fixture
def noisy(tmp_path):
    path = tmp_path / "noisy.py"
    path.write_text(dedent(NOISY), encoding="utf-8")
    return path


@FULL
@POSIX
@pytest.mark.parametrize("arguments", [("show",), ("show", "--json"), ("check",)], ids=" ".join)
def test_a_full_disk_is_told_in_a_sentence(mlp, arguments):
    done = run(arguments[0], mlp, *arguments[1:], into="> /dev/full")
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "error: standard output cannot be written: no space left on device"
    )


@POSIX
@pytest.mark.parametrize("command", [("divergences",), ("--help",)], ids=" ".join)
def test_a_reader_who_is_gone_ends_it_quietly(command):
    read, write = os.pipe()
    os.close(read)
    try:
        done = run(*command, capture_output=False, stdout=write, stderr=subprocess.PIPE)
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@POSIX
def test_a_closed_standard_output_is_told(mlp):
    done = run("show", mlp, into=">&-")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == "error: standard output is closed: there is nowhere to answer to"


def test_what_an_encoding_lacks_is_escaped(model):
    path = model("g (float[n] x) => (float[n] y) { y = Neg(x) }", name="ü.onnx")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = run("show", path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "\\xfc.onnx" in done.stdout


@pytest.mark.parametrize("command", ["check", "export", "verify"])
def test_nothing_that_a_source_prints_or_changes_reaches_us(noisy, tmp_path, command):
    made = tmp_path / "net.onnx"
    first = run("export", f"{noisy}:net", "--input", FLOATS, "-o", "net.onnx", cwd=tmp_path)
    assert (first.returncode, made.is_file()) == (0, True), first.stderr
    rest = {
        "check": ["--input", FLOATS],
        "export": ["--input", FLOATS, "-o", made],
        "verify": [made, "--input", FLOATS],
    }[command]
    done = run(command, f"{noisy}:net", *rest, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema_version"] == 1
    for said in ("print", "descriptor", "the original stream", "a child"):
        assert f"by {said}" in done.stderr


def test_outputs_are_written_under_the_name_that_was_asked_for(isomorph, mlp, tmp_path):
    np.savez(tmp_path / "in.npz", x=np.ones((2, 4), np.float32))
    for name in ("out.npz", "out"):
        done = isomorph("run", mlp, "--sample", tmp_path / "in.npz", "-o", tmp_path / name)
        assert done.code == 0, done.err
        with np.load(tmp_path / name) as found:
            assert found.files == ["y"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.npz", mlp.name, "out", "out.npz"]


def test_where_outputs_cannot_go_is_told_before_anything_is_run(isomorph, mlp, tmp_path):
    (tmp_path / "folder").mkdir()
    for place, words in (("folder", "it is a folder"), ("none/out.npz", "there is no folder")):
        done = isomorph("run", mlp, "--sample", "none.npz", "-o", tmp_path / place)
        assert done.code == 2
        assert f"{tmp_path / place}: {words}" in done.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", mlp.name]


def test_a_folder_that_is_a_file_is_told_in_words(isomorph, mlp):
    done = isomorph("compile", mlp, "-o", mlp / "kernels")
    assert done.code == 2
    assert "Errno" not in done.err
    assert "a part of it is a file, where a folder is expected" in done.err
