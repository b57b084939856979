"""Right models on hard inputs: no alarm may sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.version_converter
import pytest

from isomorph.parity import Status, verify
from tests.parity.models import model, node, save
from tests.realmodels import real_model

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isomorph.parity import Verdict

SEEDS = range(20)


def quiet(reference: Any, candidate: Any, seeds: Sequence[int] = SEEDS, **options: Any) -> Verdict:
    """Assert PASS for every seed; the last verdict."""
    verdict = None
    for seed in seeds:
        verdict = verify(reference, candidate, seed=seed, **{"cases": 30, **options})
        assert verdict.status is Status.PASS, f"seed {seed}: {verdict}"
        assert verdict.exit_code == 0
    assert verdict is not None
    return verdict


def test_layer_norm_with_a_large_mean(tmp_path: Path):
    nodes = [node("LayerNormalization", "x s b", "y", epsilon=1e-5)]
    weights = {"s": np.ones(64, "f4"), "b": np.zeros(64, "f4")}
    made = model(nodes, ["x: float32[n, 64]"], ["y: float32[n, 64]"], weights)
    path = save(made, tmp_path / "model.onnx")
    rng = np.random.default_rng(0)
    samples = [[(rng.standard_normal((4, 64)) + 1e4).astype("f4")] for _ in range(20)]

    def function(x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + np.float32(1e-5))

    quiet(path, path, samples=samples)
    quiet(function, path, inputs=["x: float32[n, 64]"], samples=samples)


@pytest.mark.parametrize("scale", [1.0, 1e-4])
def test_a_product_over_4096_terms(tmp_path: Path, scale: float):
    rng = np.random.default_rng(1)
    weight = (rng.standard_normal((4096, 4)) * scale).astype("f4")
    made = model(
        [node("MatMul", "x w", "y")], ["x: float32[n, 4096]"], ["y: float32[n, 4]"], {"w": weight}
    )
    path = save(made, tmp_path / "model.onnx")
    quiet(lambda x: x @ weight, path, inputs=["x: float32[n, 4096]"], profile="ordinary")
    quiet(path, path, seeds=range(5))


def test_sums_of_what_is_positive(tmp_path: Path):
    nodes = [
        node("ReduceSum", "x axes", "s", keepdims=0),
        node("ReduceMean", "x", "m", axes=[1], keepdims=0),
    ]
    made = model(
        nodes,
        ["x: float32[n, 5000]"],
        ["s: float32[n]", "m: float32[n]"],
        {"axes": np.array([1])},
    )
    path = save(made, tmp_path / "model.onnx")
    quiet(lambda x: (x.sum(-1), x.mean(-1)), path, inputs=["x: float32[n, 5000] in 0..1"])


def convolutional(folded: bool) -> onnx.ModelProto:
    """Convolution, batch norm (or its scale folded into the weights, rounded to float32), relu."""
    rng = np.random.default_rng(2)
    weight = rng.standard_normal((8, 1, 3, 3)).astype("f4")
    scale, shift, mean = (rng.standard_normal(8).astype("f4") for _ in range(3))
    variance = rng.random(8).astype("f4") + np.float32(0.1)
    dense = rng.standard_normal((8 * 16, 10)).astype("f4")
    tail = [
        node("Relu", "n", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", "p", "f"),
        node("MatMul", "f dense", "y"),
    ]
    ports = ["x: float32[batch, 1, 8, 8]"], ["y: float32[batch, 10]"]
    pads = {"pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    if not folded:
        head = [
            node("Conv", "x w", "c", **pads),
            node("BatchNormalization", "c scale shift mean var", "n", epsilon=1e-5),
        ]
        weights = {
            "w": weight, "scale": scale, "shift": shift, "mean": mean, "var": variance,
            "dense": dense,
        }  # fmt: skip
        return model(head + tail, *ports, weights)
    factor = scale.astype("f8") / np.sqrt(variance.astype("f8") + np.float32(1e-5))
    merged = (weight * factor[:, None, None, None]).astype("f4")
    bias = (shift - mean * factor).astype("f4")
    head = [node("Conv", "x w b", "n", **pads)]
    return model(head + tail, *ports, {"w": merged, "b": bias, "dense": dense})


def test_a_small_convolutional_net_with_its_batch_norm_folded(tmp_path: Path):
    plain = save(convolutional(folded=False), tmp_path / "plain.onnx")
    folded = save(convolutional(folded=True), tmp_path / "folded.onnx")
    quiet(plain, plain, seeds=range(5))
    quiet(plain, folded)


def test_a_fold_that_is_wrong_by_a_tenth_of_a_percent_is_still_found(tmp_path: Path):
    plain = save(convolutional(folded=False), tmp_path / "plain.onnx")
    made = convolutional(folded=True)
    array = onnx.numpy_helper.to_array(made.graph.initializer[0]).copy()
    array[3, 0, 1, 1] *= np.float32(1.001)
    made.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(array, "w"))
    folded = save(made, tmp_path / "folded.onnx")
    for seed in SEEDS:
        verdict = verify(plain, folded, cases=30, seed=seed, replay_folder=tmp_path / "replay")
        assert verdict.status is Status.FAIL, verdict


def test_constants_of_python_stored_as_float32(tmp_path: Path):
    nodes = [node("Mul", "x tenth", "m"), node("Tanh", "m", "y")]
    made = model(nodes, ["x: float32[n, 8]"], ["y: float32[n, 8]"], {"tenth": np.array(0.1, "f4")})
    quiet(
        lambda x: np.tanh(x * 0.1),
        save(made, tmp_path / "model.onnx"),
        inputs=["x: float32[n, 8]"],
    )


REAL = ("silero_vad_op18_ifless", "silero_vad_16k_op15", "magika")


@pytest.mark.parametrize("name", REAL)
def test_a_real_model_against_itself(name: str):
    path = real_model(name)
    verdict = quiet(path, path, seeds=[0], cases=40, budget=15.0)
    assert verdict.cases >= 2
    assert verdict.nodes


@pytest.mark.parametrize(("name", "opset"), [("silero_vad_op18_ifless", 19), ("magika", 17)])
def test_a_real_model_against_its_conversion(tmp_path: Path, name: str, opset: int):
    path = real_model(name)
    try:
        converted = onnx.version_converter.convert_version(onnx.load(path), opset)
    except RuntimeError as error:
        pytest.skip(f"onnx's own converter cannot convert it: {error}")
    other = save(converted, tmp_path / "converted.onnx")
    quiet(path, other, seeds=[1], cases=20, budget=10.0, names=False)


def _recurrent(folded: bool) -> onnx.ModelProto:
    """An LSTM, which onnxruntime dies of at batch 0; a fold of its result refuses that batch."""
    rng = np.random.default_rng(0)
    weights: dict[str, np.ndarray] = {
        "w": rng.normal(size=(1, 8, 3)).astype("f4"),
        "r": rng.normal(size=(1, 8, 2)).astype("f4"),
        "shape": np.array([0, 0, -1]),
    }
    nodes = [
        node("LSTM", "x w r", "h", hidden_size=2),
        node("Transpose", "h", "t", perm=[0, 2, 1, 3]),
        node("Reshape", "t shape", "y") if folded else node("Squeeze", "t axis", "y"),
    ]
    if not folded:
        weights["axis"] = np.array([2])
        del weights["shape"]
    return model(nodes, ["x: float32[4, n, 3]"], ["y: float32[4, n, 2]"], weights)


@pytest.mark.parametrize(
    ("folded", "words"),
    [(True, "on inputs that both models refuse"), (False, "at a size of 0")],
    ids=["both refuse", "the run time alone"],
)
def test_a_process_that_dies_of_no_batch_is_the_run_time_s_affair(
    tmp_path: Path, folded: bool, words: str
):
    path = save(_recurrent(folded), tmp_path / "model.onnx")
    verdict = quiet(path, path, range(3))
    assert 0 not in verdict.dims["n"]
    assert any(words in note and "killed its process" in note for note in verdict.notes), verdict
