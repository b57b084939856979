"""Offsets in one arena, from sizes and lifetimes: the largest first, each at the lowest gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

ALIGNMENT = 256
"""Bytes; what device allocators guarantee, so that every vector access of a tensor is aligned."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A buffer that needs room from step `first` to step `last`, both inclusive."""

    key: Hashable
    size: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Layout:
    """Offsets by key, and the bytes that the arena needs for all of them."""

    offsets: Mapping[Hashable, int]
    peak_bytes: int


def lay_out(tenants: Sequence[Tenant]) -> Layout:
    """Place every tenant; two that live at one step never overlap.

    Greedy by size (Pisarchyk and Lee, Efficient memory management for deep neural net inference,
    2020, algorithm 3), ties by first use.
    """
    placed: list[tuple[int, int, Tenant]] = []
    offsets: dict[Hashable, int] = {}
    for tenant in sorted(tenants, key=lambda t: (-t.size, t.first)):
        at = 0
        for begin, end, other in placed:
            if other.first > tenant.last or other.last < tenant.first:
                continue
            if at + tenant.size <= begin:
                break
            at = max(at, aligned(end))
        placed.append((at, at + tenant.size, tenant))
        placed.sort(key=lambda p: p[:2])
        offsets[tenant.key] = at
    return Layout(offsets, aligned(max((end for _, end, _ in placed), default=0)))


def aligned(size: int) -> int:
    """The next multiple of the alignment."""
    return -(-size // ALIGNMENT) * ALIGNMENT
