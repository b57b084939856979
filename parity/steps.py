"""Where the optimized session may take another step than the plain one, and where it is known to.

Rounding to integers, comparing and choosing turn a difference in the last place into a whole step.
Sums in another order, or kernels that fuse quantizers with what lies between them, may move what is
rounded by as much as the noise that `endtoend` allows, so the graph is evaluated under noise of
that size: where it jumps by itself, either side is right. What onnxruntime's optimizer is known to
do to quantizers is tried in the same way, with disturbances of the size that was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.constants import numbers
from isomorph.ir.opdef import Tolerance
from isomorph.parity.arrays import is_double, is_float
from isomorph.parity.finding import Finding
from isomorph.parity.noise import Perturbation, Spread, probe
from isomorph.parity.tolerance import tolerance_of
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.leaves import Leaves

PROBES = (4, 12, 24)
"""An element on a boundary stays where it is in all of them once in 2²⁴ cases."""
TRUNCATED = (
    "onnxruntime's optimizer makes Softmax between quantizers an integer kernel, which cuts "
    "1 / scale down to an integer [qlinear_softmax.cc, measured]"
)
MERGED = (
    "onnxruntime's optimizer puts one pair of QuantizeLinear and DequantizeLinear, of a scale of "
    "its own, in the place of two [double_qdq_pairs_remover.cc, measured]"
)


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What the optimizer does to one value.

    Attributes:
        relative, absolute: how much it may move an element.
        words: for the report.
    """

    relative: float
    absolute: float
    words: str


class Steps:
    """The jumps of one case, found when first asked for.

    Args:
        candidate: the model.
        inputs: of the case.
        truth: its outputs in float64.
        unit: the noise of every float.
    """

    def __init__(
        self, candidate: Candidate, inputs: Sequence[Any], truth: Leaves, unit: float
    ) -> None:
        self._candidate, self._inputs, self._truth = candidate, inputs, truth
        self._unit = unit
        self._jumps = jumps(candidate.graph)
        self._rewrites = dict(rewrites(candidate.graph)) if self._jumps else {}
        self._own: list[Spread] = []
        self._known: list[Spread] = []

    def judge(self, index: int, plain: Any, optimized: Any, finding: Finding) -> Finding:
        """A finding on one tensor, or what explains it."""
        if not self._jumps or np.shape(plain) != np.shape(optimized):
            return finding
        for count in PROBES:
            self._own = self._probed(self._own, count, {})
            if _explained(plain, optimized, self._own[index]):
                return Finding(Status.AMBIGUOUS, f"rounding decides a step: {finding.reason}")
            if not self._rewrites:
                continue
            self._known = self._probed(self._known, count, self._rewrites)
            if _explained(plain, optimized, self._known[index]):
                words = dict.fromkeys(r.words for r in self._rewrites.values())
                return Finding(Status.RUNTIME, "; ".join(words))
        return finding

    def _probed(
        self, spreads: list[Spread], count: int, known: dict[Value, Rewrite]
    ) -> list[Spread]:
        """The spreads after at least so many probes."""
        spreads = spreads or [Spread.none(t) for t in self._truth.tensors]
        done = spreads[0].probes if spreads else count

        def evaluate(seed: int) -> list[Any]:
            noise = _Disturbance(seed, self._unit, known)
            return self._candidate.program.run(self._inputs, change=noise.change)

        probe(evaluate, self._truth, spreads, range(done, count))
        return spreads


class _Disturbance(Perturbation):
    """Noise of every float, and what is known to happen to some values."""

    def __init__(self, seed: int, unit: float, known: dict[Value, Rewrite]) -> None:
        super().__init__(seed, unit)
        self._known = known
        self._draws = np.random.default_rng([seed, 1])

    def change(self, value: object, array: Any) -> Any:
        found = self._known.get(value) if self._known else None  # type: ignore[call-overload]
        if found is not None and is_double(array):
            by = self._draws.uniform(-1, 1, np.shape(array))
            array = array + by * (found.relative * np.abs(array) + found.absolute)
        return super().change(value, array)


def jumps(graph: Graph) -> bool:
    """Whether a graph decides anything by comparing or rounding to integers."""
    return any(tolerance_of(op) is Tolerance.DISCONTINUOUS for _, op in graph.walk())


def rewrites(graph: Graph) -> Iterator[tuple[Value, Rewrite]]:
    """What the optimizer is known to do to a graph's quantizers."""
    for op in graph.ops():
        if op.key == ("", "QuantizeLinear"):
            value = op.inputs[0]
            found = None if value is None else _rewrite(value, op)
            if value is not None and found is not None:
                yield value, found


def _rewrite(value: Value, quantizer: Op) -> Rewrite | None:
    before, scale = value.producer, _single(quantizer)
    first = before.input(0) if before is not None else None
    source = None if first is None else first.producer
    if before is None or scale is None or source is None:
        return None
    if before.key == ("", "Softmax") and source.key == ("", "DequantizeLinear"):
        lost = 1 - float(np.floor(np.float32(1) / np.float32(scale))) * scale
        return Rewrite(2 * abs(lost), 0.0, TRUNCATED) if abs(lost) > 2.0**-20 else None
    if before.key == ("", "DequantizeLinear") and source.key == ("", "QuantizeLinear"):
        other = _single(before)
        same = other == scale and _zero(before) == _zero(quantizer)
        return None if other is None or same else Rewrite(0.0, (scale + other) / 2, MERGED)
    return None


def _single(op: Op) -> float | None:
    """The constant scale of all elements."""
    known = numbers(op.input(1))
    if known is None or known.size != 1:
        return None
    return float(known.astype(np.float64).reshape(-1)[0])


def _zero(op: Op) -> float | None:
    if op.input(2) is None:
        return 0.0
    known = numbers(op.input(2))
    return None if known is None or known.size != 1 else float(known.reshape(-1)[0])


def _explained(plain: Any, optimized: Any, spread: Spread) -> bool:
    """Whether every difference is one that the graph makes by itself; twice, one on either side."""
    if not is_float(plain):
        different = np.asarray(plain != optimized)
        return not (different & ~spread.flipped).any()
    with np.errstate(all="ignore"):
        p, o = np.asarray(plain, np.float64), np.asarray(optimized, np.float64)
        same = (p == o) | (np.isnan(p) & np.isnan(o))
        return bool((same | spread.flipped | (np.abs(p - o) <= 2 * spread.largest)).all())
