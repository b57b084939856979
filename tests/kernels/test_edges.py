"""Operators at sizes 0 and 1 and between the tiles, in checking mode, against float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.dims import Expr
from isomorph.ir.text import parse
from isomorph.ir.types import DType, TensorType
from isomorph.parity.compiled import Compiled
from isomorph.runtime.device import compile_graph
from isomorph.runtime.errors import RunError
from tests.kernels.support import needs_compiler

if TYPE_CHECKING:
    from isomorph.parity.well import Finding

pytestmark = needs_compiler
SIZES = ((0, 3), (1, 1), (5, 1), (3, 0), (33, 7), (1, 257))
GRAPHS = {
    "gather elements": "(float[m, n] x, int64[m, n] i) => (float[m, n] z)"
    " { z = GatherElements<axis = 1>(x, i) }",
    "gather nd": "(float[m, n] x, int64[n, 1] i) => (float[n, n] z) { z = GatherND(x, i) }",
    "scatter elements": "(float[m, n] x, int64[m, n] i, float[m, n] u) => (float[m, n] z)"
    ' { z = ScatterElements<axis = 1, reduction = "add">(x, i, u) }',
    "scatter nd": "(int32[m, n] x, int64[n, 1] i, int32[n, n] u) => (int32[m, n] z)"
    ' { z = ScatterND<reduction = "mul">(x, i, u) }',
    "reverse": "(float16[m, n] x, int64[n] i) => (float16[m, n] z) { z = ReverseSequence(x, i) }",
    "one hot": "(int64[m, n] i, float16[2] v) => (float16[m, n, 3] z) <int64 d = {3}>"
    " { z = OneHot(i, d, v) }",
    "largest": "(float[m, n] x) => (int64[n] z) { z = ArgMax<axis = 0, keepdims = 0>(x) }",
    "hardmax": "(float[m, n] x) => (float[m, n] z) { z = Hardmax(x) }",
    "running": "(double[m, n] x) => (double[m, n] z) <int64 a = {0}>"
    " { z = CumSum<reverse = 1, exclusive = 1>(x, a) }",
    "wide sum": "(double[m, n] x) => (double[m] z) <int64[1] a = {1}>"
    " { z = ReduceSum<keepdims = 0>(x, a) }",
    "truth": "(bool[m, n] x) => (bool[m] z) <int64[1] a = {1}>"
    " { z = ReduceMax<keepdims = 0>(x, a) }",
    "wide product": "(double[m, n] x, double[n, m] y) => (double[m, m] z) { z = MatMul(x, y) }",
    "integers": "(uint8[m, n] x, int8[n, m] y, uint8 a, int8[m] b) => (int32[m, m] z)"
    " { z = MatMulInteger(x, y, a, b) }",
    "quantize": "(float[m, n] x, float s, uint8 o) => (uint8[m, n] z)"
    " { z = QuantizeLinear(x, s, o) }",
    "quantize axis": "(float[m, n] x, float[n] s) => (int8[m, n] z)"
    " { z = QuantizeLinear<axis = 1, output_dtype = 3>(x, s) }",
    "dequantize": "(int8[m, n] x, float[m] s) => (float[m, n] z)"
    " { z = DequantizeLinear<axis = 0>(x, s) }",
    "triangle": "(int64[2, m, n] x) => (int64[2, m, n] z) <int64 k = {-1}>"
    " { z = Trilu<upper = 0>(x, k) }",
    "eye": "(float[m, n] x) => (int32[m, n] z) { z = EyeLike<k = 1, dtype = 6>(x) }",
    "tile": "(uint8[m, n] x) => (uint8[a, b] z) <int64[2] r = {2, 3}> { z = Tile(x, r) }",
    "volume": "(float[1, 2, m, 3, n] x, float[3, 2, 1, 3, 1] w) => (float[1, 3, m, 3, n] z)"
    " { z = Conv<pads = [0, 1, 0, 0, 1, 0]>(x, w) }",
    "into": "(float[2, 2, m, n] x, float[2, 3, 3, 1] w, float[3] b) => (float[2, 3, h, n] z)"
    " { z = ConvTranspose<strides = [2, 1]>(x, w, b) }",
    "norms": "(float[1, 2, m, 4, n] x) => (float[1, 2, m, 2, n] z)"
    " { z = LpPool<kernel_shape = [1, 2, 1], strides = [1, 2, 1]>(x) }",
    "places": "(float[1, 2, m, n] x) => (float[1, 2, m, n] z, int64[1, 2, m, n] i)"
    " { z, i = MaxPool<kernel_shape = [3, 1], pads = [1, 0, 1, 0]>(x) }",
    "bits": "(float[m, n] x) => (int32[m, n] z) { z = BitCast<to = 6>(x) }",
    "float8": "(float[m, n] x) => (float16[m, n] z)"
    " { t = Cast<to = 17>(x)\n z = Cast<to = 10>(t) }",
}
GRAPHS |= {
    "best": "(float[m, n] x) => (float[1, n] z, int64[1, n] i) <int64[1] k = {1}>"
    " { z, i = TopK<axis = 0>(x, k) }",
    "einsum": '(float[m, n] x, float[n, m] y) => (float[m] z) { z = Einsum<equation = "ij,ji->i">'
    "(x, y) }",
    "transform": "(float[m, n, 2] x) => (float[m, n, 2] z) <int64 a = {1}> { z = DFT(x, , a) }",
    "real transform": "(float[m, n, 1] x) => (float[m, 9, 2] z) <int64 a = {1}, int64 l = {16}>"
    " { z = DFT<onesided = 1>(x, l, a) }",
    "det": "(float[m, 3, 3] x, float[m, n] y) => (float[m] z, float[m, n] t)"
    " { z = Det(x)\n t = Neg(y) }",
    "local": "(float16[2, m, n] x) => (float16[2, m, n] z) { z = LRN<size = 3>(x) }",
    "norm": "(float[m, n] x) => (float[m, n] z) { z = LpNormalization<axis = 0, p = 2>(x) }",
    "trained": "(float[m, n, 3] x, float[n] s, float[n] b, float[n] c, float[n] s2)"
    " => (float[m, n, 3] z, float[n] d, float[n] e)"
    " { z, d, e = BatchNormalization<training_mode = 1>(x, s, b, c, s2) }",
    "resize": "(float[1, 1, m, n] x) => (float[1, 1, a, b] z) <float[4] f = {1, 1, 2.5, 0.6}>"
    ' { z = Resize<mode = "cubic", antialias = 1>(x, , f) }',
    "unpool": "(float[1, 1, m, n] x, int64[1, 1, m, n] i) => (float[1, 1, a, b] z)"
    " { z = MaxUnpool<kernel_shape = [2, 2], strides = [2, 2]>(x, i) }",
}
SMALL = {"gather nd", "scatter nd", "gather elements", "scatter elements", "reverse", "largest"}
"""Those whose indices need something to point at."""
WINDOWS = {"volume", "into", "norms", "places", "trained", "resize", "unpool", "transform", "best"}
"""Those that need something to stand on."""


def feed(value: Any, dims: dict[str, int], name: str, rng: np.random.Generator) -> np.ndarray:
    assert isinstance(value.type, TensorType)
    shape = [d.evaluate(dims) if isinstance(d, Expr) else d for d in value.type.shape or ()]
    dtype = value.type.dtype
    if name == "unpool" and value.name == "i":
        return rng.permutation(4 * dims["m"] * dims["n"])[: dims["m"] * dims["n"]].reshape(shape)
    if value.name == "i":
        most = {"gather elements": dims["n"], "scatter elements": dims["n"], "one hot": 3}
        top = most.get(name, dims["m"])
        return rng.integers(-top if name != "reverse" else 0, top, shape)
    if value.name.startswith("s"):
        return rng.uniform(0.05, 0.2, shape).astype(np.float32)
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        return rng.integers(0, 9, shape).astype(dtype.numpy)
    return (3 * rng.standard_normal(shape)).astype(dtype.numpy)


@pytest.mark.parametrize("name", GRAPHS)
def test_any_size_is_clean_and_right(name: str):
    text = f'<ir_version: 13, opset_import: ["" : 26]>\ng {GRAPHS[name]}'
    made = Compiled(compile_graph(parse(text), "sim:sm_90", checking=True, seed=7))
    rng = np.random.default_rng(0)
    ran = 0
    for m, n in SIZES:
        if (name in SMALL | WINDOWS and 0 in (m, n)) or (name in WINDOWS and m * n > 64 * 7):
            continue
        dims = {"m": m, "n": n}
        feeds = [feed(v, dims, name, rng) for v in made.graph.inputs]
        wrong: list[Finding] = []
        values = made.observe(feeds)
        made.judge(values, lambda _, f: wrong.append(f) if f.reason else None)  # noqa: B023
        assert not wrong, (m, n, wrong[0].reason)
        ran += 1
    assert ran > 2


@pytest.mark.parametrize("name", ["gather elements", "gather nd", "scatter elements", "scatter nd"])
def test_indices_out_of_range_are_errors_of_the_run(name: str):
    text = f'<ir_version: 13, opset_import: ["" : 26]>\ng {GRAPHS[name]}'
    run = compile_graph(parse(text), "sim:sm_90", checking=True)
    rng = np.random.default_rng(0)
    dims = {"m": 4, "n": 3}
    feeds = [feed(v, dims, name, rng) for v in run.graph.inputs]
    run(*feeds)
    feeds[1].reshape(-1)[1] = 4
    with pytest.raises(RunError, match="out of range"):
        run(*feeds)


def test_updates_of_one_place_are_taken_in_their_order():
    text = """<ir_version: 10, opset_import: ["" : 21]>
    g (float[8, 2] x, int64[n, 1] i, float[n, 2] u) => (float[8, 2] z) { z = ScatterND(x, i, u) }"""
    x, u = np.zeros((8, 2), np.float32), np.arange(400, dtype=np.float32).reshape(200, 2)
    i = np.random.default_rng(0).integers(0, 8, (200, 1))
    wanted = x.copy()
    wanted[i[:, 0]] = u
    for seed in (0, 3, 9):
        run = compile_graph(parse(text), "sim:sm_90", checking=True, seed=seed)
        assert run(x, i, u)[0].tolist() == wanted.tolist()
