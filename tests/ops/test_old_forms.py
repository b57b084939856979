"""Forms of movement and indexing operators that opsets 6 to 10 had and later ones do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.proto.decode import decode_model
from tests.ops import harness

Arrays = list[np.ndarray]
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
IMAGE = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


REFERENCE_SAYS_HALF_PIXEL = "the reference interpreter takes Resize-10 for half_pixel"
CASES: list[tuple[int, str, list[np.ndarray], dict[str, Any], str]] = [
    (9, "Slice", [X], {"starts": [1, 0], "ends": [3, -1], "axes": [1, 2]}, ""),
    (6, "Slice", [X], {"starts": [0, -2], "ends": [2, 1000]}, ""),
    (10, "Slice", [X, ints(-1), ints(-(2**62)), ints(2), ints(-2)], {}, ""),
    (6, "Squeeze", [X[:, :1]], {"axes": [1]}, ""),
    (6, "Squeeze", [X[:1, :, :1]], {}, ""),
    (11, "Squeeze", [X[:, :, :1]], {"axes": [-1]}, ""),
    (6, "Unsqueeze", [X], {"axes": [0, 4]}, ""),
    (11, "Unsqueeze", [X], {"axes": [-1, 0]}, ""),
    (6, "Split", [X], {"axis": 2, "split": [1, 3]}, ""),
    (6, "Split", [X], {"axis": 2}, ""),
    (6, "Pad", [X], {"pads": [0, 1, 0, 1, 0, 2], "value": 2.5}, ""),
    (6, "Pad", [X], {"pads": [0, 1, 0, 0, -1, 2], "mode": "edge"}, ""),
    (6, "Pad", [X], {"pads": [0, 1, 0, 0, 1, 2], "mode": "reflect"}, ""),
    (6, "Flatten", [X], {"axis": 2}, ""),
    (6, "Concat", [X, X], {"axis": 1}, ""),
    (6, "Tile", [X, ints(1, 2, 1)], {}, ""),
    (6, "Reshape", [X, ints(0, -1)], {}, ""),
    (6, "Transpose", [X], {"perm": [2, 0, 1]}, ""),
    (6, "DepthToSpace", [np.tile(IMAGE, (1, 2, 1, 1))], {"blocksize": 2}, ""),
    (6, "SpaceToDepth", [np.tile(IMAGE, (1, 1, 2, 1))], {"blocksize": 2}, ""),
    (6, "Shape", [X], {}, ""),
    (6, "Size", [X], {}, ""),
    (7, "Upsample", [IMAGE], {"scales": [1.0, 1.0, 2.0, 2.0]}, REFERENCE_SAYS_HALF_PIXEL),
    (
        7,
        "Upsample",
        [IMAGE],
        {"scales": [1.0, 1.0, 2.0, 4.0], "mode": "linear"},
        REFERENCE_SAYS_HALF_PIXEL,
    ),
    (9, "Upsample", [IMAGE, floats(1, 1, 2, 3)], {}, REFERENCE_SAYS_HALF_PIXEL),
    (10, "Resize", [IMAGE, floats(1, 1, 2, 1.5)], {}, REFERENCE_SAYS_HALF_PIXEL),
    (10, "Resize", [IMAGE, floats(1, 1, 0.6, 0.8)], {}, REFERENCE_SAYS_HALF_PIXEL),
    (10, "Resize", [IMAGE, floats(1, 1, 2.4, 0.6)], {}, REFERENCE_SAYS_HALF_PIXEL),
    (10, "Resize", [IMAGE, floats(1, 1, 0.6, 2)], {"mode": "linear"}, REFERENCE_SAYS_HALF_PIXEL),
    (6, "Gather", [X, ints(1, 0)], {"axis": 1}, ""),
    (6, "TopK", [X], {"k": 2, "axis": 2}, ""),
    (10, "TopK", [X, ints(2)], {"axis": 1}, ""),
    (9, "Scatter", [X[0], ints(1, 0, 2, 1).reshape(1, 4), X[0, :1] + 9], {"axis": 0}, ""),
    (9, "Compress", [X, np.array([True, False, True])], {"axis": 1}, ""),
    (9, "NonZero", [X - 3], {}, ""),
    (9, "OneHot", [ints(0, 2, 1), ints(3), floats(-1, 4)], {"axis": 0}, ""),
    (9, "EyeLike", [X[0]], {"k": 1}, ""),
    (9, "ConstantOfShape", [ints(2, 3)], {}, ""),
]
NAMES = [f"{op}-{opset}-{n}" for n, (opset, op, *_) in enumerate(CASES)]
OUTPUTS = {"TopK": 2, "Split": 2}


def made(
    opset: int, op: str, inputs: Arrays, attributes: dict[str, Any], **how: Any
) -> tuple[onnx.ModelProto, Arrays]:
    model, feeds = harness.old_model(opset, op, inputs, OUTPUTS.get(op, 1), **how, **attributes)
    if op == "Compress" or (op == "Upsample" and opset < 7):  # onnx infers no shape for them
        for dim in model.graph.output[0].type.tensor_type.shape.dim:
            dim.Clear()
    return model, feeds


@pytest.mark.parametrize(("opset", "op", "inputs", "attributes", "wrong"), CASES, ids=NAMES)
@pytest.mark.parametrize("fixed", [False, True], ids=["computed", "constant"])
def test_upgraded(
    opset: int, op: str, inputs: Arrays, attributes: dict[str, Any], wrong: str, fixed: bool
):
    # A shape computed at run time leaves Reshape's result without one, which the checker refuses.
    consts = range(1, len(inputs)) if fixed or op == "Reshape" else ()
    model, feeds = made(opset, op, inputs, attributes, consts=tuple(consts))
    wanted = harness.by_runtime(model, feeds) if wrong else None
    harness.check_upgrade(model, feeds, wanted)


@pytest.mark.parametrize(("opset", "op", "inputs", "attributes", "wrong"), CASES, ids=NAMES)
def test_evaluated(opset: int, op: str, inputs: Arrays, attributes: dict[str, Any], wrong: str):
    model, feeds = made(opset, op, inputs, attributes)
    wanted = harness.by_runtime(model, feeds)
    harness.agree(("", op), feeds, interpret(decode_model(model), feeds), wanted, 2.0**-24)


@pytest.mark.parametrize("rounding", ["floor", "round_prefer_floor"])
def test_half_pixel_for_nearest_neighbours(rounding: str):
    inputs = [IMAGE, floats(), floats(1, 1, 2.4, 0.6)]
    attributes = {
        "coordinate_transformation_mode": "tf_half_pixel_for_nn",
        "nearest_mode": rounding,
    }
    model, feeds = made(11, "Resize", inputs, attributes, consts=(1, 2))
    harness.check_upgrade(model, feeds, harness.by_runtime(model, feeds))


@pytest.mark.parametrize(("mode", "later"), [("nearest", "nearest"), ("bilinear", "linear")])
def test_the_first_upsample(mode: str, later: str):
    scales = {"height_scale": 2.0, "width_scale": 4.0, "mode": mode}
    model, feeds = made(6, "Upsample", [IMAGE], scales)
    newer, _ = made(7, "Upsample", [IMAGE], {"scales": [1.0, 1.0, 2.0, 4.0], "mode": later})
    harness.check_upgrade(model, feeds, harness.by_runtime(newer, feeds))


def test_scan_of_a_batch():
    model = onnx.parser.parse_model("""<ir_version: 4, opset_import: ["": 8]>
    batched (float[2, 3] first, float[2, 4, 3] x) => (float[2, 3] last, float[2, 4, 3] sums) {
        last, sums = Scan<num_scan_inputs = 1, directions = [1],
            body = step (float[3] state, float[3] element) => (float[3] next, float[3] sum) {
                next = Add(state, element)
                sum = Identity(next)
            }>("", first, x)
    }""")
    feeds = [np.ones((2, 3), np.float32), np.arange(24, dtype=np.float32).reshape(2, 4, 3)]
    graph = decode_model(model)
    wanted = interpret(graph, feeds)
    assert harness.difference(wanted[0], 1 + feeds[1].sum(axis=1)) == ""
    assert upgrade(graph) == []
    infer(graph)
    for value, found, old in zip(graph.outputs, interpret(graph, feeds), wanted, strict=True):
        assert harness.difference(found, old) == ""
        assert value.type.shape == old.shape
