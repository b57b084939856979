"""Calls on traced arrays, whichever way they come: operators, methods, numpy's own functions."""

from __future__ import annotations

import functools
import inspect
import reprlib
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array import ufuncs
from isomorph.frontends.array.build import lift
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.methods import METHODS
from isomorph.frontends.array.structure import is_many
from isomorph.frontends.array.tables import FUNCTIONS, GENERALISED, VIEWS
from isomorph.frontends.array.traced import Traced
from isomorph.frontends.array.unsupported import is_complex, placeholder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class ArrayRules:
    """The rules of the array front end (`isomorph.frontends.array.scope.Rules`)."""

    def operator(self, name: str, *args: Any) -> Any:
        """A Python operator; a name that ends in `=` is an in-place one."""
        plain = name.removesuffix("=")
        if plain == "power" and type(args[1]) is int and args[1] == 2:
            name, plain, args = name.replace("power", "square"), "square", args[:1]
        found = _apply(plain, args)
        return ufuncs.in_place(plain, args[0], found) if plain != name else found

    def function(self, path: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function by its path in numpy's namespace."""
        if path == "__array_namespace__":
            return sys.modules[__name__.rpartition(".")[0]]
        if path in ufuncs.UFUNCS or path in GENERALISED:
            dtype = ufuncs.options(getattr(np, path), kwargs)
            return _apply(path, args, dtype)
        return call(path, FUNCTIONS[path], args, kwargs)

    def method(self, name: str, array: Traced) -> Any:
        """A bound method, `None` when numpy's arrays have no such method either."""
        if name in METHODS:
            return functools.partial(_method, name, array)
        if callable(getattr(np.ndarray, name, None)):
            return functools.partial(_not_captured, name, array)
        return None

    def ufunc(self, ufunc: Any, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What `__array_ufunc__` answers."""
        name = ufunc.__name__
        match method:
            case "__call__" if name in ufuncs.UFUNCS or name in GENERALISED:
                return _apply(name, args, ufuncs.options(ufunc, kwargs))
            case "reduce" if name in ufuncs.REDUCTIONS:
                given = {"axis": 0, **kwargs}
                return self.function(ufuncs.REDUCTIONS[name], args, given)
            case "accumulate" if name in ufuncs.ACCUMULATIONS:
                given = {"axis": 0, **kwargs}
                return self.function(ufuncs.ACCUMULATIONS[name], args, given)
            case "outer" if name in ufuncs.UFUNCS:
                first, second = map(lift, args)
                first = self.function("expand_dims", (first, tuple(range(-second.ndim, 0))), {})
                return _apply(name, (first, second), ufuncs.options(ufunc, kwargs))
            case "at":
                raise TraceError(f"np.{name}.at writes in place", "xp.at(x)[i].add(y)")
            case _:
                called = name if method == "__call__" else f"{name}.{method}"
                function = ufunc if method == "__call__" else getattr(ufunc, method)
                return placeholder(called, function, args, kwargs)

    def array_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What `__array_function__` answers."""
        path = paths().get(function)
        if path is not None:
            return call(path, FUNCTIONS[path], args, kwargs)
        return placeholder(name_of(function), function, args, kwargs)


def call(
    path: str, rule: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """A rule with the caller's arguments; those that it does not take are named."""
    if path not in _KEEPING and is_complex(args, kwargs):
        return placeholder(path, numpy_object(path), args, kwargs)
    try:
        bound = signature(rule).bind(*args, **kwargs)
    except TypeError as error:
        raise TraceError(f"np.{path}: {error}, as far as it is captured") from None
    if bound.arguments.get("out") is not None:
        raise TraceError(
            f"np.{path}(…, out=…) writes into an array that exists", f"y = np.{path}(…)"
        )
    try:
        found = rule(*bound.args, **bound.kwargs)
    except TraceError as error:
        return _passed_over(path, args, kwargs, error)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise _failed(path, args, error) from error
    if path in VIEWS and args:
        _share(found, args[0])
    return found


def _passed_over(
    path: str, args: Sequence[Any], kwargs: Mapping[str, Any], error: TraceError
) -> Any:
    """A placeholder where numpy takes what a rule refused; the rule's own error otherwise."""
    if path.startswith("__"):
        raise error
    try:
        return placeholder(
            path,
            numpy_object(path),
            args,
            kwargs,
            reason=f"numpy.{path}: {error.message}",
            instead=error.instead,
        )
    except TraceError:
        raise error from None


def _failed(path: str, args: Sequence[Any], error: Exception) -> TraceError:
    """What numpy says of a call that it does not take either, at the user's line."""
    shown = ", ".join(str(a.type) if isinstance(a, Traced) else reprlib.repr(a) for a in args)
    text = " ".join(str(error).split())[:300]
    return TraceError(f"np.{path}({shown}): {type(error).__name__}: {text}")


def _share(found: Any, source: Any) -> None:
    if isinstance(found, Traced) and isinstance(source, Traced):
        if found is not source:
            found.share(source)
    elif is_many(found):
        for item in found:
            _share(item, source)


@functools.cache
def signature(rule: Callable[..., Any]) -> inspect.Signature:
    """Of a rule; reading it costs more than most rules."""
    return inspect.signature(rule)


@functools.cache
def paths() -> dict[Any, str]:
    """Numpy's own function objects; aliases such as `np.concat` are the same object."""
    found: dict[Any, str] = {}
    for path in FUNCTIONS:
        function = numpy_object(path)
        if function is not None and not isinstance(function, np.ufunc):
            found.setdefault(function, path)
    return found


def numpy_object(path: str) -> Any:
    """What numpy calls so, `None` if nothing."""
    found: Any = np
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


def name_of(function: Any) -> str:
    """How a user writes a numpy function: `linalg.inv`."""
    module = getattr(function, "__module__", "") or ""
    name = getattr(function, "__name__", repr(function))
    inner = module.removeprefix("numpy").removeprefix(".")
    return f"{inner}.{name}" if inner and not inner.startswith("_") else name


def _apply(name: str, args: Sequence[Any], dtype: Any = None) -> Any:
    if is_complex(args, {}):
        return placeholder(name, getattr(np, name), args, {} if dtype is None else {"dtype": dtype})
    rule = GENERALISED.get(name)
    try:
        if rule is None:
            return ufuncs.apply(name, args, dtype)
        return rule(*args) if dtype is None else rule(*(lift(a, np.dtype(dtype)) for a in args))
    except TraceError as error:
        return _passed_over(name, args, {} if dtype is None else {"dtype": dtype}, error)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise _failed(name, args, error) from error


def _not_captured(name: str, array: Traced, *args: Any, **kwargs: Any) -> Any:
    error = TraceError(f"the method {name}() of arrays is not captured", _REPLACED.get(name, ""))
    if name in _REPLACED:
        raise error
    try:
        return placeholder(f"ndarray.{name}", getattr(np.ndarray, name), (array, *args), kwargs)
    except TraceError:
        raise error from None


def _method(name: str, array: Traced, *args: Any, **kwargs: Any) -> Any:
    found = METHODS[name]
    if isinstance(found, str):
        if found in ufuncs.UFUNCS:
            return _apply(found, (array, *args))
        return call(found, FUNCTIONS[found], (array, *args), kwargs)
    made = found(array, *args, **kwargs)
    if name in VIEWS:
        _share(made, array)
    return made


_KEEPING = frozenset({
    "__getitem__", "reshape", "ravel", "squeeze", "expand_dims", "transpose", "swapaxes",
    "moveaxis", "matrix_transpose", "concatenate", "stack", "shape", "size", "ndim", "iscomplexobj",
    "isrealobj", "copy", "asarray", "where", "take", "flip", "split", "tile",
})  # fmt: skip
"""Functions that move elements of any dtype, complex ones too, or look at none."""

_REPLACED = {
    "sort": "x = xp.sort(x)",
    "fill": "x = xp.full_like(x, value)",
    "put": "x = xp.at(x)[i].set(y)",
    "partition": "xp.sort, or nn.topk",
    "itemset": "x = xp.at(x)[i].set(y)",
    "resize": "xp.reshape, or xp.tile",
    "byteswap": "the array as it is",
    "tobytes": "the array itself",
    "view": "xp.astype for another dtype",
}
