"""Question 1: are reference and candidate the same function, in float64, from their own sources?

Equal to a few float64 roundings is equal. Otherwise the difference is held against what rounding
itself does at that input, element by element (`noise`): the float64 noise of reference and
candidate, times a wide factor, and the effect of one stored rounding of each constant that a pass
rewrote (`constants`). See docs/parity.md for the factors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from isomorph.ir.opdef import Tolerance
from isomorph.parity import exact
from isomorph.parity.arrays import is_double
from isomorph.parity.constants import Rewritten
from isomorph.parity.finding import Finding
from isomorph.parity.folded import folded
from isomorph.parity.leaves import Leaves, difference_of_form
from isomorph.parity.noise import LAST_PLACE, Computed, Spread, probe
from isomorph.parity.sources import GraphReference
from isomorph.parity.tolerance import is_exact, jumps, tolerance_of
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.ir.interpret import Program
    from isomorph.parity.sources import Reference

ROUNDING_FACTOR = 256.0
CONSTANT_FACTOR = 12.0
FIRST_PROBES, ALL_PROBES = 6, 40
HOPELESS = 1e3
"""So far beyond what a few probes allow that more would not explain it; unless something jumps."""
JUMPING = (Tolerance.CONTROL, None)
APART = (Tolerance.EXACT, Tolerance.ELEMENTWISE, Tolerance.DISCONTINUOUS)
SUMMING = frozenset({"DynamicQuantizeLinear", "Mean", "QLinearConv", "QLinearMatMul", "Sum"})
"""Of these classes, what sums up, or rounds to integers what it then computes with."""
FREE = 4 * LAST_PLACE
"""Relative difference that needs no explanation."""
OF_ZEROS = exact.MAXIMA | {"Celu"}
"""What takes a maximum of its operand and 0, which may be -0."""
WIDEST = 2.0**511
"""Squares of larger numbers leave the range of float64, and there is no wider format."""
UNDERFLOW = 2.0**-1022
"""Absolute difference that needs none: float64's smallest normal number; below, digits are lost."""


class Evaluated(Protocol):
    """A graph that is compared with a reference.

    Attributes:
        graph: itself.
        program: evaluates it in float64.
    """

    graph: Graph
    program: Program

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        """Outputs in float64 with every rounding perturbed."""
        ...


class Same:
    """Compares two float64 evaluations of one case."""

    def __init__(self, reference: Reference, candidate: Evaluated) -> None:
        self.reference = reference
        self.candidate = candidate
        self._rewritten: Rewritten | None = None
        self._jumps = any(
            tolerance_of(op) in JUMPING or jumps(op) for _, op in candidate.graph.walk()
        ) or not isinstance(reference, GraphReference)
        sides = [candidate.graph.outputs]
        if isinstance(reference, GraphReference) and len(reference.graph.outputs) == len(sides[0]):
            sides.append(reference.graph.outputs)
        self._sign_matters = [all(map(_exact_upstream, v)) for v in zip(*sides, strict=True)]
        self._apart = [all(map(_sums_nothing, v)) for v in zip(*sides, strict=True)]

    def compare(
        self, inputs: Sequence[Any], wanted: Sequence[Any], got: Sequence[Any]
    ) -> list[Finding]:
        """One finding per output.

        Args:
            inputs: of the case, in stored dtypes.
            wanted: the reference's outputs in float64.
            got: the candidate's outputs in float64.
        """
        forms = [difference_of_form(w, g) for w, g in zip(wanted, got, strict=True)]
        other = frozenset(index for index, problem in enumerate(forms) if problem)
        one, two = Leaves(wanted, other), Leaves(got, other)
        noise = _Noise(self, inputs, one, two)
        found = [
            self._tensor(index, one.places[index][0], w, g, noise)
            for index, (w, g) in enumerate(zip(one.tensors, two.tensors, strict=True))
        ]
        return one.gather(found, [Finding(Status.FAIL, p) if p else Finding() for p in forms])

    def apart(self, output: int) -> bool:
        """Whether nothing is summed before an output, on either side."""
        return isinstance(self.reference, GraphReference) and self._apart[output]

    def rewritten(self) -> Rewritten:
        """The candidate's constants that are not the reference's."""
        if self._rewritten is None:
            numbers, digests = self.reference.numbers()
            reference = self.reference
            made = folded(reference.graph) if isinstance(reference, GraphReference) else None
            self._rewritten = Rewritten(self.candidate.graph, numbers, digests, made)
        return self._rewritten

    def _tensor(self, index: int, output: int, wanted: Any, got: Any, noise: _Noise) -> Finding:
        wanted, got = np.asarray(wanted), np.asarray(got)
        if wanted.shape != got.shape:
            return Finding(Status.FAIL, f"its shape is {got.shape}, the reference's {wanted.shape}")
        if wanted.dtype.kind != "f" or got.dtype.kind != "f":
            return self._discrete(index, output, wanted, got, noise)
        with np.errstate(all="ignore"):
            same = (wanted == got) | (np.isnan(wanted) & np.isnan(got))
            error = np.abs(wanted - got)
            size = np.maximum(np.abs(wanted), np.abs(got))
            bad = ~same & ~(error <= FREE * size + UNDERFLOW)
        signs = np.zeros(wanted.shape, bool)
        if self._sign_matters[output]:
            signs = (wanted == 0) & (got == 0) & (np.signbit(wanted) != np.signbit(got))
        if not bad.any() and not signs.any():
            return Finding(max_abs=_largest(error))
        if signs.any() and not bad.any():
            at = _first(signs)
            return Finding(
                Status.FAIL,
                f"the sign of zero is lost: at {list(at)} the reference gives {wanted[at]}, "
                f"the candidate {got[at]}",
            )
        return self._against_noise(index, wanted, got, bad, noise)

    def _against_noise(
        self, index: int, wanted: np.ndarray, got: np.ndarray, bad: np.ndarray, noise: _Noise
    ) -> Finding:
        with np.errstate(all="ignore"):
            error = np.abs(wanted - got)
            finite = np.isfinite(wanted) & np.isfinite(got)
        allowed = np.zeros(wanted.shape)
        beyond = bool((~finite).any()) and noise.leaves_range()
        over = bad
        for probes in (FIRST_PROBES, ALL_PROBES):
            allowed = noise.allowed(index, probes)
            unstable = noise.flipped(index)
            over = bad & ~(finite & (error <= allowed)) & ~(~finite & unstable)
            over &= finite | (not beyond)
            if not over.any() or (
                not self._jumps and (error[over] > HOPELESS * allowed[over]).any()
            ):
                break
        figure = _largest(np.where(finite, error, 0.0))
        if over.any():
            return Finding(
                Status.FAIL, _say(over, wanted, got, allowed), _ratio(error, wanted), figure
            )
        jump = bad & (
            noise.flipped(index) | (error > 2.0**-20 * np.maximum(np.abs(wanted), 1e-300))
        )
        jump &= error > 4 * noise.constant_part(index)
        if jump.any():
            at = _first(jump)
            return Finding(
                Status.AMBIGUOUS,
                f"a discontinuity within rounding: at {list(at)} the reference gives "
                f"{wanted[at]:.9g}, the candidate {got[at]:.9g}, and one float64 rounding decides",
                _ratio(error, wanted),
                figure,
            )
        return Finding(max_ulp=_ratio(error, wanted), max_abs=figure)

    def _discrete(
        self, index: int, output: int, wanted: np.ndarray, got: np.ndarray, noise: _Noise
    ) -> Finding:
        problem = exact.differs(got, wanted)
        if not problem:
            return Finding()
        if (
            got.dtype.kind == wanted.dtype.kind
            and not (exact.different(got, wanted) & ~noise.decided(index, output)).any()
        ):
            return Finding(Status.AMBIGUOUS, f"a discontinuity within rounding decides: {problem}")
        return Finding(Status.FAIL, problem)


class _Noise:
    """Spreads of one case, computed when first asked for and extended on demand."""

    def __init__(self, same: Same, inputs: Sequence[Any], wanted: Leaves, got: Leaves) -> None:
        self._same = same
        self._inputs = list(inputs)
        self._wanted, self._got = wanted, got
        self._of_reference = [Spread.none(v) for v in wanted.tensors]
        self._of_candidate = [Spread.none(v) for v in got.tensors]
        self._of_constants = [Spread.none(v) for v in got.tensors]
        self._computed: list[list[Spread]] | None = None
        self._done = 0

    def allowed(self, index: int, probes: int) -> np.ndarray:
        """The difference that rounding explains, per element of one tensor."""
        self.extend(probes)
        rounding = np.maximum(
            self._of_reference[index].deviation, self._of_candidate[index].deviation
        )
        size = np.maximum(np.abs(self._wanted.tensors[index]), np.abs(self._got.tensors[index]))
        free = np.where(np.isfinite(size), FREE * size, 0.0) + UNDERFLOW
        return ROUNDING_FACTOR * rounding + self.constant_part(index) + free

    def leaves_range(self) -> bool:
        """Whether products of two inputs may overflow, so that infinities meet in any order."""
        return any(is_double(v) and bool((_finite(v) > WIDEST).any()) for v in self._inputs)

    def constant_part(self, index: int) -> np.ndarray:
        """The part of it that rewritten constants explain."""
        return CONSTANT_FACTOR * self._of_constants[index].deviation

    def flipped(self, index: int) -> np.ndarray:
        """Elements that rounding alone turns into something else."""
        return self._of_reference[index].flipped | self._of_candidate[index].flipped

    def decided(self, index: int, output: int) -> np.ndarray:
        """Elements of a discrete tensor that rounding decides.

        Nothing has rounded the inputs. They are moved all the same for what cancels in a sum; where
        nothing is summed, a number that lies just on a step is there by itself, and no branch is
        as good as the other.
        """
        self.extend(ALL_PROBES)
        same, reference = self._same, self._same.reference
        if not isinstance(reference, GraphReference) or not same.apart(output):
            return self.flipped(index)
        if self._computed is None:
            self._computed = [
                self._moved(reference.program, self._wanted),
                self._moved(same.candidate.program, self._got),
            ]
        return np.logical_or.reduce(
            [spreads[index].flipped for spreads in (*self._computed, self._of_constants)]
        )

    def _moved(self, program: Program, base: Leaves) -> list[Spread]:
        """How rounding moves what a program gives, its inputs and weights as they are."""
        spreads = [Spread.none(v) for v in base.tensors]
        inputs = self._inputs
        probe(
            lambda s: program.run(inputs, change=Computed(s).change),
            base,
            spreads,
            range(ALL_PROBES),
        )
        return spreads

    def extend(self, probes: int) -> None:
        """Go on to so many evaluations."""
        seeds = range(self._done, probes)
        if not seeds:
            return
        same, inputs, got = self._same, self._inputs, self._got
        noisy, other = same.reference.noisy, same.candidate.noisy
        probe(lambda s: noisy(inputs, s), self._wanted, self._of_reference, seeds)
        probe(lambda s: other(inputs, s), got, self._of_candidate, seeds)
        rewritten, program = same.rewritten(), same.candidate.program
        if rewritten.count:
            probe(lambda s: rewritten.run(program, inputs, s), got, self._of_constants, seeds)
        self._done = probes


def _finite(array: np.ndarray) -> np.ndarray:
    """Magnitudes, 0 for what is infinite or NaN."""
    return np.where(np.isfinite(array), np.abs(array), 0.0)


def _sums_nothing(output: Value) -> bool:
    """Whether each element before an output comes of few roundings, each of what is rounded."""
    return all(
        tolerance_of(op) in APART and not op.domain and op.type not in SUMMING
        for op in _upstream(output)
    )


def _upstream(output: Value) -> Iterator[Op]:
    seen: set[int] = set()
    stack = [output]
    while stack:
        op = stack.pop().producer
        if op is not None and id(op) not in seen:
            seen.add(id(op))
            yield op
            stack.extend(op.operands)


def _exact_upstream(output: Value) -> bool:
    """Whether the sign of a zero is determined: nothing before sums, or takes a maximum."""
    return all(
        (is_exact(op) or tolerance_of(op) is Tolerance.ELEMENTWISE)
        and op.type not in OF_ZEROS
        and tolerance_of(op) is not Tolerance.CONTROL
        for op in _upstream(output)
    )


def _largest(error: np.ndarray) -> float:
    finite = error[np.isfinite(error)]
    return float(finite.max(initial=0.0))


def _ratio(error: np.ndarray, wanted: np.ndarray) -> float:
    """The largest error in units of float64's last place."""
    with np.errstate(all="ignore"):
        ulps = error / np.spacing(np.abs(wanted))
    return _largest(ulps)


def _first(mask: np.ndarray) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(mask)[0])


def _say(over: np.ndarray, wanted: np.ndarray, got: np.ndarray, allowed: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        error = np.where(over, np.abs(wanted - got), -1.0)
        error = np.where(over & ~np.isfinite(error), np.inf, error)
    at = tuple(int(i) for i in np.unravel_index(int(error.argmax()), error.shape))
    return (
        f"another function: {int(over.sum())} of {over.size} elements differ in float64; at "
        f"{list(at)} the reference gives {wanted[at]:.9g}, the candidate {got[at]:.9g}, and "
        f"rounding explains ±{allowed[at]:.2g}"
    )
