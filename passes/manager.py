"""What a pass is, and how a row of them is run, timed, verified and bisected."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from isomorph.ir.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Graph


class Pass(Protocol):
    """A named, frozen transformation that leaves the graph valid and its function the same."""

    @property
    def name(self) -> str:
        """Kebab-case name, as reports and errors show it."""
        ...

    def apply(self, graph: Graph) -> bool:
        """Transform in place, subgraphs too; whether anything changed."""
        ...


@dataclass(frozen=True, slots=True)
class Record:
    """One run of one pass."""

    name: str
    modified: bool
    seconds: float
    ops: int


@dataclass(frozen=True)
class Pipeline:
    """Passes in order, repeated until none changes anything, `rounds` times at most."""

    passes: tuple[Pass, ...]
    rounds: int = 1

    def stop_at(self, count: int) -> Pipeline:
        """The pipeline that ends after `count` passes of its first round, for bisection."""
        return Pipeline(self.passes[:count])

    def run(
        self,
        graph: Graph,
        *,
        check: bool = True,
        progress: Callable[[str], None] | None = None,
    ) -> list[Record]:
        """Run on a graph, in place.

        Args:
            graph: the graph.
            check: verify invariants after each pass that changed something.
            progress: told each pass's name before it runs.

        Raises:
            InvalidGraphError: when a pass broke the graph; names the pass.
        """
        records: list[Record] = []
        for _ in range(self.rounds):
            start = len(records)
            for step in self.passes:
                if progress is not None:
                    progress(step.name)
                begun = time.perf_counter()
                modified = step.apply(graph)
                if modified and check:
                    verify(graph, after=step.name)
                seconds = time.perf_counter() - begun
                records.append(Record(step.name, modified, seconds, len(graph)))
            if not any(r.modified for r in records[start:]):
                break
        return records
