"""What the simulator counts: requests of contiguous kernels move no sector twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isomorph.ir.text import parse
from isomorph.runtime.device import compile_graph
from tests.kernels.support import needs_compiler

if TYPE_CHECKING:
    from isomorph.runtime.device import Run
    from isomorph.simulator.report import Traffic

pytestmark = needs_compiler


def launched(text: str) -> Run:
    """A graph that has run once in checking mode."""
    header = '<ir_version: 12, opset_import: ["" : 24]>'
    run = compile_graph(parse(f"{header}\ng {text}"), "sim:sm_90", checking=True)
    types = [v.type for v in run.graph.inputs]
    run(*(np.ones(t.static_shape, t.dtype.numpy) for t in types))
    return run


PROBLEMS = {
    "add": "(FLOAT[64, 64] x, FLOAT[64, 64] y) => (FLOAT[64, 64] z) { z = Add(x, y) }",
    "bias": "(FLOAT[64, 64] x, FLOAT[64] y) => (FLOAT[64, 64] z) { z = Add(x, y) }",
    "channels": "(FLOAT[2, 16, 8, 8] x, FLOAT[16, 1, 1] y) => (FLOAT[2, 16, 8, 8] z)"
    " { z = Mul(x, y) }",
    "swapped": "(FLOAT[2, 64, 96] x) => (FLOAT[2, 96, 64] z)"
    " { z = Transpose<perm = [0, 2, 1]>(x) }",
    "heads": "(FLOAT[2, 16, 4, 32] x) => (FLOAT[2, 4, 16, 32] z)"
    " { z = Transpose<perm = [0, 2, 1, 3]>(x) }",
    "columns": "(FLOAT[64, 64] x, FLOAT[64, 32] y) => (FLOAT[64, 96] z)"
    " { z = Concat<axis = 1>(x, y) }",
    "softmax": "(FLOAT[8, 512] x) => (FLOAT[8, 512] z) { z = Softmax(x) }",
    "softmax of columns": "(FLOAT[4, 64, 32] x) => (FLOAT[4, 64, 32] z)"
    " { z = Softmax<axis = 1>(x) }",
    "layer norm": "(FLOAT[8, 512] x, FLOAT[512] s, FLOAT[512] b) => (FLOAT[8, 512] z)"
    " { z = LayerNormalization(x, s, b) }",
    "sum of rows": "(FLOAT[64, 256] x) => (FLOAT[64, 1] z) <int64[1] a = {1}>"
    " { z = ReduceSum(x, a) }",
    "sum of columns": "(FLOAT[256, 64] x) => (FLOAT[1, 64] z) <int64[1] a = {0}>"
    " { z = ReduceSum(x, a) }",
    "gather": "(FLOAT[16, 64] x, int64[32] i) => (FLOAT[32, 64] z) { z = Gather(x, i) }",
    "product": "(FLOAT[128, 64] x, FLOAT[64, 128] y, FLOAT[128] b) => (FLOAT[128, 128] z)"
    " { t = MatMul(x, y)\n z = Add(t, b) }",
    "product of transposed": "(FLOAT[64, 128] x, FLOAT[128, 64] y, FLOAT[128, 128] c)"
    " => (FLOAT[128, 128] z) { z = Gemm<transA = 1, transB = 1>(x, y, c) }",
    "product by transposed": "(FLOAT[128, 64] x, FLOAT[128, 64] y)"
    " => (FLOAT[128, 128] z) { z = Gemm<transB = 1>(x, y) }",
    "convolution": "(FLOAT[2, 16, 16, 16] x, FLOAT[32, 16, 3, 3] w, FLOAT[32] b)"
    " => (FLOAT[2, 32, 16, 16] z) { z = Conv<pads = [1, 1, 1, 1]>(x, w, b) }",
    "strided convolution": "(FLOAT[2, 16, 32, 32] x, FLOAT[32, 16, 3, 3] w)"
    " => (FLOAT[2, 32, 16, 16] z) { z = Conv<pads = [1, 1, 1, 1], strides = [2, 2]>(x, w) }",
    "pooling": "(FLOAT[2, 16, 32, 32] x) => (FLOAT[2, 16, 16, 16] z)"
    " { z = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) }",
    "attention": "(FLOAT[2, 48, 128] q, FLOAT[2, 96, 64] k, FLOAT[2, 96, 64] v)"
    " => (FLOAT[2, 48, 128] z) { z = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v) }",
    "padding": "(FLOAT[2, 32, 32] x) => (FLOAT[2, 48, 64] z) <int64[6] p = {0, 8, 16, 0, 8, 16}>"
    " { z = Pad(x, p) }",
    "mirrored": "(FLOAT[2, 32, 32] x) => (FLOAT[2, 48, 64] z) <int64[6] p = {0, 8, 16, 0, 8, 16}>"
    ' { z = Pad<mode = "reflect">(x, p) }',
    "triangle": "(FLOAT[2, 64, 64] x) => (FLOAT[2, 64, 64] z) { z = Trilu(x) }",
    "quantized": "(FLOAT[64, 64] x, FLOAT[64] s) => (int8[64, 64] z)"
    " { z = QuantizeLinear<axis = 1, output_dtype = 3>(x, s) }",
    "dequantized": "(int8[64, 64] x, FLOAT[64] s) => (FLOAT[64, 64] z)"
    " { z = DequantizeLinear<axis = 0>(x, s) }",
    "hot": "(int64[64, 4] i, FLOAT[2] v) => (FLOAT[64, 4, 32] z) <int64 d = {32}>"
    " { z = OneHot(i, d, v) }",
    "elements": "(FLOAT[64, 64] x, int64[32, 64] i) => (FLOAT[32, 64] z)"
    " { z = GatherElements(x, i) }",
    "norm": "(FLOAT[8, 512] x) => (FLOAT[8, 512] z) { z = LpNormalization(x) }",
    "channels around": "(FLOAT[2, 16, 8, 8] x) => (FLOAT[2, 16, 8, 8] z) { z = LRN<size = 3>(x) }",
    "running": "(FLOAT[64, 64] x) => (FLOAT[64, 64] z) <int64 a = {1}> { z = CumSum(x, a) }",
}
"""Sizes are multiples of every tile."""


def ratio(t: Traffic) -> float:
    """What the requests of a line cost, as a multiple of what they ask for."""
    return t.units / max(t.requests, t.bytes / (32 if t.space == "global" else 128))


@pytest.mark.parametrize("dtype", ["float", "float16"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_requests_cost_what_the_kernel_states(name: str, dtype: str):
    run = launched(PROBLEMS[name].replace("FLOAT", dtype))
    for kernel in run.plan.kernels:
        found = run.engine.machine.traffic[kernel.spec.name]
        assert {t.kind for t in found if t.space == "global"} == {"read", "write"}
        limits = {"global": kernel.spec.sectors, "shared": kernel.spec.wavefronts}
        over = [
            (t.where, t.space, t.kind, round(ratio(t), 2))
            for t in found
            if ratio(t) > limits[t.space]
        ]
        assert not over, (kernel.spec.kernel, limits)


def test_a_product_reads_each_operand_once_per_tile():
    run = launched("(float[64, 64] x, float[64, 64] y) => (float[64, 64] z) { z = MatMul(x, y) }")
    found = [t for lines in run.engine.machine.traffic.values() for t in lines]
    read = sum(t.bytes for t in found if t.space == "global" and t.kind == "read")
    assert read == sum(t.bytes for t in found if t.space == "shared" and t.kind == "write")
    written = [t for t in found if t.space == "global" and t.kind == "write"]
    assert sum(t.bytes for t in written) == 64 * 64 * 4
