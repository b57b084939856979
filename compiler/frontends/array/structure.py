"""Nested tuples, lists and dicts of arrays, as functions take and return them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def is_many(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether a value is a list or a tuple."""
    return isinstance(value, (list, tuple))


def is_dict(value: Any) -> TypeGuard[dict[Any, Any]]:
    """Whether a value is a dict."""
    return isinstance(value, dict)


def is_slice(value: Any) -> TypeGuard[slice[Any, Any, Any]]:
    """Whether a value is a slice."""
    return isinstance(value, slice)


def is_ndarray(value: Any) -> TypeGuard[np.ndarray]:
    """Whether a value is an array of numpy's, or of a subclass."""
    return isinstance(value, np.ndarray)


def is_number(value: Any) -> TypeGuard[int]:
    """Whether a value is an integer of Python's or numpy's; bools are not."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def leaves(value: Any) -> Iterator[Any]:
    """Everything within, in order, that is no container."""
    if is_dict(value):
        for item in value.values():
            yield from leaves(item)
    elif is_many(value):
        for item in value:
            yield from leaves(item)
    elif is_slice(value):
        yield from (value.start, value.stop, value.step)
    else:
        yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same structure with every leaf changed."""
    if is_dict(value):
        return {k: mapped(v, change) for k, v in value.items()}
    if is_many(value):
        items = [mapped(v, change) for v in value]
        named = hasattr(value, "_fields")
        made: Any = type(value)
        return made(*items) if named else made(items)
    return change(value)


def form(value: Any) -> str:
    """A structure in words: `(array, {'a': array})`."""
    if is_dict(value):
        return "{" + ", ".join(f"{k!r}: {form(v)}" for k, v in value.items()) + "}"
    if is_many(value):
        return "(" + ", ".join(map(form, value)) + ")"
    return "None" if value is None else "array"
