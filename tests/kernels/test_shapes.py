"""Kernels at sizes that nobody chose, zero among them: one program, many shapes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isomorph.ir.dims import Expr
from isomorph.ir.text import parse
from isomorph.ir.types import TensorType
from isomorph.parity.compiled import Compiled
from isomorph.runtime.device import compile_graph
from tests.kernels.support import needs_compiler

if TYPE_CHECKING:
    from isomorph.parity.well import Finding

pytestmark = needs_compiler
SIZES = st.one_of(st.integers(0, 5), st.sampled_from((7, 8, 16, 31, 32, 33, 64, 65, 100)))
GRAPHS = {
    "matmul": "(FLOAT[m, k] x, FLOAT[k, n] y) => (FLOAT[m, n] z) { z = MatMul(x, y) }",
    "transposed": "(FLOAT[k, m] x, FLOAT[n, k] y, FLOAT[n] c) => (FLOAT[m, n] z)"
    " { z = Gemm<transA = 1, transB = 1, alpha = 0.5>(x, y, c) }",
    "batched": "(FLOAT[2, 1, m, k] x, FLOAT[3, k, n] y) => (FLOAT[2, 3, m, n] z)"
    " { z = MatMul(x, y) }",
    "softmax": "(FLOAT[m, n, k] x) => (FLOAT[m, n, k] z) { z = Softmax<axis = 1>(x) }",
    "layer": "(FLOAT[m, n] x, FLOAT[n] s, FLOAT[n] b) => (FLOAT[m, n] z)"
    " { t = LayerNormalization(x, s, b)\n z = Relu(t) }",
    "reduce": "(FLOAT[m, n, k] x) => (FLOAT[n] z) <int64[2] a = {0, 2}>"
    " { z = ReduceSum<keepdims = 0>(x, a) }",
    "transpose": "(FLOAT[m, n, k] x) => (FLOAT[m, k, n] z) { z = Transpose<perm = [0, 2, 1]>(x) }",
    "permute": "(FLOAT[m, n, k] x) => (FLOAT[k, m, n] z) { z = Transpose<perm = [2, 0, 1]>(x) }",
    "broadcast": "(FLOAT[m, 1, k] x, FLOAT[n, 1] y, FLOAT[k] w) => (FLOAT[m, n, k] z)"
    " { t = Add(x, y)\n u = Mul(t, w)\n z = Tanh(u) }",
    "concat": "(FLOAT[m, n] x, FLOAT[m, k] y) => (FLOAT[m, o] z) { z = Concat<axis = 1>(x, y) }",
}


@cache
def candidate(name: str, dtype: str) -> Compiled:
    text = GRAPHS[name].replace("FLOAT", "float" if dtype == "float32" else "float16")
    graph = parse(f'<ir_version: 10, opset_import: ["" : 21]>\n{name} {text}')
    return Compiled(compile_graph(graph, "sim:sm_90", seed=5))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", GRAPHS)
def test_any_sizes(name: str, dtype: str):
    @settings(max_examples=20, deadline=None, derandomize=True, database=None)
    @given(st.tuples(SIZES, SIZES, SIZES))
    def check(sizes: tuple[int, int, int]) -> None:
        assume(name != "layer" or sizes[1])  # numpy warns of means over nothing
        made = candidate(name, dtype)
        dims = dict(zip("mnk", sizes, strict=True))
        rng = np.random.default_rng(sum(sizes))
        feeds = []
        for value in made.graph.inputs:
            assert isinstance(value.type, TensorType)
            shape = [d.evaluate(dims) if isinstance(d, Expr) else d for d in value.type.shape or ()]
            feeds.append(rng.standard_normal(shape).astype(dtype))
        wrong: list[Finding] = []
        values = made.observe(feeds)
        made.judge(values, lambda _, f: wrong.append(f) if f.reason else None)
        assert not wrong

    check()
