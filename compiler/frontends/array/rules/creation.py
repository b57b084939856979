"""Arrays from sizes, ranges and other arrays."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import cast, elementwise, emit, ints, lift
from isomorph.frontends.array.dims import TracedDim, as_dim
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import default_type, result_type
from isomorph.frontends.array.rules.selection import iota
from isomorph.frontends.array.rules.shape import sizes
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.traced import Traced
from isomorph.ir.types import DType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_INT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.float64)


def filled(shape: Sequence[Any], value: Any, dtype: np.dtype[Any]) -> Traced:
    """ConstantOfShape for a number, Expand for a traced scalar."""
    known = [None if isinstance(s, Traced) else s for s in shape]
    if isinstance(value, (Traced, TracedDim)):
        return emit("Expand", lift(value, dtype), ints(shape), shape=known)
    weight = Weight.of(np.asarray(value, dtype).reshape(1), DType.of(dtype))
    return emit("ConstantOfShape", ints(shape), value=weight, shape=known)


def _filling(value: Any) -> Callable[..., Traced]:
    def rule(
        shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
    ) -> Traced:
        wanted = _FLOAT64 if dtype is None else np.dtype(dtype)
        return filled(sizes(shape), value, wanted)

    return rule


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Traced:
    wanted = default_type(fill_value) if dtype is None else np.dtype(dtype)
    return filled(sizes(shape), fill_value, wanted)


def _filling_like(value: Any) -> Callable[..., Traced]:
    def rule(
        a: Any,
        /,
        dtype: Any = None,
        order: str = "K",
        subok: bool = True,
        shape: Any = None,
        *,
        device: Any = None,
    ) -> Traced:
        return full_like(a, value, dtype, shape=shape)

    return rule


def full_like(
    a: Any,
    /,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Traced:
    x = lift(a)
    wanted = x.dtype if dtype is None else np.dtype(dtype)
    return filled(x.dims if shape is None else sizes(shape), fill_value, wanted)


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: Any = None,
    like: Any = None,
) -> Traced:
    """Range; its length is known where the bounds are dims."""
    if stop is None:
        start, stop = 0, start
    wanted = (
        np.dtype(dtype)
        if dtype is not None
        else np.result_type(_INT64, result_type(start, stop, step))
    )
    low, high, by = (as_dim(v) for v in (start, stop, step))
    length = None
    if low is not None and high is not None and isinstance(by, int) and by > 0:
        length = (high - low + by - 1) // by
        if not current().trace.facts.decide(length, ">=", 0):
            length = None
        elif by == 1 and low == 0 and wanted == _INT64:
            return iota((length,))
    inner = wanted if DType.of(wanted).is_float or wanted.kind == "i" else _INT64
    bounds = [lift(v, inner) for v in (start, stop, step)]
    return cast(emit("Range", *bounds, shape=(length,)), wanted)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Traced:
    if retstep or axis != 0:
        raise TraceError("linspace with retstep or axis is not captured", "the plain call")
    dt = result_type(start, stop)
    dt = dt if DType.of(dt).is_float else _FLOAT64
    count = as_dim(num)
    if count is None:
        raise TraceError(f"linspace of {reprlib.repr(num)} points: a number or a dim is needed")
    low, high = lift(start, dt), lift(stop, dt)
    steps = lift(num, dt) - (1.0 if endpoint else 0.0)
    order = cast(iota((count,)), dt)
    order = emit("Reshape", order, np.array([-1] + [1] * max(low.ndim, high.ndim), np.int64))
    if isinstance(count, int) and count == 1 and endpoint:
        found = elementwise("Add", elementwise("Mul", order, high), low)
    else:
        step = elementwise("Div", elementwise("Sub", high, low), steps)
        found = elementwise("Add", elementwise("Mul", order, step), low)
        if endpoint:
            last = elementwise("Equal", order, steps)
            found = elementwise("Where", last, high, found)
    return found if dtype is None else cast(found, np.dtype(dtype))


def eye(
    N: Any,  # noqa: N803 - numpy's parameter
    M: Any = None,  # noqa: N803
    k: int = 0,
    dtype: Any = None,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Traced:
    rows, columns = sizes((N, N if M is None else M))
    wanted = _FLOAT64 if dtype is None else np.dtype(dtype)
    form = filled([rows, columns], 0, wanted)
    return emit("EyeLike", form, k=int(k), dtype=DType.of(wanted).value, shape=(rows, columns))


def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Traced:
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: int = 0, dtype: Any = None, *, like: Any = None) -> Traced:  # noqa: N803
    wanted = _FLOAT64 if dtype is None else np.dtype(dtype)
    ones = filled(sizes((N, N if M is None else M)), 1, wanted)
    return emit("Trilu", ones, np.array(k, np.int64), upper=0, shape=ones.dims)


def asarray(
    obj: Any,
    /,
    dtype: Any = None,
    order: str = "K",
    *,
    device: Any = None,
    copy: Any = None,
    like: Any = None,
) -> Traced:
    if dtype is not None:
        return lift(obj, np.dtype(dtype))
    made = lift(obj)
    return cast(made, made.dtype)


def copy(a: Any, order: str = "K", subok: bool = False) -> Traced:
    x = lift(a)
    return Traced(x.value, current())


def astype(
    x: Any,
    dtype: Any,
    /,
    *,
    copy: bool = True,
    device: Any = None,
    order: str = "K",
    casting: str = "unsafe",
    subok: bool = True,
) -> Traced:
    return cast(lift(x), np.dtype(dtype))


def real(val: Any) -> Traced:
    return lift(val)


def imag(val: Any) -> Traced:
    return full_like(val, 0)


def shape_of(a: Any) -> tuple[Any, ...]:
    return lift(a).shape


def size_of(a: Any, axis: int | None = None) -> Any:
    x = lift(a)
    return x.size if axis is None else x.shape[axis]


def ndim_of(a: Any) -> int:
    return lift(a).ndim


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "zeros": _filling(0),
    "ones": _filling(1),
    "empty": _filling(0),
    "full": full,
    "zeros_like": _filling_like(0),
    "ones_like": _filling_like(1),
    "empty_like": _filling_like(0),
    "full_like": full_like,
    "arange": arange,
    "linspace": linspace,
    "eye": eye,
    "identity": identity,
    "tri": tri,
    "asarray": asarray,
    "asanyarray": asarray,
    "array": asarray,
    "ascontiguousarray": asarray,
    "copy": copy,
    "astype": astype,
    "real": real,
    "imag": imag,
    "shape": shape_of,
    "size": size_of,
    "ndim": ndim_of,
}
