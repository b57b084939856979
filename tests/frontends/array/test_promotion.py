"""dtypes: exactly numpy's, for every pair, with Python numbers, in every way of calling."""

# ruff: noqa: B023 - each lambda is called before its loop goes on

from __future__ import annotations

import operator
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from isomorph import array as xp
from isomorph.frontends.array import TraceError
from tests.frontends.array.tracing import agree, traced

DTYPES = [
    np.dtype(d)
    for d in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64",
    )
]  # fmt: skip
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "maximum",
    "less", "equal", "logical_and", "bitwise_and", "arctan2",
]  # fmt: skip


def outcome(call: Any, *args: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return np.asarray(call(*args)).dtype
    except TypeError:
        return TypeError


def traced_outcome(call: Any, first: np.dtype[Any], second: np.dtype[Any]) -> Any:
    try:
        graph = traced(call, f"x: {first.name}[2]", f"y: {second.name}[2]")
    except TypeError:
        return TypeError
    kind: Any = graph.outputs[0].type
    return kind.dtype.numpy


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("first", [*DTYPES, BFLOAT16], ids=str)
def test_every_pair(name: str, first: np.dtype[Any]):
    ufunc = getattr(np, name)
    for second in [*DTYPES, BFLOAT16]:
        want = outcome(ufunc, np.ones(2, first), np.ones(2, second))
        assert traced_outcome(ufunc, first, second) == want, second


@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_functions_that_join_promote_like_numpy(first: np.dtype[Any]):
    for second in DTYPES:
        for call in (
            lambda x, y: np.concatenate([x, y]),
            lambda x, y: np.where(x > 0, x, y),
            lambda x, y: np.stack([x, y]),
            lambda x, y: x @ y,
            lambda x, y: np.clip(x, y, None),
            lambda x, y: np.einsum("i,i->i", x, y),
        ):
            want = outcome(call, np.ones(2, first), np.ones(2, second))
            assert traced_outcome(call, first, second) == want, second


@pytest.mark.parametrize("dtype", [*DTYPES, BFLOAT16], ids=str)
@pytest.mark.parametrize(
    "number", [True, 2, 2.5, np.float32(2), np.int8(2), np.float64(2)], ids=repr
)
def test_numbers_next_to_arrays(dtype: np.dtype[Any], number: Any):
    for op in (operator.add, operator.mul, operator.truediv, operator.pow, operator.lt):
        for call in (lambda x: op(x, number), lambda x: op(number, x)):
            want = outcome(call, np.ones(2, dtype))
            try:
                found: Any = traced(call, f"x: {dtype.name}[2]").outputs[0].type
                assert found.dtype.numpy == want
            except TypeError:
                assert want is TypeError


def test_a_number_that_does_not_fit_is_refused_like_numpy_does():
    with pytest.raises(TraceError, match=r"test_promotion.py:\d+: np.add.*300 out of bounds"):
        traced(lambda x: x + 300, "x: uint8[2]")


@pytest.mark.parametrize("op", [operator.lt, operator.ge, operator.eq, operator.ne, operator.gt])
@pytest.mark.parametrize("number", [-1, 300, 2**63, -(2**70), 2**70])
def test_comparison_with_a_number_beyond_the_dtype(op: Any, number: int):
    for dtype in (np.uint8, np.int64, np.uint64):
        agree(lambda x: op(x, number), np.array([0, 1, 200], dtype))


def test_int64_and_uint64_compare_by_value():
    signed = np.array([-1, 0, 2**62, -5], np.int64)
    unsigned = np.array([2**64 - 1, 0, 2**62, 3], np.uint64)
    for ufunc in (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal):
        agree(ufunc, signed, unsigned)
        agree(ufunc, unsigned, signed)


def test_dims_are_weak_integers():
    def fn(x: Any) -> Any:
        n = x.shape[0]
        return x / n, x * (n / 2), x + n, (n * 0.5) * 2 + x, x**n, n - x, np.sqrt(n), n / 4

    graph = agree(fn, np.ones((3, 2), np.float16), open_axes=(0,))
    shown = [str(v.type) for v in graph.outputs]
    assert shown == ["float16[d0, 2]"] * 6 + ["float64[]"] * 2


def test_reductions_accumulate_like_numpy():
    for name in ("sum", "prod", "mean", "var", "cumsum", "max", "argmax", "any"):
        for dtype in DTYPES:
            want = outcome(getattr(np, name), np.ones(3, dtype))
            try:
                found: Any = traced(getattr(np, name), f"x: {dtype.name}[3]").outputs[0].type
                assert found.dtype.numpy == want, (name, dtype)
            except TypeError:
                assert want is TypeError, (name, dtype)


def test_the_namespace_promotes_like_numpy():
    def fn(x: Any, y: Any) -> Any:
        assert xp.result_type(x, y, 1.0) == np.float64
        assert xp.result_type(y, 1) == np.int8
        return xp.add(x, y), xp.asarray([1, x[0], 2.5])

    agree(fn, np.ones(2, np.int64), np.ones(2, np.int8))


def test_complex_numbers_are_listed():
    def fn(x: Any) -> Any:
        y = np.fft.fft(x * 1j)
        return np.abs(y[::2].reshape(-1)), y.real, np.sum(y), np.concatenate([y, y]).dtype == "c16"

    graph = traced(fn, "x: float64[4]")
    shown = [str(v.type) for v in graph.outputs]
    assert shown == ["float64[2]", "float64[4]", "complex128[]", "bool[]"]
    listed = [op.type for op in graph.ops() if op.domain == "isomorph.unsupported"]
    assert listed == ["multiply", "fft.fft", "absolute", "real", "sum"]


def test_powers_take_numpys_short_cuts():
    x = np.array([-np.inf, -2.0, -0.0, 0.0, 3.0, np.inf, np.nan])
    for call in (
        lambda x: x**0.5,
        lambda x: x**2,
        lambda x: x**-1,
        lambda x: np.power(x, 0.5),
        lambda x: 1.0 / x**0.5,
    ):
        graph = agree(call, x)
        assert not any(op.type == "Pow" for op in graph.ops())
    with pytest.raises(TraceError, match="negative integer powers"):
        traced(lambda x: x**-2, "x: int64[2]")
