"""A function of arrays against its own trace: dtypes, shapes and numbers must be numpy's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.frontends.array import TraceError
from isomorph.frontends.array.trace import trace_array
from isomorph.frontends.spec import InputSpec, parse_specs
from isomorph.ir.dims import Dim, symbol
from isomorph.ir.interpret import interpret
from isomorph.ir.types import DType, TensorType
from isomorph.ir.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Graph

    Function = Callable[..., Any]


def traced(fn: Function, *specs: str) -> Graph:
    """The verified graph of a function."""
    graph = trace_array(fn, parse_specs(specs))
    verify(graph)
    return graph


def line_of(fn: Function, offset: int) -> str:
    """`file:line` of a line of a function."""
    name = Path(fn.__code__.co_filename).name
    return f"{name}:{fn.__code__.co_firstlineno + offset}"


def refused(fn: Function, *specs: str) -> TraceError:
    """The error that tracing a function raises."""
    with pytest.raises(TraceError) as caught:
        traced(fn, *specs)
    return caught.value


def agree(fn: Function, *arrays: Any, open_axes: Sequence[int] = (), ulps: float = 64) -> Graph:
    """Trace `fn` for arrays like these and compare what its graph computes with what it returns.

    `open_axes` of the first input are symbolic, and so are those of others with the same size.
    """
    first = np.asarray(arrays[0])
    names = {(axis, first.shape[axis]): f"d{axis}" for axis in open_axes if axis < first.ndim}
    specs = [_spec(np.asarray(a), names) for a in arrays]
    graph = trace_array(fn, specs)
    verify(graph)
    compare(graph, fn, *arrays, ulps=ulps)
    return graph


def compare(graph: Graph, fn: Function, *arrays: Any, ulps: float = 64) -> None:
    """Numbers of a graph against those of the function."""
    with np.errstate(all="ignore"):
        expected = flat(fn(*arrays))
    found = interpret(graph, [np.asarray(a) for a in arrays])
    assert len(found) == len(expected)
    for value, got, want in zip(graph.outputs, found, map(np.asarray, expected), strict=True):
        assert isinstance(value.type, TensorType)
        assert np.asarray(got).dtype == want.dtype, f"{got.dtype}, numpy gives {want.dtype}"
        assert value.type.dtype.numpy == want.dtype
        assert np.asarray(got).shape == want.shape, f"{got.shape}, numpy gives {want.shape}"
        static = value.type.shape
        assert static is not None
        for dim, size in zip(static, want.shape, strict=True):
            assert not isinstance(dim, int) or dim == size
        close(got, want, ulps)


def close(got: np.ndarray, want: np.ndarray, ulps: float) -> None:
    """Equal up to rounding of the dtype, by norm; equal exactly for what is not floating."""
    if not DType.of(want.dtype).is_float:
        np.testing.assert_array_equal(got, want)
        return
    wide_got, wide_want = got.astype(np.float64), want.astype(np.float64)
    unit = 2.0 ** -(np.finfo(want.dtype).nmant if want.dtype.kind == "f" else 7)
    finite = np.abs(wide_want[np.isfinite(wide_want)])
    scale = max(1.0, float(finite.max(initial=0.0)))
    np.testing.assert_allclose(wide_got, wide_want, rtol=ulps * unit, atol=ulps * unit * scale)


def flat(result: Any) -> list[Any]:
    """Everything a function returns, in order."""
    if isinstance(result, dict):
        return [leaf for item in result.values() for leaf in flat(item)]
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in flat(item)]
    return [result]


def _spec(array: np.ndarray, names: dict[tuple[int, int], str]) -> InputSpec:
    dims: list[Dim] = [
        symbol(names[item]) if item in names else item[1] for item in enumerate(array.shape)
    ]
    return InputSpec("", TensorType(DType.of(array.dtype), tuple(dims)))
