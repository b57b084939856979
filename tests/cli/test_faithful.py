"""`isomorph export --faithful`: the file as it was read, whether or not a run time loads it."""

from __future__ import annotations

import onnx
import pytest

import isomorph as iso
from isomorph.ir.errors import UnsupportedError
from tests.frontends.onnx.constructs import CONSTRUCTS, FUNCTIONS, parsed


def test_a_model_comes_back_verified(isomorph, tmp_path):
    model = parsed(FUNCTIONS.replace('"": 23', '"": 13'))
    source, out = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(model.SerializeToString())
    done = isomorph("export", source, "-o", out, "--faithful", "--cases", 5, "--json")
    assert done.code == 0, done.out
    assert done.document["verdict"]["status"] == "PASS"
    assert onnx.load(out) == model


def test_any_model_can_be_written_without_verification(isomorph, tmp_path):
    source, out = tmp_path / "in.onnx", tmp_path / "out.onnx"
    for name in ("denotations", "training", "element types, typed"):
        model = CONSTRUCTS[name]()
        source.write_bytes(model.SerializeToString())
        done = isomorph("export", source, "-o", out, "--faithful", "--no-verify", "--json")
        assert done.code == 0, done.out
        assert done.document["verdict"] is None
        assert onnx.load(out) == model


def test_what_contradicts_it(isomorph, model, tmp_path):
    out = tmp_path / "out.onnx"
    source = model("g (float[2] x) => (float[2] y) { y = Neg (x) }")
    done = isomorph("export", source, "-o", out, "--faithful", "--opset", 17)
    assert done.code == 2
    assert "stays at 21" in done.err
    assert not out.exists()
    source.write_bytes(parsed(FUNCTIONS).SerializeToString())
    with pytest.raises(UnsupportedError, match="functions that were kept cannot be verified"):
        iso.export(iso.load(source, keep_functions=True), out, faithful=True)
    traced = iso.trace(lambda x: -x, ["x: float32[2]"])
    with pytest.raises(UnsupportedError, match="was not read from a model file"):
        iso.export(traced, out, faithful=True)
    assert not out.exists()


def test_a_graph_that_was_edited(model, tmp_path):
    graph = iso.load(model("g (float[2] x) => (float[2] y) { y = Neg (x) }"))
    graph.metadata["author"] = "somebody"
    result = iso.export(graph, tmp_path / "out.onnx", faithful=True, cases=5)
    assert result.opset == 21
    assert [p.value for p in onnx.load(result.paths[0]).metadata_props] == ["somebody"]


def test_no_name_of_a_file_reaches_the_terminal_as_it_is(isomorph, tmp_path):
    source = tmp_path / "in.onnx"
    model = parsed("""
    <ir_version: 10, opset_import: ["": 21, "acme": 1]>
    g (float[2] x) => (float[2] y) { y = acme.Thing (x) }
    """)
    for owner in (model.graph.node[0].output, model.graph.node[0].input):
        owner[0] += "\x1b[31m"
    model.graph.node[0].op_type = "Thing\x1b]0;title\a"
    model.graph.output[0].name += "\x1b[31m"
    model.graph.input[0].name += "\x1b[31m"
    model.metadata_props.add(key="\x1b[2J", value="[/red]")
    source.write_bytes(model.SerializeToString())
    for command in (("show", source), ("check", source)):
        done = isomorph(*command)
        assert "\x1b" not in done.out + done.err
        assert r"\x1b[31m" in done.out
    model.graph.node[0].input[0] = "\x1b[31m"
    source.write_bytes(model.SerializeToString())
    done = isomorph("show", source)
    assert done.code == 2
    assert "\x1b" not in done.err
