"""Inputs that a model does not take: whatever it raises, in its own words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from collections.abc import Callable


class RefusedError(IsomorphError):
    """The source cannot be evaluated on these inputs; carries its own words."""


def refusing(call: Callable[[], Any]) -> Any:
    """The result, or RefusedError with the words of whatever went wrong."""
    try:
        return call()
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error
