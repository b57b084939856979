"""`isomorph compile` and `isomorph run`, and what they say when they cannot."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.cli.conftest import MLP
from tests.kernels.support import needs_compiler

DICE = "d (float[2, 2] x) => (float[2, 2] y) { t = Neg(x)\n y = RandomNormalLike(t) }"


@needs_compiler
def test_compile_writes_sources_plan_and_report(isomorph, model, tmp_path):
    out = tmp_path / "built"
    done = isomorph("compile", model(MLP), "--device", "sim:sm_80", "-o", out)
    assert done.code == 0, done.err
    plan = json.loads((out / "plan.json").read_text(encoding="utf-8"))
    assert [k["ops"] for k in plan["launches"]] == ["MatMul+Add+Relu"]
    (kernel,) = (out / "kernels").iterdir()
    assert kernel.name == f"{plan['launches'][0]['kernel']}.cu"
    assert plan["peak_bytes"] % 256 == 0
    assert done.out == (out / "report.txt").read_text(encoding="utf-8")
    if plan["nvrtc"]:
        (cubin,) = (out / "cubins").iterdir()
        assert cubin.name.endswith(".sm_80.cubin")
        assert plan["kernels"][plan["launches"][0]["kernel"]]["spills"] == 0


@needs_compiler
def test_a_report_alone_writes_nothing(isomorph, model, tmp_path, monkeypatch):
    path = model(MLP)
    monkeypatch.chdir(tmp_path)
    done = isomorph("compile", path, "--report")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert done.code == 0, done.err
    assert "MatMul+Add+Relu" in done.out
    assert "moved by all launches" in done.out
    document = isomorph("compile", path, "--report", "--json").document
    assert document["moved_bytes"] == sum(k["bytes"] for k in document["launches"])


def test_compile_asks_for_something_to_do(isomorph, model):
    done = isomorph("compile", model(MLP))
    assert done.code == 2
    assert "--report" in done.err


@needs_compiler
def test_named_sizes_are_planned_for(isomorph, model, tmp_path):
    arguments = ("-o", tmp_path / "b", "--input", "x: float32[100, 4]", "--json")
    document = isomorph("compile", model(MLP), *arguments).document
    assert document["inputs"] == {"x": "float32[100, 4]"}


@needs_compiler
def test_run_takes_and_gives_arrays_by_name(isomorph, model, tmp_path):
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.savez(tmp_path / "in.npz", x=x)
    results = {}
    for device in ("reference", "sim:sm_90"):
        out = tmp_path / f"{device[:3]}.npz"
        sample = ("--sample", tmp_path / "in.npz", "-o", out, "--device", device)
        done = isomorph("run", model(MLP), *sample)
        assert done.code == 0, done.err
        assert done.out == "y: float32[3, 3]\n"
        with np.load(out) as file:
            results[device] = file["y"]
    np.testing.assert_allclose(results["sim:sm_90"], results["reference"], rtol=1e-6)


def test_a_sample_may_hold_more_than_inputs(isomorph, model, tmp_path):
    x = np.zeros((3, 4), np.float32)
    np.savez(tmp_path / "in.npz", x=x, labels=np.zeros(3))
    done = isomorph("run", model(MLP), "--sample", tmp_path / "in.npz")
    assert done.code == 0, done.err
    assert "left out: labels" in done.err
    np.savez(tmp_path / "in.npz", X=x)
    done = isomorph("run", model(MLP), "--sample", tmp_path / "in.npz")
    assert done.code == 2
    assert "no input 'X'" in done.err


@needs_compiler
def test_ops_without_a_kernel_are_exit_code_1(isomorph, model, tmp_path):
    done = isomorph("compile", model(DICE), "-o", tmp_path / "b", "--json")
    assert done.code == 1
    assert [m["op"] for m in done.document["missing"]] == ["RandomNormalLike"]
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("device", ["tpu", "sim:sm_1"])
def test_an_unknown_device_is_exit_code_2(isomorph, model, tmp_path, device):
    done = isomorph("compile", model(MLP), "-o", tmp_path / "b", "--device", device)
    assert done.code == 2
    assert device in done.err


def test_a_sample_that_is_no_archive(isomorph, model, tmp_path):
    path = tmp_path / "in.npz"
    path.write_text("no", "utf-8")
    done = isomorph("run", model(MLP), "--sample", path)
    assert done.code == 2
    assert "in.npz" in done.err


def test_a_missing_compiler_is_one_clear_message(isomorph, model, tmp_path, monkeypatch):
    from isomorph.simulator import toolchain

    monkeypatch.setenv("ISOMORPH_CXX", "no-such-compiler")
    toolchain.compiler.cache_clear()
    try:
        done = isomorph("compile", model(MLP), "-o", tmp_path / "b")
    finally:
        toolchain.compiler.cache_clear()
    assert done.code == 2
    assert "needs a C++ compiler" in done.err
    assert "apt install g++" in done.err


@needs_compiler
def test_verify_judges_the_kernels_of_a_device(isomorph, model):
    path = model(MLP)
    done = isomorph("verify", path, path, "--device", "sim:sm_90", "--cases", "8", "--json")
    assert done.code == 0, done.err
    assert done.document["status"] == "PASS"
    assert [n["op"] for n in done.document["nodes"]] == ["MatMul+Add+Relu"]
