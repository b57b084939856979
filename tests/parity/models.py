"""Small models for parity tests, written with onnx's own helper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from pathlib import Path

KINDS = {
    "float32": TensorProto.FLOAT,
    "float64": TensorProto.DOUBLE,
    "float16": TensorProto.FLOAT16,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}


def port(text: str) -> onnx.ValueInfoProto:
    """`x: float32[batch, 3]` as a message; `?` is a dim that is not known."""
    name, _, rest = text.partition(":")
    kind, _, dims = rest.strip().rstrip("]").partition("[")
    shape = [int(d) if d.strip().isdigit() else d.strip() for d in dims.split(",") if d.strip()]
    return helper.make_tensor_value_info(
        name.strip(), KINDS[kind.strip()], [None if d == "?" else d for d in shape]
    )


def model(
    nodes: list[onnx.NodeProto],
    inputs: list[str],
    outputs: list[str],
    weights: dict[str, np.ndarray] | None = None,
    opset: int = 17,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "planted",
        [port(i) for i in inputs],
        [port(o) for o in outputs],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(made)
    return made


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> onnx.NodeProto:
    """A node; operands and results are separated by spaces."""
    return helper.make_node(kind, inputs.split(" "), outputs.split(" "), **attributes)


def save(made: onnx.ModelProto, path: Path) -> Path:
    onnx.save(made, path)
    return path
