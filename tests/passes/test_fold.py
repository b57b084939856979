"""Constant folding never costs more than a constant is worth."""

from __future__ import annotations

import time

import numpy as np
import pytest

from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.weights import Weight
from isomorph.passes.canonical.fold import FoldConstants


def of_constants(type_: str, *operands: np.ndarray, **attributes: object) -> Graph:
    graph = Graph("g")
    values = [graph.add_weight(Weight.of(o), f"c{n}") for n, o in enumerate(operands)]
    graph.outputs = [graph.add_op(type_, values, attributes).output]
    infer(graph)
    return graph


F = np.float32
COSTLY = {
    "a window of 10^9 taps over padding": of_constants(
        "AveragePool",
        np.ones((1, 1, 4, 4), F),
        kernel_shape=[30000, 30000],
        pads=[15000] * 4,
        strides=[30000, 30000],
        count_include_pad=1,
    ),
    "padding of terabytes that strides leap over": of_constants(
        "Conv", np.ones((1, 1, 2, 2), F), np.ones((1, 1, 1, 1), F),
        pads=[2**20] * 4, strides=[2**20] * 2,
    ),
    "a product of many terms": of_constants(
        "MatMul", np.ones((2048, 8192), F), np.ones((8192, 2048), F)
    ),
    "a loop of a million rounds": of_constants(
        "RNN", np.ones((10**6, 1, 1), F), np.ones((1, 1, 1), F), np.ones((1, 1, 1), F),
        hidden_size=1,
    ),
    "copies of terabytes": of_constants("Expand", np.ones(1, F), np.array([2**40])),
}  # fmt: skip


@pytest.mark.parametrize("graph", COSTLY.values(), ids=COSTLY)
def test_what_costs_too_much_stays_an_op(graph):
    started = time.monotonic()
    assert not FoldConstants().apply(graph)
    assert len(graph) == 1
    assert time.monotonic() - started < 5


def test_what_costs_little_is_folded():
    product = of_constants("MatMul", np.ones((512, 64), F), np.ones((64, 512), F))
    pool = of_constants("AveragePool", np.ones((1, 1, 64, 64), F), kernel_shape=[3, 3])
    for graph in (product, pool):
        assert FoldConstants(budget=1 << 20).apply(graph)
        assert [op.type for op in graph.sorted_ops()] == ["Identity"]  # names the output
