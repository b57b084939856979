from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.dims import symbol
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.infer import infer
from isomorph.ir.instances import Arg, Instance, build
from isomorph.ir.interpret import interpret
from isomorph.ir.opdef import OPS
from isomorph.ir.types import DType, TensorType
from tests.ops import harness
from tests.ops._dot import check_dot_bound
from tests.ops._geometry import check_shapes, check_values, one_op

KEYS = [key for key in OPS.rows() if OPS.family(key) == "convolution"]
A = Arg


@pytest.mark.parametrize("key", KEYS)
class TestEveryInstance:
    def test_reference(self, key):
        harness.sweep(harness.check_reference, key)

    def test_runtime(self, key):
        harness.sweep(harness.check_runtime, key)

    def test_narrow(self, key):
        harness.sweep(harness.check_narrow, key)

    def test_rule(self, key):
        harness.sweep(harness.check_rule, key, ("float32",))

    def test_versions(self, key):
        harness.sweep(harness.check_versions, key, ("float32", "bfloat16"))


DOTS = (
    ("Conv", Instance((A((1, 32, 9, 8)), A((4, 32, 3, 3)), A((4,))), {"pads": (1, 1, 1, 1)})),
    ("Conv", Instance((A((2, 8, 40), low=0.0), A((8, 1, 25), low=0.0)), {"group": 8})),
    ("ConvTranspose", Instance((A((1, 32, 5, 4)), A((32, 3, 3, 3))), {"strides": (2, 2)})),
    ("ConvTranspose", Instance((A((1, 16, 6)), A((16, 4, 5))), {"dilations": (2,), "group": 2})),
)


@pytest.mark.parametrize(("op", "instance"), DOTS)
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16])
def test_rounding_stays_below_the_dot_bound(op, instance, dtype):
    check_dot_bound(("", op), instance, dtype)


def rand(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


OLD = (
    (6, "Conv", (rand(1, 2, 5, 5), rand(3, 2, 3, 3), rand(3)), {"pads": (1, 1, 1, 1)}),
    (7, "Conv", (rand(1, 4, 6), rand(4, 2, 3)), {"group": 2, "strides": (2,)}),
    (9, "Conv", (rand(1, 2, 5, 5), rand(3, 2, 2, 2)), {"auto_pad": "SAME_LOWER"}),
    (10, "Conv", (rand(1, 2, 7, 7), rand(3, 2, 3, 3)), {"dilations": (2, 1)}),
    (6, "ConvTranspose", (rand(1, 2, 3, 3), rand(2, 3, 3, 3)), {"strides": (2, 2)}),
    (8, "ConvTranspose", (rand(1, 1, 3), rand(1, 1, 4)),
     {"strides": (2,), "auto_pad": "SAME_UPPER", "output_shape": (7,)}),
    (10, "ConvTranspose", (rand(1, 1, 3), rand(1, 1, 4)),
     {"strides": (2,), "auto_pad": "SAME_LOWER", "output_shape": (7,)}),
    (19, "DeformConv", (rand(1, 1, 4, 4), rand(1, 1, 2, 2), rand(1, 8, 3, 3)), {}),
)  # fmt: skip


@pytest.mark.parametrize(("opset", "op", "operands", "attributes"), OLD)
def test_old_models(opset, op, operands, attributes):
    model, feeds = harness.old_model(opset, op, operands, **attributes)
    harness.check_upgrade(model, feeds)


# -- geometry -----------------------------------------------------------------------------


@st.composite
def convolutions(draw):
    rank = draw(st.integers(1, 3))
    axes = range(rank)
    size = [draw(st.integers(1, 8 if rank < 3 else 5)) for _ in axes]
    kernel = [draw(st.integers(1, 4 if rank < 3 else 2)) for _ in axes]
    group = draw(st.integers(1, 2))
    attributes = {
        "group": group,
        "strides": tuple(draw(st.integers(1, 3)) for _ in axes),
        "dilations": tuple(draw(st.integers(1, 2)) for _ in axes),
    }
    auto_pad = draw(st.sampled_from(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if auto_pad == "NOTSET":
        attributes["pads"] = tuple(draw(st.integers(0, 2)) for _ in (*axes, *axes))
    else:
        attributes["auto_pad"] = auto_pad
    return rank, size, kernel, group, attributes


@settings(max_examples=150, deadline=None, derandomize=True)
@given(convolutions(), st.booleans())
def test_conv_shapes(case, bias):
    _, size, kernel, group, attributes = case
    operands = [A((1, 2 * group, *size)), A((2 * group, 2, *kernel))]
    operands += [A((2 * group,))] if bias else []
    key = ("", "Conv")
    check_values(key, check_shapes(key, Instance(tuple(operands), attributes)), attributes)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(convolutions(), st.data())
def test_conv_transpose_shapes(case, data):
    _, size, kernel, group, attributes = case
    if data.draw(st.booleans(), "output padding"):
        attributes["output_padding"] = tuple(
            data.draw(st.integers(0, s - 1)) for s in attributes["strides"]
        )
    operands = (A((1, 2 * group, *size)), A((2 * group, 2, *kernel)))
    key = ("", "ConvTranspose")
    check_values(key, check_shapes(key, Instance(operands, attributes)), attributes)


B, H, W = symbol("b"), symbol("h"), symbol("w")
SYMBOLIC = (
    (one_op("Conv", (B, 3, H, W), (8, 3, 3, 3), pads=(1, 1, 1, 1)), (B, 8, H, W)),
    (
        one_op("Conv", (B, 3, H, W), (8, 3, 3, 3), pads=(1,) * 4, strides=(2, 2)),
        (B, 8, (H - 1) // 2 + 1, (W - 1) // 2 + 1),
    ),
    (
        one_op("Conv", (B, 3, H), (8, 3, 3), auto_pad="SAME_UPPER", strides=(2,)),
        (B, 8, (H + 1) // 2),
    ),
    (one_op("Conv", (B, 3, H * 2), (8, 3, 2), strides=(2,)), (B, 8, H)),
    (one_op("ConvTranspose", (B, 4, H, W), (4, 2, 2, 2), strides=(2, 2)), (B, 2, 2 * H, 2 * W)),
    (
        one_op("ConvTranspose", (B, 4, H), (4, 2, 3), strides=(2,), auto_pad="SAME_LOWER"),
        (B, 2, 2 * H),
    ),
)


@pytest.mark.parametrize(("graph", "shape"), SYMBOLIC)
def test_rules_keep_symbols(graph, shape):
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, shape)


WRONG = (
    (one_op("Conv", (1, 3, 5), (4, 2, 3)), "3 input channels; the weights in 1 groups need 2"),
    (one_op("Conv", (1, 4, 5), (3, 2, 3), group=2), "3 output channels are not divisible by 2"),
    (one_op("Conv", (1, 2, 5), (3, 2, 3, 3)), "weights of rank 4 for an input of rank 3"),
    (one_op("Conv", (1, 2, 2), (3, 2, 3)), "3 elements does not fit spatial axis 0: 2 elements"),
    (one_op("Conv", (1, 2, 5), (3, 2, 3), kernel_shape=(2,)), "kernel_shape says 2 .* have 3"),
    (one_op("Conv", (1, 2, 5), (3, 2, 3), pads=(1,)), r"pads is \[1\], 2 numbers were expected"),
    (one_op("Conv", (1, 2, 5), (3, 2, 3), strides=(0,)), "strides is .* above 0"),
    (one_op("Conv", (1, 2, 5), (3, 2, 3), auto_pad="SAME"), "auto_pad is 'SAME'"),
    (one_op("ConvTranspose", (1, 2, 2), (2, 3, 2), pads=(2, 2)), "leaves -1 elements"),
)


@pytest.mark.parametrize(("graph", "message"), WRONG)
def test_rules_name_what_does_not_fit(graph, message):
    with pytest.raises(TypeInferenceError, match=message):
        infer(graph)


@pytest.mark.parametrize(("op", "lowest"), [("DeformConv", 19), ("Col2Im", 18)])
def test_what_no_older_operators_compute(op, lowest):
    (instance, *_) = harness.INSTANCES.get(("", op))
    graph, _ = build(("", op), instance, DType.FLOAT32)
    (stuck,) = downgrade(graph, lowest - 1)
    assert stuck.lowest == lowest
    assert str(lowest) in stuck.reason


def test_a_layer_of_a_real_network_takes_well_under_a_second():
    instance = Instance((A((1, 64, 56, 56)), A((64, 64, 3, 3))), {"pads": (1, 1, 1, 1)})
    graph, feeds = build(("", "Conv"), instance, DType.FLOAT32)
    start = time.process_time()
    interpret(graph, feeds, wide=True)
    assert time.process_time() - start < 1


EMPTY = (
    ("Conv", Instance((A((1, 0, 5, 5)), A((3, 0, 2, 2))))),
    ("Conv", Instance((A((1, 2, 5, 5)), A((0, 2, 2, 2))))),
    ("Conv", Instance((A((1, 2, 0, 5)), A((3, 2, 1, 2))))),
    ("Conv", Instance((A((1, 2, 0, 5)), A((3, 2, 2, 2))), {"pads": (1, 0, 1, 0)})),
    ("ConvTranspose", Instance((A((1, 2, 0, 5)), A((2, 3, 2, 2))))),
    ("ConvTranspose", Instance((A((1, 0, 4, 5)), A((0, 3, 2, 2))))),
    ("DeformConv", Instance((A((0, 1, 3, 3)), A((1, 1, 2, 2)), A((0, 8, 2, 2))))),
    ("Col2Im", Instance((A((0, 4, 6)), A.ints(3, 4), A.ints(2, 2)))),
)


@pytest.mark.parametrize(("op", "instance"), EMPTY)
def test_empty_tensors(op, instance):
    assert check_shapes(("", op), instance) is not None
