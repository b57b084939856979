"""Delta debugging of a list (Zeller & Hildebrandt's ddmin)."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")


def fewest_of(items: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """A part of a list that still fails and of which no item can be left out.

    Args:
        items: all of them fail already.
        fails: whether some of them, in order, fail.
    """
    left, chunks = list(items), 2
    while len(left) > 1:
        size = max(len(left) // chunks, 1)
        starts = range(0, len(left), size)
        parts = (left[i : i + size] for i in starts)
        smaller = next((p for p in parts if len(p) < len(left) and fails(p)), None)
        if smaller is not None:
            left, chunks = smaller, 2
            continue
        rest = (left[:i] + left[i + size :] for i in starts) if len(starts) > 2 else ()
        smaller = next((r for r in rest if fails(r)), None)
        if smaller is not None:
            left, chunks = smaller, max(chunks - 1, 2)
        elif size == 1:
            break
        else:
            chunks = min(2 * chunks, len(left))
    return left
