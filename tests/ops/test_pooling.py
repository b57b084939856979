from __future__ import annotations

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
from tests.ops import harness, known
from tests.ops._geometry import check_shapes, check_values, one_op

KEYS = [key for key in OPS.rows() if OPS.family(key) == "pooling"]
A = Arg


def reference_is_right(key, instance, dtype):
    given = instance.attributes
    match key[1]:
        case "MaxPool":
            # Its MaxPool swaps uneven pads, rounds SAME_LOWER down, and at stride 1 counts
            # indices within the window.
            uneven = instance.note == "uneven pads"
            local = instance.outputs == 2 and set(given.get("strides", (1,))) == {1}
            return not (uneven or local or given.get("auto_pad") == "SAME_LOWER")
        case "LpPool":
            # It scales a mean over clipped windows by the size of a whole one.
            return not given.get("ceil_mode")
        case "GlobalMaxPool":
            # It keeps the first spatial axis unless there are two.
            return len(instance.inputs[0].shape) == 4
        case _:
            return True


@pytest.mark.parametrize("key", KEYS)
class TestEveryInstance:
    def test_reference(self, key):
        harness.sweep(harness.check_reference, key, where=reference_is_right)

    def test_runtime(self, key):
        harness.sweep(harness.check_runtime, key, limited=known.limited)

    def test_narrow(self, key):
        harness.sweep(harness.check_narrow, key)

    def test_rule(self, key):
        harness.sweep(harness.check_rule, key, ("float32",))

    def test_versions(self, key):
        harness.sweep(harness.check_versions, key, ("float32", "float16", "bfloat16", "int8"))


def ramp(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape)) * 7 % 11 - 4).astype(np.float32).reshape(shape)


X = ramp(1, 2, 5, 6)
ROIS = np.array([[0.5, 1, 4, 4.5], [1, 0, 1.2, 3]], np.float32)
OLD = (
    (6, "MaxPool", (X,), {"kernel_shape": (3, 2), "strides": (2, 1), "pads": (1, 0, 1, 1)}, 1),
    (8, "MaxPool", (X,), {"kernel_shape": (2, 2), "strides": (2, 2), "storage_order": 1}, 2),
    (10, "MaxPool", (X,), {"kernel_shape": (2, 2), "dilations": (2, 3), "strides": (2, 2),
                           "ceil_mode": 1}, 1),
    (7, "AveragePool", (X,), {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1),
                              "count_include_pad": 1}, 1),
    (9, "AveragePool", (X,), {"kernel_shape": (2, 3), "strides": (2, 2),
                              "auto_pad": "SAME_LOWER"}, 1),
    (10, "AveragePool", (X,), {"kernel_shape": (2, 3), "strides": (2, 2), "ceil_mode": 1,
                               "pads": (0, 1, 1, 1), "count_include_pad": 1}, 1),
    (6, "LpPool", (X,), {"kernel_shape": (2, 3), "p": 3, "pads": (1, 1, 0, 1)}, 1),
    (6, "GlobalMaxPool", (X,), {}, 1),
    (6, "GlobalAveragePool", (X,), {}, 1),
)  # fmt: skip
OURS = (
    # The reference counts padding here, which version 1 excludes.
    (6, "AveragePool", (np.array([[[1, 2, 3]]], np.float32),),
     {"kernel_shape": (3,), "pads": (1, 1)}, [np.array([[[1.5, 2, 2.5]]], np.float32)]),
    (6, "GlobalLpPool", (X,), {"p": 1}, [np.abs(X).sum((2, 3), keepdims=True)]),
    (9, "MaxUnpool", (ramp(1, 1, 2), np.array([[[1, 2]]])),
     {"kernel_shape": (2,), "strides": (2,)}, [np.array([[[0, -4, 3, 0]]], np.float32)]),
    (6, "MaxRoiPool", (X, np.array([[0, 1, 1, 4, 3]], np.float32)), {"pooled_shape": (1, 2)},
     [np.stack([X[0, :, 1:4, 1:3].max((1, 2)), X[0, :, 1:4, 3:5].max((1, 2))], 1)[None, :, None]]),
)  # fmt: skip


@pytest.mark.parametrize(("opset", "op", "operands", "attributes", "outputs"), OLD)
def test_old_models(opset, op, operands, attributes, outputs):
    model, feeds = harness.old_model(opset, op, operands, outputs, **attributes)
    harness.check_upgrade(model, feeds)


@pytest.mark.parametrize(("opset", "op", "operands", "attributes", "wanted"), OURS)
def test_old_models_that_the_reference_lacks(opset, op, operands, attributes, wanted):
    model, feeds = harness.old_model(opset, op, operands, **attributes)
    harness.check_upgrade(model, feeds, wanted)


def test_regions_were_not_shifted_by_half_a_pixel_before_opset_16():
    """The reference interpreter shifts them at version 10 too; onnxruntime does not."""
    operands = (X, ROIS, np.zeros(2, np.int64))
    sizes = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    model, feeds = harness.old_model(10, "RoiAlign", operands, **sizes)
    graph = harness.check_upgrade(model, feeds, harness.by_runtime(model, feeds))
    assert graph.ops()[0].attr("coordinate_transformation_mode") == "output_half_pixel"


# -- geometry -----------------------------------------------------------------------------


@st.composite
def pools(draw):
    rank = draw(st.integers(1, 3))
    axes = range(rank)
    size = [draw(st.integers(1, 9 if rank < 3 else 5)) for _ in axes]
    kernel = tuple(draw(st.integers(1, 4 if rank < 3 else 2)) for _ in axes)
    attributes = {
        "kernel_shape": kernel,
        "strides": tuple(draw(st.integers(1, 4)) for _ in axes),
        "dilations": tuple(draw(st.integers(1, 2)) for _ in axes),
        "ceil_mode": draw(st.integers(0, 1)),
    }
    auto_pad = draw(st.sampled_from(["NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]))
    if auto_pad == "NOTSET":
        ends = [draw(st.integers(0, k - 1)) for k in (*kernel, *kernel)]
        attributes["pads"] = tuple(ends)
    else:
        attributes["auto_pad"] = auto_pad
    return size, attributes


def check_pool(op, case, outputs=1):
    size, attributes = case
    key = ("", op)
    instance = Instance((A((1, 2, *size)),), attributes, outputs)
    seen = check_shapes(key, instance)
    # Where auto_pad is SAME, onnxruntime forgets the dilations, and pads by a negative number (its
    # Conv does not) where strides exceed the kernel. And a window whose taps all miss the input has
    # no maximum and no mean.
    same = attributes.get("auto_pad", "").startswith("SAME")
    pairs = zip(attributes["strides"], attributes["kernel_shape"], strict=True)
    odd = any(d > 1 for d in attributes["dilations"]) or any(s > k for s, k in pairs)
    comparable = not (same and odd)
    if comparable and seen is not None and all(np.isfinite(r).all() for r in seen[2]):
        check_values(key, seen, attributes)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(pools(), st.integers(1, 2))
def test_max_pool_shapes(case, outputs):
    check_pool("MaxPool", case, outputs)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(pools(), st.integers(0, 1))
def test_average_pool_shapes(case, with_padding):
    case[1]["count_include_pad"] = with_padding
    check_pool("AveragePool", case)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(pools(), st.integers(1, 3))
def test_lp_pool_shapes(case, p):
    case[1]["p"] = p
    check_pool("LpPool", case)


B, C, H, W = (symbol(n) for n in "bchw")
SYMBOLIC = (
    (one_op("MaxPool", (B, C, H, W), kernel_shape=(2, 2), strides=(2, 2)),
     (B, C, (H - 2) // 2 + 1, (W - 2) // 2 + 1)),
    (one_op("MaxPool", (B, C, H, W), kernel_shape=(3, 3), pads=(1,) * 4), (B, C, H, W)),
    (one_op("AveragePool", (B, C, 2 * H), kernel_shape=(2,), strides=(2,)), (B, C, H)),
    (one_op("AveragePool", (B, C, H), kernel_shape=(2,), strides=(2,), ceil_mode=1),
     (B, C, (H - 1) // 2 + 1)),
    (one_op("LpPool", (B, C, H), kernel_shape=(3,), strides=(2,), auto_pad="SAME_UPPER"),
     (B, C, (H + 1) // 2)),
    (one_op("GlobalAveragePool", (B, C, H, W)), (B, C, 1, 1)),
    (one_op("MaxRoiPool", (B, C, H, W), (symbol("r"), 5), pooled_shape=(3, 2)),
     (symbol("r"), C, 3, 2)),
)  # fmt: skip


@pytest.mark.parametrize(("graph", "shape"), SYMBOLIC)
def test_rules_keep_symbols(graph, shape):
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.FLOAT32, shape)


WRONG = (
    (one_op("MaxPool", (1, 1, 4), kernel_shape=(2, 2)), "rank 3, rank 4 was expected"),
    (one_op("MaxPool", (1, 1, 2), kernel_shape=(3,)), "3 elements does not fit spatial axis 0"),
    (one_op("AveragePool", (1, 1, 4), kernel_shape=(2,), pads=(1,)), "2 numbers were expected"),
    (one_op("GlobalMaxPool", (4,)), r"rank 1; \(N, C, spatial…\) was expected"),
)


@pytest.mark.parametrize(("graph", "message"), WRONG)
def test_rules_name_what_does_not_fit(graph, message):
    with pytest.raises(TypeInferenceError, match=message):
        infer(graph)


def test_nan_is_the_maximum():
    graph, _ = build(
        ("", "MaxPool"), Instance((A((1, 1, 4)),), {"kernel_shape": (2,)}, 2), DType.FLOAT32
    )
    found, at = interpret(graph, [np.array([[[1, np.nan, -1, 2]]], np.float32)])
    np.testing.assert_array_equal(found, [[[np.nan, np.nan, 2]]])
    np.testing.assert_array_equal(at, [[[1, 1, 3]]])


# -- downgrades that are not one op -------------------------------------------------------


def ops_at(graph, opset):
    infer(graph)
    stuck = downgrade(graph, opset)
    assert stuck == []
    return [op.type for op in graph.ops()]


def test_dilated_mean_without_padding_needs_no_sizes():
    graph = one_op("AveragePool", (B, 2, H), kernel_shape=(2,), dilations=(2,))
    assert ops_at(graph, 18) == ["Conv", "Div"]
    (found,) = interpret(graph, [np.arange(8, dtype=np.float32).reshape(1, 2, 4)])
    np.testing.assert_array_equal(found, [[[1, 2], [5, 6]]])


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (one_op("AveragePool", (B, 2, H), kernel_shape=(2,), dilations=(2,), pads=(1, 1)),
         "padding a window sees"),
        (one_op("AveragePool", (B, 2, H), kernel_shape=(2,), dilations=(2,), ceil_mode=1),
         "ceil_mode depends on spatial sizes"),
        (one_op("AveragePool", (B, C, 5), kernel_shape=(2,), dilations=(2,)),
         "known number of channels"),
        (one_op("LpPool", (B, C, H), kernel_shape=(2,), ceil_mode=1),
         "ceil_mode depends on spatial sizes"),
    ],
)  # fmt: skip
def test_what_depends_on_symbols_is_not_expressible(graph, reason):
    infer(graph)
    lowest = graph.ops()[0].version
    (stuck,) = downgrade(graph, 17)
    assert reason in stuck.reason
    assert stuck.lowest in {18, 19}
    assert lowest == 22


def test_windows_that_are_dropped_are_stated_as_such_before_opset_22():
    attributes = {"kernel_shape": (2, 1), "strides": (5, 2), "pads": (0, 0, 1, 0), "ceil_mode": 1}
    for op in ("MaxPool", "AveragePool", "LpPool"):
        graph = one_op(op, (1, 1, 9, 4), **attributes)
        assert ops_at(graph, 20) == [op]
        assert graph.ops()[0].attr("ceil_mode") == 0
        assert interpret(graph, [ramp(1, 1, 9, 4)])[0].shape == (1, 1, 2, 2)


@pytest.mark.parametrize("op", ["GlobalLpPool", "MaxRoiPool", "RoiAlign"])
def test_what_onnxruntime_runs_below_opset_22_only(op):
    key = ("", op)
    for instance in harness.INSTANCES.get(key):
        graph, feeds = build(key, instance, DType.FLOAT32)
        infer(graph)
        wanted = interpret(graph, feeds)
        assert downgrade(graph, 21) == []
        found = harness.by_runtime(harness.encode(graph, 21), feeds)
        harness.agree(key, feeds, found, wanted, 2.0**-24)


EMPTY = (
    ("MaxPool", Instance((A((1, 0, 4)),), {"kernel_shape": (2,)}, 2)),
    ("AveragePool", Instance((A((1, 0, 4)),), {"kernel_shape": (2,)})),
    ("GlobalMaxPool", Instance((A((1, 2, 0)),))),
    ("GlobalAveragePool", Instance((A((1, 2, 0)),))),
    ("MaxRoiPool", Instance((A((1, 2, 4, 4)), A((0, 5))), {"pooled_shape": (2, 2)})),
    ("RoiAlign", Instance((A((1, 2, 4, 4), "T1"), A((0, 4), "T1"), A((0,), "int64")), main="T1")),
    (
        "MaxUnpool",
        Instance((A((0, 1, 2), "T1"), A((0, 1, 2), "int64")), {"kernel_shape": (2,)}, main="T1"),
    ),
)


@pytest.mark.parametrize(("op", "instance"), EMPTY)
def test_empty_tensors(op, instance):
    assert check_shapes(("", op), instance) is not None
