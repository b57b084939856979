"""Whether rounding explains that a node gives another value on the reference's operands.

As question 1 does over whole graphs (see `same`), for one node: the noise of float64, and one
rounding of each constant that a pass rewrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.interpret import Program
from isomorph.ir.semantics import evaluate
from isomorph.parity import constants
from isomorph.parity.align import Places
from isomorph.parity.arrays import is_tensor
from isomorph.parity.constants import Rewritten
from isomorph.parity.folded import folded
from isomorph.parity.noise import EVALUATION_ERRORS, Perturbation, Spread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.parity.place import Place

ROUNDING_FACTOR, CONSTANT_FACTOR = 256.0, 12.0
PROBES = 8
FREE = 2.0**-50


class Local:
    """Explains differences of one case.

    Args:
        reference, candidate: the graphs.
        inputs: of the case.
        forced: what takes the place of the candidate's values, by place.
    """

    def __init__(
        self, reference: Graph, candidate: Graph, inputs: Sequence[Any], forced: dict[Any, Any]
    ) -> None:
        self._reference, self._candidate = reference, candidate
        self._inputs, self._forced = list(inputs), forced
        self._rewritten: Rewritten | None = None

    def explains(self, place: Place) -> bool:
        """Whether rounding may have made a difference."""
        wanted, got = place.wanted, place.got
        if not (is_tensor(wanted) and is_tensor(got)) or np.shape(wanted) != np.shape(got):
            return False
        rewritten = self._known()
        plain, moved = Spread.none(got), Spread.none(got)
        for seed in range(PROBES):
            change = Perturbation(seed).change
            self._probe(plain, place, change, place.op)
            if place.single or rewritten.count:
                change, op = rewritten.changing(seed), place.op
                self._probe(moved, place, change, rewritten.moved(op, seed))
        return _within(np.asarray(wanted), np.asarray(got), plain, moved)

    def _probe(
        self, spread: Spread, place: Place, change: Callable[[Value, Any], Any], op: Op
    ) -> None:
        try:
            found = (
                self._alone(place, change, op) if place.single else self._within_all(place, change)
            )
        except UnsupportedError:
            raise
        except EVALUATION_ERRORS:
            spread.flip()
            return
        if found is not None:
            spread.add(place.got, found)

    @staticmethod
    def _alone(place: Place, change: Callable[[Value, Any], Any], op: Op) -> Any:
        """The node by itself, on changed operands."""
        given = [
            None if v is None else change(v, a)
            for v, a in zip(place.op.inputs, place.operands, strict=True)
        ]
        results = evaluate(op, given, wide=True)
        index = next(i for i, v in enumerate(place.op.outputs) if v is place.value)
        return results[index]

    def _within_all(self, place: Place, change: Callable[[Value, Any], Any]) -> Any:
        """The whole candidate, every value forced that has a mate."""
        places = Places(self._candidate)
        found: list[Any] = []

        def watch(op: Op, _: list[Any], results: list[Any]) -> list[Any]:
            made = list(results)
            indices = [i for i, v in enumerate(op.outputs) if v is not None]
            for index, (value, key, result) in zip(indices, places.of(op, results), strict=False):
                if value is place.value:
                    found.append(result)
                made[index] = self._forced.get(key, result)
            return made

        Program(self._candidate, wide=True).run(self._inputs, watch=watch, change=change)
        return found[0] if found else None

    def _known(self) -> Rewritten:
        if self._rewritten is None:
            numbers = constants.numbers(constants.constants(self._reference))
            digests = constants.digests(self._reference)
            made = folded(self._reference)
            self._rewritten = Rewritten(self._candidate, numbers, digests, made)
        return self._rewritten


def _within(wanted: np.ndarray, got: np.ndarray, plain: Spread, moved: Spread) -> bool:
    flipped = plain.flipped | moved.flipped
    if wanted.dtype.kind != "f" or got.dtype.kind != "f":
        return wanted.dtype.kind == got.dtype.kind and not ((wanted != got) & ~flipped).any()
    with np.errstate(all="ignore"):
        error = np.abs(wanted - got)
        size = np.maximum(np.abs(wanted), np.abs(got))
        allowed = ROUNDING_FACTOR * plain.deviation + CONSTANT_FACTOR * moved.deviation
        good = (error <= allowed + FREE * size) | (wanted == got)
        good |= np.isnan(wanted) & np.isnan(got)
        good &= (wanted != 0) | (got != 0) | (np.signbit(wanted) == np.signbit(got))
    return bool((good | flipped).all())
