"""Several cases in one run: where rows of a batch do not meet, 64 cases are one batch of them.

What a case costs besides its numbers (two sessions, two evaluations, a few hundred calls) is then
paid once. Whether rows meet is not read off the graph but tried, in float64, on both models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.arrays import is_tensor
from isomorph.parity.case import Case
from isomorph.parity.sources import RefusedError
from isomorph.parity.strategies.sizes import fits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.dims import Constraint
    from isomorph.parity.strategies import Spec

    Evaluate = Callable[[Sequence[Any]], list[Any]]

MOST_ELEMENTS = 1 << 18
"""Of all inputs of a run together."""
TRIED = 3
"""Cases on which it is tried whether rows meet."""
EQUAL = 1e-9
"""Relative to the largest result: sums in another order differ by far less, other rows by more."""


class Together:
    """Joins cases along the one symbol that all of them can grow in.

    Args:
        specs, constraints: of the inputs.
        models: evaluate reference and candidate in float64.
    """

    def __init__(
        self,
        specs: Sequence[Spec],
        constraints: Sequence[Constraint],
        models: Sequence[Evaluate],
    ) -> None:
        self._specs, self._constraints, self._models = specs, constraints, models
        self._axes: dict[str, tuple[int | None, ...]] = {}
        for name in dict.fromkeys(s for spec in specs for s in sorted(spec.symbols())):
            axes = [_axis(spec, name) for spec in specs]
            if all(spec.kind is None for spec in specs) and -1 not in axes:
                self._axes[name] = tuple(axes)

    def join(self, cases: Sequence[Case]) -> Case | None:
        """One case that is all of these; `None` where that is not known to be the same."""
        if len(cases) < 2 or sum(case.size for case in cases) > MOST_ELEMENTS:
            return None
        for name in list(self._axes):
            joined = self._joined(cases, name)
            if joined is not None:
                return joined
        return None

    def _joined(self, cases: Sequence[Case], name: str) -> Case | None:
        if not all(case.dims.get(name) for case in cases):
            return None
        dims = {**cases[0].dims, name: sum(case.dims[name] for case in cases)}
        if not fits(self._specs, self._constraints, dims):
            return None
        inputs = _along(self._axes[name], [case.inputs for case in cases])
        if inputs is None or not self._apart(name, cases[:TRIED]):
            return None
        return Case(inputs, dims, any(case.hostile for case in cases), len(cases))

    def _apart(self, name: str, cases: Sequence[Case]) -> bool:
        """Whether rows do not meet along a symbol; asked until it is known, on ordinary values."""
        axes = self._axes[name]
        if not self._models:
            return True
        if any(case.hostile for case in cases):
            return False
        inputs = _along(axes, [case.inputs for case in cases])
        try:
            apart = inputs is not None and all(
                _same(run(inputs), [run(case.inputs) for case in cases]) for run in self._models
            )
        except RefusedError:
            return False
        if not apart:
            del self._axes[name]
            return False
        self._axes = {name: axes}
        self._models = ()
        return True


def _axis(spec: Spec, name: str) -> int | None:
    """Where a symbol stands alone; `None` where it does not occur, −1 where it does otherwise."""
    if name not in spec.symbols():
        return None
    found = [axis for axis, dim in enumerate(spec.shape) if str(dim) == name]
    others = [dim for dim in spec.shape if not isinstance(dim, int) and str(dim) != name]
    alone = len(found) == 1 and not any(name in dim.symbols() for dim in others)
    return found[0] if alone else -1


def _along(axes: Sequence[int | None], cases: Sequence[Sequence[Any]]) -> list[Any] | None:
    """Every input joined along its axis; what has none must be the same in all of them."""
    joined: list[Any] = []
    for axis, values in zip(axes, zip(*cases, strict=True), strict=True):
        if axis is not None:
            joined.append(np.concatenate(values, axis))
        elif all(np.asarray(v).tobytes() == np.asarray(values[0]).tobytes() for v in values[1:]):
            joined.append(values[0])
        else:
            return None
    return joined


def _same(joined: Sequence[Any], apart: Sequence[Sequence[Any]]) -> bool:
    """Whether the joined results are those of each, along whatever axis grew."""
    return all(
        _same_tensor(whole, parts)
        for whole, parts in zip(joined, zip(*apart, strict=True), strict=True)
    )


def _same_tensor(whole: Any, parts: Sequence[Any]) -> bool:
    if not is_tensor(whole) or not all(map(is_tensor, parts)):
        return False
    shapes = {part.shape for part in parts}
    if len(shapes) != 1 or whole.ndim != parts[0].ndim:
        return False
    grown = [a for a in range(whole.ndim) if whole.shape[a] != parts[0].shape[a]]
    if len(grown) > 1:
        return False
    wanted = [np.concatenate(parts, grown[0])] if grown else parts
    return all(_close(whole, part) for part in wanted)


def _close(one: np.ndarray, other: np.ndarray) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc":
        return bool(np.array_equal(one, other))
    finite = np.abs(other[np.isfinite(other)])
    slack = EQUAL * float(finite.max(initial=0.0))
    return bool(np.allclose(one, other, rtol=EQUAL, atol=slack, equal_nan=True))
