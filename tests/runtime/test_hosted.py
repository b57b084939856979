"""Inputs that shapes depend on: a plan for each of their values, refusals before the first run."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.ir.text import parse
from isomorph.lowering.errors import NoKernelError
from isomorph.runtime.device import Run, compile_graph
from isomorph.runtime.program import MOST_PLANS
from tests.kernels.support import needs_compiler

pytestmark = needs_compiler
HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'


def compiled(text: str) -> Run:
    return compile_graph(parse(HEADER + text), "sim:sm_90")


def test_each_value_of_a_shape_has_its_plan():
    run = compiled("g (float[n] x, int64[2] s) => (float[a, b] y) { y = Reshape(x, s) }")
    x = np.arange(12, dtype=np.float32)
    for shape in ([3, 4], [2, -1], [3, 4], [12, 1]):
        (y,) = run(x, np.array(shape))
        assert np.array_equal(y, x.reshape(shape))


def test_bounds_of_a_slice_may_be_computed():
    run = compiled("""g (float[n, 4] x, int64[1] a, int64[1] b) => (float[m, 4] y)
    { e = Add(a, b)
      t = Slice(x, a, e)
      y = Neg(t) }""")
    x = np.arange(40, dtype=np.float32).reshape(10, 4)
    for start, length in ((0, 3), (4, 6), (2, 1)):
        (y,) = run(x, np.array([start]), np.array([length]))
        assert np.array_equal(y, -x[start : start + length])


def test_plans_are_not_kept_without_end():
    run = compiled("g (float[1] x, int64[1] s) => (float[a] y) { y = Expand(x, s) }")
    for size in range(1, MOST_PLANS + 5):
        (y,) = run(np.ones(1, np.float32), np.array([size]))
        assert y.shape == (size,)
    assert len(run.engine._bound) == MOST_PLANS


def test_data_is_no_shape():
    run = compiled("""g (float[n] x, float[m] z) => (float[n] y) { t = ReduceSum<keepdims = 0>(z)
      y = Mul(x, t) }""")
    assert run.engine._hosted == ()
    (y,) = run(np.ones(3, np.float32), np.full(2, 2, np.float32))
    assert y.tolist() == [4, 4, 4]


def test_what_has_no_kernel_is_refused_before_a_shape_is_known():
    with pytest.raises(NoKernelError, match="no kernel computes RandomNormalLike"):
        compiled("""g (float[n, 3, 3] x, int64[1] s) => (float[a] y) { t = RandomNormalLike(x)
          y = Reshape(t, s) }""")


def test_an_operator_without_a_kernel_runs_as_its_function_body():
    run = compiled("""g (float[n, 2, 6] x) => (float[n, 2, 6] y)
    { y = MeanVarianceNormalization<axes = [0, 2]>(x) }""")
    x = np.random.default_rng(0).standard_normal((3, 2, 6)).astype(np.float32)
    (y,) = run(x)
    mean = x.mean((0, 2), keepdims=True)
    wanted = (x - mean) / (x.std((0, 2), keepdims=True) + 1e-9)
    np.testing.assert_allclose(y, wanted, rtol=1e-5, atol=1e-6)
