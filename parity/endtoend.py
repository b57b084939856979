"""The optimized session, which is the one that ships, against the plain one that was judged."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import words
from isomorph.ir.constants import numbers
from isomorph.ir.interpret import widen
from isomorph.ir.opdef import Tolerance
from isomorph.ir.types import DType
from isomorph.parity import exact
from isomorph.parity.arrays import is_double, is_float, largest
from isomorph.parity.finding import Finding
from isomorph.parity.leaves import Leaves, difference_of_form, form
from isomorph.parity.noise import Perturbation, Spread, probe
from isomorph.parity.steps import Steps
from isomorph.parity.tolerance import tolerance_of
from isomorph.parity.tolerance.units import Unit
from isomorph.parity.verdict import Status
from isomorph.parity.well import FURTHER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.candidate import Candidate

PROBES = 6
FACTOR = 64.0
"""Times the noise of one rounding per value: sums of many terms err like √K."""
OVERFLOW = (
    "numbers come near the largest one, and onnxruntime's optimizer adds up in another order "
    f"[nchwc_transformer.cc], or: {words('products-scaled-late')}"
)
CLOSE = 2.0
"""Units in the last place of difference that are not looked into."""


def compare_optimized(
    candidate: Candidate,
    inputs: Sequence[Any],
    truth: Sequence[Any],
    plain: Sequence[Any],
    optimized: Sequence[Any],
    *,
    thorough: bool,
) -> list[Finding]:
    """One finding per output.

    A float is suspect when the optimizer moved it beyond the noise of its own precision through the
    whole graph, and further from the truth than the plain session is, by 3 ×. Unless `thorough`,
    that noise is only measured where the largest error of the output has grown by 3 ×.
    """
    forms = [difference_of_form(p, o) for p, o in zip(plain, optimized, strict=True)]
    other = frozenset(
        index for index, p in enumerate(plain) if forms[index] or form(truth[index]) != form(p)
    )
    exacts, plains, optima = (Leaves(values, other) for values in (truth, plain, optimized))
    found = _compare(candidate, inputs, exacts, plains, optima, thorough=thorough)
    changed = [f"onnxruntime's optimizer changes it: {p}" if p else "" for p in forms]
    return plains.gather(found, [Finding(Status.FAIL, c) if c else Finding() for c in changed])


def _compare(
    candidate: Candidate,
    inputs: Sequence[Any],
    truth: Leaves,
    plain: Leaves,
    optimized: Leaves,
    *,
    thorough: bool,
) -> list[Finding]:
    """One finding per tensor of the outputs."""
    spreads: list[Spread] | None = None
    reached: float | None = None
    steps: Steps | None = None
    found: list[Finding] = []
    every = zip(truth.tensors, plain.tensors, optimized.tensors, strict=True)
    for index, (t, p, o) in enumerate(every):
        problem = exact.differs(o, p)
        if not problem:
            found.append(Finding())
            continue
        if not _comparable(p, o):
            found.append(Finding(Status.FAIL, f"onnxruntime's optimizer changes it: {problem}"))
            continue
        if is_float(p) and _close(p, o):
            found.append(Finding())
            continue
        if is_float(p) and not thorough and not _further(np.asarray(t), p, o):
            found.append(Finding())
            continue
        if spreads is None:
            spreads = noise_of_precision(candidate, inputs, truth, plain)
        judged = _judge(np.asarray(t), p, o, spreads[index], problem)
        if judged.status in (Status.FAIL, Status.SUSPECT) and is_float(p):
            reached = _reached(candidate, inputs) if reached is None else reached
            if reached >= Unit.of(DType.of(p.dtype)).top / 4:
                judged = Finding(Status.RUNTIME, f"{OVERFLOW}: {problem}")
        if judged.status in (Status.FAIL, Status.SUSPECT):
            steps = steps or Steps(candidate, inputs, truth, FACTOR * _unit(plain))
            judged = steps.judge(index, p, o, judged)
        found.append(judged)
    return found


def _reached(candidate: Candidate, inputs: Sequence[Any]) -> float:
    """The largest number there could be, were constant factors multiplied after products.

    Products that are summed count, whatever the sum is: it is added up in any order.
    A product has two operands, each of which may have been scaled down before.
    """
    largest_seen = 0.0

    def watch(op: Op, operands: list[Any], results: list[Any]) -> None:
        nonlocal largest_seen
        sizes = [largest(np.abs(v)) for v in results if is_double(v)]
        if tolerance_of(op) is Tolerance.DOT:
            factors = [largest(np.abs(v)) for v in operands[:2] if is_double(v)]
            sizes += [prod(factors)] if len(factors) == 2 else []
        largest_seen = max([largest_seen, *sizes])

    candidate.program.run(inputs, watch=watch)
    shrinking = [1.0, 1.0]
    for _, op in candidate.graph.walk():
        factor = numbers(op.input(1)) if op.key in (("", "Mul"), ("", "Div")) else None
        if factor is None or factor.size != 1 or not is_float(factor):
            continue
        size = abs(float(np.asarray(widen(factor)).reshape(-1)[0]))
        shrinking.append(size if op.type == "Mul" else 1 / size if size else 1.0)
    first, second, *_ = sorted(s for s in shrinking if 0 < s <= 1)
    return largest_seen / (first * second)


def noise_of_precision(
    candidate: Candidate, inputs: Sequence[Any], truth: Leaves, plain: Leaves
) -> list[Spread]:
    """How each tensor moves when every float is rounded to the precision that the outputs have."""
    unit = _unit(plain)
    spreads = [Spread.none(t) for t in truth.tensors]

    def evaluate(seed: int) -> list[Any]:
        return candidate.program.run(inputs, change=Perturbation(seed, unit).change)

    probe(evaluate, truth, spreads, range(PROBES))
    return spreads


def rounded_away(
    candidate: Candidate, inputs: Sequence[Any], truth: Leaves, plain: Leaves, index: int
) -> np.ndarray:
    """Elements of one tensor that 64 roundings in every float make NaN or infinite, or finite."""
    spreads = [Spread.none(t) for t in truth.tensors]
    unit = FACTOR * _unit(plain)

    def evaluate(seed: int) -> list[Any]:
        return candidate.program.run(inputs, change=Perturbation(seed, unit).change)

    probe(evaluate, truth, spreads, range(4 * PROBES))
    return spreads[index].flipped


def _unit(plain: Leaves) -> float:
    """The unit roundoff of the coarsest output; float32's where none is a float."""
    units = [Unit.of(DType.of(p.dtype)).u for p in plain.tensors if is_float(p)]
    return max(units, default=2.0**-24)


def finite_where_expected(got: np.ndarray, truth: np.ndarray, unit: Unit) -> np.ndarray:
    """Elements that are finite, infinite or NaN just where the truth, in that format, is."""
    with np.errstate(all="ignore"):
        beyond = np.abs(truth) > unit.top * (1 - 64 * unit.u)
        finite = np.isfinite(got) & (np.isfinite(truth) | beyond)
        infinite = np.isinf(got) & (np.isinf(truth) | beyond) & (np.sign(got) == np.sign(truth))
    return finite | infinite | (np.isnan(got) & np.isnan(truth))


def _judge(truth: np.ndarray, plain: Any, optimized: Any, spread: Spread, problem: str) -> Finding:
    if not is_float(plain):
        if (exact.different(np.asarray(optimized), np.asarray(plain)) & ~spread.flipped).any():
            return Finding(Status.FAIL, f"onnxruntime's optimizer changes it: {problem}")
        return Finding(Status.AMBIGUOUS, f"rounding decides: {problem}")
    unit = Unit.of(DType.of(plain.dtype))
    p, o = np.asarray(widen(plain)), np.asarray(widen(optimized))
    with np.errstate(all="ignore"):
        other = np.isfinite(p) != np.isfinite(o)
        if (other & ~spread.flipped & (np.abs(truth) < unit.top / 4)).any():
            return Finding(Status.FAIL, f"onnxruntime's optimizer makes NaN or infinity: {problem}")
        allowed = FACTOR * spread.deviation + 4 * unit.ulp(truth) + unit.tiny
        off_plain = np.where(np.isfinite(p - truth), np.abs(p - truth), 0.0) / allowed
        off = np.where(np.isfinite(o - truth), np.abs(o - truth), 0.0) / allowed
        limit = FURTHER * max(float(off_plain.max(initial=0.0)), 1.0)
        bad = ~spread.flipped & (off > limit)
    if not bad.any():
        return Finding()
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    return Finding(
        Status.SUSPECT,
        f"onnxruntime's optimizer moves it away from the truth: at {list(at)} {o[at]:.9g} instead "
        f"of {p[at]:.9g}, the truth {truth[at]:.9g}",
    )


def _comparable(plain: Any, optimized: Any) -> bool:
    return np.shape(plain) == np.shape(optimized) and plain.dtype == optimized.dtype


def _further(truth: np.ndarray, plain: Any, optimized: Any) -> bool:
    """Whether the largest error grew, or NaN and infinities moved."""
    p, o = np.asarray(widen(plain)), np.asarray(widen(optimized))
    with np.errstate(all="ignore"):
        good = np.isfinite(p) & np.isfinite(truth)
        if (np.isfinite(p) != np.isfinite(o)).any():
            return True
        before = np.abs(p - truth)[good].max(initial=0.0)
        after = np.abs(o - truth)[good].max(initial=0.0)
    return bool(after > FURTHER * before)


def _close(plain: Any, optimized: Any) -> bool:
    unit = Unit.of(DType.of(plain.dtype))
    p, o = np.asarray(widen(plain)), np.asarray(widen(optimized))
    with np.errstate(all="ignore"):
        same = (p == o) | (np.isnan(p) & np.isnan(o))
        return bool((same | (np.abs(p - o) <= CLOSE * unit.ulp(p))).all())
