"""Symbolic dims: integers to compute with, decided by what is declared or assumed, else refused."""

# ruff: noqa: PLW0108 - the line that is named is the lambda's

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from isomorph import array as xp
from tests.frontends.array.tracing import agree, compare, line_of, refused, traced


def test_constraints_and_domains_come_from_the_specification():
    graph = traced(lambda x: x + 1, "x: float32[batch in 1..64, h in 8..] in 0..1")
    assert [str(c) for c in graph.constraints] == ["batch >= 1", "batch <= 64", "h >= 8"]
    assert graph.domains == {"x": (0.0, 1.0)}


def test_dims_are_integers_to_compute_with():
    def fn(x: Any) -> Any:
        n, m = x.shape
        y = x.reshape(n * m)
        z = xp.zeros((n + 1, 2 * m), dtype=x.dtype)
        return y, z, xp.arange(n), xp.full(m, n), n, (n * m - 1) // 2, n % 3, xp.ones(x.shape)

    graph = traced(fn, "x: float32[n, m]")
    assert [str(v.type) for v in graph.outputs][:4] == [
        "float32[m*n]", "float32[n + 1, 2*m]", "int64[n]", "int64[m]",
    ]  # fmt: skip
    for n, m in ((1, 1), (3, 4), (7, 2), (5, 5)):
        compare(graph, fn, np.ones((n, m), np.float32))


def test_a_comparison_is_decided_by_what_is_declared():
    def fn(x: Any) -> Any:
        n = x.shape[0]
        assert n > 3
        assert not n < 2
        assert n != 3
        assert n + 1 >= 5
        return x if n >= 4 else x * 2

    assert len(traced(fn, "x: float32[n in 4..]")) == 1


def test_a_comparison_that_is_open_is_refused():
    def fn(x: Any) -> Any:
        if x.shape[0] > 3:
            return x + 1
        return x

    error = refused(fn, "x: float32[batch, 2]")
    assert line_of(fn, 1) in str(error)
    assert "`batch > 3` decides what the function does" in str(error)
    assert "`batch in 4..` in the input's specification" in str(error)
    assert "xp.assume(batch > 3)" in str(error)


def test_assume_records_what_it_decides():
    def fn(x: Any) -> Any:
        xp.assume(x.shape[0] > 3)
        return x + 1 if x.shape[0] > 3 else x

    graph = traced(fn, "x: float32[batch, 2]")
    assert [str(c) for c in graph.constraints] == ["batch > 3"]
    assert line_of(fn, 1) in graph.constraints[0].reason
    with pytest.raises(xp.AssumptionError):
        fn(np.ones((2, 2)))
    fn(np.ones((4, 2)))


def test_an_assumption_that_contradicts_is_refused():
    def fn(x: Any) -> Any:
        xp.assume(x.shape[0] < 2)
        return x

    with pytest.raises(xp.AssumptionError, match="does not hold"):
        traced(fn, "x: float32[batch in 4..]")


def test_equal_names_broadcast_and_different_ones_are_recorded():
    graph = traced(lambda x, y: x + y, "x: float32[n, 3]", "y: float32[m, 3]")
    assert [str(c) for c in graph.constraints] == ["m == n"]
    assert "test_dims.py:" in graph.constraints[0].reason


@pytest.mark.parametrize(
    "fn", [lambda x, y: x + y, lambda x, y: x.T @ y, lambda x, y: xp.where(x > 0, x, y)]
)
def test_a_name_against_a_number_is_refused(fn: Any):
    error = refused(fn, "x: float32[n, 3]", "y: float32[5, 3]")
    assert "would be fixed to one number" in str(error)
    assert "n == 5" in str(error) or "5 == n" in str(error)


def test_a_reshape_records_divisibility():
    graph = traced(lambda x: x.reshape(-1, 4), "x: float32[n]")
    assert str(graph.outputs[0].type) == "float32[(n) // 4, 4]"
    (constraint,) = graph.constraints
    assert constraint.holds({"n": 8})
    assert constraint.holds({"n": 9}) is False


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (lambda x: np.zeros(x.shape), "is used where Python or numpy needs a number"),
        (lambda x: [x for _ in range(x.shape[0])], "is used where Python or numpy needs"),
        (lambda x: x * math.sqrt(x.shape[0]), "is turned into a float"),
        (lambda x: x * int(x.shape[0]), "is turned into an int"),
        (lambda x: len(x), "len() of float32[n, 2]"),
        (lambda x: list(x), "a loop over the first axis of float32[n, 2]"),
        (lambda x: x * max(x.shape[0], 3), "decides what the function does"),
        (lambda x: [0] * x.shape[0], "repeats a sequence"),
    ],
)
def test_a_dim_is_not_a_number(fn: Any, text: str):
    error = refused(fn, "x: float32[n, 2]")
    assert text in str(error)
    assert "test_dims.py:" in str(error)


def test_loops_over_axes_of_fixed_size_unroll():
    agree(lambda x: [r * i for i, r in enumerate(x)] + [xp.asarray(len(x))], np.ones((3, 2)))
