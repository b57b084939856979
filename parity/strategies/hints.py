"""Sizes at which a model may change its mind: the integer constants of both, and their neighbours.

`x[:100]` is `x` up to a size of 100, a table of 512 rows takes no index of 512, a window of 9 needs
9 elements. What only one of the two models knows tells them apart, so it comes first.
"""

from __future__ import annotations

from itertools import chain
from types import CodeType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.types import DType
from isomorph.parity.constants import weights

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from isomorph.ir.graph import Graph

FEW = 16
"""Integer constants of at most so many numbers are bounds, sizes or steps rather than data."""
LARGEST = 1 << 16
MOST = 24
"""So many numbers are tried at most, each with its two neighbours."""


def hints(reference: Iterable[int], candidate: Iterable[int]) -> tuple[int, ...]:
    """Sizes worth trying, the telling ones first: each number, one more, one less.

    Args:
        reference, candidate: the integers of each.
    """
    one, other = _sizes(reference), _sizes(candidate)
    ordered = [*sorted(one ^ other), *sorted(one & other)][:MOST]
    return tuple(dict.fromkeys(chain.from_iterable((n, n + 1, n - 1) for n in ordered)))


def integers(graph: Graph) -> Iterator[int]:
    """Integers among weights and attributes of few elements, in subgraphs too."""
    for weight in weights(graph):
        if np.prod(weight.shape, dtype=np.int64) <= FEW and weight.dtype in _WHOLE:
            yield from map(int, weight.numpy().reshape(-1))
    for _, op in graph.walk():
        for value in op.attributes.values():
            yield from _whole(value)


def integers_of(function: Any) -> Iterator[int]:
    """Integers that the code of a function has, and what it closes over."""
    code = getattr(function, "__code__", None)
    for cell in getattr(function, "__closure__", None) or ():
        yield from _whole(cell.cell_contents)
    if isinstance(code, CodeType):
        yield from _of_code(code)


def _of_code(code: CodeType) -> Iterator[int]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        else:
            yield from _whole(constant)


def _whole(value: Any) -> Iterator[int]:
    parts: Any = value
    if isinstance(value, slice):
        bounds = cast("Any", value)
        parts = (bounds.start, bounds.stop, bounds.step)
    items = cast("tuple[Any, ...]", parts) if isinstance(parts, tuple) else (parts,)
    for item in items if len(items) <= FEW else ():
        if isinstance(item, int) and not isinstance(item, bool):
            yield item


def _sizes(found: Iterable[int]) -> set[int]:
    """What can be a size; a count from the end is one too."""
    return {abs(n) for n in found if 1 < abs(n) <= LARGEST}


_WHOLE = (DType.INT32, DType.INT64, DType.UINT8, DType.INT8, DType.UINT16, DType.INT16)
