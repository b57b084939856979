"""The normalizations: meaning, shapes and versions."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.graph import Graph
from isomorph.ir.interpret import interpret
from isomorph.ir.ops.normalization import OPS
from isomorph.ir.text import parse
from isomorph.ir.types import DType, TensorType
from tests.ops import harness as h
from tests.ops import known

NAMES = sorted(name for _, name in OPS)
RNG = np.random.default_rng(5)
X = RNG.uniform(-2, 2, (2, 4, 3, 5)).astype(np.float32)
LONG = np.longdouble

REFERENCE_IS_WRONG = {
    ("GroupNormalization", "float64"): "it computes in float32",
    ("LRN", "float32"): "its window ends one channel early",
    ("LRN", "float64"): "its window ends one channel early",
    ("LogSoftmax", "float16"): "it takes the logarithm of an underflowed Softmax",
}


def right(*case: object) -> bool:
    (_, name), instance, dtype = case  # type: ignore[misc]
    if name == "LpNormalization" and instance.attributes.get("p") == 1:
        return False  # the reference sums without taking absolute values
    if name == "LayerNormalization" and "statistics" in instance.note and str(dtype) != "float32":
        return False  # the reference returns statistics in the type of X, not in stash_type
    return (name, str(dtype)) not in REFERENCE_IS_WRONG


@pytest.mark.parametrize("name", NAMES)
def test_reference(name: str) -> None:
    h.sweep(h.check_reference, name, where=right)


@pytest.mark.parametrize("name", NAMES)
def test_runtime(name: str) -> None:
    h.sweep(h.check_runtime, name, limited=known.limited)


@pytest.mark.parametrize("name", NAMES)
def test_runtime_at_older_opsets(name: str) -> None:
    h.sweep(h.check_runtime_at_older_opsets, name, ("float32", "float16"))


@pytest.mark.parametrize("name", NAMES)
def test_float64_is_the_same_function(name: str) -> None:
    h.sweep(h.check_narrow, name)


@pytest.mark.parametrize("name", NAMES)
def test_rule(name: str) -> None:
    h.sweep(h.check_rule, name)


@pytest.mark.parametrize("name", NAMES)
def test_versions(name: str) -> None:
    h.sweep(h.check_versions, name)


def run(
    name: str, *operands: np.ndarray, version: int | None = None, **attributes: object
) -> list[np.ndarray]:
    graph = Graph()
    values = [
        graph.add_input(f"x{i}", TensorType(DType.of(a.dtype), a.shape))
        for i, a in enumerate(operands)
    ]
    graph.outputs = [graph.add_op(name, values, attributes, version=version).output]
    return interpret(graph, operands, wide=True)


def textbook(name: str, x: np.ndarray) -> np.ndarray:
    """Formulas of the definitions in long double, with epsilon 1e-5 as float32, neutral scales."""
    a, epsilon = x.astype(LONG), LONG(np.float32(1e-5))

    def over(*axes: int) -> np.ndarray:
        mean = a.mean(axes, keepdims=True)
        return (a - mean) / np.sqrt(((a - mean) ** 2).mean(axes, keepdims=True) + epsilon)

    match name:
        case "LayerNormalization":
            return over(3)
        case "InstanceNormalization":
            return over(2, 3)
        case "RMSNormalization":
            return a / np.sqrt((a * a).mean(3, keepdims=True) + epsilon)
        case "LpNormalization":
            return a / np.sqrt((a * a).sum(3, keepdims=True))
        case "Softmax":
            return np.exp(a) / np.exp(a).sum(3, keepdims=True)
        case _:
            return np.log(np.exp(a) / np.exp(a).sum(3, keepdims=True))


PARAMETERS = {
    "LayerNormalization": (5, 2),
    "InstanceNormalization": (4, 2),
    "RMSNormalization": (5, 1),
}


@pytest.mark.parametrize("name", [*PARAMETERS, "LpNormalization", "Softmax", "LogSoftmax"])
def test_float64_accuracy(name: str) -> None:
    x = np.random.default_rng(0).normal(3, 2, (3, 4, 16, 5))
    size, count = PARAMETERS.get(name, (1, 0))
    neutral = [np.full(size, 1.0 - i) for i in range(count)]
    found = run(name, x, *neutral)[0]
    wanted = textbook(name, x)
    # a difference from the mean carries the rounding of the mean
    assert float(np.max(np.abs(found - wanted))) < 128 * 2.0**-53 * float(np.abs(x).max())


def test_softmax_of_extremes() -> None:
    x = np.array([1e4, -1e4, 1e4], np.float32)
    assert run("Softmax", x)[0].tolist() == [0.5, 0, 0.5]
    assert run("LogSoftmax", x)[0].tolist()[1] == pytest.approx(-2e4 - np.log(2))


# -- older forms ---------------------------------------------------------------------------


def softmax_rows(x: np.ndarray, axis: int) -> np.ndarray:
    rows = x.reshape(int(np.prod(x.shape[:axis])), -1).astype(np.float64)
    powers = np.exp(rows - rows.max(1, keepdims=True))
    return (powers / powers.sum(1, keepdims=True)).reshape(x.shape)


@pytest.mark.parametrize("name", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [6, 11, 12])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, 3])
def test_all_axes_behind_are_one(name: str, opset: int, axis: int | None) -> None:
    soft = softmax_rows(X, 1 if axis is None else axis)
    if name == "Hardmax":
        start = 1 if axis is None else axis
        rows = X.reshape(int(np.prod(X.shape[:start])), -1)
        soft = (np.arange(rows.shape[1]) == rows.argmax(1)[:, None]).reshape(X.shape)
    wanted = np.log(soft) if name == "LogSoftmax" else soft
    attributes = {} if axis is None else {"axis": axis}
    h.check_upgrade(*h.old_model(opset, name, [X], **attributes), [wanted.astype(np.float32)])


def test_softmax_upgraded_is_not_flattened_without_need() -> None:
    graph = h.check_upgrade(
        *h.old_model(11, "Softmax", [X], axis=3), [softmax_rows(X, 3).astype(np.float32)]
    )
    assert [op.type for op in graph.ops()] == ["Softmax"]


@pytest.mark.parametrize("empty", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_softmax_of_nothing(empty: tuple[int, ...]) -> None:
    x = np.zeros(empty, np.float32)
    h.check_upgrade(*h.old_model(11, "Softmax", [x], axis=2), [x])
    h.check_upgrade(*h.old_model(11, "Softmax", [x], axis=1), [x])


def statistics(shape: tuple[int, ...]) -> list[np.ndarray]:
    return [RNG.uniform(0.5, 2, shape).astype(np.float32) for _ in range(4)]


def evaluated(parameters: list[np.ndarray], epsilon: float = 1e-5) -> np.ndarray:
    scale, shift, mean, variance = (
        v.astype(np.float64).reshape(-1, 1, 1) if v.ndim == 1 else v for v in parameters
    )
    return ((X - mean) / np.sqrt(variance + epsilon) * scale + shift).astype(np.float32)


@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (6, {"is_test": 1}),
        (6, {"is_test": 1, "epsilon": 0.5}),
        (7, {}),
        (8, {"spatial": 1}),
        (9, {}),
        (13, {}),
        (14, {}),
    ],
)
def test_batch_normalization_evaluates(opset: int, attributes: dict[str, float]) -> None:
    parameters = statistics((4,))
    model = h.old_model(opset, "BatchNormalization", [X, *parameters], **attributes)
    h.check_upgrade(*model, [evaluated(parameters, attributes.get("epsilon", 1e-5))])


def test_batch_normalization_per_element() -> None:
    parameters = statistics((4, 3, 5))
    model = h.old_model(7, "BatchNormalization", [X, *parameters], spatial=0)
    h.check_upgrade(*model, [evaluated(parameters)])


@pytest.mark.parametrize("opset", [6, 7, 9, 13])
def test_batch_normalization_trains(opset: int) -> None:
    scale, shift, mean, variance = statistics((4,))
    own_mean, own_variance = X.mean((0, 2, 3)), X.var((0, 2, 3))
    y = evaluated([scale, shift, own_mean, own_variance])
    running = [0.75 * a + 0.25 * b for a, b in ((mean, own_mean), (variance, own_variance))]
    operands = [X, scale, shift, mean, variance]
    like = [0, 1, 1, 1, 1]
    model = h.old_model(opset, "BatchNormalization", operands, 5, like=like, momentum=0.75)
    # onnxruntime's last result is the factor 1 / sqrt(variance + epsilon)
    h.check_upgrade(*model, [y, *running, own_mean, own_variance], runtime=False)


def test_group_normalization_had_parameters_per_group() -> None:
    """onnx deprecates opset 18's form and does not check models that use it."""
    scale, shift = (RNG.uniform(0.5, 2, 2).astype(np.float32) for _ in range(2))
    rows = X.astype(np.float64).reshape(2, 2, -1)
    normal = (rows - rows.mean(2, keepdims=True)) / np.sqrt(rows.var(2, keepdims=True) + 1e-5)
    wanted = (normal * scale[:, None] + shift[:, None]).reshape(X.shape)
    graph = Graph()
    values = [
        graph.add_input(n, TensorType(DType.FLOAT32, a.shape))
        for n, a in (("x", X), ("scale", scale), ("shift", shift))
    ]
    made = graph.add_op("GroupNormalization", values, {"num_groups": 2}, version=18)
    made.output.type = TensorType(DType.FLOAT32, X.shape)
    graph.outputs = [made.output]
    feeds = [X, scale, shift]
    for opset in (None, 28, 17):
        if opset is not None:
            assert (upgrade(graph) if opset == 28 else downgrade(graph, opset)) == []
        found = interpret(graph, feeds, wide=True)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("opset", [6, 12])
@pytest.mark.parametrize("name", ["InstanceNormalization", "LpNormalization"])
def test_older_versions_mean_the_same(opset: int, name: str) -> None:
    operands = [X] + (statistics((4,))[:2] if name == "InstanceNormalization" else [])
    h.check_upgrade(*h.old_model(opset, name, operands))


def test_local_response_normalization() -> None:
    squares = np.pad(X.astype(np.float64) ** 2, ((0, 0), (1, 2), (0, 0), (0, 0)))
    total = sum(squares[:, i : i + 4] for i in range(4))
    wanted = X / (1.5 + 0.5 / 4 * total) ** 0.6
    model = h.old_model(6, "LRN", [X], size=4, alpha=0.5, beta=0.6, bias=1.5)
    h.check_upgrade(*model, [wanted.astype(np.float32)])


def test_groups_of_no_batch():
    text = """<ir_version: 10, opset_import: ["": 21]>
        f (float[n, 4, 5] x, float[4] s, float[4] b) => (float[n, 4, 5] y) {
            y = GroupNormalization<num_groups = 2>(x, s, b) }"""
    ones = np.ones(4, np.float32)
    (found,) = interpret(parse(text), [np.zeros((0, 4, 5), np.float32), ones, ones])
    assert found.shape == (0, 4, 5)
