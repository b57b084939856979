"""What onnxruntime's optimizer makes of several operators: definitions, meaning, shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir import schema
from isomorph.ir.dims import symbol
from isomorph.ir.errors import TypeInferenceError, UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.ops.fused import OPS
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.schema_fused import FUSED, STANDARD
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics._nbits import unpacked
from isomorph.ir.types import DType, TensorType
from tests.ops import harness as h

DEFINED = [*((DOMAIN, n) for n in sorted(FUSED)), *(("", n) for n in sorted(STANDARD))]
F32, F16 = np.float32, np.float16


def test_operators_are_complete():
    assert set(OPS) == set(DEFINED) - {("", "LayerNormalization")}
    assert h.incomplete(OPS) == []


def default_of(attribute: Any) -> Any:
    made = onnx.AttributeProto()
    made.ParseFromString(attribute._default_value)
    found = onnx.helper.get_attribute_value(made) if made.type else None
    return found.decode() if isinstance(found, bytes) else found


@pytest.mark.parametrize("key", DEFINED)
def test_definitions_are_those_of_the_installed_release(key: tuple[str, str]):
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    every = state.get_all_operator_schema()
    (theirs,) = [s for s in every if (s.domain, s.name, s.since_version) == (*key, 1)]
    ours = schema.schema(*key, 1)
    assert ours is not None
    variables = {t.type_param_str: frozenset(t.allowed_type_strs) for t in theirs.type_constraints}
    assert ours.type_vars == variables
    for formals, own in ((theirs.inputs, ours.inputs), (theirs.outputs, ours.outputs)):
        found = [(f.name, f.typeStr, str(f.option).endswith("Optional")) for f in formals]
        assert [(o.name, o.type_var, o.optional) for o in own] == found
    assert {
        n: (str(a.type).split(".")[-1], a.required, default_of(a))
        for n, a in theirs.attributes.items()
    } == {n: (a.kind, a.required, a.default) for n, a in ours.attributes.items()}


def use(name: str, *operands: Any, outputs: int = 1, domain: str = DOMAIN, **given: Any) -> Graph:
    """A graph of one op; operands are types of inputs, or `None`."""
    graph = Graph(name)
    values = [
        None if kind is None else graph.add_input(f"x{n}", kind) for n, kind in enumerate(operands)
    ]
    op = graph.add_op(name, values, given, outputs=[f"y{n}" for n in range(outputs)], domain=domain)
    graph.outputs = list(op.results)
    infer(graph)
    return graph


def run(name: str, *operands: Any, outputs: int = 1, **given: Any) -> list[np.ndarray]:
    arrays = [None if o is None else np.asarray(o) for o in operands]
    kinds = [None if a is None else TensorType(DType.of(a.dtype), a.shape) for a in arrays]
    graph = use(name, *kinds, outputs=outputs, **given)
    return interpret(graph, [a for a in arrays if a is not None])


def single(*shape: Any) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


def whole(*shape: Any) -> TensorType:
    return TensorType(DType.INT32, shape)


def long(*shape: Any) -> TensorType:
    return TensorType(DType.INT64, shape)


def byte(*shape: Any) -> TensorType:
    return TensorType(DType.UINT8, shape)


# -- meaning --------------------------------------------------------------------------------------


def test_the_sum_is_added_before_the_activation():
    x, w = np.ones((1, 1, 1, 3), F32), np.full((1, 1, 1, 1), 2, F32)
    z = np.array([[[[-5, -2, 1]]]], F32)
    (found,) = run("FusedConv", x, w, np.array([0.5], F32), z, activation="Relu")
    assert found.ravel().tolist() == [0, 0.5, 3.5]
    limits: dict[str, Any] = {"activation": "Clip", "activation_params": (-1.0, 2.0)}
    (found,) = run("FusedConv", x, w, None, z, **limits)
    assert found.ravel().tolist() == [-1, 0, 2]


def test_codes_lie_low_bits_first():
    assert unpacked(np.array([0xE4], np.uint8), 2).tolist() == [0, 1, 2, 3]
    assert unpacked(np.array([0x21, 0x43], np.uint8), 4).tolist() == [1, 2, 3, 4]
    assert unpacked(np.array([7, 8], np.uint8), 8).tolist() == [7, 8]


def test_blocks_have_scales_and_zero_points_of_their_own():
    """Three blocks, so that a row of packed zero points ends in half a byte that stands unused."""
    codes = np.full((1, 3, 8), 0x99, np.uint8)
    a = np.eye(3, 48, 0, F32)
    a[1, :], a[2, :] = 0, 0
    a[1, 16], a[2, 40] = 1, 1
    scales = np.array([[1, 10, 100]], F32)
    sizes: dict[str, Any] = {"N": 1, "K": 48, "block_size": 16}
    (found,) = run("MatMulNBits", a, codes, scales, **sizes)
    assert found.ravel().tolist() == [1, 10, 100]
    zeros = np.array([[0x42, 0xF1]], np.uint8)
    (found,) = run("MatMulNBits", a, codes, scales, zeros, **sizes)
    assert found.ravel().tolist() == [7, 50, 800]
    (found,) = run("MatMulNBits", a, codes, scales, np.array([[0.5, 1.5, 9]], F32), **sizes)
    assert found.ravel().tolist() == [8.5, 75, 0]
    index = np.repeat([2, 1, 0], 16).astype(np.int32)
    (found,) = run("MatMulNBits", a, codes, scales, None, index, np.array([3], F32), **sizes)
    assert found.ravel().tolist() == [103, 13, 4]


def test_a_skip_is_that_of_every_batch():
    x = np.arange(24, dtype=F32).reshape(2, 3, 4)
    skip, gamma = np.ones((3, 4), F32), np.ones(4, F32)
    y, mean, factor, total = run("SkipLayerNormalization", x, skip, gamma, outputs=4)
    assert (total == x + 1).all()
    assert mean.ravel() == pytest.approx((x + 1).mean(-1).ravel())
    assert factor.ravel() == pytest.approx(np.full(6, 1 / np.sqrt(1.25)))
    assert y == pytest.approx((x - x.mean(-1, keepdims=True)) * factor, abs=1e-6)


def test_the_simplified_has_no_mean():
    x = np.full((1, 1, 4), 3, F32)
    y, mean, factor, total = run(
        "SkipSimplifiedLayerNormalization", x, x, np.ones(4, F32), np.full(4, -5, F32), outputs=4
    )
    assert (y == 1).all()
    assert (total == 1).all()
    assert (mean.item(), factor.item()) == (0, 1)


def test_words_without_segments_are_of_segment_0():
    ids = np.array([[1, 0]], np.int32)
    words, places = np.eye(2, 4, dtype=F32), np.full((3, 4), 10, F32)
    segments, one = np.full((2, 4), 100, F32), np.ones(4, F32)
    mask = np.array([[1, 2]], np.int32)
    _, count, total = run(
        "EmbedLayerNormalization", ids, None, words, places, segments, one, one, mask, outputs=3
    )
    assert total[0, :, :2].tolist() == [[110, 111], [111, 110]]
    assert count.tolist() == [1]
    assert run(
        "EmbedLayerNormalization", ids, None, words, places, None, one, one, outputs=2
    )[1].tolist() == [0]  # fmt: skip


def test_a_single_position_is_that_of_the_first():
    angle = np.arange(6) * np.pi / 2
    cos, sin = np.cos(angle)[:, None].astype(F32), np.sin(angle)[:, None].astype(F32)
    x = np.tile(np.array([1, 0], F32), (1, 3, 1))
    (found,) = run("RotaryEmbedding", x, np.array([1], np.int64), cos, sin)
    assert np.rint(found).tolist() == [[[0, 1], [-1, 0], [0, -1]]]


def test_what_no_run_time_has_is_not_evaluated():
    x, w = np.ones((1, 1, 3), F32), np.ones((1, 1, 1), F32)
    with pytest.raises(UnsupportedError, match="activation 'Mish' of FusedConv; Clip, Hard"):
        run("FusedConv", x, w, activation="Mish")
    with pytest.raises(UnsupportedError, match="LeakyRelu without activation_alpha"):
        run("FusedGemm", x[0], x[0].T, activation="LeakyRelu")


def test_an_index_that_is_nowhere_is_named():
    tables = np.ones((2, 4), F32), np.ones((3, 4), F32)
    with pytest.raises(TypeInferenceError, match="index 2 into the word embedding, which has 2"):
        run("EmbedLayerNormalization", np.array([[2]], np.int32), None, *tables, None,
            np.ones(4, F32), np.ones(4, F32), outputs=2)  # fmt: skip


# -- shapes ---------------------------------------------------------------------------------------

NBITS: dict[str, Any] = {"N": 5, "K": 40, "block_size": 16}
TABLES = (single(6, 8), single(4, 8), single(2, 8), single(8), single(8))
WRONG = (
    ("FusedConv", (single(1, 2, 5), single(3, 2, 3), None, single(1, 3, 4)), {},
     "dim 2 is 3 and 4"),
    ("FusedConv", (single(1, 2, 5), single(3, 2, 3), None, single(3)), {}, "Z has rank 1, 3 was"),
    ("FusedConv", (single(1, 2, 5), single(3, 2, 3)), {"activation": "Clip"},
     "activation Clip has 0 activation_params, 2 were"),
    ("FusedGemm", (whole(2, 3), whole(3, 4)), {"activation": "Tanh"}, "activation Tanh of int32"),
    ("FusedGemm", (single(2, 3), single(2, 4)), {}, "the summed dims: 3 and 2"),
    ("SkipLayerNormalization", (single(2, 3, 4), single(5, 3, 4), single(4)), {},
     "the batch is 2 and 5 at once"),
    ("SkipLayerNormalization", (single(2, 3, 4), single(2, 1, 4), single(4)), {}, "the length is"),
    ("SkipLayerNormalization", (single(4), single(4), single(4)), {}, "input has rank 1, 2 or 3"),
    ("SkipSimplifiedLayerNormalization", (single(3, 4), single(3, 4), single(3)), {},
     "the length of gamma, is 3 and 4"),
    ("EmbedLayerNormalization", (whole(2, 3), whole(2, 3), *TABLES[:2], None, *TABLES[3:]), {},
     "no segment_embedding to look them up"),
    ("EmbedLayerNormalization", (whole(2, 3), whole(2, 4), *TABLES), {}, "that of segment_ids too"),
    ("EmbedLayerNormalization", (whole(2, 3), None, *TABLES, None, whole(3, 3)), {},
     "that of position_ids too, is 2 and 3"),
    ("EmbedLayerNormalization", (whole(2, 3), None, TABLES[0], single(4, 9), *TABLES[2:]), {},
     "the hidden size is 8 and 9"),
    ("RotaryEmbedding", (single(2, 3, 8), long(1), single(6, 3), single(6, 3)), {},
     "a hidden size of 8 is no multiple of heads of 6"),
    ("RotaryEmbedding", (single(2, 3, 8), long(2), single(6, 2), single(6, 2)), {},
     "which is a first one, is 1 and 2"),
    ("RotaryEmbedding", (single(2, 3, 8), long(1), single(6, 2), single(6, 2)), {"num_heads": 1},
     "the head size, and twice the width of the angles, is 4 and 8"),
    ("RotaryEmbedding", (single(2, 3, 8), long(1), single(6, 2), single(6, 2)),
     {"rotary_embedding_dim": 4}, "and no num_heads"),
    ("MatMulNBits", (single(3, 40), byte(5, 3, 8), single(5, 3)), {**NBITS, "bits": 3},
     "bits is 3; 2, 4, 8 are known"),
    ("MatMulNBits", (single(3, 40), byte(5, 3, 8), single(5, 3)), {**NBITS, "block_size": 24},
     "block_size is 24; a power of 2"),
    ("MatMulNBits", (single(3, 40), byte(5, 2, 8), single(5, 3)), NBITS,
     r"B has shape \(5, 2, 8\); \(5, 3, 8\) was"),
    ("MatMulNBits", (single(3, 41), byte(5, 3, 8), single(5, 3)), NBITS, "is 40 and 41 at once"),
    ("MatMulNBits", (single(3, 40), byte(5, 3, 8), single(5, 3), byte(5, 3)), NBITS,
     r"zero_points has shape \(5, 3\); \(5, 2\) or \(10,\)"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "message"), WRONG)
def test_rules_name_what_does_not_fit(
    name: str, operands: tuple[Any, ...], attributes: dict[str, Any], message: str
):
    with pytest.raises(TypeInferenceError, match=message):
        use(name, *operands, **attributes)


def test_rules_keep_symbols():
    n, m = symbol("n"), symbol("m")
    x = single(n, m, 8)
    found = use("SkipLayerNormalization", x, single(1, m, 8), single(8), outputs=4).outputs
    assert [v.type for v in found] == [x, single(n, m, 1), single(n, m, 1), x]
    found = use("EmbedLayerNormalization", whole(n, m), None, *TABLES, outputs=3).outputs
    assert [v.type for v in found] == [x, whole(n), x]
    found = use("RotaryEmbedding", x, long(n, m), single(6, 2), single(6, 2)).outputs
    assert found[0].type == x
    found = use("MatMulNBits", single(n, m, 40), byte(5, 3, 8), single(5, 3), **NBITS).outputs
    assert found[0].type == single(n, m, 5)
    found = use("FusedConv", single(n, 2, m, m), single(3, 2, 3, 3), pads=(1, 1, 1, 1)).outputs
    assert found[0].type == single(n, 3, m, m)
    given = {"outputs": 2, "domain": "", "axis": 1}
    found = use("SimplifiedLayerNormalization", x, single(8), **given).outputs
    assert [v.type for v in found] == [x, single(n, 1, 1)]


# -- LayerNormalization below opset 17 ------------------------------------------------------------


def layer(x: np.ndarray, scale: np.ndarray, outputs: int = 1, **given: Any) -> onnx.ModelProto:
    """A model of opset 13, which has LayerNormalization in onnxruntime alone."""
    helper = onnx.helper
    kinds = [helper.np_dtype_to_tensor_dtype(a.dtype) for a in (x, scale, scale)]
    shapes = (x.shape, scale.shape, scale.shape)
    inputs = [
        helper.make_tensor_value_info(f"x{i}", kind, shape)
        for i, (kind, shape) in enumerate(zip(kinds, shapes, strict=True))
    ]
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node("LayerNormalization", ["x0", "x1", "x2"], names, **given)
    results = [onnx.ValueInfoProto(name=name) for name in names]
    graph = helper.make_graph([node], "layer", inputs, results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("kinds", [(F32, F32), (F16, F16), (F16, F32), (F32, F16)])
def test_a_layer_of_onnxruntime_is_read_as_the_standard_one(kinds: tuple[Any, Any]):
    rng = np.random.default_rng(0)
    x, scale = rng.normal(size=(2, 3, 4)).astype(kinds[0]), rng.normal(size=4).astype(kinds[1])
    model, feeds = layer(x, scale, 3, epsilon=0.25), [x, scale, scale]
    graph = decode_model(model)
    before, (op,) = interpret(graph, feeds), graph.ops()
    assert op.version == 1
    h.agree(op.key, feeds, before, h.by_runtime(model, feeds), 2.0**-11)
    assert not upgrade(graph)
    assert {o.version for o in graph.ops() if o.type == "LayerNormalization"} == {17}
    infer(graph)
    assert graph.outputs[0].type == TensorType(DType.of(scale.dtype), (2, 3, 4))
    after = interpret(graph, feeds)
    h.agree(op.key, feeds, after, before, 2.0**-11)


def test_statistics_that_the_standard_has_not_are_told():
    x, scale = np.ones((2, 4), F32), np.ones(4, F32)
    graph = decode_model(layer(x, scale, 3, stash_type=11))
    (stuck,) = upgrade(graph)
    assert "no statistics of float64" in stuck.reason
    graph = decode_model(layer(x, scale, stash_type=11))
    assert not upgrade(graph)
