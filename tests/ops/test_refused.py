"""Operands that would broadcast a result beyond what it is, and the like, are refused.

Drawn graphs found each of these to be evaluated to a shape that its rule contradicts, or numpy to
take what no run time does. Beside each stands the nearest use that is right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isomorph.ir.errors import OPERAND_ERRORS, TypeInferenceError
from isomorph.ir.graph import Op, Value
from isomorph.ir.infer import infer
from isomorph.ir.schema import canonical
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import evaluate
from isomorph.ir.text import parse

Key = tuple[str, str]


def floats(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def bytes_(*shape: int) -> np.ndarray:
    return np.ones(shape, np.uint8)


S, Z = np.float32(0.5).reshape(()), np.uint8(1).reshape(())
X4, W4 = floats(1, 2, 3, 3), floats(1, 2, 3, 3)
Q = floats(1, 2, 12)
LENGTHS, TOTAL = np.array([1], np.int32), np.array(2, np.int32)
FALSE, TRUE = np.zeros(2, bool), np.ones(2, bool)

USES: dict[str, tuple[Key, list[Any], int, Any, dict[str, Any]]] = {
    "statistics that are kept": (
        ("", "BatchNormalization"),
        [floats(2, 1, 4), floats(1), floats(1), floats(1), floats(1)],
        4,
        floats(5),
        {"training_mode": 1},
    ),
    "a scale of each channel": (
        ("", "InstanceNormalization"), [floats(2, 3, 4), floats(3), floats(3)], 1, floats(1), {},
    ),
    "a scale of each group": (
        ("", "GroupNormalization"),
        [floats(2, 4, 3), floats(4), floats(4)],
        1,
        floats(1),
        {"num_groups": 2},
    ),
    "a scale of a simplified normalization": (
        ("", "SimplifiedLayerNormalization"), [floats(2, 1), floats(1)], 1, floats(4), {},
    ),
    "a scale of a normalized sum": (
        (DOMAIN, "SkipLayerNormalization"),
        [floats(2, 3, 1), floats(2, 3, 1), floats(1)],
        2,
        floats(11),
        {"epsilon": 0.5},
    ),
    "a scale of a simplified sum": (
        (DOMAIN, "SkipSimplifiedLayerNormalization"),
        [floats(2, 3, 1), floats(2, 3, 1), floats(1)],
        2,
        floats(11),
        {"epsilon": 0.5},
    ),
    "a bias of each channel": (
        ("", "CausalConvWithState"),
        [floats(2, 1, 4), floats(1, 1, 2), floats(1)],
        2,
        floats(4),
        {},
    ),
    "a bias of a fused convolution": (
        (DOMAIN, "FusedConv"), [X4, W4, floats(1)], 2, floats(3), {"activation": "Relu"},
    ),
    "a zero point of a convolution": (
        ("", "QLinearConv"),
        [bytes_(1, 2, 3, 3), S, Z, bytes_(1, 2, 3, 3), S, Z, S, Z],
        7,
        bytes_(2, 1, 7, 6),
        {},
    ),
    "a zero point of a product": (
        ("", "QLinearMatMul"),
        [bytes_(2, 3), S, Z, bytes_(3, 2), S, Z, S, Z],
        7,
        bytes_(4, 1, 2),
        {},
    ),
    "zero points of rows": (
        ("", "MatMulInteger"), [bytes_(1, 3), bytes_(3, 2), bytes_(1)], 2, bytes_(5), {},
    ),
    "a scale of each column": (
        (DOMAIN, "MatMulIntegerToFloat"),
        [bytes_(3, 4), bytes_(4, 5), S, floats(5)],
        3,
        floats(3, 1),
        {},
    ),
    "a scale of each column of dynamic weights": (
        (DOMAIN, "DynamicQuantizeMatMul"),
        [floats(2, 3, 4), bytes_(4, 5), floats(5)],
        2,
        floats(3, 5),
        {},
    ),
    "a mask of words": (
        (DOMAIN, "EmbedLayerNormalization"),
        [
            np.zeros((2, 3), np.int32), np.zeros((2, 3), np.int32),
            *(floats(6, 8), floats(4, 8), floats(2, 8), floats(8), floats(8)),
            np.ones((2, 3), np.int32),
        ],
        7,
        np.ones((1, 3), np.int32),
        {"epsilon": 1e-5},
    ),
    "sines of as many angles as cosines": (
        (DOMAIN, "RotaryEmbedding"),
        [floats(1, 2, 4), np.zeros(1, np.int64), floats(6, 2), floats(6, 2)],
        2,
        floats(6, 1),
        {},
    ),
    "columns of Q, K and V": (
        (DOMAIN, "Attention"),
        [floats(1, 4, 6), floats(6, 22)],
        1,
        floats(6, 24),
        {"num_heads": 2, "qkv_hidden_sizes": (8, 8, 6)},
    ),
    "what is added to scores": (
        (DOMAIN, "Attention"),
        [floats(2, 4, 6), floats(6, 6), floats(6), None, None, floats(1, 1, 4, 4)],
        5,
        floats(2, 3, 4, 4),
        {"num_heads": 1},
    ),
    "keys of as many batches as queries": (
        (DOMAIN, "MultiHeadAttention"), [Q, Q, Q], 0, floats(3, 2, 12), {"num_heads": 3},
    ),
    "a bias of Q, K and V": (
        (DOMAIN, "MultiHeadAttention"),
        [Q, Q, floats(1, 2, 3), floats(27)],
        3,
        floats(39),
        {"num_heads": 3},
    ),
    "keys of the size of queries": (
        (DOMAIN, "GroupQueryAttention"),
        [floats(1, 2, 32), floats(1, 2, 16), floats(1, 2, 16), None, None, LENGTHS, TOTAL],
        1,
        floats(1, 2, 2),
        {"num_heads": 4, "kv_num_heads": 2},
    ),
    "a mask of an attention": (
        ("", "Attention"), [X4[:, :1], X4[:, :1], X4[:, :1], floats(1, 1, 3, 3)], 3,
        floats(2, 1, 3, 3), {},
    ),
    "a condition of as many elements": (
        ("", "Compress"), [floats(0, 2), TRUE], 0, floats(0, 1), {"axis": 1},
    ),
    "pads that leave something": (
        ("", "Pad"), [floats(1, 4), np.array([-1, 1, 0, 1])], 0, floats(0, 4), {"mode": "edge"},
    ),
}  # fmt: skip
"""Operator, operands that fit, the place of one that does not, that one, and attributes."""


def result(key: Key, operands: list[Any], attributes: dict[str, Any], outputs: int = 1) -> Any:
    known = canonical(*key)
    assert known is not None
    given = tuple(None if v is None else Value("x") for v in operands)
    op = Op(*key, known.since, given, attributes)
    op.outputs = tuple(Value(f"y{n}", None, op) for n in range(outputs))
    return evaluate(op, operands)


@pytest.mark.parametrize("name", USES)
def test_the_nearest_use_is_evaluated_and_this_one_is_not(name: str):
    key, operands, place, other, attributes = USES[name]
    outputs = 3 if key[1] == "BatchNormalization" else 1
    result(key, operands, attributes, outputs)
    wrong = [*operands[:place], other, *operands[place + 1 :]]
    with pytest.raises((TypeInferenceError, *OPERAND_ERRORS)):
        result(key, wrong, attributes, outputs)


@pytest.mark.parametrize("batch", [-2, 3])
def test_batch_dims_of_gather_nd_are_counted_from_the_front(batch: int):
    x, indices = floats(3, 2, 3), np.zeros((3, 2, 1), np.int64)
    result(("", "GatherND"), [x, indices], {"batch_dims": 2})
    with pytest.raises(TypeInferenceError, match=f"batch_dims is {batch}"):
        result(("", "GatherND"), [x, indices], {"batch_dims": batch})


def test_a_clip_that_is_no_magnitude_is_an_error_of_its_op():
    graph = parse(
        """<ir_version: 10, opset_import: ["": 22]>
        g (float[2, 1, 3] x, float[1, 1, 3] w, float[1, 1, 1] r) => (float[2, 1, 1, 1] y) {
            y = RNN <hidden_size = 1, clip = -0.25> (x, w, r)
        }"""
    )
    with pytest.raises(TypeInferenceError, match=r"clip is -0\.25; 0 or more was expected"):
        infer(graph)


def test_a_split_states_sizes_or_how_many():
    graph = parse(
        """<ir_version: 10, opset_import: ["": 18]>
        g (float[4] x) => (float[2] y, float[2] z) { y, z = Split (x) }"""
    )
    with pytest.raises(TypeInferenceError, match="neither sizes nor num_outputs"):
        infer(graph)
