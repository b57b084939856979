"""Operators without a kernel of their own, written out: every use, on the simulator, judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isomorph as iso
from isomorph.exporters.coverage.measure.kernels import cells, judged
from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph
from isomorph.ir.text import parse
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.lowering.definitions import DEFINITIONS, is_defined
from isomorph.lowering.definitions.training import DOMAIN
from isomorph.lowering.errors import NoKernelError
from isomorph.parity.verdict import Status
from isomorph.runtime.device import compile_graph
from tests.kernels.support import needs_compiler

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

WRITTEN: tuple[Key, ...] = tuple(k for k in DEFINITIONS.rows() if k[0] != DOMAIN)
OLDER: tuple[Key, ...] = (("", "MelWeightMatrix"),)
CONTROL = ("If", "Loop", "Scan", "SequenceMap")
HOSTED = ("SplitToSequence", "ConcatFromSequence", "Compress", "NonZero", "Unique")


@needs_compiler
@pytest.mark.parametrize("key", [*WRITTEN, *OLDER], ids=lambda key: key[1])
def test_every_use_is_right(key: Key):
    assert is_defined(Graph("g").add_op(key[1], [], domain=key[0]))
    done = 0
    for cell in cells(key):
        if cell.dtype not in {"float32", "float16"}:
            continue
        assert not judged(compile_graph(cell.graph, "sim:sm_90"), cell), cell.name
        done += 1
    assert done


@needs_compiler
@pytest.mark.parametrize("name", [*CONTROL, *HOSTED])
def test_every_use_that_the_host_steps_through_is_right(name: str):
    done = 0
    for cell in cells(("", name)):
        if cell.dtype not in {"float32", "int64"}:
            continue
        run = compile_graph(cell.graph, "sim:sm_90", checking=True, seed=2)
        assert not judged(run, cell), cell.name
        done += 1
    assert done


@needs_compiler
@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_parity_of_layers_of_any_length(kind: str):
    gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[kind]
    rng = np.random.default_rng(0)
    graph = Graph(kind)
    x = graph.add_input("x", TensorType(DType.FLOAT32, (symbol("t"), 2, 3)))
    shapes = (1, gates * 5, 3), (1, gates * 5, 5), (1, gates * 10)
    w = [graph.add_weight(Weight.of(rng.uniform(-0.5, 0.5, s).astype(np.float32))) for s in shapes]
    op = graph.add_op(kind, [x, *w], {"hidden_size": 5}, outputs=2)
    graph.outputs = list(op.results)
    run = compile_graph(graph, "sim:sm_90")
    assert [h.op for h in run.plan.hosted] == ["Scan"]
    verdict = iso.verify(graph, run, cases=6, seed=1)
    assert verdict.status is Status.PASS, str(verdict)


def optimizer(name: str, tensors: int, **attributes: Any) -> Graph:
    graph = Graph(name)
    rate = graph.add_input("r", TensorType(DType.FLOAT32, ()))
    count = graph.add_input("t", TensorType(DType.INT64, ()))
    given = [graph.add_input(f"x{n}", TensorType(DType.FLOAT32, (4,))) for n in range(tensors)]
    op = graph.add_op(
        name, [rate, count, *given], attributes, outputs=tensors - 1, domain=DOMAIN, version=1
    )
    graph.outputs = list(op.results)
    for value in graph.outputs:
        value.type = given[0].type
    return graph


@needs_compiler
@pytest.mark.parametrize("step", [0, 3])
def test_adam(step: int):
    rng = np.random.default_rng(1)
    x, g, v = rng.standard_normal((3, 4)).astype(np.float32)
    h = rng.uniform(0.1, 1, 4).astype(np.float32)
    run = compile_graph(
        optimizer("Adam", 4, alpha=0.9, beta=0.99, norm_coefficient=0.1), "sim:sm_90"
    )
    got = run(np.float32(0.1), np.array(step), x, g, v, h)
    g = 0.1 * x + g
    v, h = 0.9 * v + 0.1 * g, 0.99 * h + 0.01 * g * g
    rate = 0.1 * np.sqrt(1 - 0.99**step) / (1 - 0.9**step) if step else 0.1
    for one, right in zip(got, (x - rate * v / (np.sqrt(h) + 1e-6), v, h), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-5)


@needs_compiler
@pytest.mark.parametrize("mode", ["standard", "nesterov"])
def test_momentum(mode: str):
    x, g, v = np.random.default_rng(2).standard_normal((3, 4)).astype(np.float32)
    factors = {"alpha": 0.9, "beta": 0.5, "norm_coefficient": 0.1}
    run = compile_graph(optimizer("Momentum", 3, mode=mode, **factors), "sim:sm_90")
    got, speed = run(np.float32(0.1), np.array(1), x, g, v)
    g = 0.1 * x + g
    after = 0.9 * v + 0.5 * g
    move = g + 0.9 * after if mode == "nesterov" else after
    np.testing.assert_allclose(got, x - 0.1 * move, rtol=1e-5)
    np.testing.assert_allclose(speed, after, rtol=1e-5)


@needs_compiler
def test_adagrad():
    x, g = np.random.default_rng(3).standard_normal((2, 4)).astype(np.float32)
    h = np.ones(4, np.float32)
    run = compile_graph(optimizer("Adagrad", 3, decay_factor=0.5), "sim:sm_90")
    got, squares = run(np.float32(0.1), np.array(2), x, g, h)
    np.testing.assert_allclose(squares, h + g * g, rtol=1e-6)
    np.testing.assert_allclose(got, x - 0.05 * g / (np.sqrt(h + g * g) + 1e-6), rtol=1e-5)


@needs_compiler
def test_what_has_no_definition_for_its_operands_is_refused():
    graph = parse("""<ir_version: 10, opset_import: ["" : 21]>
    g (float[3, 2, 4] x, float[1, 5, 4] w, float[1, 5, 5] r) => (float[3, 1, 2, 5] y) {
      y = RNN<hidden_size = 5, activations = ["Nonsense"]>(x, w, r) }""")
    with pytest.raises(NoKernelError, match="RNN"):
        compile_graph(graph, "sim:sm_90")
