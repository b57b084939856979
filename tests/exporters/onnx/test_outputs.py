"""Outputs keep their names, whatever they are: inputs, weights, listed twice, equal to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx.checker
import onnx.parser
import pytest

import isomorph as iso

if TYPE_CHECKING:
    from pathlib import Path

W = "float[2] w = {1, 2}"
THEN = "then_branch = t () => (float[2] a) { a = Identity(x) }"
TWICE = "then_branch = t () => (float[2] a, float[2] a) { a = Neg(x) }"
TWO = "else_branch = e () => (float[2] b, float[2] d) { b = Neg(x) d = Abs(x) }"
CAPTURED = "then_branch = t () => (float[2] w) {}"
ELSE = "else_branch = e () => (float[2] b) { b = Neg(x) }"
MODELS = {
    "an input": "(float[2] x) => (float[2] x) {}",
    "an input, twice": "(float[2] x) => (float[2] x, float[2] x) {}",
    "a weight": f"(float[2] x) => (float[2] w) <{W}> {{}}",
    "a weight that is read": f"(float[2] x) => (float[2] w, float[2] y) <{W}> {{ y = Add(x, w) }}",
    "equal weights": f"(float[2] x) => (float[2] w, float[2] v) <{W}, float[2] v = {{1, 2}}> {{}}",
    "one of equal weights": f"(float[2] x) => (float[2] v, float[2] y) <{W}, float[2] v = {{1, 2}}>"
    "{ a = Add(x, w) y = Add(a, v) }",
    "an integer": "(int64 x) => (int64 x, int64 w) <int64 w = {3}> {}",
    "a result, twice": "(float[2] x) => (float[2] y, float[2] y) { y = Neg(x) }",
    "all of it": "(float[2] x) => (float[2] y, float[2] x, float[2] y, float[2] z)"
    "{ y = Neg(x) z = Abs(y) }",
    "equal results": "(float[2] x) => (float[2] y, float[2] z) { y = Neg(x) z = Neg(x) }",
    "copies": "(float[2] x) => (float[2] y, float[2] z) { y = Identity(x) z = Identity(x) }",
    "a copy, twice": "(float[2] x) => (float[2] y, float[2] y) { y = Identity(x) }",
    "constants": f"(float[2] x) => (float[2] y, float[2] z) <{W}> {{ y = Neg(w) z = Neg(w) }}",
    "what does nothing": "(float[2] x) => (float[2] y, float[2] z) <int64[1] s = {2}>"
    "{ y = Reshape(x, s) z = Cast <to = 1> (x) }",
    "a part, twice": "(float[4] x) => (float[2] a, float[2] b, float[2] a)"
    "{ a, b = Split <axis = 0, num_outputs = 2> (x) }",
    "beside a branch": "(float[2] x, bool c) => (float[2] y, float[2] x)"
    f"{{ y = If(c) <{THEN}, {ELSE}> }}",
    "in a branch, a weight": f"(float[2] x, bool c) => (float[2] y) <{W}>"
    f"{{ y = If(c) <{CAPTURED}, {ELSE}> }}",
    "in a branch, twice": "(float[2] x, bool c) => (float[2] y, float[2] z)"
    f"{{ y, z = If(c) <{TWICE}, {TWO}> }}",
}


@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("opset", [18, None])
def test_what_is_checked_is_exported_under_its_names(text: str, opset: int | None, tmp_path: Path):
    read = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> g {text}')
    source, made = tmp_path / "source.onnx", tmp_path / "made.onnx"
    source.write_bytes(read.SerializeToString())
    assert iso.check(source, opset=opset).ok
    result = iso.export(source, made, opset=opset, cases=10)
    assert result.verdict is not None
    assert result.verdict.status == "PASS"
    written = onnx.load(made)
    assert [v.name for v in written.graph.output] == [v.name for v in read.graph.output]
    onnx.checker.check_model(written, full_check=True)
