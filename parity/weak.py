"""A reference that cannot run in float64, compared in its own precision: a weaker question 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import widen
from isomorph.ir.types import DType
from isomorph.parity import exact
from isomorph.parity.arrays import is_float
from isomorph.parity.endtoend import noise_of_precision
from isomorph.parity.finding import Finding
from isomorph.parity.leaves import Leaves, difference_of_form, form
from isomorph.parity.tolerance.units import Unit
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from isomorph.parity.candidate import Candidate
    from isomorph.parity.noise import Spread

FACTOR = 64.0
"""Times the noise of one rounding per value: both sides round, and sums err like √K."""


def compare(
    candidate: Candidate, inputs: Sequence[Any], wanted: Sequence[Any], plain: Sequence[Any]
) -> list[Finding]:
    """One finding per output: the reference's own values against the run time's."""
    exacts = candidate.wide(inputs)
    forms = [difference_of_form(w, p) for w, p in zip(wanted, plain, strict=True)]
    other = frozenset(
        index for index, p in enumerate(plain) if forms[index] or form(exacts[index]) != form(p)
    )
    own, given, truth = (Leaves(values, other) for values in (wanted, plain, exacts))
    spreads = noise_of_precision(candidate, inputs, truth, given)
    every = zip(own.tensors, given.tensors, truth.tensors, spreads, strict=True)
    found = list(_compare(every))
    return own.gather(found, [Finding(Status.FAIL, p) if p else Finding() for p in forms])


def _compare(every: Iterable[tuple[Any, Any, Any, Spread]]) -> Iterator[Finding]:
    """One finding per tensor: the reference's, the run time's, the truth, and its noise."""
    for w, p, t, spread in every:
        if not is_float(p):
            problem = exact.differs(p, w)
            flipped = problem and spread.flipped.any()
            status = Status.AMBIGUOUS if flipped else Status.FAIL if problem else Status.PASS
            yield Finding(status, problem)
            continue
        unit = Unit.of(DType.of(p.dtype))
        own, given = np.asarray(widen(w), np.float64), np.asarray(widen(p))
        if own.shape != given.shape:
            yield Finding(Status.FAIL, f"its shape is {given.shape}, not {own.shape}")
            continue
        with np.errstate(all="ignore"):
            same = (own == given) | (np.isnan(own) & np.isnan(given))
            allowed = FACTOR * spread.deviation + 8 * unit.ulp(np.asarray(t)) + unit.tiny
            bad = ~same & ~spread.flipped & ~(np.abs(own - given) <= allowed)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            yield Finding(
                Status.FAIL,
                f"{int(bad.sum())} of {bad.size} elements differ beyond rounding: at "
                f"{list(at)} the reference gives {own[at]:.9g}, the candidate {given[at]:.9g}",
            )
        else:
            yield Finding()
