"""Functions of the namespace: numpy's own on numpy's arrays, the rules' on traced ones."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import has_traced
from isomorph.frontends.array.dispatch import numpy_object, paths
from isomorph.frontends.array.promote import limits, result_type
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.structure import is_ndarray
from isomorph.frontends.array.tables import FUNCTIONS, GENERALISED
from isomorph.frontends.array.ufuncs import UFUNCS

if TYPE_CHECKING:
    from collections.abc import Callable


@functools.cache
def function(path: str) -> Callable[..., Any] | None:
    """The namespace's function of this name; `None` where numpy has no such function."""
    own = numpy_object(path)
    if path in _SPECIAL:
        return functools.wraps(own)(_SPECIAL[path])
    if not callable(own) or isinstance(own, type):
        return None
    known = str(own.__name__ if isinstance(own, np.ufunc) else paths().get(own))
    traces = known in FUNCTIONS or known in UFUNCS or known in GENERALISED

    def call(*args: Any, **kwargs: Any) -> Any:
        if not has_traced(args) and not has_traced(kwargs):
            return own(*args, **kwargs)
        rules = current().trace.rules
        if traces:
            return rules.function(known, args, kwargs)
        return rules.array_function(own, args, kwargs)

    call.__name__ = path.rpartition(".")[2]
    call.__qualname__ = call.__name__
    call.__doc__ = own.__doc__
    call.__wrapped__ = own  # type: ignore[attr-defined] - for help() and inspect.signature
    return call


def asarray(obj: Any, /, dtype: Any = None, **kwargs: Any) -> Any:
    """`numpy.asarray`, which keeps subclasses of numpy's array as they are."""
    if has_traced(obj):
        return current().trace.rules.function("asarray", (obj, dtype), kwargs)
    if is_ndarray(obj) and not kwargs:
        return obj if dtype is None else obj.astype(dtype, copy=False)
    made: np.ndarray = np.asarray(obj, dtype, **kwargs)
    return made


def result_type_(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that these promote to."""
    if has_traced(arrays_and_dtypes):
        return result_type(*arrays_and_dtypes)
    return np.result_type(*arrays_and_dtypes)


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The shape that these broadcast to."""
    if not has_traced(shapes):
        return np.broadcast_shapes(*shapes)
    from isomorph.frontends.array.build import broadcast
    from isomorph.frontends.array.dims import wrap
    from isomorph.frontends.array.rules.shape import sizes

    return tuple(wrap(d, current()) for d in broadcast(*(sizes(s) for s in shapes)))


def finfo(type_: Any, /) -> Any:
    """Limits of a floating dtype (of ml_dtypes' too) or of an array's."""
    return limits(_dtype(type_))


def iinfo(type_: Any, /) -> Any:
    """Limits of an integer dtype or of an array's."""
    return limits(_dtype(type_))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a cast follows the promotion rules."""
    return np.can_cast(_dtype(from_), _dtype(to), casting)  # type: ignore[arg-type]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind such as `real floating`."""
    return np.isdtype(np.dtype(dtype), kind)


def _dtype(value: Any) -> np.dtype[Any]:
    found: np.dtype[Any] = np.dtype(getattr(value, "dtype", value))
    return found


_SPECIAL: dict[str, Callable[..., Any]] = {
    "asarray": asarray,
    "result_type": result_type_,
    "broadcast_shapes": broadcast_shapes,
    "finfo": finfo,
    "iinfo": iinfo,
    "can_cast": can_cast,
    "isdtype": isdtype,
}
