"""What `check` warns of: uses of operators whose results are known to go wrong for some values."""

from __future__ import annotations

import numpy as np
import pytest

import isomorph as iso
from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.exporters.target import installed
from isomorph.ir.dims import Constraint
from isomorph.ir.text import parse
from isomorph.ir.weights import Weight
from tests.realmodels import real_model

RELEASE = "onnxruntime==1.31.1"
HEAD = '<ir_version: 10, opset_import: ["": 23, "com.microsoft": 1, "ai.onnx.ml": 1]> g'


def warnings_of(model: str, *constraints: str) -> dict[str, tuple[int, tuple[str, ...]]]:
    """Names of the divergences that are warned of: how many uses, and where."""
    graph = parse(f"{HEAD} {model}")
    graph.constraints = [Constraint.parse(text) for text in constraints]
    report = iso.check(graph, opset=23, runtime=RELEASE)
    found = [f for f in report.findings if f.severity == "warning"]
    return {f.reason.rpartition("[")[2].rstrip("]"): (f.count, f.where) for f in found}


WARNED = {
    "division-overflow": "(int32[n] x, int32[n] d) => (int32[n] y) { y = Div (x, d) }",
    "pow-integers": "(int64[n] x, int64[n] p) => (int64[n] y) { y = Pow (x, p) }",
    "reduce-int64": "(int64[n] x) => (int64[1] y) { y = ReduceProd (x) }",
    "unique-nan": "(float[n] x) => (float[m] y) { y = Unique (x) }",
    "nonzero-scalar": "(float x) => (int64[a, b] y) { y = NonZero (x) }",
    "range-by-steps": "(float a, float b, float c) => (float[n] y) { y = Range (a, b, c) }",
    "sums-of-nothing": "(int8[2, 0] x, int8[0, 2] w) => (int32[2, 2] y) "
    "{ y = MatMulInteger (x, w) }",
    "reduce-nothing": "(float[0, 3] x) => (float[0, 1] y) "
    "{ a = Constant <value = int64[1] {-1}> () y = ReduceSum (x, a) }",
    "recurrent-batch-of-none": "(float[s, b, 1] x, float[1, 4, 1] w, float[1, 4, 1] r) => "
    "(float[1, b, 1] y) { _, y = LSTM <hidden_size = 1> (x, w, r) }",
    "qlinear-without-zero-point": "(uint8[n] x, float s) => (uint8[n] y) "
    "{ y = com.microsoft.QLinearSigmoid (x, s, , s) }",
    "feature-vectorizer-no-rows": "(float[n, 1] x, float[n, 1] z) => (float[n, 2] y) "
    "{ y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [1, 1]> (x, z) }",
    "mod-as-floats": "(int32[n] x, int32[n] d) => (int32[n] y) { y = Mod <fmod = 1> (x, d) }",
    "shrink-integers": "(int32[n] x) => (int32[n] y) { y = Shrink (x) }",
    "products-of-nothing": "(float[2, 0] x, float[0] v) => (float[2] y) { y = MatMul (x, v) }",
    "cast-unsaturated": "(float[n] x) => (float8e4m3fn[n] y) "
    "{ y = Cast <to = 17, saturate = 0> (x) }",
    "quantized-batch-of-none": "(float[s, b, 1] x, int8[1, 1, 4] w, int8[1, 1, 4] r, "
    "float[1] f, int8[1] z) => (float[s, 1, b, 1] y) "
    "{ y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1> "
    "(x, w, r, , , , , , f, z, f, z) }",
    "same-pads-dilated": "(float[1, 1, n] x) => (float[1, 1, m] y) { "
    'y = MaxPool <kernel_shape = [2], strides = [2], dilations = [2], auto_pad = "SAME_UPPER"> '
    "(x) }",
    "transpose-grown": "(float[1, 1, n] x, float[1, 1, 1] w) => (float[1, 1, 2] y) "
    "{ y = ConvTranspose <strides = [2], output_shape = [2]> (x, w) }",
    "resize-region-kept": "(float[1, 1, n] x, float[6] r) => (float[1, 2, 3] y) { "
    's = Constant <value = int64[3] {1, 2, 3}> () y = Resize <mode = "linear", '
    'coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, , s) }',
    "cast-few-bits": "(float[n] x) => (float[n] y) "
    "{ a = Cast <to = 22> (x) y = Cast <to = 1> (a) }",
    "fourier-angles": "(float[1, n, 1] x) => (float[a, b, c, d] y) "
    "{ k = Constant <value = int64 {400}> () y = STFT (x, k, , k) }",
    "double-quantizers-merged": "(float[n] x) => (float[n] y) { "
    "s = Constant <value = float {0.1}> () t = Constant <value = float {0.25}> () "
    "z = Constant <value = uint8 {0}> () "
    "a = QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) "
    "c = QuantizeLinear (b, t, z) y = DequantizeLinear (c, t, z) }",
}
QUIET = {
    "elementwise": "(float[n] x, bool[n] c) => (float[n] y) { a = Sigmoid (x) b = Tanh (a) "
    "d = Gelu (b) e = Where (c, d, x) f = Log (e) y = Elu (f) }",
    "division of sizes": "(float[n, m] x, int64[1] i) => (int64[1] y) { s = Shape (x) "
    "a = Gather (s, i) b = Gather (s, i) y = Div (a, b) }",
    "division by a constant": "(int32[n] x) => (int32[n] y) "
    "{ d = Constant <value = int32 {2}> () y = Div (x, d) }",
    "number of elements": "(float[n, m] x) => (int64[1] y) { s = Shape (x) y = ReduceProd (s) }",
    "integers in order": "(int64 a, int64 b, int64 c) => (int64[n] y) { y = Range (a, b, c) }",
    "a batch of one": "(float[s, 1, 1] x, float[1, 4, 1] w, float[1, 4, 1] r) => "
    "(float[1, 1, 1] y) { _, y = LSTM <hidden_size = 1> (x, w, r) }",
    "pooling": "(float[1, 1, n] x) => (float[1, 1, m] y) { y = MaxPool <kernel_shape = [2]> (x) }",
}


@pytest.mark.parametrize("name", WARNED)
def test_a_use_that_a_graph_gives_away_is_warned_of(name: str):
    assert set(warnings_of(WARNED[name])) == {name}


@pytest.mark.parametrize("name", QUIET)
def test_what_values_alone_decide_is_no_noise(name: str):
    assert warnings_of(QUIET[name]) == {}


def test_every_warning_is_tried():
    may = {name for name, entry in DIVERGENCES.items() if entry.when is not None}
    assert may - set(WARNED) == {"clip-nan"}


def test_a_bound_that_is_nan_is_warned_of():
    graph = parse(
        f"{HEAD} (float[n] x) => (float[n] y) <float low = {{1}}> {{ y = Clip (x, low) }}"
    )
    (clip,) = graph.ops()
    assert clip.inputs[1] is not None
    assert "clip-nan" not in str(iso.check(graph, opset=23, runtime=RELEASE))
    clip.inputs[1].weight = Weight.of(np.array(np.nan, np.float32))
    assert "clip-nan" in str(iso.check(graph, opset=23, runtime=RELEASE))


def test_a_size_that_may_not_be_0_is_quiet():
    model = WARNED["recurrent-batch-of-none"]
    assert warnings_of(model, "b >= 1") == {}
    assert set(warnings_of(model, "s >= 1")) == {"recurrent-batch-of-none"}


def test_uses_are_one_line_below_everything_else_and_no_obstacle():
    model = (
        "(int32[n] x, int32[n] d, int64[n] k) => (int32[n] y, int64[n] z, int64[a, b] i) "
        "{ e = Mod (x, d) y = Div (e, d) z = Div (k, k) i = NonZero (x) }"
    )
    report = iso.check(parse(f"{HEAD} {model}"), opset=23, runtime=RELEASE)
    assert report.ok
    assert [f.severity for f in report.findings] == ["risk", "warning"]
    told = str(report).splitlines()
    assert told[0].endswith("0 obstacles, 1 risk, 1 warning")
    (line,) = [line for line in told if line.startswith("warning")]
    assert line.startswith("warning: Mod ×3, first at e: onnxruntime 1.31.1: the smallest integer")
    assert line.endswith("[division-overflow]; " + DIVERGENCES["division-overflow"].remedy)


def test_another_release_is_not_warned_of():
    graph = parse(f"{HEAD} {WARNED['nonzero-scalar']}")
    entry = DIVERGENCES["nonzero-scalar"]
    (op,) = graph.ops()
    assert entry.concerns(op, graph, "onnxruntime", "1.31.1")
    assert not entry.concerns(op, graph, "onnxruntime", "1.99.0")
    assert not entry.concerns(op, graph, "tensorrt", "1.31.1")


@pytest.mark.parametrize("name", ["magika", "silero_vad"])
def test_real_models_are_told_little(name: str):
    if installed("onnxruntime") is None:
        pytest.skip("onnxruntime is not installed")
    report = iso.check(iso.load(real_model(name)))
    assert sum(f.severity == "warning" for f in report.findings) <= 2
