"""Quantization: meaning, shapes and versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.dims import symbol
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.ops.quantized import OPS
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.passes.canonical import CANONICAL
from tests.ops import harness as h

if TYPE_CHECKING:
    from isomorph.ir.graph import Value
    from isomorph.ir.instances import Instance
    from isomorph.ir.opdef import Key

NAMES = sorted(name for _, name in OPS)
ONE_OF_EACH = (
    "uint8", "int16", "int32", "int4", "uint2", "float4e2m1", "float6e2m3", "float8e4m3fn",
    "float8e8m0", "float16", "bfloat16", "float32",
)  # fmt: skip
"""Of types that came into being at the same opset, and have as many bits."""


def reference_is_right(key: Key, instance: Instance, _: DType) -> bool:
    """What is beyond int32 it saturates at the wrong end; of nothing it makes the scale 1/255."""
    if key[1] == "QuantizeLinear":
        return instance.note not in ("infinite", "nan")  # of NaN the standard says nothing
    return (key[1], instance.note) != ("DynamicQuantizeLinear", "zeros")


def defined(key: Key, instance: Instance, dtype: DType) -> bool:
    return (key[1], instance.note) != ("QuantizeLinear", "nan")


def test_every_operator_has_every_aspect() -> None:
    assert h.incomplete(OPS) == []


@pytest.mark.parametrize("name", NAMES)
class TestEveryInstance:
    def test_reference(self, name: str) -> None:
        h.sweep(h.check_reference, name, where=reference_is_right)

    def test_runtime(self, name: str) -> None:
        h.sweep(h.check_runtime, name, where=defined)

    def test_runtime_at_older_opsets(self, name: str) -> None:
        h.sweep(h.check_runtime_at_older_opsets, name, where=defined)

    def test_float64_is_the_same_function(self, name: str) -> None:
        h.sweep(h.check_narrow, name)

    def test_rule(self, name: str) -> None:
        h.sweep(h.check_rule, name)

    def test_versions(self, name: str) -> None:
        h.sweep(h.check_versions, name, ONE_OF_EACH)


def use(name: str, *operands: Any, consts: tuple[int, ...] = (), **attributes: Any) -> Graph:
    """A graph of one op; operands are arrays, or types of inputs."""
    graph = Graph(name)
    values: list[Value | None] = []
    for index, operand in enumerate(operands):
        if operand is None:
            values.append(None)
        elif isinstance(operand, TensorType):
            values.append(graph.add_input(f"x{index}", operand))
        elif index in consts:
            values.append(graph.add_weight(Weight.of(np.asarray(operand)), f"c{index}"))
        else:
            array = np.asarray(operand)
            values.append(
                graph.add_input(f"x{index}", TensorType(DType.of(array.dtype), array.shape))
            )
    graph.outputs = [graph.add_op(name, values, attributes).output]
    infer(graph)
    return graph


def run(name: str, *operands: Any, wide: bool = False, **attributes: Any) -> np.ndarray:
    graph = use(name, *operands, **attributes)
    return interpret(graph, [np.asarray(o) for o in operands if o is not None], wide=wide)[0]


TIES = np.array([-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5], np.float32)
ONE = np.float32(1)


@pytest.mark.parametrize("zero", [0, 1])
@pytest.mark.parametrize("dtype", [np.int8, np.int16, ml_dtypes.int4])
def test_ties_go_to_even_before_the_zero_point_is_added(dtype: Any, zero: int):
    found = run("QuantizeLinear", TIES, ONE, np.array(zero, dtype))
    assert found.astype(int).tolist() == [v + zero for v in (-4, -2, -2, 0, 0, 2, 2, 4)]


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (np.uint8, 0, 255), (np.int8, -128, 127), (np.uint16, 0, 65535), (np.int16, -32768, 32767),
        (ml_dtypes.uint4, 0, 15), (ml_dtypes.int4, -8, 7),
        (ml_dtypes.uint2, 0, 3), (ml_dtypes.int2, -2, 1),
    ],
)  # fmt: skip
def test_integers_saturate(dtype: Any, low: int, high: int):
    x = np.array([-np.inf, -1e30, -1e5, 1e5, 1e30, np.inf], np.float32)
    for wide in (False, True):
        found = run("QuantizeLinear", x, ONE, np.array(1, dtype), wide=wide)
        assert found.astype(int).tolist() == [low] * 3 + [high] * 3


def test_floats_of_8_bits_saturate_or_do_not():
    x, zero = np.array([-np.inf, 1e5], np.float32), np.array(0, ml_dtypes.float8_e5m2)
    assert run("QuantizeLinear", x, ONE, zero).astype(float).tolist() == [-57344, 57344]
    found = run("QuantizeLinear", x, ONE, zero, saturate=0)
    assert found.astype(float).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("dtype", [ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn])
def test_floats_are_rounded_once_from_float64(dtype: Any):
    """By way of float32, what lies just above the middle would be a tie."""
    eps = float(ml_dtypes.finfo(dtype).eps)
    above = np.array([1 + eps / 2 + 2.0**-40])
    graph = use(
        "QuantizeLinear", TensorType(DType.FLOAT32, (1,)), ONE, np.array(0, dtype), consts=(1, 2)
    )
    assert interpret(graph, [above], wide=True)[0].item() == 1 + eps


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_blocks_with_a_rest(axis: int):
    rng = np.random.default_rng(0)
    x = rng.integers(-8, 8, (5, 7)).astype(ml_dtypes.int4)
    count = [-(-d // 3) if a == axis % 2 else d for a, d in enumerate(x.shape)]
    scale = rng.uniform(0.5, 2, count).astype(np.float32)
    zero = rng.integers(-2, 2, count).astype(ml_dtypes.int4)
    full = [np.repeat(v, 3, axis).take(range(x.shape[axis]), axis) for v in (scale, zero)]
    wanted = (x.astype(np.float32) - full[1].astype(np.float32)) * full[0]
    found = run("DequantizeLinear", x, scale, zero, axis=axis, block_size=3)
    np.testing.assert_array_equal(found, wanted)
    again = run("QuantizeLinear", found, scale, zero, axis=axis, block_size=3)
    np.testing.assert_array_equal(again.astype(int), x.astype(int))


def test_products_with_a_scale_per_row_and_column():
    """The reference interpreter reads a vector of rows as one of columns."""
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-128, 127, s).astype(np.int8) for s in ((4, 9), (9, 5)))
    rows, columns = (rng.uniform(0.01, 0.1, n).astype(np.float32) for n in (4, 5))
    a_zero, b_zero = (rng.integers(-5, 5, n).astype(np.int8) for n in (4, 5))
    left = (a.astype(float) - a_zero[:, None]) * rows[:, None]
    right = (b.astype(float) - b_zero) * columns
    exact = left @ right / np.float32(0.5)
    assert np.abs(exact - np.floor(exact) - 0.5).min() > 1e-5
    found = run(
        "QLinearMatMul", a, rows, a_zero, b, columns, b_zero, np.float32(0.5), np.int8(3), wide=True
    )
    np.testing.assert_array_equal(found, np.clip(np.rint(exact) + 3, -128, 127).astype(np.int8))
    sums = run("MatMulInteger", a, b, a_zero, b_zero)
    shifted = (a.astype(int) - a_zero[:, None]) @ (b.astype(int) - b_zero)
    np.testing.assert_array_equal(sums, shifted)


def test_padding_stands_for_zero():
    x = np.full((1, 1, 2, 2), 7, np.uint8)
    w = np.ones((1, 1, 3, 3), np.int8)
    found = run("ConvInteger", x, w, np.uint8(7), pads=(1, 1, 1, 1))
    assert not found.any()


def test_sums_beyond_32_bits_wrap():
    a, b = np.full((1, 1 << 16), 255, np.uint8), np.full((1 << 16, 1), 255, np.uint8)
    exact = 255 * 255 * (1 << 16)
    assert run("MatMulInteger", a, b).item() == exact - (1 << 32)


NARROW = (
    "int4", "uint4", "int2", "uint2",
    "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
)  # fmt: skip


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("scales", [(), (6,), (2, 6)])
def test_types_that_stay_inside_of_the_runtime(name: str, scales: tuple[int, ...]):
    """Its Python binding takes no arrays of these: quantized and back, they are float32 again."""
    rng = np.random.default_rng(2)
    x = rng.uniform(-20, 20, (4, 6)).astype(np.float32)
    graph = Graph("both")
    value = graph.add_input("x", TensorType(DType.FLOAT32, x.shape))
    scale = graph.add_weight(Weight.of(rng.uniform(0.3, 2, scales).astype(np.float32)), "s")
    given: dict[str, Any] = {"axis": 1} if len(scales) == 1 else {"axis": 0, "block_size": 2}
    given = given if scales else {}
    stored = graph.add_op(
        "QuantizeLinear", [value, scale], {**given, "output_dtype": DType.of(name).value}
    )
    graph.outputs = [graph.add_op("DequantizeLinear", [stored.output, scale], given).output]
    infer(graph)
    wanted = interpret(graph, [x])
    assert downgrade(graph, 25) == []
    found = h.by_runtime(h.encode(graph, 25), [x])
    np.testing.assert_array_equal(found[0], wanted[0])


# -- versions -----------------------------------------------------------------------------------


def ops_at(graph: Graph, opset: int) -> list[str]:
    assert downgrade(graph, opset) == []
    return [op.type for op in graph.sorted_ops()]


def test_constants_of_4_bits_are_stored_in_8_where_there_are_none():
    weights = np.arange(-8, 8).astype(ml_dtypes.int4).reshape(4, 4)
    scale = np.float32(0.5)
    graph = use("DequantizeLinear", weights, scale, consts=(0, 1))
    wanted = interpret(graph, [])[0]
    assert ops_at(graph, 19) == ["DequantizeLinear"]
    stored = graph.ops()[0].inputs[0]
    assert stored is not None
    assert stored.type == TensorType(DType.INT8, (4, 4))
    np.testing.assert_array_equal(interpret(graph, [])[0], wanted)


def test_blocks_of_4_bits_at_opset_17():
    weights = np.arange(-8, 8).astype(ml_dtypes.int4).reshape(4, 4)
    scale = np.array([[0.5, 1, 2, 4], [3, 5, 7, 9]], np.float32)
    graph = use("DequantizeLinear", weights, scale, consts=(0, 1), axis=0, block_size=2)
    wanted = interpret(graph, [])[0]
    assert sorted(ops_at(graph, 17)) == ["Cast", "Gather", "Mul"]
    np.testing.assert_array_equal(interpret(graph, [])[0], wanted)


def test_blocks_of_unknown_number():
    x = TensorType(DType.FLOAT32, (symbol("n"), 4))
    scale = TensorType(DType.FLOAT32, (symbol("blocks"), 4))
    graph = use("QuantizeLinear", x, scale, axis=0, block_size=3)
    feeds = [
        np.linspace(-9, 90, 28, dtype=np.float32).reshape(7, 4),
        np.full((3, 4), 0.25, np.float32),
    ]
    wanted = interpret(graph, feeds)[0]
    assert "Range" in ops_at(graph, 13)
    np.testing.assert_array_equal(interpret(graph, feeds)[0], wanted)


@pytest.mark.parametrize(
    ("name", "operands", "given", "lowest"),
    [
        ("QuantizeLinear", (DType.FLOAT32, DType.FLOAT32), {"output_dtype": DType.INT4.value}, 21),
        ("QuantizeLinear", (DType.FLOAT32, DType.FLOAT32), {"output_dtype": DType.UINT2.value}, 25),
        ("QuantizeLinear", (DType.FLOAT32, DType.FLOAT32, DType.FLOAT8E5M2), {}, 19),
        ("QuantizeLinear", (DType.FLOAT32, DType.FLOAT8E8M0), {}, 24),
        ("DequantizeLinear", (DType.INT4, DType.FLOAT32), {}, 21),
        ("DequantizeLinear", (DType.FLOAT4E2M1, DType.FLOAT32), {}, 23),
        ("DequantizeLinear", (DType.FLOAT8E4M3FN, DType.FLOAT32), {}, 19),
        ("DequantizeLinear", (DType.INT8, DType.BFLOAT16), {}, 13),
    ],
)
def test_what_an_older_opset_has_no_type_for(
    name: str, operands: tuple[DType, ...], given: dict[str, Any], lowest: int
):
    types = [TensorType(d, () if index else (2, 3)) for index, d in enumerate(operands)]
    graph = use(name, *types, **given)
    stuck, *_ = downgrade(graph, 11)
    assert stuck.lowest == lowest
    assert "export at opset" in stuck.remedy


OLD = (
    (10, "QuantizeLinear", (TIES, np.float32(0.5), np.uint8(3)), {}),
    (10, "QuantizeLinear", (TIES, np.float32(0.5)), {}),
    (13, "QuantizeLinear", (TIES.reshape(2, 4), np.array([1, 2], np.float32), np.zeros(2, np.int8)),
     {"axis": 0}),
    (19, "QuantizeLinear", (TIES.astype(np.float16), np.float16(0.5), np.int8(3)), {}),
    (10, "DequantizeLinear", (np.arange(6, dtype=np.uint8), np.float32(0.3), np.uint8(3)), {}),
    (13, "DequantizeLinear", (np.arange(6, dtype=np.int8).reshape(2, 3),
                              np.array([0.3, 0.5, 2], np.float32), np.zeros(3, np.int8)), {}),
    (21, "DequantizeLinear", (np.arange(6, dtype=np.int16).reshape(2, 3),
                              np.array([[0.3], [0.5]], np.float32)), {"block_size": 3}),
)  # fmt: skip


@pytest.mark.parametrize(("opset", "op", "operands", "attributes"), OLD)
def test_old_models(opset: int, op: str, operands: tuple[Any, ...], attributes: dict[str, Any]):
    arrays = [np.asarray(o) for o in operands]
    model, feeds = h.old_model(opset, op, arrays, **attributes)
    unknown = op == "DequantizeLinear" and opset < 19  # to the reference interpreter
    h.check_upgrade(model, feeds, h.by_runtime(model, feeds) if unknown else None)


def test_weights_of_few_bits_are_not_computed_ahead():
    graph = use("DequantizeLinear", np.ones((4, 4), np.int8), np.float32(2), consts=(0, 1))
    CANONICAL.run(graph)
    assert [op.type for op in graph.ops()] == ["DequantizeLinear"]


# -- shapes --------------------------------------------------------------------------------------

X = TensorType(DType.FLOAT32, (2, 3))
I8 = TensorType(DType.INT8, (2, 3))


def scales(*shape: int) -> TensorType:
    return TensorType(DType.FLOAT32, shape)


WRONG = (
    ("QuantizeLinear", (X, scales(2)), {}, "2 scales for axis 1 of 3 elements"),
    ("QuantizeLinear", (X, scales(3)), {"axis": 2}, "axis 2 is out of range for rank 2"),
    ("QuantizeLinear", (X, scales(2, 3)), {}, "block_size is 0"),
    ("QuantizeLinear", (X, scales(1, 2, 3)), {"block_size": 1}, "a scale of rank 3"),
    ("QuantizeLinear", (X, scales(2, 3)), {"block_size": 2}, "3 elements along axis 1, 2 were"),
    ("QuantizeLinear", (X, scales(3), TensorType(DType.INT8, (2,))), {}, r"has shape \[2\]"),
    ("QuantizeLinear", (X, scales(), TensorType(DType.INT8, ())), {"output_dtype": 2},
     "output_dtype is uint8, the zero point is int8"),
    ("DequantizeLinear", (I8, scales(), TensorType(DType.UINT8, ())), {},
     "the zero point is uint8, int8 was expected"),
    ("DequantizeLinear", (I8, TensorType(DType.FLOAT8E8M0, ())), {}, "output_dtype must say"),
    ("MatMulInteger", (I8, I8), {}, "the summed dims: 3 and 2 do not agree"),
    ("ConvInteger", (I8, I8), {}, "rank 2; at least 3 was expected"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "operands", "attributes", "message"), WRONG)
def test_rules_name_what_does_not_fit(
    name: str, operands: tuple[TensorType, ...], attributes: dict[str, Any], message: str
):
    with pytest.raises(TypeInferenceError, match=message):
        use(name, *operands, **attributes)


def test_rules_keep_symbols():
    n, m = symbol("n"), symbol("m")
    rows, columns = TensorType(DType.UINT8, (n, 4)), TensorType(DType.INT8, (4, m))
    assert use("MatMulInteger", rows, columns).outputs[0].type == TensorType(DType.INT32, (n, m))
    x = TensorType(DType.FLOAT32, (n, m))
    found = use("QuantizeLinear", x, TensorType(DType.FLOAT32, (m,)), output_dtype=DType.INT4.value)
    assert found.outputs[0].type == TensorType(DType.INT4, (n, m))
