"""What the user calls the arrays that a function closes over."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DEPTH = 4
_COUNT = 100_000


def weight_names(fn: Callable[..., Any]) -> dict[int, str]:
    """Names by `id` of every array in reach of a function: closure, globals, defaults, self."""
    found: dict[int, str] = {}
    seen: set[int] = set()
    stack = [(name, value, 0) for name, value in _roots(fn)]
    stack.reverse()
    while stack and len(seen) < _COUNT:
        name, value, depth = stack.pop()
        if isinstance(value, np.ndarray):
            found.setdefault(id(value), name)
            continue
        if id(value) in seen or depth > _DEPTH:
            continue
        seen.add(id(value))
        stack.extend((n, v, depth + 1) for n, v in _children(name, value))
    return found


def _roots(fn: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(fn, functools.partial):
        yield from fn.keywords.items()
        yield from ((f"argument_{i}", v) for i, v in enumerate(fn.args))
        yield from _roots(fn.func)
        return
    owner = getattr(fn, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        yield "", owner
    function = getattr(fn, "__func__", fn)
    if not inspect.isfunction(function):
        if not inspect.isbuiltin(fn) and hasattr(fn, "__dict__"):
            yield "", fn
            function = getattr(type(fn), "__call__", None)
        if not inspect.isfunction(function):
            return
    yield from _names_of(function, set())


def _names_of(function: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """What a function's code can name, and what the functions that it calls can."""
    if id(function) in seen or len(seen) > 1000:
        return
    seen.add(id(function))
    function = inspect.unwrap(function)
    code = function.__code__
    held: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            held[name] = cell.cell_contents
        except ValueError:  # a cell that is not filled yet
            continue
    for name in _used(code):
        if name in function.__globals__:
            held.setdefault(name, function.__globals__[name])
    held.update(function.__kwdefaults__ or {})
    for name, value in held.items():
        if inspect.isfunction(value):
            if not value.__module__.startswith(("isomorph.", "numpy")):
                yield from _names_of(value, seen)
        elif not inspect.ismodule(value) and not inspect.isclass(value):
            yield name, value


def _used(code: Any) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if inspect.iscode(constant):
            yield from _used(constant)


def _children(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    match value:
        case dict():
            # A dict of parameters names its own: `W["conv1.weight"]` is `conv1.weight`.
            for key, item in value.items():
                if isinstance(key, str):
                    yield key if isinstance(item, np.ndarray) else f"{name}.{key}", item
        case list() | tuple():
            for index, item in enumerate(value):
                yield f"{name}.{index}" if name else str(index), item
        case str() | bytes() | int() | float() | complex() | np.generic():
            return
        case _ if hasattr(value, "__dict__") and not inspect.isroutine(value):
            for key, item in vars(value).items():
                yield f"{name}.{key}" if name else key, item
        case _:
            return
