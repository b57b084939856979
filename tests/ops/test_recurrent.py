from __future__ import annotations

import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.dims import symbol
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.infer import infer
from isomorph.ir.instances import Arg, Instance, build
from isomorph.ir.interpret import interpret
from isomorph.ir.opdef import OPS
from isomorph.ir.semantics._activations import activations
from isomorph.ir.types import DType, TensorType
from tests.ops import harness, known
from tests.ops._geometry import check_shapes, one_op

KEYS = [key for key in OPS.rows() if OPS.family(key) == "recurrent"]


def reference_reads(key, instance, dtype):
    # It ignores sequence_lens, clip, input_forget and, but for RNN, activations.
    ignored = {"clip", "input_forget", "activations"}
    lens = len(instance.inputs) > 4 and instance.inputs[4] is not None
    return not (lens or ignored & set(instance.attributes))


@pytest.mark.parametrize("key", KEYS)
class TestEveryInstance:
    def test_reference(self, key):
        harness.sweep(harness.check_reference, key, where=reference_reads)

    def test_runtime(self, key):
        harness.sweep(harness.check_runtime, key, limited=known.limited)

    def test_narrow(self, key):
        harness.sweep(harness.check_narrow, key)

    def test_rule(self, key):
        harness.sweep(harness.check_rule, key, ("float32",))

    def test_versions(self, key):
        harness.sweep(harness.check_versions, key, ("float32", "bfloat16"))


def test_batch_first_runs_in_onnxruntime_below_opset_14():
    """onnxruntime has no layout 1 at any opset: what takes its place is what it can check."""
    seen = 0
    for key in KEYS:
        for instance in harness.INSTANCES.get(key):
            if not instance.attributes.get("layout"):
                continue
            graph, feeds = build(key, instance, DType.FLOAT32)
            infer(graph)
            wanted = interpret(graph, feeds)
            assert downgrade(graph, 13) == []
            assert {op.type for op in graph.ops()} == {key[1], "Transpose"}
            found = harness.by_runtime(harness.encode(graph, 13), feeds)
            harness.agree(key, feeds, found, wanted, 2.0**-24)
            seen += 1
    assert seen == 6


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_old_models(kind):
    rows = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind] * 2
    rng = np.random.default_rng(0)
    shapes = ((4, 3, 2), (1, rows, 2), (1, rows, 2), (1, 2 * rows))
    operands = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    newer, feeds = harness.old_model(7, kind, operands, 2, hidden_size=2, clip=0.75)
    wanted = harness.by_runtime(newer, feeds)
    harness.check_upgrade(newer, feeds, wanted)
    older, feeds = harness.old_model(
        6, kind, operands, 2, hidden_size=2, clip=0.75, output_sequence=1
    )
    graph = harness.check_upgrade(older, feeds, wanted)
    assert "output_sequence" not in graph.ops()[0].attributes


S, B, F = (symbol(n) for n in "sbf")
SYMBOLIC = (
    ("LSTM", {}, ((S, B, 3), (1, 16, 3), (1, 16, 4)), (S, 1, B, 4)),
    ("LSTM", {"layout": 1}, ((B, S, 3), (1, 16, 3), (1, 16, 4)), (B, S, 1, 4)),
    ("GRU", {"direction": "bidirectional"}, ((S, B, F), (2, 12, F), (2, 12, 4)), (S, 2, B, 4)),
    ("RNN", {"hidden_size": 4}, ((S, B, F), None, None), (S, 1, B, 4)),
)


@pytest.mark.parametrize(("op", "attributes", "shapes", "shape"), SYMBOLIC)
def test_rules_keep_symbols(op, attributes, shapes, shape):
    graph = one_op(op, *shapes, **attributes)
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, shape)


WRONG = (
    (one_op("LSTM", (5, 2, 3), (1, 8, 3), (1, 8, 4)), r"operand 1 should have shape \(1, 16, 3\)"),
    (one_op("GRU", (5, 2, 3), (1, 12, 3), (2, 12, 4)), r"operand 2 should have shape \(1, 12, 4\)"),
    (one_op("RNN", (5, 3), (1, 4, 3), (1, 4, 4)), "operand 0 has rank 2, rank 3 was expected"),
    (one_op("RNN", (5, 2, 3), (1, 4, 3), (1, 4, 4), direction="up"), "direction is 'up'"),
)


@pytest.mark.parametrize(("graph", "message"), WRONG)
def test_rules_name_what_does_not_fit(graph, message):
    with pytest.raises(TypeInferenceError, match=message):
        infer(graph)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"activations": ("Tanh",)}, "1 activations, 2 were expected"),
        ({"activations": ("Tanh", "Gelu")}, "the activation 'Gelu' does not exist"),
    ],
)
def test_unknown_activations_are_named(attributes, message):
    graph = one_op("GRU", (5, 2, 3), (1, 12, 3), (1, 12, 4), **attributes)
    feeds = [np.zeros(v.type.shape, np.float32) for v in graph.inputs]
    with pytest.raises(TypeInferenceError, match=message):
        interpret(graph, feeds)


def test_activations():
    """Each against its formula; parameters are consumed by those that take them, in order."""
    x = np.array([-2.0, -0.25, 0.0, 0.25, 3.0])
    names = ("Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu")
    alphas, betas = (2.0, 0.1, 0.2, 0.5, 0.3, 1.5), (1.0, 0.25, 0.4)
    wanted = (
        np.maximum(0, x),
        2 * x + 1,
        np.where(x >= 0, x, 0.1 * x),
        np.where(x >= 0.2, x, 0),
        0.5 * np.tanh(0.25 * x),
        np.minimum(np.maximum(0.3 * x + 0.4, 0), 1),
        np.where(x >= 0, x, 1.5 * (np.exp(x) - 1)),
    )
    for function, values in zip(activations(names, alphas, betas, ValueError), wanted, strict=True):
        np.testing.assert_allclose(function(x), values, rtol=1e-15)
    plain = ("Tanh", "Sigmoid", "Softsign", "Softplus")
    values = (np.tanh(x), 1 / (1 + np.exp(-x)), x / (1 + abs(x)), np.log(1 + np.exp(x)))
    for function, wanted_one in zip(activations(plain, (), (), ValueError), values, strict=True):
        np.testing.assert_allclose(function(x), wanted_one, rtol=1e-14)


def test_a_sequence_of_no_steps_keeps_its_state():
    (instance,) = [i for i in harness.INSTANCES.get(("", "LSTM")) if i.note == "everything"]
    graph, feeds = build(("", "LSTM"), instance, DType.FLOAT32)
    at = [v.name for v in graph.inputs].index("x4")
    feeds[at] = np.array([0, 5, 0], np.int32)
    every, h, c = interpret(graph, feeds)
    np.testing.assert_array_equal(every[:, :, [0, 2]], 0)
    np.testing.assert_array_equal(h[:, [0, 2]], feeds[at + 1][:, [0, 2]])
    np.testing.assert_array_equal(c[:, [0, 2]], feeds[at + 2][:, [0, 2]])


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("shape", [(5, 0, 3), (0, 2, 3), (4, 2, 0)])
def test_empty_tensors(kind, gates, shape):
    weights = (Arg((1, 2 * gates, shape[2])), Arg((1, 2 * gates, 2)))
    instance = Instance((Arg(shape), *weights), {"hidden_size": 2}, outputs=2)
    assert check_shapes(("", kind), instance) is not None
