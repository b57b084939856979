"""Where the optimized session may take another step than the plain one, and where it is known to.

Rounding to integers, comparing and choosing turn a difference in the last place into a whole step.
Sums in another order, or kernels that fuse quantizers with what lies between them, may move what is
rounded by as much as the noise that `endtoend` allows, so the graph is evaluated under noise of
that size: where it jumps by itself, either side is right. What onnxruntime's optimizer is known to
do to quantizers is played through in the same way: see `rewrites`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import words
from isomorph.parity.arrays import is_float
from isomorph.parity.finding import Finding
from isomorph.parity.known_quantized import sums_nothing
from isomorph.parity.noise import Perturbation, Spread, probe
from isomorph.parity.rewrites import Rewrites
from isomorph.parity.tolerance import jumps as op_jumps
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Op
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.leaves import Leaves

PROBES = (4, 12, 24)
"""An element on a boundary stays where it is in all of them once in 2²⁴ cases."""


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
        self._rewrites = Rewrites(candidate.graph) if self._jumps else None
        self._own: list[Spread] = []
        self._known: list[Spread] = []

    def judge(self, index: int, plain: Any, optimized: Any, finding: Finding) -> Finding:
        """A finding on one tensor, or what explains it."""
        if np.shape(plain) != np.shape(optimized):
            return finding
        if self._sums_nothing():
            return Finding(Status.RUNTIME, words("sums-of-nothing"))
        if not self._jumps:
            return finding
        for count in PROBES:
            if self._rewrites:
                self._known = self._probed(self._known, count, self._rewrites)
                if _explained(plain, optimized, self._known[index]):
                    return Finding(Status.RUNTIME, "; ".join(self._rewrites.words))
            self._own = self._probed(self._own, count, None)
            if _explained(plain, optimized, self._own[index]):
                return Finding(Status.AMBIGUOUS, f"rounding decides a step: {finding.reason}")
        return finding

    def _sums_nothing(self) -> bool:
        """Whether a node's result is whatever lies in memory, which each session has its own of."""
        found = False

        def watch(op: Op, operands: list[Any], _: list[Any]) -> None:
            nonlocal found
            found = found or sums_nothing(op, operands)

        if any(np.size(v) == 0 for v in self._inputs):
            self._candidate.program.run(self._inputs, watch=watch)
        return found

    def _probed(self, spreads: list[Spread], count: int, known: Rewrites | None) -> list[Spread]:
        """The spreads after at least so many probes."""
        spreads = spreads or [Spread.none(t) for t in self._truth.tensors]
        program = self._candidate.program

        def evaluate(seed: int) -> list[Any]:
            noise = Perturbation(seed, self._unit).change
            watch = None if known is None else known.watch()
            return program.run(self._inputs, watch=watch, change=noise)

        probe(evaluate, self._truth, spreads, range(spreads[0].probes if spreads else count, count))
        return spreads


def jumps(graph: Graph) -> bool:
    """Whether a graph decides anything by comparing or rounding to integers."""
    return any(op_jumps(op) for _, op in graph.walk())


def _explained(plain: Any, optimized: Any, spread: Spread) -> bool:
    """Whether every difference is one that the graph makes by itself; twice, one on either side."""
    if not is_float(plain):
        different = np.asarray(plain != optimized)
        return not (different & ~spread.flipped).any()
    with np.errstate(all="ignore"):
        p, o = np.asarray(plain, np.float64), np.asarray(optimized, np.float64)
        same = (p == o) | (np.isnan(p) & np.isnan(o))
        return bool((same | spread.flipped | (np.abs(p - o) <= 2 * spread.largest)).all())
