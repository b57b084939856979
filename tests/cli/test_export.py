"""`isomorph export`: exit codes, what is written, and what is not."""

from __future__ import annotations

import os

import onnx
import pytest


def test_a_model_is_exported_and_verified(isomorph, mlp, tmp_path):
    out = tmp_path / "out.onnx"
    done = isomorph("export", mlp, "-o", out, "--opset", 17, "--json")
    assert done.code == 0, done.err
    assert done.document["schema_version"] == 1
    assert done.document["opset"] == 17
    assert done.document["verdict"]["status"] == "PASS"
    assert done.document["paths"] == [str(out)]
    written = onnx.load(out)
    assert [o.version for o in written.opset_import if not o.domain] == [17]
    dims = written.graph.output[0].type.tensor_type.shape.dim
    assert [d.dim_param or d.dim_value for d in dims] == ["batch", 3]


def test_three_obstacles_are_three_findings_and_no_file(isomorph, model, tmp_path):
    source = model(
        """g (float[n] x) => (float[n] y) {
        a = acme.Fancy(x)
        b = acme.Other(a)
        c = acme.Third(b)
        y = Abs(c) }"""
    )
    out = tmp_path / "out.onnx"
    done = isomorph("export", source, "-o", out, "--json")
    assert done.code == 1
    assert not out.exists()
    assert {f["op"] for f in done.document["findings"]} == {"Fancy", "Other", "Third"}
    assert all(f["where"] and f["reason"] and f["remedy"] for f in done.document["findings"])


def test_names_can_be_chosen(isomorph, mlp, tmp_path):
    out = tmp_path / "out.onnx"
    done = isomorph(
        "export", mlp, "-o", out, "--input-names", "features", "--output-names", "scores"
    )
    assert done.code == 0, done.err
    written = onnx.load(out)
    assert [v.name for v in written.graph.input] == ["features"]
    assert [v.name for v in written.graph.output] == ["scores"]


def test_unreadable_sources_exit_2_with_one_sentence(isomorph, tmp_path):
    out = tmp_path / "out.onnx"
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"\x08\x07garbage that is no model")
    empty = tmp_path / "empty.onnx"
    empty.write_bytes(b"")
    for source in (bad, empty, tmp_path / "missing.onnx", tmp_path, "nowhere.py:f", "x.pt2"):
        done = isomorph("export", source, "-o", out)
        assert done.code == 2, source
        assert done.out == ""
        assert len(done.err.strip().splitlines()) == 1, done.err
        assert not out.exists()
    done = isomorph("export", bad, "-o", out, "--json")
    assert done.code == 2
    assert done.document["message"]


def test_an_opset_that_is_too_new_says_which_is_the_newest(isomorph, mlp, tmp_path):
    done = isomorph("export", mlp, "-o", tmp_path / "out.onnx", "--opset", 99)
    assert done.code == 2
    assert "99" in done.err


def test_the_same_source_gives_the_same_bytes(isomorph, mlp, tmp_path):
    files = [tmp_path / "one.onnx", tmp_path / "two.onnx"]
    for file in files:
        assert isomorph("export", mlp, "-o", file).code == 0
    assert files[0].read_bytes() == files[1].read_bytes()


def test_an_array_function_is_exported_with_its_lines(isomorph, tmp_path):
    source = tmp_path / "double.py"
    source.write_text("import numpy as np\n\n\ndef double(x):\n    return np.exp(x) + x\n", "utf-8")
    out = tmp_path / "out.onnx"
    done = isomorph("export", f"{source}:double", "--input", "x: float32[n, 3]", "-o", out)
    assert done.code == 0, done.err
    places = {p.value for n in onnx.load(out).graph.node for p in n.metadata_props}
    assert any(p.startswith(f"{source}:5") for p in places), places


def test_user_code_that_fails_is_told_with_its_line(isomorph, tmp_path):
    source = tmp_path / "broken.py"
    source.write_text("x = 1\nraise RuntimeError('no')\n", "utf-8")
    done = isomorph("check", f"{source}:f")
    assert done.code == 2
    assert f"{source}:2" in done.err


def test_what_is_no_file_is_not_overwritten(isomorph, mlp, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = isomorph("export", mlp, "-o", pipe)
    assert done.code == 2
    assert "pipe" in done.err
    assert pipe.is_fifo()


TWO = "g (float[n] x, float[n] z) => (float[n] y, float[n] t) { y = Neg(x) t = Abs(z) }"
THROUGH = "g (float[n] x) => (float[n] x, float[n] y) { y = Neg(x) }"


@pytest.mark.parametrize(
    ("text", "names", "inputs", "outputs"),
    [
        (TWO, ["--input-names", "z,x"], ["z", "x"], ["y", "t"]),
        (TWO, ["--input-names", "y,t", "--output-names", "x,z"], ["y", "t"], ["x", "z"]),
        (THROUGH, ["--input-names", "a"], ["a"], ["a", "y"]),
        (THROUGH, ["--output-names", "x,b"], ["x"], ["x", "b"]),
    ],
)
def test_names_are_those_that_were_asked_for(
    isomorph, model, tmp_path, text, names, inputs, outputs
):
    out = tmp_path / "out.onnx"
    done = isomorph("export", model(text), "-o", out, "--cases", 5, *names)
    assert done.code == 0, done.err
    made = onnx.load(out).graph
    assert [v.name for v in made.input] == inputs
    assert [v.name for v in made.output] == outputs


@pytest.mark.parametrize(
    ("text", "names", "words"),
    [
        (TWO, ["--input-names", "y,x"], "'y' would name an input and an output"),
        (TWO, ["--output-names", "a,a"], "output names are given twice: 'a'"),
        (TWO, ["--output-names", "a"], "--output-names has 1 names, the model has 2"),
        (THROUGH, ["--output-names", "a,b"], "'x' and 'a' were asked for"),
    ],
)
def test_names_that_clash_are_an_error(isomorph, model, tmp_path, text, names, words):
    out = tmp_path / "out.onnx"
    done = isomorph("export", model(text), "-o", out, *names)
    assert (done.code, out.exists()) == (2, False)
    assert words in done.err


def test_no_parameter_loses_its_name_to_an_output(isomorph, tmp_path):
    path, out = tmp_path / "source.py", tmp_path / "out.onnx"
    path.write_text("def net(output): return output + 1\n", encoding="utf-8")
    done = isomorph("export", f"{path}:net", "--input", "output: float32[n]", "-o", out)
    assert done.code == 0, done.err
    made = onnx.load(out).graph
    assert [v.name for v in made.input] == ["output"]
    assert [v.name for v in made.output] == ["output_"]
