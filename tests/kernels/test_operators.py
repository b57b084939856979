"""Single operators on the simulator: every one that lowering knows, against float64."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.infer import infer
from isomorph.ir.types import TensorType
from isomorph.lowering import FAMILIES, LOWERINGS
from isomorph.lowering.errors import NoKernelError
from isomorph.lowering.expressions import EXPRESSIONS
from isomorph.parity.compiled import Compiled
from isomorph.passes.fuse.group import ANCHORS, POINTWISE
from isomorph.runtime.device import compile_graph
from tests.kernels.support import needs_compiler
from tests.ops.harness import build, cases

if TYPE_CHECKING:
    from isomorph.parity.well import Finding

CHECKED = tuple(family for family in FAMILIES if family != "elementwise")
"""Families whose kernels differ by more than an expression: run in checking mode."""

WIDE = ("linear", "convolution", "pooling", "reduction")
"""Families that have kernels of their own for what is not computed in float32."""


def test_what_is_fused_has_an_expression():
    assert set(EXPRESSIONS) == POINTWISE
    assert {("", name) for name in ANCHORS} <= set(LOWERINGS.rows())


def judged(case: Any, *, checking: bool) -> bool:
    """Whether the case has kernels; then its results are right."""
    graph, feeds = build(*case.values)
    infer(graph)
    try:
        run = compile_graph(graph, "sim:sm_90", checking=checking, seed=1)
    except NoKernelError:
        return False
    candidate = Compiled(run)
    values = candidate.observe(feeds)
    wrong: list[Finding] = []
    candidate.judge(values, lambda _, f: wrong.append(f) if f.reason else None)
    assert not wrong, f"{case.id}: {wrong[0].reason}"
    for value in graph.outputs:
        assert isinstance(value.type, TensorType)
        assert values[value].dtype == value.type.dtype.numpy
        if value.type.static_shape is not None:
            assert values[value].shape == value.type.static_shape
    return True


@needs_compiler
@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_expression(name: str):
    first = cases([name], ["float32", "bool"])[:1]
    second = cases([name], ["float16"])[:1] if name[0] in "AGS" else []
    done = [judged(case, checking=False) for case in (*first, *second)]
    if not any(done):
        assert name in {"BatchNormalization", "Cast"}, "no case of it has a kernel"


@needs_compiler
@pytest.mark.parametrize("family", CHECKED)
def test_family(family: str):
    keys = [k for k in LOWERINGS.rows() if LOWERINGS.family(k) == family]
    most = 2 if family in {"reduction", "quantized", "image"} else 4
    lacking = []
    for key in keys:
        found = cases([key], ["float32"])
        halves = cases([key], ["float16"])[:1]
        wide = cases([key], ["float64", "int32"])[:1] if family in WIDE else []
        done = [judged(c, checking=True) for c in (*found[:most], *halves, *wide)]
        if not any(done):
            lacking.append(key)
    assert not lacking
    assert family in FAMILIES


@needs_compiler
def test_batch_normalization_and_casts_in_a_chain():
    from isomorph.ir.text import parse

    graph = parse("""<ir_version: 10, opset_import: ["" : 21]>
    chain (float[n, 3, 5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float16[n, 3, 5] y)
    { t = BatchNormalization(x, s, b, m, v)
      y = Cast<to = 10>(t) }""")
    run = compile_graph(graph, "sim:sm_90")
    assert [k.title for k in run.plan.kernels] == ["BatchNormalization+Cast"]
    rng = np.random.default_rng(0)
    x, (s, b, m, v) = rng.standard_normal((4, 3, 5)), rng.uniform(0.5, 1, (4, 3))
    (y,) = run(*(a.astype("f4") for a in (x, s, b, m, v)))
    s, b, m, v = (a[:, None] for a in (s, b, m, v))
    np.testing.assert_allclose(y, (x - m) / np.sqrt(v + 1e-5) * s + b, rtol=2e-3, atol=1e-3)


@needs_compiler
def test_an_index_out_of_range_is_an_error_of_the_run():
    from isomorph.ir.text import parse
    from isomorph.runtime.errors import RunError

    graph = parse("""<ir_version: 10, opset_import: ["" : 21]>
    g (float[4, 3] x, int64[2] i) => (float[2, 3] y) { y = Gather(x, i) }""")
    run = compile_graph(graph, "sim:sm_90")
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    assert run(x, np.array([-1, 0]))[0].tolist() == [[9, 10, 11], [0, 1, 2]]
    with pytest.raises(RunError, match="out of range"):
        run(x, np.array([0, 4]))
    assert run(x, np.array([1, 1]))[0].tolist() == [[3, 4, 5]] * 2


def test_all_ops_without_a_kernel_are_listed_at_once():
    from isomorph.ir.text import parse

    graph = parse("""<ir_version: 10, opset_import: ["" : 21]>
    g (float[3, 3] x, int64[3] i) => (float[3, 3] y, int64[k] z) { t = Neg(x)
      y = RandomNormalLike(t)
      z = Unique(i) }""")
    from isomorph.lowering import lower

    infer(graph)
    with pytest.raises(NoKernelError, match=r"2 ops have no kernel.*") as error:
        lower(graph, "sm_90")
    assert [m.op for m in error.value.missing] == ["RandomNormalLike", "Unique"]
    assert all(m.where for m in error.value.missing)


@needs_compiler
def test_strings_are_refused_when_they_are_compiled():
    from isomorph.ir.text import parse

    graph = parse("""<ir_version: 10, opset_import: ["" : 21]>
    g (string[3] x, float[2] a) => (string[3] y, seq(float[2]) z, float[2] b) {
      y = Identity(x)
      z = SequenceConstruct(a)
      b = Neg(a) }""")
    with pytest.raises(NoKernelError, match="held by no device memory") as error:
        compile_graph(graph, "sim:sm_90")
    assert [(m.op, m.where) for m in error.value.missing] == [
        ("input", "x"),
        ("output", "y"),
    ]


@needs_compiler
def test_integers_are_compared_and_cast_exactly():
    from isomorph.ir.text import parse

    graph = parse("""<ir_version: 10, opset_import: ["" : 21]>
    g (int64[n, 1] x, int64[3] y) => (float[n, 3] a, float[n, 1] b, bool[n, 3] c)
    { t = Equal(x, y)
      a = Cast<to = 1>(t)
      b = Cast<to = 1>(x)
      c = Less(x, y) }""")
    run = compile_graph(graph, "sim:sm_90", checking=True)
    x, y = np.array([[2**53], [2**53 + 1], [-3]]), np.array([2**53, 2**53 + 1, 7])
    a, b, c = run(x, y)
    assert a.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert (b == x.astype(np.float32)).all()
    assert (c == (x < y)).all()
