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
from isomorph.parity.tolerance.units import Unit
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.parity.candidate import Candidate

FACTOR = 64.0
"""Times the noise of one rounding per value: both sides round, and sums err like √K."""


def compare(
    candidate: Candidate, inputs: Sequence[Any], wanted: Sequence[Any], plain: Sequence[Any]
) -> list[Finding]:
    """One finding per output: the reference's own values against the run time's."""
    truth = candidate.wide(inputs)
    spreads = noise_of_precision(candidate, inputs, truth, plain)
    found: list[Finding] = []
    for w, p, t, spread in zip(wanted, plain, truth, spreads, strict=True):
        if not is_float(p) or isinstance(w, list):
            problem = exact.differs(p, w)
            flipped = problem and spread.flipped.any()
            status = Status.AMBIGUOUS if flipped else Status.FAIL if problem else Status.PASS
            found.append(Finding(status, problem))
            continue
        unit = Unit.of(DType.of(p.dtype))
        own, given = np.asarray(widen(w), np.float64), np.asarray(widen(p))
        if own.shape != given.shape:
            found.append(Finding(Status.FAIL, f"its shape is {given.shape}, not {own.shape}"))
            continue
        with np.errstate(all="ignore"):
            same = (own == given) | (np.isnan(own) & np.isnan(given))
            allowed = FACTOR * spread.deviation + 8 * unit.ulp(np.asarray(t)) + unit.tiny
            bad = ~same & ~spread.flipped & ~(np.abs(own - given) <= allowed)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            found.append(
                Finding(
                    Status.FAIL,
                    f"{int(bad.sum())} of {bad.size} elements differ beyond rounding: at "
                    f"{list(at)} the reference gives {own[at]:.9g}, the candidate {given[at]:.9g}",
                )
            )
        else:
            found.append(Finding())
    return found
