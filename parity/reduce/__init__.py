"""A failure made small: fewer nodes, sizes, attributes and values, as long as it stays the same.

Every step keeps a piece only if it fails for the same reason (see `checks`). Symbolic dims stay
symbolic: only the inputs of the case get smaller, and dims that are fixed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.parity import locate
from isomorph.parity.noise import EVALUATION_ERRORS
from isomorph.parity.reduce import shown
from isomorph.parity.reduce.checks import Check
from isomorph.parity.reduce.dims import plain, smaller
from isomorph.parity.reduce.graph import Pair, Recorded, fewest
from isomorph.parity.reduce.values import plainer
from isomorph.parity.sources import GraphReference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from isomorph.ir.graph import Op
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.case import Failure
    from isomorph.parity.reduce.piece import Piece
    from isomorph.parity.sources import Reference
    from isomorph.parity.verdict import Verdict

SECONDS = 10.0
"""What a reduction may take when nothing is said; what was reached by then is what is shown."""
ROUNDS = 3
ONWARDS = 3
"""Steps from a node to what reads it, where the node gives nothing that the reference has."""
KINDS = ("same", "well", "optimized", "died", "refused")


class OutOfTimeError(Exception):
    """The time for reducing is over."""


@dataclass(frozen=True)
class Reduced:
    """A piece that fails as the whole did, and how that was asked."""

    piece: Piece
    check: Check
    seconds: float

    def write(self, failure: Failure, verdict: Verdict, folder: str | Path | None) -> Path:
        """The replay of it."""
        return shown.write(self.piece, self.check, failure, verdict, folder)


def reduced(
    failure: Failure, source: Reference, candidate: Candidate, seconds: float = SECONDS
) -> Reduced | None:
    """The smallest piece that still fails for the same reason.

    Args:
        failure: of a whole model.
        source: the reference; a graph, where the models are not the same function.
        candidate: the other.
        seconds: when to stop, with the smallest piece so far.

    Returns:
        `None` where nothing smaller than the whole was found to fail, or nothing can be cut.
    """
    if failure.kind not in KINDS or candidate.device is not None or seconds <= 0:
        return None
    started = time.monotonic()
    check = Check(failure, candidate)
    piece = _Reduction(failure, source, candidate, check, seconds).run()
    return None if piece is None else Reduced(piece, check, time.monotonic() - started)


class _Reduction:
    def __init__(
        self,
        failure: Failure,
        source: Reference,
        candidate: Candidate,
        check: Check,
        seconds: float,
    ) -> None:
        self.failure, self.source, self.candidate = failure, source, candidate
        self.check, self.ends = check, time.monotonic() + seconds
        self.best: Piece | None = None

    def run(self) -> Piece | None:
        """Graph first, then everything else until nothing gets smaller."""
        try:
            for visible in (True, False):
                self.check.visible = visible
                if self._nodes():
                    break
                if self.failure.kind != "same":
                    return None
            self._rest()
        except OutOfTimeError:
            pass
        if self.best is not None and not self.check.visible:
            self.check.visible = True  # what is small may show what hid in the whole
            self.check.visible = self.check(self.best)
        return self.best

    def _test(self, piece: Piece) -> bool:
        if time.monotonic() > self.ends:
            raise OutOfTimeError
        if not self.check(piece):
            return False
        self.best = piece
        return True

    def _nodes(self) -> bool:
        """Find a part that fails; whether there is one."""
        case = self.failure.case
        recorded = Recorded.of(self.candidate.graph, case.inputs)
        piece: Callable[[Sequence[Op]], Piece] = recorded.piece
        if self.failure.kind == "same":
            if not isinstance(self.source, GraphReference):
                return False
            try:
                aligned = locate.Aligned(self.source.graph, self.candidate.graph, case.inputs)
                pair = Pair(recorded, self.source.graph, aligned.mates)
            except EVALUATION_ERRORS:
                return False
            piece = pair.piece
            place = aligned.first()
            guesses = [] if place is None else list(_onwards(place.op, recorded))
        else:
            guesses = [] if self.failure.op is None else [[self.failure.op]]
        for some in (*guesses, recorded.ops()):
            if some and self._fails(piece, some):
                self._fewer(recorded, piece, some)
                return True
        return False

    def _fewer(
        self, recorded: Recorded, piece: Callable[[Sequence[Op]], Piece], ops: Sequence[Op]
    ) -> None:
        left = fewest(ops, piece, self._test)
        while len(left) == 1:
            bodies = [[*_inside(b, recorded)] for _, b in left[0].subgraphs()]
            body = next((b for b in bodies if b and self._fails(piece, b)), None)
            if body is None:
                return
            left = fewest(body, piece, self._test)

    def _fails(self, piece: Callable[[Sequence[Op]], Piece], ops: Sequence[Op]) -> bool:
        try:
            return self._test(piece(ops))
        except KeyError:
            return False

    def _rest(self) -> None:
        for _ in range(ROUNDS):
            before = self._size()
            for step in (smaller, plain, plainer):
                if self.best is not None:
                    step(self.best, self._test)
            if self._size() == before:
                return

    def _size(self) -> tuple[int, int]:
        piece = self.best
        if piece is None:
            return 0, 0
        arrays: list[Any] = [*piece.inputs]
        arrays += [w.weight for w in piece.graph.weights()]
        return sum(getattr(a, "size", 1) for a in arrays), piece.non_default()


def _onwards(op: Op, recorded: Recorded) -> Iterator[list[Op]]:
    """The op; then with those that read what it gives, and so on."""
    found = [op]
    yield found
    for _ in range(ONWARDS):
        made = {v for o in found for v in o.results}
        found = [o for o in recorded.order if o in found or not made.isdisjoint(o.operands)]
        yield found


def _inside(body: Any, recorded: Recorded) -> Iterator[Op]:
    yield from (op for op in recorded.order if op in body.nx)
