"""Each pass against its golden file, and against the function it must not change."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.ir.copies import copy_graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.types import OptionalType, TensorType
from isomorph.ir.verify import verify
from isomorph.parity.leaves import leaves
from isomorph.passes.canonical import CANONICAL
from isomorph.passes.fuse import FOLD_SHAPES, FUSE, JOIN_PAST
from tests.passes import golden

PASSES = {p.name: p for p in (*CANONICAL.passes, FOLD_SHAPES, JOIN_PAST, *FUSE.passes)}
CASES = [(name, case) for name in sorted(PASSES) for case in golden.read(name)]
IDS = [f"{name}: {case.title}" for name, case in CASES]


def prepared(name, case):
    graph = case.graph()
    if name != "infer-shapes":
        infer(graph)
    return graph


@pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
def test_golden(name, case):
    graph = prepared(name, case)
    PASSES[name].apply(graph)
    verify(graph, after=name)
    found = golden.body(graph)
    if golden.UPDATE:
        cases = golden.read(name)
        updated = [
            golden.Case(c.title, c.before, found if c.title == case.title else c.after)
            for c in cases
        ]
        golden.write(name, updated)
    else:
        assert found == case.after


@pytest.mark.parametrize(("name", "case"), CASES, ids=IDS)
def test_the_function_stays_the_same(name, case):
    if name == "expand-gradients":
        pytest.skip("a Gradient is no function of its operands: test_gradient.py has its values")
    before = prepared(name, case)
    after, _ = copy_graph(before)
    PASSES[name].apply(after)
    assert [v.name for v in after.outputs] == [v.name for v in before.outputs]
    for seed, dim in ((0, 2), (1, 4), (2, 6)):
        feeds = [draw(v.type, seed, dim) for v in before.inputs]
        expected = interpret(before, feeds, wide=True)
        found = interpret(after, feeds, wide=True)
        for one, two in zip(tensors(expected), tensors(found), strict=True):
            assert one.dtype == two.dtype
            assert one.shape == two.shape
            if exact(name):
                np.testing.assert_array_equal(one, two)
            else:
                # Sums of at most 8 products with constants that were rounded to float32 once.
                scale = np.abs(one).max(initial=1.0)
                assert np.abs(one - two).max(initial=0.0) <= 8 * 2.0**-24 * 8 * scale


@pytest.mark.parametrize("name", sorted(PASSES))
def test_a_second_run_changes_nothing(name):
    for case in golden.read(name):
        graph = prepared(name, case)
        PASSES[name].apply(graph)
        assert not PASSES[name].apply(graph), case.title


@pytest.mark.parametrize("name", sorted(PASSES))
def test_every_rule_has_a_case_that_it_changes(name):
    changed = [PASSES[name].apply(prepared(name, case)) for case in golden.read(name)]
    assert any(changed)
    assert not all(changed), "one case must show what the pass leaves alone"


def exact(name):
    """Passes that move or remove ops do not touch a single bit; folds store float32 constants."""
    return name not in {"fold-constants", "conv-batchnorm", "fuse-attention", "join-past"}


def tensors(values):
    return [tensor for value in values for _, tensor in leaves(value)]


def draw(kind, seed, dim):
    if isinstance(kind, OptionalType):
        return None if seed == 1 else draw(kind.element, seed, dim)
    assert isinstance(kind, TensorType)
    rng = np.random.default_rng(seed)
    shape = tuple(d if isinstance(d, int) else dim for d in kind.shape)
    if kind.dtype.is_float:
        return rng.standard_normal(shape).astype(kind.dtype.numpy)
    return rng.integers(0, 2, shape).astype(kind.dtype.numpy)
