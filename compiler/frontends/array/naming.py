"""What the user calls the arrays that a function closes over."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, TypeGuard

from isomorph.frontends.array.structure import is_dict, is_many, is_ndarray

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_DEPTH = 4
_COUNT = 100_000


def weight_names(fn: Callable[..., Any]) -> dict[int, str]:
    """Names by `id` of every array in reach of a function: closure, globals, defaults, self.

    A dict of parameters names its own: `W["conv1.weight"]` is `conv1.weight`, or `W.conv1.weight`
    when something else has that name already.
    """
    found: dict[int, str] = {}
    taken: set[str] = set()
    seen: set[int] = set()
    stack: list[tuple[tuple[str, ...], Any]] = [((name,), value) for name, value in _roots(fn)]
    stack.reverse()
    while stack and len(seen) < _COUNT:
        path, value = stack.pop()
        if is_ndarray(value):
            whole = ".".join(filter(None, path))
            short = ".".join(path[1:]) if len(path) > 1 else whole
            name = whole if short in taken or short.isdigit() else short
            if id(value) not in found:
                found[id(value)] = name
                taken.add(name)
            continue
        if id(value) in seen or len(path) > _DEPTH:
            continue
        seen.add(id(value))
        stack.extend(((*path, name), v) for name, v in _children(value))
    return found


def _roots(fn: Any) -> Iterator[tuple[str, Any]]:
    if is_partial(fn):
        yield from _parts_of(fn)
        return
    owner = getattr(fn, "__self__", None)
    if owner is not None and not inspect.ismodule(owner):
        yield "", owner
    function = getattr(fn, "__func__", fn)
    if not inspect.isfunction(function):
        if not inspect.isbuiltin(fn) and hasattr(fn, "__dict__"):
            yield "", fn
            function = type(fn).__call__
        if not inspect.isfunction(function):
            return
    yield from _names_of(function, set())


def is_partial(value: Any) -> TypeGuard[functools.partial[Any]]:
    """Whether a value is a `functools.partial`."""
    return isinstance(value, functools.partial)


def _parts_of(bound: functools.partial[Any]) -> Iterator[tuple[str, Any]]:
    yield from bound.keywords.items()
    yield from ((f"argument_{i}", v) for i, v in enumerate(bound.args))
    yield from _roots(bound.func)


def _names_of(function: Any, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """What a function's code can name, and what the functions that it calls can."""
    if id(function) in seen or len(seen) > 1000:
        return
    seen.add(id(function))
    function = inspect.unwrap(function)
    if not inspect.isfunction(function):
        return
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


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    if is_dict(value):
        yield from ((str(k), v) for k, v in value.items() if isinstance(k, (str, int)))
    elif is_many(value):
        yield from ((str(i), v) for i, v in enumerate(value))
    elif not (inspect.isroutine(value) or inspect.isclass(value) or inspect.ismodule(value)):
        held: dict[str, Any] = getattr(value, "__dict__", {})
        yield from held.items()
