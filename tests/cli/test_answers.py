"""With `--json` there is always one document on standard output; errors name the file."""

from __future__ import annotations

import json
import sys

import onnx
import onnx.parser
import pytest

from isomorph.cli.root import Commands


@pytest.mark.parametrize(
    "arguments",
    [
        ("check",),
        ("check", "m.onnx", "--nonsense"),
        ("check", "m.onnx", "--opset", "many"),
        ("export", "m.onnx"),
        ("export", "m.onnx", "-o", "out.onnx", "--cases", "0"),
        ("verify", "m.onnx"),
        ("show",),
        ("run", "m.onnx"),
        ("compile", "m.onnx"),
        ("doctor", "extra"),
        ("nonsense",),
        (),
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_answered_with_a_document(isomorph, arguments):
    done = isomorph(*arguments, "--json")
    assert done.code == 2
    assert set(done.document) == {"schema_version", "error", "message"}
    assert done.document["message"]


def test_a_wrong_call_without_json_is_answered_in_words(isomorph):
    done = isomorph("check", "m.onnx", "--nonsense")
    assert done.code == 2
    assert done.out == ""
    assert "--nonsense" in done.err


@pytest.mark.parametrize("command", ["check", "show"])
def test_a_file_that_is_not_there_is_answered_with_a_document(isomorph, command, tmp_path):
    done = isomorph(command, tmp_path / "none.onnx", "--json")
    assert done.code == 2
    assert "none.onnx" in done.document["message"]


def test_an_interruption_is_answered_with_a_document(isomorph, mlp, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("isomorph.cli.source.graph_of", interrupted)
    done = isomorph("check", mlp, "--json")
    assert (done.code, done.document["error"]) == (130, "KeyboardInterrupt")


def test_an_error_of_our_own_is_a_document_and_a_trace(monkeypatch, mlp, capsys):
    from isomorph.cli import build

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("isomorph.cli.source.graph_of", broken)
    monkeypatch.setattr(sys, "argv", ["isomorph", "check", str(mlp), "--json"])
    with pytest.raises(ZeroDivisionError):
        build()()
    assert json.loads(capsys.readouterr().out)["error"] == "ZeroDivisionError"


def test_the_commands_are_ours():
    import typer.main

    from isomorph.cli import build

    assert isinstance(typer.main.get_command(build()), Commands)


def test_findings_and_errors_name_the_file(isomorph, model):
    fancy = model("g (float[n] x) => (float[n] y) { y = acme.Fancy(x) }", "fancy.onnx")
    done = isomorph("check", fancy)
    assert done.code == 1
    assert done.out.startswith("fancy.onnx: not exportable")
    assert isomorph("check", fancy, "--json").document["source"] == "fancy.onnx"
    wrong = model("g (float[2] x) => (float[2] y) { y = Softmax <axis = 9> (x) }", "wrong.onnx")
    for arguments in (("check", wrong), ("export", wrong, "-o", wrong.with_name("out.onnx"))):
        done = isomorph(*arguments)
        assert done.code == 2
        assert done.err.startswith("error: wrong.onnx: y: Softmax"), done.err


def test_a_model_without_outputs_is_found(isomorph, model, tmp_path):
    path = model("g (float[n] x) => () { y = Neg(x) }")
    done = isomorph("check", path, "--json")
    assert done.code == 1
    (finding,) = done.document["findings"]
    assert "no outputs" in finding["reason"]
    assert "output" in finding["remedy"]
    assert isomorph("export", path, "-o", tmp_path / "out.onnx").code == 1


ABSENT = {
    "an operand": "g (float[n] x) => (float[n] y) { y = Sub(x, ) }",
    "one before another": "g (float[n] x) => (float[n] y) { y = Sub(, x) }",
    "one of many": "g (float[n] x) => (float[k] y) { y = Concat <axis = 0> (x, , x) }",
}


@pytest.mark.parametrize("text", ABSENT.values(), ids=ABSENT)
@pytest.mark.parametrize("command", ["show", "check", "export"])
def test_what_an_op_needs_may_not_be_absent(isomorph, model, tmp_path, command, text):
    path, rest = model(text), ("-o", tmp_path / "out.onnx") if command == "export" else ()
    done = isomorph(command, path, *rest, "--json")
    assert done.code == 2, done.out
    assert "model.onnx" in done.document["message"]


OLD = {
    "as it was read": "g (float[4] x) => (float[4] y) { y = Dropout <ratio = 0.5> (x) }",
    "an attribute of old": "g (float[2, 3] x) => (float[3] y) { y = Squeeze <axes = [0]> (z) "
    "z = Slice <axes = [0], starts = [0], ends = [1]> (x) }",
    "what was scrapped": "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) "
    "<float[4] s = {1, 1, 2, 2}> { y = Upsample(x, s) }",
    "nobody knows": "g (float[4] x) => (float[4] y) { y = acme.Fancy(x) }",
}


class TestCheckAndExportAgree:
    """Both look at the same graph: as read where it is written as read, else optimized."""

    @pytest.mark.parametrize("text", OLD.values(), ids=OLD)
    @pytest.mark.parametrize("opset", [9, 10, 11, 17])
    def test_at_old_opsets(self, isomorph, model, tmp_path, text, opset):
        path = model(text, opset=9)
        checked = isomorph("check", path, "--opset", opset)
        out = tmp_path / "out.onnx"
        made = isomorph("export", path, "-o", out, "--opset", opset, "--cases", 20)
        assert made.code == checked.code, (checked.out, made.err)
        assert out.exists() == (checked.code == 0)

    def test_what_is_written_as_it_was_read_is_checked_so(self, isomorph, model, tmp_path):
        path = model(OLD["an attribute of old"], opset=9)
        assert isomorph("check", path, "--opset", 9).code == 0
        out = tmp_path / "out.onnx"
        assert isomorph("export", path, "-o", out, "--opset", 9, "--cases", 20).code == 0
        assert [n.op_type for n in onnx.load(out).graph.node] == ["Slice", "Squeeze"]
