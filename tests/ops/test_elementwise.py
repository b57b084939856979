"""The elementwise operators: meaning, shapes and versions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.instances import Instance, build
from isomorph.ir.instances.elementwise import INSTANCES
from isomorph.ir.interpret import interpret
from isomorph.ir.ops.elementwise import OPS
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from tests.ops import harness as h
from tests.ops import known

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

NAMES = sorted(name for _, name in OPS)
LONG = np.longdouble

REFERENCE_IS_FLOAT32 = {"Erf", "Gelu", "HardSwish"}
"""The reference interpreter computes these (or their constants) in float32 whatever the dtype."""
# fmt: off
FORMULAS = {
    "Acos": np.arccos, "Acosh": np.arccosh, "Asin": np.arcsin, "Asinh": np.arcsinh,
    "Atan": np.arctan, "Atanh": np.arctanh, "Cos": np.cos, "Cosh": np.cosh, "Exp": np.exp,
    "Log": np.log, "Sin": np.sin, "Sinh": np.sinh, "Sqrt": np.sqrt, "Tan": np.tan, "Tanh": np.tanh,
    "Erf": lambda x: np.vectorize(math.erf, otypes=[LONG])(x.astype(float)),
    "Gelu": lambda x: x / 2 * (1 + np.vectorize(math.erf, otypes=[LONG])(x.astype(float) / 2**0.5)),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.log(1 + np.exp(x)),
    "Softsign": lambda x: x / (1 + abs(x)),
    "Mish": lambda x: x * np.tanh(np.log(1 + np.exp(x))),
    "HardSwish": lambda x: x * np.clip(x / 6 + LONG("0.5"), 0, 1),
    "Swish": lambda x: x / (1 + np.exp(-x)),
    "Elu": lambda x: np.where(x < 0, np.exp(x) - 1, x),
    "Celu": lambda x: np.maximum(x, 0) + np.minimum(np.exp(x) - 1, 0),
    "Reciprocal": lambda x: 1 / x,
}
# fmt: on


def ordinary(key: Key, instance: Instance, dtype: DType) -> bool:
    """Where a float8 is saturated, the float64 run has other values by design."""
    return "saturate" not in instance.note


@pytest.mark.parametrize("name", NAMES)
def test_reference(name: str) -> None:
    h.sweep(
        h.check_reference,
        name,
        where=lambda *case: case[2] is not DType.FLOAT64 or name not in REFERENCE_IS_FLOAT32,
    )


@pytest.mark.parametrize("name", NAMES)
def test_runtime(name: str) -> None:
    h.sweep(h.check_runtime, name, limited=known.limited)


@pytest.mark.parametrize("name", NAMES)
def test_runtime_at_older_opsets(name: str) -> None:
    h.sweep(h.check_runtime_at_older_opsets, name, ("float32", "int64", "bool"))


@pytest.mark.parametrize("name", NAMES)
def test_float64_is_the_same_function(name: str) -> None:
    h.sweep(h.check_narrow, name, where=ordinary)


@pytest.mark.parametrize("name", NAMES)
def test_rule(name: str) -> None:
    h.sweep(h.check_rule, name)


@pytest.mark.parametrize("name", NAMES)
def test_versions(name: str) -> None:
    h.sweep(h.check_versions, name, (*h.REPRESENTATIVE, "int64", "float64"))


@pytest.mark.parametrize("name", sorted(FORMULAS))
def test_float64_accuracy(name: str) -> None:
    """Against the textbook formula in long double, element by element."""
    arg = INSTANCES["", name][0].inputs[0]
    assert arg is not None
    x = np.random.default_rng(0).uniform(arg.low, arg.high, 2000)
    graph = Graph()
    value = graph.add_input("x", TensorType(DType.FLOAT64, (2000,)))
    graph.outputs = [graph.add_op(name, [value]).output]
    found = interpret(graph, [x], wide=True)[0]
    wanted = FORMULAS[name](x.astype(LONG))
    # the textbook formulas cancel below the size of their operand
    scale = np.maximum(np.abs(wanted), np.maximum(np.abs(x), 0.125))
    assert float(np.max(np.abs(found - wanted) / scale)) < 8 * 2.0**-53


@pytest.mark.parametrize("value", [-6.0, -3.0, -1e-9, 0.0, 1e-300, 0.3, 2.0, 5.9, 27.0])
def test_gelu_keeps_its_tail(value: float) -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT64, ()))
    graph.outputs = [graph.add_op("Gelu", [x]).output]
    found = float(interpret(graph, [np.array(value)])[0])
    assert found == pytest.approx(value / 2 * math.erfc(-value / math.sqrt(2)), rel=1e-15)


# -- what the standard's wording fixes -----------------------------------------------------


def one(name: str, *operands: np.ndarray, **attributes: object) -> np.ndarray:
    graph = Graph()
    values = [
        graph.add_input(f"x{i}", TensorType(DType.of(a.dtype), a.shape))
        for i, a in enumerate(operands)
    ]
    graph.outputs = [graph.add_op(name, values, attributes).output]
    return interpret(graph, operands)[0]


def test_clip_has_finite_defaults() -> None:
    top = np.finfo(np.float32).max
    x = np.array([np.inf, -np.inf, np.nan], np.float32)
    assert one("Clip", x).tolist()[:2] == [top, -top]
    assert np.isnan(one("Clip", x)[2])


def test_integers_divide_towards_zero_and_wrap() -> None:
    a, b = np.array([-7, 7, -7, 7], np.int32), np.array([2, -2, -2, 2], np.int32)
    assert one("Div", a, b).tolist() == [-3, -3, 3, 3]
    assert one("Mod", a, b).tolist() == [1, -1, -1, 1]
    assert one("Add", np.array([127], np.int8), np.array([1], np.int8)).tolist() == [-128]


def test_floor_mod_of_floats_has_the_divisors_sign_even_at_zero() -> None:
    a = np.array([0.0, -0.0, 3.0, -3.0, 5.5], np.float32)
    found = one("Mod", a, np.array(-3.0, np.float32))
    assert np.signbit(found).all()
    assert found.tolist() == [-0.0, -0.0, -0.0, -0.0, -0.5]


def test_not_a_number_wins_min_and_max() -> None:
    a, b = np.array([np.nan, 1], np.float32), np.array([1, np.nan], np.float32)
    assert np.isnan(one("Max", a, b)).all()
    assert np.isnan(one("Min", a, b)).all()


def test_halves_round_to_even() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float16)
    assert one("Round", x).tolist() == [0, 2, 2, 0, -2]


def test_dropout_in_training_keeps_what_chance_keeps() -> None:
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1000,)))
    ratio = graph.add_weight(Weight.of(np.float32(0.5)))
    training = graph.add_weight(Weight.of(np.array([True]).reshape(())))
    op = graph.add_op("Dropout", [x, ratio, training], outputs=["y", "mask"])
    graph.outputs = list(op.results)
    kept, mask = interpret(graph, [np.full(1000, 3, np.float32)])
    assert 300 < mask.sum() < 700
    assert kept.dtype == np.float32
    np.testing.assert_array_equal(kept, np.where(mask, 6, 0))


# -- contents ------------------------------------------------------------------------------


def test_shape_arithmetic_is_known() -> None:
    """Reshape to (batch * 2, h // 2 + 1) by computed numbers."""
    graph = Graph()
    from isomorph.ir.dims import symbol

    x = graph.add_input("x", TensorType(DType.FLOAT32, (symbol("b"), symbol("h"))))
    two = graph.add_weight(Weight.of(np.array([2], np.int64)))
    one_ = graph.add_weight(Weight.of(np.array([1], np.int64)))
    shape = graph.add_op("Shape", [x]).output
    zero = graph.add_weight(Weight.of(np.array([0], np.int64)))
    b = graph.add_op("Gather", [shape, zero]).output
    h_ = graph.add_op("Gather", [shape, one_]).output
    rows = graph.add_op("Mul", [b, two]).output
    columns = graph.add_op("Add", [graph.add_op("Div", [h_, two]).output, one_]).output
    target = graph.add_op("Concat", [rows, columns], {"axis": 0}).output
    empty = graph.add_op("ConstantOfShape", [target]).output
    graph.outputs = [empty]
    infer(graph)
    assert str(empty.type) == "float32[2*b, (h) // 2 + 1]"


# -- older forms ---------------------------------------------------------------------------

RNG = np.random.default_rng(7)
A = RNG.uniform(-2, 2, (2, 3, 4, 5)).astype(np.float32)
PLACES = [
    ((5,), None),
    ((4, 5), None),
    ((3, 4), 1),
    ((2,), 0),
    ((3,), 1),
    ((), None),
    ((1,), 0),
    ((1, 1), None),
]
BINARY = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide,
    "Greater": np.greater, "Less": np.less, "Pow": np.power,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(BINARY))
@pytest.mark.parametrize(("shape", "axis"), PLACES)
def test_limited_broadcasting(name: str, shape: tuple[int, ...], axis: int | None) -> None:
    b = RNG.uniform(1, 2, shape).astype(np.float32)
    a = np.abs(A) if name == "Pow" else A
    behind = 4 - len(shape) - (axis or 0) if axis is not None and b.size > 1 else 0
    wanted = BINARY[name](a, b.reshape(shape + (1,) * behind))
    attributes = {"broadcast": 1} if axis is None else {"broadcast": 1, "axis": axis}
    h.check_upgrade(*h.old_model(6, name, [a, b], **attributes), [wanted])


@pytest.mark.parametrize("name", ["And", "Or", "Xor", "Equal"])
def test_limited_broadcasting_of_truth_values(name: str) -> None:
    a, b = RNG.integers(0, 2, (2, 3, 4)).astype(bool), RNG.integers(0, 2, (3,)).astype(bool)
    function = {"And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor}.get(
        name, np.equal
    )
    model = h.old_model(6, name, [a, b], broadcast=1, axis=1)
    h.check_upgrade(*model, [function(a, b[:, None])])


def test_a_slope_per_channel() -> None:
    slope = np.array([0.1, 0.2, 0.3], np.float32)
    wanted = np.where(A < 0, A * slope[:, None, None], A)
    h.check_upgrade(*h.old_model(6, "PRelu", [A, slope]), [wanted])


@pytest.mark.parametrize("attributes", [{}, {"min": -1.0}, {"max": 0.5}, {"min": -1.0, "max": 0.5}])
@pytest.mark.parametrize("opset", [6, 7, 10])
def test_clip_by_attributes(opset: int, attributes: dict[str, float]) -> None:
    h.check_upgrade(*h.old_model(opset, "Clip", [A], **attributes))


@pytest.mark.parametrize("opset", [7, 9, 10, 11])
@pytest.mark.parametrize("outputs", [1, 2])
def test_dropout_outside_training(opset: int, outputs: int) -> None:
    wanted = [A, np.ones_like(A, np.float32 if opset < 10 else bool)]
    model = h.old_model(opset, "Dropout", [A], outputs, ratio=0.3)
    # what the mask holds outside training was open before 12: onnxruntime fills it with zeros
    h.check_upgrade(*model, wanted[:outputs], runtime=outputs == 1)


def test_dropout_before_7() -> None:
    h.check_upgrade(*h.old_model(6, "Dropout", [A], is_test=1), [A])
    model, _ = h.old_model(6, "Dropout", [A])
    graph = decode_model(model)
    assert upgrade(graph) == []
    (op,) = graph.ops()
    assert op.inputs[2] is not None
    assert op.inputs[2].weight is not None
    assert op.inputs[2].weight.numpy() == np.True_


# fmt: off
UNCHANGED = {
    6: "Abs Ceil Elu Exp Floor HardSigmoid Identity LeakyRelu Max Mean Min Neg Relu Selu Sigmoid "
       "Softplus Softsign Sum Tanh",
    7: "Asin Acos Atan Cos Sin Tan",
    9: "Acosh Asinh Atanh Cosh Erf IsNaN Shrink Sign Sinh",
    10: "IsInf ThresholdedRelu",
}
# fmt: on


@pytest.mark.parametrize(
    ("opset", "name"), [(o, n) for o, names in UNCHANGED.items() for n in names.split()]
)
def test_older_versions_mean_the_same(opset: int, name: str) -> None:
    operands = [A, A[::-1].copy()] if name in {"Max", "Min", "Sum", "Mean"} else [A]
    h.check_upgrade(*h.old_model(opset, name, operands))


def test_cast_from_6() -> None:
    h.check_upgrade(*h.old_model(6, "Cast", [A], to=DType.INT32.value))


def test_erf_of_integers() -> None:
    x = np.array([-3, 0, 2, 9], np.int32)
    h.check_upgrade(*h.old_model(9, "Erf", [x]), [np.array([0, 0, 0, 1], np.int32)])


def test_shifts_out_of_range_and_of_negatives() -> None:
    x = np.array([-128, -1, 0, 77], np.int8)[:, None]
    y = np.array([-1, 0, 1, 7, 8, 100], np.int8)
    right = one("BitShift", x, y, direction="RIGHT")
    assert right.tolist()[0] == [-1, -128, -64, -1, -1, -1]
    assert one("BitShift", x, y, direction="LEFT").tolist()[3] == [0, 77, -102, -128, 0, 0]


def test_instances_are_distinct() -> None:
    """A note names an instance, so no operator has one twice with different operands."""
    for key, instances in INSTANCES.items():
        built = [str(build(key, i, d)[0]) for i in instances for d in [h.dtypes_of(key, i)[0]]]
        assert len(instances) == len(
            {(i.note, b) for i, b in zip(instances, built, strict=True)}
        ), key
