"""Cases that Hypothesis draws, and shrinks where they fail."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isomorph.ir.graph import Graph
    from isomorph.parity.strategies import Batch, Spec

SHRINKING = 10.0
"""Seconds that looking for a smaller failure may take; the smallest so far stands then."""
SHARE = 2
"""Hypothesis draws the first half of the cases; in the second, every kind has its turn."""


@dataclass(frozen=True, slots=True)
class Examples:
    """What may be drawn, and what becomes of it.

    Attributes:
        graph: whose inputs they are.
        specs: of the inputs.
        sizes: bindings of the symbols that both models accept.
        profile, seed: as for `verify`.
        count: cases per batch.
        left: cases that are wanted still.
        fails: judges the cases of a batch up to the first that fails; whether one did.
        over: whether there is no time, or no need, for more.
    """

    graph: Graph
    specs: Sequence[Spec]
    sizes: Sequence[Mapping[str, int]]
    profile: str
    seed: int
    count: int
    left: int
    fails: Callable[[Batch], bool]
    over: Callable[[], bool]


class _FoundError(AssertionError):
    """A batch that fails."""

    def __init__(self, batch: Batch) -> None:
        super().__init__(str(batch))
        self.batch = batch


def by_hypothesis(examples: Examples) -> str:
    """Let Hypothesis draw batches; what it found, shrunk and in words, empty when nothing.

    The seed alone decides what is drawn: `--hypothesis-seed`, profiles and the example database
    have no say.
    """
    import hypothesis

    from isomorph.parity import strategies

    smallest_first = sorted(
        examples.sizes, key=lambda s: sum(max(spec.elements(s), 0) for spec in examples.specs)
    )
    known: dict[Batch, bool] = {}
    until: list[float] = []

    def failing(batch: Batch) -> bool:
        if batch not in known:
            if examples.over() if not until else time.monotonic() > until[0]:
                return False
            known[batch] = examples.fails(batch)
            if known[batch] and not until:
                until.append(time.monotonic() + SHRINKING)
        return known[batch]

    @hypothesis.seed(examples.seed)
    @hypothesis.settings(
        max_examples=max(1, examples.left // examples.count // SHARE),
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(cast("Any", hypothesis.HealthCheck)),
    )
    @hypothesis.given(
        strategies.batches(
            examples.graph,
            sizes=smallest_first,
            profile=examples.profile,
            count=examples.count,
            specs=examples.specs,
        )
    )
    def example(batch: Batch) -> None:
        if failing(batch):
            raise _FoundError(batch)

    with strategies.no_traces():
        try:
            example()
        except _FoundError as found:
            return _words(examples.specs, found.batch)
    return ""


def _words(specs: Sequence[Spec], batch: Batch) -> str:
    sizes = dict(batch.dims)
    drawn = ", ".join(
        f"{spec.name} {'×'.join(map(str, spec.sizes(sizes))) or 'scalar'} of kind {kind}"
        for spec, kind in zip(specs, batch.kinds, strict=True)
    )
    return f"Hypothesis shrank the failing inputs to {drawn or 'none'}"
