"""Which front end a Python object belongs to, told without importing any of their libraries."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_torch(source: Any) -> bool:
    """Whether a source is PyTorch's: an object of its classes, a .pt2 file, a function on tensors.

    A function is one when a name that it uses, closes over or is annotated with is of torch.
    """
    if isinstance(source, str | Path):
        return Path(source).suffix == ".pt2"
    if _of_torch(source):
        return True
    if not callable(source):
        return False
    if _root(getattr(source, "__module__", None) or "") == "torch":
        return True
    return any(_of_torch(v) for v in _in_reach(source))


def is_torch_class(source: Any) -> bool:
    """Whether a source is a class of modules, to be made an instance of."""
    return isinstance(source, type) and any(_root(t.__module__) == "torch" for t in source.__mro__)


def _of_torch(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return _root(value.__name__) == "torch"
    if isinstance(value, type):
        return _root(value.__module__) == "torch"
    if isinstance(value, str):
        return False
    return any(_root(t.__module__) == "torch" for t in type(value).__mro__)


def _root(name: str) -> str:
    return name.split(".", maxsplit=1)[0]


def _in_reach(source: Any) -> Iterator[Any]:
    """What a function names: globals, closure, defaults, annotations, the object it is bound to."""
    function = inspect.unwrap(getattr(source, "func", source))
    yield getattr(function, "__self__", None)
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        own: dict[str, Any] = getattr(source, "__dict__", {})
        yield from own.values()
        call = getattr(source, "__call__", None)  # noqa: B004 - its code is wanted, not whether it is there
        function = getattr(call, "__func__", call)
        code = getattr(function, "__code__", None)
    if code is None:
        return
    names = getattr(function, "__globals__", {})
    yield from (names[n] for n in code.co_names if n in names)
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # a variable that is not assigned yet
    yield from getattr(function, "__defaults__", None) or ()
    for annotation in getattr(function, "__annotations__", {}).values():
        name = _root(annotation) if isinstance(annotation, str) else ""
        yield names.get(name, annotation)
