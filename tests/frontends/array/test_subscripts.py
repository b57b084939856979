"""Indexing against numpy: any key, fixed and open shapes."""

# ruff: noqa: ARG005 - one signature for all cases

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isomorph import array as xp
from isomorph.frontends.array import TraceError
from tests.frontends.array.tracing import agree, compare, traced

X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)


@st.composite
def keys(draw: st.DrawFn) -> tuple[Any, ...]:
    """A key for X: integers, slices, new axes, an ellipsis, index arrays that broadcast, a mask."""
    items: list[Any] = []
    axis = 0
    shape = draw(st.sampled_from([(), (2,), (3, 1), (0,)]))
    while axis < X.ndim and draw(st.booleans()):
        size = X.shape[axis]
        kinds = ["int", "slice", "slice", "array", "array", "list", "mask", "new"]
        kind = draw(st.sampled_from(kinds))
        match kind:
            case "int":
                items.append(draw(st.integers(-size, size - 1)))
            case "slice":
                bound = st.none() | st.integers(-size - 2, size + 2)
                step = draw(st.sampled_from([None, 1, 2, 3, -1, -2]))
                items.append(slice(draw(bound), draw(bound), step))
            case "array":
                count = int(np.prod(shape))
                drawn = draw(st.lists(st.integers(-size, size - 1), min_size=count, max_size=count))
                items.append(np.array(drawn, np.int64).reshape(shape))
            case "list":
                items.append([draw(st.integers(-size, size - 1))])
            case "mask":
                items.append(np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size))))
            case _:
                items.append(None)
                axis -= 1
        axis += 1
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), Ellipsis)
    return tuple(items)


def unmixed(key: tuple[Any, ...]) -> bool:
    """How many elements a mask keeps is open: it broadcasts with no other index array."""
    masks = sum(isinstance(k, np.ndarray) and k.dtype == np.bool_ for k in key)
    return not masks or sum(isinstance(k, (np.ndarray, list)) for k in key) == 1


def fits(key: Any) -> bool:
    try:
        X[key]
    except IndexError:
        return False
    return True


@settings(max_examples=300, deadline=None)
@given(key=keys().filter(unmixed).filter(fits), open_axes=st.sets(st.integers(0, 3)))
def test_any_key(key: tuple[Any, ...], open_axes: set[int]):
    masked = any(isinstance(k, np.ndarray) and k.dtype == np.bool_ for k in key)
    agree(lambda x: x[key], X, open_axes=() if masked else sorted(open_axes))


@settings(max_examples=60, deadline=None)
@given(
    start=st.none() | st.integers(-6, 6),
    stop=st.none() | st.integers(-6, 6),
    step=st.sampled_from([None, 1, 2, 3, -1, -3]),
)
def test_a_slice_of_an_open_axis_at_every_size(start: Any, stop: Any, step: Any):
    def fn(x: Any) -> Any:
        return x[start:stop:step] * 2

    graph = traced(fn, "x: float32[n]")
    for size in range(8):
        compare(graph, fn, np.arange(size, dtype=np.float32))


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, i: x[i],
        lambda x, i: x[:, i],
        lambda x, i: x[i, i],
        lambda x, i: x[i, :, 1],
        lambda x, i: x[..., i, None],
        lambda x, i: x[i % 2 == 0],
        lambda x, i: x[x > 40],
        lambda x, i: x[x[:, :, 0, 0] > 10],
        lambda x, i: x[i[0]],
        lambda x, i: x[i[0] : i[1] + 2],
        lambda x, i: x[:, 1][i % 2 == 0, 2],
        lambda x, i: xp.at(x)[i].set(-1),
        lambda x, i: xp.at(x)[i, 1].add(x[i, 1]),
        lambda x, i: xp.at(x)[0].multiply(2.0),
        lambda x, i: xp.at(x)[..., 1:3].max(50),
        lambda x, i: xp.at(x)[x > 7].min(7),
        lambda x, i: xp.at(x)[1, :, i, 0].set(7),
    ],
)
def test_traced_indices(fn: Any):
    index = np.array([0, 1], np.int64)
    agree(fn, X, index, ulps=4)
    agree(fn, X, index.astype(np.int32), open_axes=(0, 2))


def test_dims_as_bounds():
    def fn(x: Any) -> Any:
        n = x.shape[0]
        return x[: n // 2], x[n // 2 :], x[n - 1], x[-(n // 2) - 1 :], x[: x.shape[1]]

    graph = traced(fn, "x: float32[n in 3.., m in 2..]")
    for n, m in ((3, 2), (4, 4), (7, 9), (8, 3)):
        compare(graph, fn, np.arange(n * m, dtype=np.float32).reshape(n, m))


def test_an_index_on_an_open_axis_records_what_it_needs():
    graph = traced(lambda x: x[2] + x[-4], "x: float32[n, 3]")
    assert [str(c) for c in graph.constraints] == ["n >= 3", "n >= 4"]


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (lambda x: x[5], "index 5 of axis 0 of float32[3, 4] needs 3 >= 6"),
        (lambda x: x[0, 0, 0], "too many indices"),
        (lambda x: x[..., 0, ...], "one ellipsis"),
        (lambda x: x["a"], "is not an index"),
        (lambda x: x[x], "an index of float32[3, 4]"),
        (lambda x: x[1.0], "is not an index"),
        (lambda x: x[np.ones(4, bool)], "needs 4 == 3"),
        (lambda x: x[::0], "slice step"),
    ],
)
def test_keys_that_do_not_fit(fn: Any, text: str):
    with pytest.raises(TraceError) as caught:
        traced(fn, "x: float32[3, 4]")
    assert text in str(caught.value)
    assert "test_subscripts.py:" in str(caught.value)


def test_assignment_names_the_line_and_the_way():
    def fn(x: Any) -> Any:
        x[0] = 1
        return x

    with pytest.raises(TraceError) as caught:
        traced(fn, "x: float32[3, 4]")
    line = fn.__code__.co_firstlineno + 1
    assert f"test_subscripts.py:{line}: " in str(caught.value)
    assert "xp.at(x)[…].set(…)" in str(caught.value)
