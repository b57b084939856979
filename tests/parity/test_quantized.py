"""Quantized models: right ones pass, whatever the optimizer makes of them; faults are found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.parity import Status, verify
from isomorph.parity.rewrites import CUT, MERGED, WEIGHTS, Grid
from isomorph.parity.well import judge
from tests.parity.models import node, save

if TYPE_CHECKING:
    from pathlib import Path

Weights = dict[str, Any]
FLOAT, BYTE = TensorProto.FLOAT, TensorProto.UINT8


def model(
    nodes: list[onnx.NodeProto],
    shape: list[Any],
    weights: Weights,
    *,
    result: int = FLOAT,
    opset: int = 17,
) -> onnx.ModelProto:
    """From `x`, float32, to `y`."""
    made = helper.make_graph(
        nodes,
        "quantized",
        [helper.make_tensor_value_info("x", FLOAT, shape)],
        [helper.make_tensor_value_info("y", result, None)],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in weights.items()],
    )
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def pair(value: str, scale: str, result: str) -> list[onnx.NodeProto]:
    """A value quantized and back; the zero point is named like the scale, with a z."""
    stored = f"{value}_{scale}"
    return [
        node("QuantizeLinear", f"{value} {scale} {scale}z", stored),
        node("DequantizeLinear", f"{stored} {scale} {scale}z", result),
    ]


def grids(**scales: tuple[float, int]) -> Weights:
    """Scales with their zero points, uint8."""
    found: Weights = {}
    for name, (scale, zero) in scales.items():
        found |= {name: np.float32(scale), f"{name}z": np.uint8(zero)}
    return found


def network(*, weights_in_float: bool = False, last: float = 1 / 256) -> onnx.ModelProto:
    """A small convolutional net between quantizers, as static quantization makes them."""
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4, 2, 3, 3)).astype("f4")
    scale = np.abs(w).max((1, 2, 3)) / 127
    constants = grids(a=(0.05, 128), b=(0.08, 100), c=(0.04, 0), d=(last, 0))
    nodes = [*pair("x", "a", "xd")]
    if weights_in_float:
        constants |= {"w": w}
    else:
        constants |= {
            "wq": np.rint(w / scale[:, None, None, None]).astype("i1"),
            "ws": scale.astype("f4"),
            "wz": np.zeros(4, "i1"),
        }
        nodes += [node("DequantizeLinear", "wq ws wz", "w", axis=0)]
    nodes += [
        node("Conv", "xd w", "conv", pads=[1, 1, 1, 1]),
        *pair("conv", "b", "convd"),
        node("Relu", "convd", "relu"),
        node("GlobalAveragePool", "relu", "pool"),
        node("Flatten", "pool", "flat"),
        *pair("flat", "c", "flatd"),
        node("Softmax", "flatd", "soft", axis=-1),
        *pair("soft", "d", "y"),
    ]
    return model(nodes, ["n", 2, 5, 5], constants)


def quiet(path: Path, seeds: int = 2, **options: Any) -> str:
    """Assert PASS for every seed; what was said of the output."""
    said = ""
    for seed in range(seeds):
        verdict = verify(path, path, cases=40, seed=seed, **options)
        assert verdict.status is Status.PASS, f"seed {seed}: {verdict}"
        said += verdict.outputs[0].reason
    return said


def test_a_quantized_network(tmp_path: Path):
    assert CUT not in quiet(save(network(), tmp_path / "model.onnx"))


def test_a_softmax_whose_scale_the_optimizer_cuts(tmp_path: Path):
    """1 / 255 is the scale of probabilities that reach from 0 to 1, and as a float32 below it."""
    assert CUT in quiet(save(network(last=1 / 255), tmp_path / "model.onnx"))


def test_weights_that_the_optimizer_quantizes(tmp_path: Path):
    said = quiet(save(network(weights_in_float=True), tmp_path / "model.onnx"))
    assert WEIGHTS in said


@pytest.mark.parametrize("count", [2, 3])
def test_pairs_that_the_optimizer_merges(tmp_path: Path, count: int):
    steps = grids(a=(0.05, 128), b=(0.03, 100), c=(0.07, 140))
    names = ["x", "p", "q", "r"][: count + 1]
    names[-1] = "y"
    nodes = [n for i, s in enumerate("abc"[:count]) for n in pair(names[i], s, names[i + 1])]
    used = {k: v for k, v in steps.items() if k[0] in "abc"[:count]}
    assert MERGED in quiet(save(model(nodes, ["n", 6], used), tmp_path / "model.onnx"))


def test_the_grid_of_merged_pairs_is_the_optimizer_s():
    import onnxruntime as ort

    rng = np.random.default_rng(4)
    x = np.linspace(-9, 9, 4001, dtype=np.float32)[None]
    options = ort.SessionOptions()
    options.log_severity_level = 4
    for _ in range(20):
        scales, zeros = rng.uniform(0.01, 0.09, 2), rng.integers(0, 255, 2)
        steps = grids(a=(scales[0], zeros[0]), b=(scales[1], zeros[1]))
        made = model([*pair("x", "a", "d"), *pair("d", "b", "y")], [1, x.size], steps)
        session = ort.InferenceSession(made.SerializeToString(), options, ["CPUExecutionProvider"])
        found = session.run(None, {"x": x})[0]
        one, two = (Grid(np.float32(s), int(z), 0, 255) for s, z in zip(scales, zeros, strict=True))
        wanted = one.merged(two).rounded(x.astype(np.float64))
        off = np.abs(found - wanted) > 1e-5
        assert off.mean() < 2e-3  # those on a boundary, which float32 puts on its other side


def test_dynamic_quantization(tmp_path: Path):
    rng = np.random.default_rng(1)
    nodes = [
        node("DynamicQuantizeLinear", "x", "q s z"),
        node("MatMulInteger", "q w z wz", "i"),
        node("Cast", "i", "f", to=FLOAT),
        node("Mul", "s ws", "scale"),
        node("Mul", "f scale", "y"),
    ]
    constants = {
        "w": rng.integers(-127, 127, (16, 8)).astype("i1"),
        "wz": np.int8(0),
        "ws": np.float32(0.01),
    }
    quiet(save(model(nodes, ["n", 16], constants), tmp_path / "model.onnx"))


# -- planted faults -------------------------------------------------------------------------------

Q = [node("QuantizeLinear", "x s z", "y")]
RIGHT: Weights = {"s": np.float32(0.25), "z": np.uint8(3)}


def by_hand(rounding: list[onnx.NodeProto], low: float = 0) -> list[onnx.NodeProto]:
    """x / s, rounded from `v` to `r`, moved by 3, saturated, cast."""
    return [
        node("Div", "x s", "v"),
        *rounding,
        node("Add", "r three", "a"),
        node("Clip", "a low high", "c"),
        node("Cast", "c", "y", to=BYTE),
    ]


CONSTANTS: Weights = {
    "s": np.float32(0.25),
    "three": np.float32(3),
    "low": np.float32(0),
    "high": np.float32(255),
    "half": np.float32(0.5),
}
FAULTS: dict[str, tuple[list[onnx.NodeProto], Weights]] = {
    "halves go up": (
        by_hand([node("Add", "v half", "h"), node("Floor", "h", "r")]), CONSTANTS),
    "cut off": (by_hand([node("Floor", "v", "r")]), CONSTANTS),
    "saturates early": (
        by_hand([node("Round", "v", "r")]), {**CONSTANTS, "high": np.float32(254)}),
    "another scale": (Q, {**RIGHT, "s": np.float32(0.25025)}),
    "another zero point": (Q, {**RIGHT, "z": np.uint8(4)}),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_quantizer_with_a_fault(tmp_path: Path, fault: str):
    good = save(model(Q, ["n", 6], RIGHT, result=BYTE), tmp_path / "good.onnx")
    nodes, constants = FAULTS[fault]
    used = {k: v for k, v in constants.items() if any(k in n.input for n in nodes)}
    bad = save(model(nodes, ["n", 6], used, result=BYTE), tmp_path / "bad.onnx")
    for seed in range(6):
        verdict = verify(good, bad, cases=200, seed=seed, replay_folder=tmp_path / "replay")
        assert verdict.status is Status.FAIL, f"seed {seed}: {verdict}"


def test_the_same_by_hand_is_no_fault(tmp_path: Path):
    good = save(model(Q, ["n", 6], RIGHT, result=BYTE), tmp_path / "good.onnx")
    nodes = by_hand([node("Round", "v", "r")])
    used = {k: v for k, v in CONSTANTS.items() if k != "half"}
    other = save(model(nodes, ["n", 6], used, result=BYTE), tmp_path / "other.onnx")
    for seed in range(5):
        verdict = verify(good, other, cases=40, seed=seed, profile="ordinary")
        assert verdict.status is Status.PASS, verdict


# -- nodes ------------------------------------------------------------------------------------


def judged(name: str, operands: list[Any], result: Any, **attributes: Any) -> Status:
    """The worst finding on what a run time makes of one op."""
    graph = Graph(name)
    values = [
        graph.add_weight(Weight.of(o))
        if np.ndim(o) == 0
        else graph.add_input(f"x{i}", TensorType(DType.of(o.dtype), o.shape))
        for i, o in enumerate(map(np.asarray, operands))
    ]
    op = graph.add_op(name, values, attributes)
    graph.outputs = [op.output]
    infer(graph)
    (finding,) = judge(op, [np.asarray(o) for o in operands], [result])
    return finding.status


def test_either_side_of_a_half_that_rounding_decides():
    """0.35 / 0.1 is 3.5 in float32, and below it by a rounding in truth."""
    x, scale, zero = np.array([0.35], "f4"), np.float32(0.1), np.uint8(0)
    wanted = [3, 4, 2]
    found = [judged("QuantizeLinear", [x, scale, zero], np.array([v], "u1")) for v in wanted]
    assert found == [Status.AMBIGUOUS, Status.PASS, Status.FAIL]


def test_a_half_that_nothing_rounded_goes_to_even():
    x, scale, zero = np.array([0.5, 2.5], "f4"), np.float32(1), np.int8(1)
    assert judged("QuantizeLinear", [x, scale, zero], np.array([1, 3], "i1")) is Status.PASS
    assert judged("QuantizeLinear", [x, scale, zero], np.array([2, 4], "i1")) is Status.FAIL


def test_saturation_is_exact():
    x, scale, zero = np.array([1e9, -1e9], "f4"), np.float32(1), np.int8(0)
    assert judged("QuantizeLinear", [x, scale, zero], np.array([127, -128], "i1")) is Status.PASS
    assert judged("QuantizeLinear", [x, scale, zero], np.array([127, -127], "i1")) is Status.FAIL


def test_a_product_scaled_with_less_precision():
    """Within four roundings of float32 a step is open; what float16 makes of the factor is not."""
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-128, 127, (64, 64)).astype("i1") for _ in range(2))
    scales = [np.float32(v) for v in (0.013, 0.021, 0.07)]
    zero = np.int8(0)
    operands = [a, scales[0], zero, b, scales[1], zero, scales[2], zero]
    sums = a.astype(int) @ b.astype(int)

    def status(factor: Any) -> Status:
        found = np.clip(np.rint(sums * factor), -128, 127).astype("i1")
        return judged("QLinearMatMul", operands, found)

    assert status(np.float32(scales[0] * scales[1]) / scales[2]) in (Status.PASS, Status.AMBIGUOUS)
    assert status(float(np.float16(0.013 * 0.021 / 0.07))) is Status.FAIL


def test_a_dequantized_number_off_by_a_thousandth():
    x, scale = np.arange(-8, 8, dtype="i1"), np.float32(0.3)
    exact = x.astype("f4") * scale
    assert judged("DequantizeLinear", [x, scale], exact) is Status.PASS
    assert judged("DequantizeLinear", [x, scale], exact * np.float32(1.001)) is Status.FAIL


def test_a_range_that_is_not_there_is_left_open():
    zeros = np.zeros(3, "f4")
    graph = Graph()
    op = graph.add_op(
        "DynamicQuantizeLinear", [graph.add_input("x", TensorType(DType.FLOAT32, (3,)))], outputs=3
    )
    graph.outputs = list(op.results)
    infer(graph)
    q, scale, zero = interpret(graph, [zeros])
    found = judge(op, [zeros], [q, np.float32(scale / 255), zero])
    assert [f.status for f in found] == [Status.PASS, Status.UNSPECIFIED, Status.PASS]
