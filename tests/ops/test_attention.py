"""Attention and its relatives: what the sweep over instances does not ask."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.copies import copy_graph
from isomorph.ir.dims import parse_dim
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.graph import Graph, Value
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, build
from isomorph.ir.interpret import interpret
from isomorph.ir.patch import Patch
from isomorph.ir.proto.function import inline_body
from isomorph.ir.types import DType, TensorType
from tests.ops import harness as h

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.instances import Instance

LONG = np.longdouble


def typed(text: str) -> TensorType:
    """`float32[b, 4, s]` as a type; `?` is an unknown dim."""
    name, _, dims = text.rstrip("]").partition("[")
    shape = (None if d.strip() == "?" else parse_dim(d) for d in dims.split(","))
    return TensorType(DType.of(name), tuple(shape))


def graph_of(
    op: str,
    operands: Sequence[str | None],
    outputs: int = 1,
    *,
    version: int | None = None,
    **attributes: Any,
) -> Graph:
    graph = Graph()
    values = [None if t is None else graph.add_input(f"x{i}", typed(t)) for i, t in
              enumerate(operands)]  # fmt: skip
    names = [f"y{i}" for i in range(outputs)]
    made = graph.add_op(op, values, attributes, outputs=names, version=version)
    graph.outputs = list(made.results)
    if version is None:
        infer(graph)
    return graph


def fed(graph: Graph, sizes: dict[str, int], seed: int = 0) -> list[np.ndarray]:
    """Inputs at these sizes: numbers in ±2, truth values; positions and counts up to 3."""
    rng = np.random.default_rng(seed)
    found: list[np.ndarray] = []
    for value in graph.inputs:
        assert isinstance(value.type, TensorType)
        shape = tuple(
            d if isinstance(d, int) else int(str(d.evaluate(sizes))) for d in value.type.shape or ()
            if d is not None
        )  # fmt: skip
        if value.type.dtype is DType.BOOL:
            found.append(rng.random(shape) < 0.6)
        elif value.type.dtype.is_integer:
            found.append(rng.integers(0, 4, shape).astype(value.type.dtype.numpy))
        else:
            found.append(rng.uniform(-2, 2, shape).astype(value.type.dtype.numpy))
    return found


# -- meaning ------------------------------------------------------------------------------------


def test_attention_in_float64_is_the_textbook_s():
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(0, 2, s) for s in ((2, 3, 5, 16), (2, 3, 7, 16), (2, 3, 7, 4)))
    graph = graph_of("Attention", [f"float64[{','.join(map(str, a.shape))}]" for a in (q, k, v)])
    scores = np.einsum("bhsd,bhtd->bhst", q.astype(LONG), k.astype(LONG)) / LONG(4)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    wanted = np.einsum("bhst,bhtv->bhsv", weights / weights.sum(-1, keepdims=True), v)
    found = interpret(graph, [q, k, v], wide=True)[0]
    assert float(np.abs(found - wanted).max()) < 64 * 2.0**-53 * float(np.abs(v).max())


def body_of(instance: Instance, dtype: DType) -> tuple[list[Any], list[Any]]:
    """An Attention, and its function body, in float64."""
    graph, feeds = build(("", "Attention"), instance, dtype)
    infer(graph)
    wanted = interpret(graph, feeds, wide=True)
    patch = Patch(graph, graph.ops()[0])
    assert inline_body(graph.ops()[0], patch)
    patch.apply()
    return interpret(graph, feeds, wide=True), wanted


@pytest.mark.parametrize(
    "instance",
    [
        pytest.param(i, id=i.note or "plain")
        for i in INSTANCES.get(("", "Attention")) or ()
        if "another type" not in i.note and "float16" not in i.note
    ],
)
def test_the_function_body_is_the_same_function(instance: Instance):
    """But for constants, which it rounds to float32."""
    for found, wanted in zip(*body_of(instance, DType.FLOAT32), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-6)


def test_a_softmax_in_half_precision_is_rounded_there():
    rng = np.random.default_rng(1)
    q, k, v = (rng.uniform(-2, 2, (1, 1, 4, 8)).astype(np.float32) for _ in range(3))
    kinds = ["float32[1, 1, 4, 8]"] * 3
    attributes = {"softmax_precision": 10, "qk_matmul_output_mode": 3}
    graph = graph_of("Attention", kinds, 4, **attributes)
    weights = interpret(graph, [q, k, v])[3]
    assert weights.dtype == np.float32
    assert np.array_equal(weights, weights.astype(np.float16).astype(np.float32))
    assert not np.array_equal(weights, interpret(graph, [q, k, v], wide=True)[3])
    for opset in (22, 13):
        moved = copy_graph(graph)[0]
        assert not downgrade(moved, opset)
        np.testing.assert_allclose(interpret(moved, [q, k, v])[3], weights, atol=1e-3)


def test_half_precision_overflows_where_its_definition_does():
    q = np.full((1, 1, 1, 4), 300, np.float16)
    graph = graph_of("Attention", ["float16[1, 1, 1, 4]"] * 3, 4, scale=1.0)
    assert interpret(graph, [q, q, q])[3].tolist() == [[[[np.inf]]]]
    assert interpret(graph, [q, q, q], wide=True)[3].tolist() == [[[[360000.0]]]]


def test_a_negative_softcap_is_the_positive_one():
    kinds = ["float32[2, 2, 3, 4]"] * 3
    graphs = [graph_of("Attention", kinds, softcap=c) for c in (1.5, -1.5)]
    feeds = fed(graphs[0], {})
    np.testing.assert_array_equal(*(interpret(g, feeds)[0] for g in graphs))


@pytest.mark.parametrize(
    ("operands", "attributes", "message"),
    [
        (["float32[2, 3, 4, 8]"] * 2 + ["float32[2, 4, 6]"], {}, "ranks 3, 4, not one"),
        (["float32[2, 4, 24]"] * 3, {}, "q_num_heads and kv_num_heads are required"),
        (["float32[2, 4, 25]"] * 3, {"q_num_heads": 3, "kv_num_heads": 3}, "25 is no multiple"),
        (["float32[2, 3, 4, 8]"] * 3, {"q_num_heads": 3}, "are not allowed"),
        (["float32[2, 3, 4, 8]", *["float32[2, 2, 4, 8]"] * 2], {}, "3 is no multiple of 2"),
        (["float32[2, 3, 4, 8]", *["float32[2, 3, 4, 9]"] * 2], {}, "head size is 8 and 9"),
        (["float32[2, 3, 4, 8]", *["float32[5, 3, 4, 8]"] * 2], {}, "batch is 2 and 5"),
        (["float32[2, 3, 4, 8]"] * 3, {"softmax_precision": 7}, "softmax_precision is 7"),
        (["float32[2, 3, 4, 8]"] * 3, {"left_window_size": -2}, "left_window_size is -2"),
        ([*["float32[2, 3, 4, 8]"] * 3, "bool[1, 1, 1, 1, 4]"], {}, "rank 5, at most 4"),
        ([*["float32[2, 3, 4, 8]"] * 3, None, "float32[2, 3, 1, 8]"], {}, "come together"),
    ],
)
def test_operands_that_do_not_fit(
    operands: list[str | None], attributes: dict[str, int], message: str
):
    with pytest.raises(TypeInferenceError, match=message):
        graph_of("Attention", operands, **attributes)


@pytest.mark.parametrize(
    ("op", "operands", "attributes", "message"),
    [
        ("RotaryEmbedding", ["float32[2, 4, 24]", *["float32[9, 4]"] * 2, "int64[2, 4]"], {},
         "num_heads is required"),
        ("RotaryEmbedding", ["float32[2, 3, 4, 8]", *["float32[9, 3]"] * 2, "int64[2, 4]"], {},
         "is 3 and 4 at once"),
        ("RotaryEmbedding", ["float32[2, 3, 4, 8]", *["float32[9, 4]"] * 2], {},
         "rank 2; 3 was expected without position_ids"),
        ("RotaryEmbedding", ["float32[2, 3, 4, 7]", *["float32[2, 4, 3]"] * 2], {},
         "not possible in pairs"),
        ("LinearAttention", ["float32[2, 5, 6]"] * 3, {"q_num_heads": 2, "kv_num_heads": 2},
         "'gated_delta' needs decay"),
        ("LinearAttention", ["float32[2, 5, 6]"] * 3,
         {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "other"}, "'other'; linear, gated"),
        ("CausalConvWithState", ["float32[2, 4, 5]", "float32[5, 1, 3]"], {}, "is 4 and 5"),
        ("CausalConvWithState", ["float32[2, 4, 5]", "float32[4, 1, 3]"], {"activation": "relu"},
         "'relu'; none, silu"),
        ("SwiGLU", ["float32[2, 4]", "float32[4]"], {}, "nothing is broadcast"),
    ],
)  # fmt: skip
def test_others_that_do_not_fit(
    op: str, operands: list[str], attributes: dict[str, Any], message: str
):
    outputs = 2 if "State" in op or "Linear" in op else 1
    with pytest.raises(TypeInferenceError, match=message):
        graph_of(op, operands, outputs, **attributes)


# -- versions -----------------------------------------------------------------------------------


def old(version: int, mask: str, **attributes: Any) -> tuple[Graph, list[np.ndarray]]:
    kinds = ["float32[2, 3, 4, 8]", "float32[2, 3, t, 8]", "float32[2, 3, t, 8]", mask]
    graph = graph_of("Attention", kinds, version=version, **attributes)
    (op,) = graph.ops()
    op.output.type = typed("float32[2, 3, 4, 8]")
    return graph, fed(graph, {"t": 6, "m": 6})


def test_a_mask_of_one_key_was_broadcast_and_is_now_short():
    graph, feeds = old(23, "float32[4, 1]")
    before = interpret(graph, feeds)[0]
    graph.ops()[0].version = 24
    assert not np.allclose(interpret(graph, feeds)[0], before)
    graph.ops()[0].version = 23
    assert not upgrade(graph)
    assert [op.type for op in graph.sorted_ops()] == ["Shape", "Expand", "Attention"]
    np.testing.assert_allclose(interpret(graph, feeds)[0], before, rtol=1e-6)


@pytest.mark.parametrize("mask", ["bool[4, 1]", "bool[m]", "bool[2, 1, 4, m]", "float32[4, t]"])
def test_version_23_comes_back_as_it_was(mask: str):
    graph, feeds = old(23, mask)
    before = interpret(graph, feeds)[0]
    assert not upgrade(graph)
    np.testing.assert_allclose(interpret(graph, feeds)[0], before, rtol=1e-6)
    assert not downgrade(graph, 23)
    (op,) = [op for op in graph.ops() if op.type == "Attention"]
    assert op.version == 23
    assert op.inputs[3] is graph.inputs[3]
    np.testing.assert_allclose(interpret(graph, feeds)[0], before, rtol=1e-6)


def test_heads_that_rank_4_was_told_are_dropped():
    graph, feeds = old(24, "bool[4, t]", q_num_heads=3, kv_num_heads=3)
    before = interpret(graph, feeds)[0]
    assert not upgrade(graph)
    (op,) = graph.ops()
    assert (op.version, op.attributes) == (25, {})
    infer(graph)
    np.testing.assert_array_equal(interpret(graph, feeds)[0], before)


def test_windows_and_counts_become_masks():
    kinds = [*["float32[b, 2, s, 8]"] * 3, None, None, None, "int64[b]"]
    graph = graph_of("Attention", kinds, left_window_size=1, is_causal=1)
    feeds = fed(graph, {"b": 3, "s": 4})
    wanted = interpret(graph, feeds)[0]
    for opset, kept in ((24, {"is_causal"}), (23, set[str]())):
        moved = copy_graph(graph)[0]
        assert not downgrade(moved, opset)
        (op,) = [op for op in moved.ops() if op.type == "Attention"]
        assert set(op.attributes) == kept
        assert op.inputs[3] is not None
        np.testing.assert_allclose(interpret(moved, feeds)[0], wanted, rtol=1e-6)


SYMBOLIC = {
    "groups, past": (
        "Attention",
        ["float32[b, 4, s, 8]", "float32[b, 2, s, 8]", "float32[b, 2, s, 6]", "bool[s, p + s]",
         "float32[b, 2, p, 8]", "float32[b, 2, p, 6]"],
        3, {"is_causal": 1}, {"b": 2, "s": 3, "p": 2},
        ["float32[b, 4, s, 6]", "float32[b, 2, p + s, 8]", "float32[b, 2, p + s, 6]"],
    ),
    "rank 3": (
        "Attention", ["float32[b, s, 16]", "float32[b, t, 16]", "float32[b, t, 2*e]"], 1,
        {"q_num_heads": 2, "kv_num_heads": 2, "is_causal": 1}, {"b": 2, "s": 3, "t": 4, "e": 3},
        ["float32[b, s, 2*e]"],
    ),
    "every dim": (
        "Attention", ["float32[b, 2*h, s, d]", "float32[b, h, t, d]", "float32[b, h, t, e]"], 1,
        {"right_window_size": 1}, {"b": 2, "h": 2, "s": 3, "t": 4, "d": 5, "e": 6},
        ["float32[b, 2*h, s, e]"],
    ),
    "counts": (
        "Attention", [*["float32[b, 2, s, 8]"] * 3, "float32[s, 3]", None, None, "int64[b]"], 1,
        {"is_causal": 1}, {"b": 2, "s": 5}, ["float32[b, 2, s, 8]"],
    ),
    "rotation": (
        "RotaryEmbedding", ["float32[b, 2, s, 2*h]", *["float32[n, h]"] * 2, "int64[b, s]"], 1,
        {"interleaved": 1}, {"b": 2, "s": 3, "h": 4, "n": 5}, ["float32[b, 2, s, 2*h]"],
    ),
    "rotation in part": (
        "RotaryEmbedding", ["float32[b, s, 2*h]", *["float32[b, s, 2]"] * 2], 1,
        {"num_heads": 2, "rotary_embedding_dim": 4}, {"b": 2, "s": 3, "h": 6},
        ["float32[b, s, 2*h]"],
    ),
    "channels": (
        "CausalConvWithState", ["float32[b, c, n]", "float32[c, 1, 3]", "float32[c]"], 2,
        {"activation": "silu"}, {"b": 2, "c": 3, "n": 5}, ["float32[b, c, n]", "float32[b, c, 2]"],
    ),
    "kernel": (
        "CausalConvWithState", ["float32[b, 3, n]", "float32[3, 1, k + 1]"], 2, {},
        {"b": 2, "n": 5, "k": 2}, ["float32[b, 3, n]", "float32[b, 3, k]"],
    ),
    "recurrence": (
        "LinearAttention", [*["float32[b, t, 2*d]"] * 2, "float32[b, t, 2*e]", None,
                            "float32[b, t, 2]"], 2,
        {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "gated"},
        {"b": 2, "t": 4, "d": 3, "e": 5}, ["float32[b, t, 2*e]", "float32[b, 2, d, e]"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SYMBOLIC)
def test_symbolic_dims_survive_to_every_opset(name: str):
    op, operands, outputs, attributes, sizes, results = SYMBOLIC[name]
    graph = graph_of(op, operands, outputs, **attributes)
    assert [str(v.type) for v in graph.outputs] == [str(typed(r)) for r in results]
    feeds = fed(graph, sizes)
    wanted = interpret(graph, feeds)
    for opset in (11, 13, 17, 22, 23, 24):
        moved = copy_graph(graph)[0]
        assert not downgrade(moved, opset)
        infer(moved)
        assert [str(v.type) for v in moved.outputs] == [str(typed(r)) for r in results]
        every = [interpret(moved, feeds)]
        with suppress(pytest.skip.Exception):  # it takes no short masks, where it has Attention
            every.append(h.by_runtime(h.encode(moved, opset), feeds))
        assert len(every) == 2 or (name == "counts" and opset == 24)
        for found in every:
            for f, w in zip(found, wanted, strict=True):
                np.testing.assert_allclose(f, w, rtol=2e-5, atol=2e-5, err_msg=f"opset {opset}")


def test_a_convolution_of_nothing_known_says_what_to_state():
    graph = graph_of("CausalConvWithState", ["float32[b, c, n]", "float32[c, 1, k]"], 2)
    (stuck,) = downgrade(graph, 24)
    assert "neither the number of channels nor the kernel's size" in stuck.reason
    assert "shape of its weight" in stuck.remedy


def test_one_token_needs_no_scan():
    kinds = ["float32[b, 1, 6]", "float32[b, 1, 6]", "float32[b, 1, 8]", "float32[b, 2, 3, 4]"]
    given = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
    graph = graph_of("LinearAttention", kinds, 2, **given)
    feeds = fed(graph, {"b": 2})
    wanted = interpret(graph, feeds)
    assert not downgrade(graph, 21)
    assert "Scan" not in {op.type for op in graph.ops()}
    for f, w in zip(interpret(graph, feeds), wanted, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-5, atol=1e-6)


def test_heads_are_repeated_by_one_gather():
    kinds = ["float32[2, 6, 4, 8]", *["float32[2, 2, 5, 8]"] * 2]
    graph = graph_of("Attention", kinds)
    assert not downgrade(graph, 22)
    types = [op.type for op in graph.sorted_ops()]
    assert types == ["Gather", "Gather", "Transpose", "Add", "Mul", "MatMul", "Softmax", "MatMul"]


def test_a_scale_of_float64_stays_float64_on_onnxruntime():
    """Its optimizer makes a float32 of a lone factor beside a MatMul."""
    graph = graph_of("Attention", ["float64[1, 2, 3, 8]"] * 3)
    assert not downgrade(graph, 22)
    (factor,) = [op for op in graph.ops() if op.type == "Mul"]
    assert isinstance(factor.inputs[1], Value)
    assert factor.inputs[1].type == typed("float64[8]")
