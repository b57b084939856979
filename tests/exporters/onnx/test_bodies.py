"""Operators that no downgrade table knows are written as their definition's function bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isomorph.exporters.onnx.downgrade import DOWNGRADES, downgrade
from isomorph.ir import schema
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, Instance
from isomorph.ir.types import DType, TensorType
from tests.ops import harness

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

WRITTEN = {
    "Attention": 11,
    "CausalConvWithState": 11,
    "CenterCropPad": 11,
    "Clip": 11,
    "Elu": 11,
    "GroupNormalization": 11,
    "HardSigmoid": 11,
    "LinearAttention": 13,
    "LogSoftmax": 11,
    "MeanVarianceNormalization": 11,
    "Mish": 11,
    "NegativeLogLikelihoodLoss": 11,
    "RMSNormalization": 13,
    "Range": 11,
    "ReduceL2": 13,
    "RotaryEmbedding": 11,
    "Softmax": 11,
    "SoftmaxCrossEntropyLoss": 11,
    "SwiGLU": 11,
    "Swish": 11,
}
"""The lowest opset that the body of each is written to, in float32."""


def without_row(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the tables forget how the canonical version of an operator is left."""
    known = schema.canonical("", name)
    assert known is not None
    before = DOWNGRADES.get

    def get(key: Key) -> object:
        rows = before(key) or {}
        return {v: s for v, s in rows.items() if key != ("", name) or v != known.since}

    monkeypatch.setattr(DOWNGRADES, "get", get)


def is_simple(key: Key, instance: Instance, _: DType) -> bool:
    """One of the first uses, without what only some opsets can do at run time."""
    first = (INSTANCES.get(key) or ())[:6]
    return instance in first and not any(word in instance.note for word in ("int32", "run time"))


@pytest.mark.parametrize("name", WRITTEN)
def test_a_body_is_the_operator_at_every_older_opset(monkeypatch: pytest.MonkeyPatch, name: str):
    known = schema.canonical("", name)
    without_row(monkeypatch, name)
    opsets = range(WRITTEN[name], known.since if known is not None else 0)
    stuck = harness.sweep(
        lambda *case: harness.check_versions(*case, opsets=opsets),
        name,
        ("float32",),
        where=is_simple,
    )
    assert [s for s in stuck if s] == []


def test_a_body_that_does_not_fit_is_a_reason(monkeypatch: pytest.MonkeyPatch):
    """The body of LayerNormalization makes a matrix of X, with which not every scale broadcasts."""
    without_row(monkeypatch, "LayerNormalization")
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (2, 3, 4)))
    scale = graph.add_input("scale", TensorType(DType.FLOAT32, (4,)))
    graph.outputs = [graph.add_op("LayerNormalization", [x, scale], {"axis": 1}).output]
    infer(graph)
    (stuck,) = downgrade(graph, 13)
    assert stuck.lowest == 17
    assert "has no equivalent below opset 17" in stuck.reason
    assert [op.type for op in graph.ops()] == ["LayerNormalization"]


def test_an_operator_without_a_body_needs_its_row(monkeypatch: pytest.MonkeyPatch):
    without_row(monkeypatch, "GridSample")
    graph = Graph()
    x = graph.add_input("x", TensorType(DType.FLOAT32, (1, 1, 4, 4)))
    grid = graph.add_input("grid", TensorType(DType.FLOAT32, (1, 2, 2, 2)))
    graph.outputs = [graph.add_op("GridSample", [x, grid]).output]
    infer(graph)
    (stuck,) = downgrade(graph, 15)
    assert "GridSample-22 has no equivalent below opset 22" in stuck.reason
