"""What a shape rule says of sliding windows, against what execution and onnxruntime find."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.ir.dims import Expr, substitute
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.instances import Instance, build
from isomorph.ir.interpret import interpret
from isomorph.ir.types import DType, TensorType
from tests.ops import harness
from tests.ops.harness import by_reference, by_runtime

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

Seen = tuple[Graph, list[np.ndarray], list[np.ndarray]]


def one_op(op: str, *shapes: Any, dtype: DType = DType.FLOAT32, **attributes: Any) -> Graph:
    """A graph of one op whose operands are graph inputs of these shapes."""
    graph = Graph()
    inputs = [graph.add_input(f"x{n}", TensorType(dtype, s)) for n, s in enumerate(shapes)]
    graph.outputs = [graph.add_op(op, inputs, attributes).output]
    return graph


def check_shapes(key: Key, instance: Instance, dtype: DType = DType.FLOAT32) -> Seen | None:
    """Rule and execution agree on every shape, or both refuse;
    returns what was computed."""
    seen: Seen | None = None
    for dynamic in (True, False):
        graph, feeds = build(key, instance, dtype, dynamic=dynamic)
        try:
            results = interpret(graph, feeds)
        except TypeInferenceError:
            results = None
        if results is None:
            if not dynamic:
                with pytest.raises(TypeInferenceError):
                    infer(graph)
            continue
        infer(graph)
        bound: dict[str, int] = {}
        for value, array in zip(graph.inputs, feeds, strict=True):
            pairs = zip(value.type.shape, array.shape, strict=True)
            bound.update({str(d): n for d, n in pairs if isinstance(d, Expr)})
        for value, result in zip(graph.outputs, results, strict=True):
            assert tuple(substitute(d, bound) for d in value.type.shape) == result.shape
        seen = (graph, feeds, results)
    return seen


def check_values(key: Key, seen: Seen | None, attributes: dict[str, Any]) -> None:
    """Against onnxruntime; its Conv has no dilations with auto_pad SAME: there, the reference."""
    if seen is None or not seen[2][0].size:
        return
    graph, feeds, results = seen
    assert downgrade(graph, harness.RUNTIME_OPSET) == []
    model = harness.encode(graph, harness.RUNTIME_OPSET)
    same = key[1] == "Conv" and attributes.get("auto_pad", "").startswith("SAME")
    other = by_reference if same and any(d > 1 for d in attributes["dilations"]) else by_runtime
    try:
        wanted = other(model, feeds)
    except pytest.skip.Exception as reason:
        raise AssertionError(f"nothing to compare with: {reason}") from None
    harness.agree(key, feeds, results, wanted, 2.0**-24)
