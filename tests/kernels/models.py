"""Models that the kernels are tested on, with open dims, in float32 and float16."""

from __future__ import annotations

import runpy
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import helper

from isomorph.frontends.array.trace import trace_array
from isomorph.frontends.canonical import canonical
from isomorph.frontends.spec import parse_specs
from isomorph.ir.proto.decode import decode_model
from isomorph.lowering import lower
from isomorph.runtime.plan import Plan, make_plan
from isomorph.runtime.specialise import specialised

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isomorph.ir.graph import Graph

ONNX = {"float32": onnx.TensorProto.FLOAT, "float16": onnx.TensorProto.FLOAT16}


class Builder:
    """Nodes and weights of a model under construction."""

    def __init__(self, dtype: str, seed: int = 0) -> None:
        self.dtype = dtype
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self._rng = np.random.default_rng(seed)

    def op(self, kind: str, inputs: list[str], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def weight(self, *shape: int, scale: float = 0.25) -> str:
        return self.constant(self._rng.standard_normal(shape) * scale)

    def constant(self, value: Any, dtype: str = "") -> str:
        name = f"w{len(self.weights)}"
        array = np.asarray(value).astype(dtype or self.dtype)
        self.weights.append(onnx.numpy_helper.from_array(array, name))
        return name

    def graph(self, name: str, shape: list[Any], output: str, rank: int, opset: int) -> Graph:
        kind = ONNX[self.dtype]
        x = helper.make_tensor_value_info("x", kind, shape)
        y = helper.make_tensor_value_info(output, kind, [None] * rank)
        graph = helper.make_graph(self.nodes, name, [x], [y], self.weights)
        imports = [helper.make_opsetid("", opset)]
        return decode_model(helper.make_model(graph, opset_imports=imports, ir_version=8))


def mlp(dtype: str) -> Graph:
    """Two products with bias, activation, residual; softmax."""
    b = Builder(dtype)
    hidden = b.op("Relu", [b.op("Add", [b.op("MatMul", ["x", b.weight(24, 40)]), b.weight(40)])])
    out = b.op("Gemm", [hidden, b.weight(24, 40), b.weight(24)], transB=1, alpha=0.5, beta=2.0)
    y = b.op("Softmax", [b.op("Add", [out, "x"])], axis=-1)
    return b.graph("mlp", ["batch", 24], y, 2, 21)


def encoder(dtype: str, width: int = 32, heads: int = 4, inner: int = 48) -> Graph:
    """A Transformer encoder layer as torch.nn.TransformerEncoderLayer computes it, norm last."""
    b = Builder(dtype)
    depth = width // heads

    def project(x: str, rows: int, columns: int) -> str:
        return b.op("Add", [b.op("MatMul", [x, b.weight(rows, columns)]), b.weight(columns)])

    def split(x: str, perm: list[int]) -> str:
        shape = b.constant([0, 0, heads, depth], "int64")
        return b.op("Transpose", [b.op("Reshape", [project(x, width, width), shape])], perm=perm)

    def norm(x: str) -> str:
        return b.op("LayerNormalization", [x, b.weight(width, scale=1), b.weight(width)], axis=-1)

    q, k, v = split("x", [0, 2, 1, 3]), split("x", [0, 2, 3, 1]), split("x", [0, 2, 1, 3])
    scores = b.op("Mul", [b.op("MatMul", [q, k]), b.constant(depth**-0.5)])
    mixed = b.op("MatMul", [b.op("Softmax", [scores], axis=-1), v])
    joined = b.op("Transpose", [mixed], perm=[0, 2, 1, 3])
    joined = b.op("Reshape", [joined, b.constant([0, 0, width], "int64")])
    first = norm(b.op("Add", ["x", project(joined, width, width)]))
    hidden = b.op("Gelu", [project(first, width, inner)])
    y = norm(b.op("Add", [first, project(hidden, inner, width)]))
    return b.graph("encoder", ["batch", "seq", width], y, 3, 21)


def resnet(dtype: str, width: int = 8) -> Graph:
    """The stem, one strided block with a projected shortcut and a grouped convolution, the head."""
    b = Builder(dtype)

    def norm(x: str, channels: int) -> str:
        statistics = [b.weight(channels, scale=1) for _ in range(3)]
        var = b.constant(np.linspace(0.5, 2.0, channels))
        return b.op("BatchNormalization", [x, *statistics, var])

    x = norm(b.op("Conv", ["x", b.weight(width, 3, 7, 7)], strides=[2, 2], pads=[3] * 4), width)
    x = b.op("MaxPool", [b.op("Relu", [x])], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    twice = 2 * width
    y = norm(b.op("Conv", [x, b.weight(twice, width, 3, 3)], strides=[2, 2], pads=[1] * 4), twice)
    y = b.op("Conv", [b.op("Relu", [y]), b.weight(twice, twice // 4, 3, 3)], pads=[1] * 4, group=4)
    shortcut = norm(b.op("Conv", [x, b.weight(twice, width, 1, 1)], strides=[2, 2]), twice)
    y = b.op("Relu", [b.op("Add", [norm(y, twice), shortcut])])
    y = b.op("Flatten", [b.op("GlobalAveragePool", [y])])
    y = b.op("Gemm", [y, b.weight(10, twice), b.weight(10)], transB=1)
    return b.graph("resnet", ["batch", 3, "height", "width"], y, 2, 17)


def written_out(dtype: str, width: int = 24) -> Graph:
    """A layer normalization as its own operators, whose statistics two kernels read by rows."""
    b = Builder(dtype)
    axes = b.constant([-1], "int64")
    x = b.op("Tanh", ["x"])
    centred = b.op("Sub", [x, b.op("ReduceMean", [x, axes])])
    square = b.op("ReduceMean", [b.op("Mul", [centred, centred]), axes])
    rate = b.op("Reciprocal", [b.op("Sqrt", [b.op("Add", [square, b.constant(1e-3)])])])
    scaled = b.op("Mul", [centred, b.op("Mul", [rate, b.weight(width)])])
    y = b.op("Add", [scaled, b.weight(width)])
    return b.graph("written out", ["batch", "rows", width], y, 3, 21)


def digits(_: str) -> Graph:
    """The digits CNN of the examples, in float32."""
    path = Path(__file__).parents[2] / "examples" / "digits" / "model.py"
    return trace_array(
        runpy.run_path(str(path))["digits"], parse_specs(["x: float32[batch, 1, 8, 8]"])
    )


def from_torch(name: str) -> Any:
    """A module of `torch_models`, traced."""

    def make(dtype: str) -> Graph:
        from tests.kernels.torch_models import traced

        return traced(name, dtype)

    return make


def source(model: str, dtype: str) -> tuple[Any, list[str]]:
    """The module that a graph was traced from, and its inputs; nothing for the others."""
    if model not in TORCH:
        return None, []
    from tests.kernels.torch_models import module, specs

    return module(model, dtype), specs(model, dtype)


TORCH = ("torch encoder", "torch resnet")
WITHOUT_TORCH = find_spec("torch") is None
MODELS = {"mlp": mlp, "encoder": encoder, "resnet": resnet, "digits": digits}
MODELS["written out"] = written_out
MODELS |= {name: from_torch(name) for name in TORCH}
SHAPES: dict[str, list[tuple[int, ...]]] = {
    "mlp": [(64, 24), (5, 24)],
    "encoder": [(2, 16, 32), (1, 45, 32)],
    "resnet": [(2, 3, 32, 32), (1, 3, 29, 27)],
    "written out": [(2, 16, 24), (1, 7, 24)],
    "digits": [(16, 1, 8, 8), (3, 1, 8, 8)],
    "torch encoder": [(2, 16, 32), (1, 7, 32)],
    "torch resnet": [(2, 3, 32, 32), (1, 3, 29, 27)],
}
"""An aligned and a ragged shape each."""
NEEDS_TORCH = pytest.mark.skipif(
    WITHOUT_TORCH, reason="torch is not installed: pip install 'isomorph[torch]'"
)
CASES = [
    pytest.param(m, d, marks=NEEDS_TORCH if m in TORCH else ())
    for m in MODELS
    for d in ("float32", "float16")
    if (m, d) != ("digits", "float16")
]


def named(models: Iterable[str]) -> list[Any]:
    """Models by name, as parameters of a test."""
    return [pytest.param(m, marks=NEEDS_TORCH if m in TORCH else ()) for m in models]


def plan(model: str, dtype: str, shape: tuple[int, ...], arch: str = "sm_90") -> Plan:
    """The plan of a model, without building a kernel."""
    made = specialised(canonical(MODELS[model](dtype)), (shape,))
    return make_plan(made, lower(made, arch))


def sample(model: str, dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Ordinary values."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)
