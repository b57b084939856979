"""The faults that `planted.py` plants, each a function of a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from isomorph.ir.graph import Graph
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType, TensorType
from isomorph.parity.well import judge

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Op
    from isomorph.parity.verdict import Status

    Pair = tuple[ModelProto, ModelProto]

FLOAT, INT8, INT32 = TensorProto.FLOAT, TensorProto.INT8, TensorProto.INT32


def model(
    nodes: list[Any],
    inputs: dict[str, tuple[int, list[Any]]],
    outputs: dict[str, tuple[int, list[Any]]],
    weights: dict[str, np.ndarray] | None = None,
    opset: int = 20,
) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "planted",
        [helper.make_tensor_value_info(n, *t) for n, t in inputs.items()],
        [helper.make_tensor_value_info(n, *t) for n, t in outputs.items()],
        [numpy_helper.from_array(v, n) for n, v in (weights or {}).items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def _long_product(scale: float) -> Callable[[int], Pair]:
    def make(seed: int) -> Pair:
        rng = np.random.default_rng(seed)
        weight = (rng.standard_normal((4096, 2)) * scale).astype(np.float32)
        off = weight.copy()
        off[rng.integers(4096), rng.integers(2)] *= np.float32(0.999)
        return tuple(  # type: ignore[return-value]
            model(
                [node("MatMul", "x w", "y")],
                {"x": (FLOAT, ["n", 4096])},
                {"y": (FLOAT, ["n", 2])},
                {"w": w},
            )
            for w in (weight, off)
        )

    return make


def _pair(
    rows: list[dict[str, Any]],
    make: Callable[..., ModelProto],
) -> Pair:
    good, bad = (make(**row) for row in rows)
    return good, bad


def _layer_norm(seed: int) -> Pair:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(4, 64))
    weights = {
        "s": rng.uniform(0.5, 1.5, width).astype(np.float32),
        "b": rng.standard_normal(width).astype(np.float32),
    }

    def make(epsilon: float) -> ModelProto:
        nodes = [node("LayerNormalization", "x s b", "y", epsilon=epsilon)]
        kind = (FLOAT, ["n", width])
        return model(nodes, {"x": kind}, {"y": kind}, weights)

    return _pair([{"epsilon": 1e-5}, {"epsilon": 1e-6}], make)


def _gelu(seed: int) -> Pair:
    width = int(np.random.default_rng(seed).integers(1, 64))

    def make(approximate: str) -> ModelProto:
        kind = (FLOAT, ["n", width])
        nodes = [node("Gelu", "x", "y", approximate=approximate)]
        return model(nodes, {"x": kind}, {"y": kind})

    return _pair([{"approximate": "none"}, {"approximate": "tanh"}], make)


def _pads(seed: int) -> Pair:
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((3, 2, 3, 3)).astype(np.float32)
    first, second = (int(v) for v in rng.choice(3, 2, replace=False))

    def make(pads: list[int]) -> ModelProto:
        nodes = [node("Conv", "x w", "y", pads=pads)]
        kinds = (FLOAT, ["n", 2, 6, 6]), (FLOAT, ["n", 3, None, None])
        return model(nodes, {"x": kinds[0]}, {"y": kinds[1]}, {"w": weight})

    return _pair([{"pads": [first, 1, second, 1]}, {"pads": [second, 1, first, 1]}], make)


def _axis(seed: int) -> Pair:
    kind = str(np.random.default_rng(seed).choice(["Softmax", "LogSoftmax", "CumSum"]))

    def make(axis: int) -> ModelProto:
        shape = (FLOAT, ["n", 3, 3])
        if kind == "CumSum":
            weights = {"axis": np.array(axis)}
            return model([node("CumSum", "x axis", "y")], {"x": shape}, {"y": shape}, weights)
        return model([node(kind, "x", "y", axis=axis)], {"x": shape}, {"y": shape})

    return _pair([{"axis": 2}, {"axis": 1}], make)


def _quantize(seed: int) -> Pair:
    scale = np.float32(np.random.default_rng(seed).uniform(0.01, 1))
    point = np.array(0, np.int8)

    def make(half: bool) -> ModelProto:
        kinds = {"x": (FLOAT, ["n", 4])}, {"y": (INT8, ["n", 4])}
        if not half:
            weights = {"s": np.array(scale), "z": point}
            return model([node("QuantizeLinear", "x s z", "y")], *kinds, weights)
        nodes = [  # away from zero at a half, as C's round does
            node("Div", "x s", "q"),
            node("Sign", "q", "sign"),
            node("Abs", "q", "a"),
            node("Add", "a half", "up"),
            node("Floor", "up", "f"),
            node("Mul", "f sign", "r"),
            node("Clip", "r low high", "c"),
            node("Cast", "c", "y", to=INT8),
        ]
        weights = {
            "s": np.array(scale),
            "half": np.array(0.5, np.float32),
            "low": np.array(-128, np.float32),
            "high": np.array(127, np.float32),
        }
        return model(nodes, *kinds, weights)

    return _pair([{"half": False}, {"half": True}], make)


def _division(seed: int) -> Pair:
    divisor = np.array(int(np.random.default_rng(seed).integers(2, 9)), np.int32)
    kinds = {"x": (INT32, ["n", 4])}, {"y": (INT32, ["n", 4])}

    def make(floor: bool) -> ModelProto:
        if not floor:
            return model([node("Div", "x d", "y")], *kinds, {"d": divisor})
        nodes = [node("Mod", "x d", "m"), node("Sub", "x m", "e"), node("Div", "e d", "y")]
        return model(nodes, *kinds, {"d": divisor})

    return _pair([{"floor": False}, {"floor": True}], make)


def _guard(seed: int) -> Pair:
    """Doubled from some number of rows on; the candidate forgot that it depends on them."""
    limit = int(np.random.default_rng(seed).integers(1, 5))
    kinds = {"x": (FLOAT, ["n", 4])}, {"y": (FLOAT, ["n", 4])}
    one, two = (np.array(v, np.float32) for v in (1, 2))

    def make(guarded: bool) -> ModelProto:
        if not guarded:
            return model([node("Mul", "x two", "y")], *kinds, {"two": two})
        nodes = [
            node("Shape", "x", "shape", start=0, end=1),
            node("Greater", "shape limit", "many"),
            node("Where", "many two one", "factor"),
            node("Mul", "x factor", "y"),
        ]
        return model(nodes, *kinds, {"two": two, "one": one, "limit": np.array([limit])})

    return _pair([{"guarded": True}, {"guarded": False}], make)


def _minus_zero(seed: int) -> Pair:
    width = int(np.random.default_rng(seed).integers(1, 16))
    kinds = {"x": (FLOAT, ["n", width])}, {"y": (FLOAT, ["n", width])}

    def make(dropped: bool) -> ModelProto:
        if not dropped:
            return model([node("Neg", "x", "y")], *kinds)
        return model([node("Sub", "zero x", "y")], *kinds, {"zero": np.array(0, np.float32)})

    return _pair([{"dropped": False}, {"dropped": True}], make)


GRAPHS: dict[str, Callable[[int], Pair]] = {
    "one weight x 0.999, MatMul of K = 4096": _long_product(1.0),
    "the same at scale 1e-4": _long_product(1e-4),
    "LayerNormalization, epsilon 1e-6 for 1e-5": _layer_norm,
    "Gelu by tanh for erf": _gelu,
    "asymmetric pads of a Conv swapped": _pads,
    "a wrong axis": _axis,
    "QuantizeLinear that rounds halves away from zero": _quantize,
    "floor for truncation in an integer division": _division,
    "a stale guard on the batch": _guard,
    "a dropped -0": _minus_zero,
}


# -- nodes ----------------------------------------------------------------------------------


def _op(kind: str, operands: list[np.ndarray], **attributes: Any) -> Op:
    graph = Graph("node")
    values = [
        graph.add_input(f"x{n}", TensorType(DType.of(a.dtype), a.shape))
        for n, a in enumerate(operands)
    ]
    return graph.add_op(kind, values, attributes)


def _judged(op: Op, operands: list[np.ndarray], spoilt: np.ndarray) -> Status:
    """The worst verdict on a result."""
    return max((f.status for f in judge(op, operands, [spoilt])), key=lambda s: s.rank)


def _sigmoid_tail(seed: int) -> Status:
    """A percent too much where a table ends, well inside of where onnxruntime's own tail is bad."""
    x = (np.random.default_rng(seed).standard_normal((8, 32)) * 3).astype(np.float32)
    op = _op("Sigmoid", [x])
    right = evaluate(op, [x])[0]
    return _judged(op, [x], np.where(x < -5, right * np.float32(1.01), right))


def _product(seed: int, length: int) -> tuple[Op, list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    shapes = (4, length), (length, 8)
    operands = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    return _op("MatMul", operands), operands


def _half_sums(seed: int) -> Status:
    op, (a, b) = _product(seed, 256)
    total = np.zeros((4, 8), np.float16)
    for k in range(256):
        total = (total + np.outer(a[:, k], b[k]).astype(np.float32)).astype(np.float16)
    return _judged(op, [a, b], total.astype(np.float32))


def _skipped_block(seed: int) -> Status:
    op, (a, b) = _product(seed, 512)
    start = 16 * int(np.random.default_rng(seed).integers(32))
    kept = [k for k in range(512) if not start <= k < start + 16]
    return _judged(op, [a, b], a[:, kept] @ b[kept])


def _truncated_cast(seed: int) -> Status:
    x = np.random.default_rng(seed).standard_normal((8, 32)).astype(np.float32)
    op = _op("Cast", [x], to=DType.FLOAT16.value)
    nearest = x.astype(np.float16)
    inward = np.nextafter(nearest, np.float16(0))
    return _judged(op, [x], np.where(np.abs(nearest) > np.abs(x), inward, nearest))


def _truncated_quantize(seed: int) -> Status:
    x = np.random.default_rng(seed).standard_normal((8, 32)).astype(np.float32)
    operands = [x, np.array(0.05, np.float32), np.array(3, np.uint8)]
    op = _op("QuantizeLinear", operands)
    spoilt = np.clip(np.trunc(x / operands[1]) + 3, 0, 255).astype(np.uint8)
    return _judged(op, operands, spoilt)


def _truncated_sum(seed: int) -> Status:
    """Every partial sum cut to float32, not rounded: small errors, all of one sign."""
    x = np.random.default_rng(seed).uniform(0, 1, (4, 512)).astype(np.float32)
    axes = np.array([1])
    op = _op("ReduceSum", [x, axes], keepdims=0)
    total = np.zeros(4, np.float32)
    for k in range(512):
        exact = total.astype(np.float64) + x[:, k]
        total = exact.astype(np.float32)
        total = np.where(total > exact, np.nextafter(total, np.float32(0)), total)
    return _judged(op, [x, axes], total)


NODES: dict[str, Callable[[int], Status]] = {
    "Sigmoid, its tail 1 % off": _sigmoid_tail,
    "MatMul of K = 256, sums in float16": _half_sums,
    "MatMul of K = 512, a block of 16 skipped": _skipped_block,
    "Cast to float16 by truncation": _truncated_cast,
    "QuantizeLinear by truncation": _truncated_quantize,
    "ReduceSum of 512, sums truncated": _truncated_sum,
}


# -- right models ---------------------------------------------------------------------------


def _large_mean(seed: int) -> Pair:
    rng = np.random.default_rng(seed)
    weights = {
        "mean": np.array(1e4, np.float32),
        "s": rng.uniform(0.5, 1.5, 32).astype(np.float32),
        "b": rng.standard_normal(32).astype(np.float32),
    }
    nodes = [node("Add", "x mean", "m"), node("LayerNormalization", "m s b", "y")]
    kind = (FLOAT, ["n", 32])
    made = model(nodes, {"x": kind}, {"y": kind}, weights)
    return made, made


def _positive_sums(seed: int) -> Pair:
    weight = np.random.default_rng(seed).uniform(0, 1, (1024, 4)).astype(np.float32)
    nodes = [node("Abs", "x", "a"), node("MatMul", "a w", "y")]
    kinds = {"x": (FLOAT, ["n", 1024])}, {"y": (FLOAT, ["n", 4])}
    made = model(nodes, *kinds, {"w": weight})
    return made, made


def _right_product(seed: int) -> Pair:
    good, _ = _long_product(1.0)(seed)
    return good, good


QUIET: dict[str, Callable[[int], Pair]] = {
    "LayerNormalization of a mean of 1e4": _large_mean,
    "sums of 1,024 positive products": _positive_sums,
    "MatMul of K = 4096": _right_product,
}
