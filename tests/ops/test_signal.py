from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.copies import copy_graph
from isomorph.ir.dims import floor_div, symbol
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.instances import Arg, Instance, build
from isomorph.ir.interpret import interpret
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.parity import Status, verify
from isomorph.parity.well import judge
from tests.ops import harness
from tests.parity.models import save

if TYPE_CHECKING:
    from pathlib import Path


def made(op: str, *operands: Any, dtype: DType = DType.FLOAT32, **attributes: Any) -> Graph:
    """One op; a tuple is the shape of an input, a dim one of its sizes at run time."""
    graph = Graph()
    inputs = []
    for n, operand in enumerate(operands):
        if operand is None:
            inputs.append(None)
        elif isinstance(operand, tuple):
            inputs.append(graph.add_input(f"x{n}", TensorType(dtype, operand)))
        elif operand == "run-time":
            inputs.append(graph.add_input(f"x{n}", TensorType(DType.INT64, ())))
        else:
            kind = np.int64 if isinstance(operand, int) else np.float32
            inputs.append(graph.add_weight(Weight.of(np.array(operand, kind))))
    graph.outputs = [graph.add_op(op, inputs, attributes).output]
    return graph


def parts(x: np.ndarray) -> np.ndarray:
    return np.stack([x.real, x.imag], -1)


# -- transforms ---------------------------------------------------------------------------


@st.composite
def transforms(draw: Any) -> tuple[np.ndarray, int | None, int, dict[str, int]]:
    rank = draw(st.integers(1, 3))
    shape = [draw(st.integers(1, 4)) for _ in range(rank)]
    axis = draw(st.integers(0, rank - 1))
    shape[axis] = draw(st.integers(2, 20))
    inverse, onesided = draw(st.integers(0, 1)), draw(st.integers(0, 1))
    count = draw(st.integers(1, 2)) if not onesided else 1 + inverse
    length = draw(st.none() | st.integers(1, 24))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.standard_normal((*shape, count))
    negative = draw(st.booleans())
    attributes = {"inverse": inverse, "onesided": onesided}
    return x, length, axis - rank - 1 if negative else axis, attributes


def by_definition(x: np.ndarray, length: int | None, axis: int, inverse: int, onesided: int) -> Any:
    """DFT-20: y[m, k] = Σ e^(-2πi kn/N) x[m, n], and x[m, n] = 1/N Σ e^(2πi kn/N) y[m, k]."""
    z = x[..., 0] + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    z = np.moveaxis(z, axis if axis >= 0 else axis + 1, -1)
    size = z.shape[-1]
    points = length or (2 * (size - 1) if inverse and onesided else size)
    full = np.zeros((*z.shape[:-1], points), complex)
    if inverse and onesided:  # the rest of a real signal's spectrum mirrors its first half
        for k in range(points):
            mirror = min(k, points - k)
            if mirror < size:
                full[..., k] = z[..., mirror] if k == mirror else z[..., mirror].conj()
        full[..., 0] = full[..., 0].real
        if points % 2 == 0:
            full[..., points // 2] = full[..., points // 2].real
    else:
        full[..., : min(points, size)] = z[..., :points]
    sign = 2j if inverse else -2j
    matrix = np.exp(sign * np.pi * np.outer(np.arange(points), np.arange(points)) / points)
    found = full @ matrix / (points if inverse else 1)
    if onesided and not inverse:
        found = found[..., : points // 2 + 1]
    found = np.moveaxis(found, -1, axis if axis >= 0 else axis + 1)
    return found.real[..., None] if inverse and onesided else parts(found)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(transforms())
def test_transforms_are_the_sums_of_their_definition(case: Any):
    x, length, axis, attributes = case
    graph = made("DFT", x.shape, length, axis, dtype=DType.FLOAT64, **attributes)
    infer(graph)
    wanted = by_definition(x, length, axis, **attributes)
    (found,) = interpret(graph, [x])
    assert graph.outputs[0].type == TensorType(DType.FLOAT64, found.shape)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13 * np.abs(x).sum())
    for opset in (17, 11):
        moved, _ = copy_graph(graph)
        assert downgrade(moved, opset) == []
        np.testing.assert_allclose(
            interpret(moved, [x])[0], wanted, rtol=0, atol=1e-13 * np.abs(x).sum()
        )


@pytest.mark.parametrize("attributes", [{}, {"onesided": 1}, {"inverse": 1}])
def test_infinities_become_what_the_sum_says(attributes):
    """A fast algorithm would spread them otherwise than the products that older opsets have."""
    x = np.array([[1, np.inf, 2, 3], [1, 2, 3, 4]], np.float32)[..., None]
    graph = made("DFT", x.shape, None, 1, **attributes)
    infer(graph)
    wanted = interpret(graph, [x])[0]
    assert np.isfinite(wanted[1]).all()
    assert not np.isfinite(wanted[0]).any()
    moved, _ = copy_graph(graph)
    assert downgrade(moved, 15) == []
    np.testing.assert_array_equal(np.isnan(interpret(moved, [x])[0]), np.isnan(wanted))


def test_the_first_version_has_its_axis_behind_the_batch():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        old (float[2, 6, 3, 1] x) => (float[2, 6, 3, 2] y) { y = DFT (x) }""")
    x = np.random.default_rng(0).standard_normal((2, 6, 3, 1)).astype(np.float32)
    graph = harness.check_upgrade(model, [x])
    np.testing.assert_allclose(
        interpret(graph, [x])[0], parts(np.fft.fft(x[..., 0], axis=1)), atol=1e-5
    )


@pytest.mark.parametrize("opset", [17, 15])
@pytest.mark.parametrize("axis", [0, 1, 2, -2, -3])
def test_an_axis_known_at_run_time_only(axis: int, opset: int):
    graph = made("DFT", (2, 3, 4, 2), 5, "run-time", inverse=1)
    infer(graph)
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 2)).astype(np.float32)
    feeds = [x, np.array(axis)]
    wanted = interpret(graph, feeds)
    assert downgrade(graph, opset) == []
    assert [op.type for op in graph.ops()].count("DFT") == (opset == 17)
    found = harness.by_runtime(harness.encode(graph, opset), feeds)
    harness.agree(("", "DFT"), feeds, found, wanted, 2.0**-24)


def test_older_opsets_hold_the_formula_not_the_matrix():
    graph = made("DFT", ("b", 4096, 1), None, 1, onesided=1)
    graph.inputs[0].type = TensorType(DType.FLOAT32, (symbol("b"), 4096, 1))
    infer(graph)
    assert downgrade(graph, 13) == []
    assert sum(v.weight.nbytes for v in graph.weights()) < 1000


def test_a_signal_that_may_be_real_or_complex_needs_the_operator():
    graph = made("DFT", (2, 8, symbol("parts")), None, 1)
    infer(graph)
    (stuck,) = downgrade(graph, 16)
    assert "whether its signal is real or complex is not known" in stuck.reason
    assert stuck.lowest == 17


# -- frames, windows, mel -----------------------------------------------------------------


def test_frames_are_one_sided_unless_they_are_told_otherwise():
    x = np.random.default_rng(0).standard_normal((2, 20, 1)).astype(np.float32)
    window = np.hanning(8).astype(np.float32)
    graph = made("STFT", x.shape, 3, (8,))
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, (2, 5, 5, 2))
    (found,) = interpret(graph, [x, window])
    for frame in range(5):
        cut = x[:, 3 * frame : 3 * frame + 8, 0] * window
        np.testing.assert_allclose(found[:, frame], parts(np.fft.rfft(cut)), atol=1e-6)


def test_without_window_and_length_the_signal_is_one_frame():
    x = np.random.default_rng(0).standard_normal((2, 9, 1)).astype(np.float32)
    graph = made("STFT", x.shape, 3)
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, (2, 1, 5, 2))
    wanted = parts(np.fft.rfft(x[..., 0]))[:, None]
    np.testing.assert_allclose(interpret(graph, [x])[0], wanted, atol=1e-6)
    assert downgrade(graph, 13) == []
    np.testing.assert_allclose(interpret(graph, [x])[0], wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("op", "wanted"), [("HannWindow", np.hanning), ("BlackmanWindow", np.blackman)]
)
@pytest.mark.parametrize("count", [2, 3, 10, 257])
def test_symmetric_windows_are_those_of_numpy(op: str, wanted: Any, count: int):
    graph = made(op, count, periodic=0, output_datatype=DType.FLOAT64.value)
    np.testing.assert_allclose(interpret(graph, [])[0], wanted(count), atol=1e-15)


@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_a_periodic_window_is_a_longer_symmetric_one_without_its_last_element(op: str):
    periodic, symmetric = (
        interpret(made(op, n, periodic=p, output_datatype=DType.FLOAT64.value), [])[0]
        for n, p in ((9, 1), (10, 0))
    )
    np.testing.assert_allclose(periodic, symmetric[:-1], atol=1e-15)
    assert periodic.min() >= 0


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    bins=st.integers(1, 40),
    length=st.integers(2, 600),
    rate=st.sampled_from([8000, 16000, 22050, 44100]),
    edges=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_mel_filters_are_those_of_the_reference(bins: int, length: int, rate: int, edges: Any):
    low, high = sorted(np.float32(e * rate / 2 * 0.99) for e in edges)
    graph = made("MelWeightMatrix", bins, length, rate, float(low), float(high))
    infer(graph)
    rows = length // 2 + 1
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, (rows, bins))
    feeds: list[np.ndarray] = []
    found = interpret(graph, feeds)
    model = harness.encode(graph, 17)
    wanted = harness.by_reference(model, feeds)
    # It computes the mel scale in float32: a point near a whole number may fall on its other side.
    assert (np.abs(found[0] - wanted[0]).max(0) > 1e-6).mean() <= 0.2
    moved, _ = copy_graph(graph)
    assert downgrade(moved, 11) == []
    np.testing.assert_array_equal(interpret(moved, feeds)[0], found[0])


# -- shapes -------------------------------------------------------------------------------

B, N, M = symbol("b"), symbol("n"), symbol("m")
SYMBOLIC = (
    (made("DFT", (B, N, 1), None, 1), (B, N, 2)),
    (made("DFT", (B, N, 1), None, 1, onesided=1), (B, floor_div(N, 2) + 1, 2)),
    (made("DFT", (B, N, 2), None, 1, onesided=1, inverse=1), (B, 2 * N - 2, 1)),
    (made("DFT", (B, N, M, 2), 7, -2), (B, N, 7, 2)),
    (made("DFT", (B, N, 1), "run-time", 1), (B, None, 2)),
    (made("DFT", (B, N, M, 2), None, "run-time"), (B, N, M, 2)),
    (made("DFT", (B, N, M, 2), 5, "run-time"), (None, None, None, 2)),
    (made("STFT", (B, N, 1), 4, (16,)), (B, floor_div(N - 16, 4) + 1, 9, 2)),
    (made("STFT", (B, N, 1), 4, None, 10, onesided=0), (B, floor_div(N - 10, 4) + 1, 10, 2)),
    (made("STFT", (B, N, 1), "run-time", (M,)), (B, None, floor_div(M, 2) + 1, 2)),
    (made("HannWindow", 12), (12,)),
    (made("HammingWindow", "run-time"), (None,)),
    (made("MelWeightMatrix", 10, 33, 8000, 0.0, 100.0), (17, 10)),
    (made("MelWeightMatrix", 10, "run-time", 8000, 0.0, 100.0), (None, 10)),
)


@pytest.mark.parametrize(("graph", "shape"), SYMBOLIC)
def test_rules_keep_symbols(graph, shape):
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, shape)


def test_a_window_as_long_as_an_input():
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (N, 3)))
    zero = graph.add_weight(Weight.of(np.array(0, np.int64)))
    shape = graph.add_op("Shape", [x]).output
    size = graph.add_op("Gather", [shape, zero]).output
    graph.outputs = [graph.add_op("BlackmanWindow", [size]).output]
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, (N,))


WRONG = (
    (made("DFT", (2, 8, 3), None, 1), "the last axis holds 3 parts"),
    (made("DFT", (2, 8, 2), None, 1, onesided=1), r"one-sided input is real \(1 part\)"),
    (made("DFT", (2, 8, 1), None, 1, onesided=1, inverse=1), r"complex \(2 parts\)"),
    (made("DFT", (2, 8, 1), None, 2), "axis 2; -3 to -2, or 0 to 1 was expected"),
    (made("DFT", (2, 8, 1), None, -1), "axis -1"),
    (made("DFT", (2, 8, 1), 0, 1), "dft_length is 0, at least 1 was expected"),
    (made("DFT", (2, 1, 2), None, 1, onesided=1, inverse=1), "a transform of 0 points"),
    (made("DFT", (8,), None, 0), "rank 1"),
    (made("STFT", (2, 8), 2, (4,)), "rank 2"),
    (made("STFT", (2, 8, 1), 2, (4,), 5), "frame_length is 5, the window has 4 elements"),
    (made("STFT", (2, 8, 1), 2, (9,)), "frames of 9 do not fit a signal of 8"),
    (made("STFT", (2, 8, 1), 0, (4,)), "frame_step is 0"),
    (made("HannWindow", 0), "size is 0, at least 1 was expected"),
    (made("MelWeightMatrix", 4, 16, 0, 0.0, 1.0), "sample_rate is 0"),
)


@pytest.mark.parametrize(("graph", "message"), WRONG)
def test_rules_name_what_does_not_fit(graph, message):
    with pytest.raises(TypeInferenceError, match=message):
        infer(graph)


def test_filters_beyond_the_spectrum_are_refused():
    graph = made("MelWeightMatrix", 4, 16, 8000, 0.0, 9000.0)
    with pytest.raises(TypeInferenceError, match="edges of 0 to 9000 hertz at 8000 samples"):
        interpret(graph, [])


# -- onnxruntime --------------------------------------------------------------------------


def findings(graph: Graph, feeds: list[np.ndarray], opset: int = 20) -> Any:
    infer(graph)
    assert downgrade(graph, opset) == []
    results = harness.by_runtime(harness.encode(graph, opset), feeds)
    op, given = graph.ops()[0], dict(zip(graph.inputs, feeds, strict=True))
    operands = [v if v is None else given[v] if v in given else v.weight.numpy() for v in op.inputs]
    return op, operands, results, judge(op, operands, results)


def test_a_transform_of_1000_points_is_off():
    """While it is: dft.cc of 1.31 rounds angles of up to 1000π to float32."""
    x = np.random.default_rng(0).standard_normal((1, 1000, 1)).astype(np.float32)
    _, _, results, (finding,) = findings(made("DFT", x.shape, None, 1), [x])
    exact = parts(np.fft.fft(x[..., 0].astype(np.float64)))
    assert np.abs(results[0] - exact).max() > 1e-4 * np.abs(exact).max()
    assert finding.status is Status.RUNTIME
    assert "no power of two" in finding.reason


def test_a_transform_of_1024_points_is_not():
    x = np.random.default_rng(0).standard_normal((1, 1024, 1)).astype(np.float32)
    _, _, _, (finding,) = findings(made("DFT", x.shape, None, 1), [x])
    assert finding.status is Status.PASS


def test_a_one_sided_inverse_of_another_length_is_off():
    x = np.random.default_rng(0).standard_normal((1, 6, 2)).astype(np.float32)
    _, _, _, (finding,) = findings(made("DFT", x.shape, 16, 1, onesided=1, inverse=1), [x])
    assert finding.status is Status.RUNTIME
    assert "neither crops nor pads" in finding.reason


def test_windows_in_float64_have_float32_constants():
    graph = made("HammingWindow", 10, output_datatype=DType.FLOAT64.value)
    _, _, _, (finding,) = findings(graph, [], 17)
    assert finding.status is Status.RUNTIME


@pytest.mark.parametrize("length", [8, 10, 100, 256, 1000])
@pytest.mark.parametrize("attributes", [{}, {"onesided": 1}])
def test_a_wrong_frequency_is_no_rounding(length: int, attributes: dict[str, int]):
    x = np.random.default_rng(0).standard_normal((2, length, 1)).astype(np.float32)
    op, operands, results, _ = findings(made("DFT", x.shape, None, 1, **attributes), [x])
    worse = results[0].copy()
    worse[0, 1] *= 1.02
    (finding,) = judge(op, operands, [worse])
    assert finding.status is Status.FAIL


MEL = """<ir_version: 8, opset_import: ["": 17]>
mel (float[batch, samples] x) => (float[batch, frames, 12] y)
<int64 step = {STEP}, int64 size = {64}, int64 bins = {12}, int64 rate = {8000}, float low = {LOW},
 float high = {4000.0}, int64[1] last = {-1}, float one = {1.0}> {
    w = HannWindow <periodic = PERIODIC> (size)
    signal = Unsqueeze (x, last)
    s = STFT <onesided = 1> (signal, step, w)
    squares = Mul (s, s)
    power = ReduceSum <keepdims = 0> (squares, last)
    filters = MelWeightMatrix (bins, size, rate, low, high)
    energy = MatMul (power, filters)
    more = Add (energy, one)
    y = Log (more)
}"""


def mel(folder: Path, step: int = 16, low: float = 0.0, periodic: int = 1) -> Path:
    text = MEL.replace("STEP", str(step)).replace("LOW", str(low))
    model = onnx.parser.parse_model(text.replace("PERIODIC", str(periodic)))
    return save(model, folder / f"mel-{step}-{low}-{periodic}.onnx")


def test_a_spectrogram_is_verified(tmp_path: Path):
    verdict = verify(mel(tmp_path), mel(tmp_path), cases=20)
    assert verdict.status is Status.PASS, verdict


@pytest.mark.parametrize("change", [{"step": 15}, {"low": 300.0}, {"periodic": 0}])
def test_another_spectrogram_is_not_the_same(tmp_path: Path, change: dict[str, Any]):
    folder = tmp_path / "replay"
    verdict = verify(mel(tmp_path), mel(tmp_path, **change), cases=20, replay_folder=folder)
    assert verdict.status is Status.FAIL


RUN_TIME = {
    "lengths and axes": """<ir_version: 9, opset_import: ["": 20]>
        f (float[n, m, k, 1] x, int64 length, int64 axis) => (float[a, b, c, 2] y) {
            y = DFT (x, length, axis) }""",
    "sizes of windows": """<ir_version: 9, opset_import: ["": 17]>
        f (int64 n) => (float[m] y) { y = HammingWindow (n) }""",
    "sizes of grids": """<ir_version: 9, opset_import: ["": 20]>
        f (float[n, 2, 3] theta, int64[4] size) => (float[n, h, w, 2] y) {
            y = AffineGrid (theta, size) }""",
}


@pytest.mark.parametrize("text", RUN_TIME.values(), ids=RUN_TIME)
def test_what_is_known_at_run_time_only_is_drawn_in_range(tmp_path: Path, text: str):
    path = save(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    verdict = verify(path, path, cases=40)
    assert verdict.status is Status.PASS, verdict
    assert verdict.judged == 40
    assert verdict.refused < 10


@pytest.mark.parametrize("opset", [11, 16])
def test_a_spectrogram_without_the_operators_is_the_same(tmp_path: Path, opset: int):
    graph = decode_model(onnx.load(mel(tmp_path)))
    assert upgrade(graph) == []
    infer(graph)
    assert downgrade(graph, opset) == []
    older = save(harness.encode(graph, opset), tmp_path / "older.onnx")
    verdict = verify(mel(tmp_path), older, cases=20)
    assert verdict.status is Status.PASS, verdict


def test_empty_signals():
    key = ("", "DFT")
    instance = Instance((Arg((2, 0, 1), "T1"), Arg((), "int64", 4, const=True)), main="T1")
    graph, feeds = build(key, instance, DType.FLOAT32)
    infer(graph)
    np.testing.assert_array_equal(interpret(graph, feeds)[0], np.zeros((2, 4, 2), np.float32))
