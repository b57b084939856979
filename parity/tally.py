"""Findings of many cases, gathered per output and per node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.parity.verdict import Judged, Status

if TYPE_CHECKING:
    from isomorph.parity.finding import Finding

ONLY_HOSTILE = "only under hostile values (NaN, infinities, extremes): "
DECISIVE = (Status.FAIL, Status.SUSPECT)
EXPLAINED = (Status.RUNTIME, Status.UNSPECIFIED, Status.AMBIGUOUS)
"""Of a node: what comes after it may be another thing altogether."""


class Tally:
    """The worst of one output or node; what ordinary values show comes before what hostile ones do.

    Args:
        name, op, where: as in `Judged`.
    """

    def __init__(self, name: str, op: str = "", where: str = "") -> None:
        self.name, self.op, self.where = name, op, where
        self.seen = 0
        self.nearer = "equal"
        self._figures: dict[bool, tuple[float, float]] = {}
        self._histograms: dict[bool, tuple[int, ...]] = {}
        self._worst: dict[bool, tuple[Status, str, str]] = {}

    def add(self, finding: Finding, question: str, *, hostile: bool) -> None:
        """Count one finding."""
        self.seen += 1
        if question == "well":
            ulp, size = self._figures.get(hostile, (0.0, 0.0))
            self._figures[hostile] = max(ulp, finding.max_ulp), max(size, finding.max_abs)
            if finding.histogram:
                before = self._histograms.get(hostile, (0,) * len(finding.histogram))
                pairs = zip(before, finding.histogram, strict=True)
                self._histograms[hostile] = tuple(a + b for a, b in pairs)
        if finding.nearer != "equal":
            self.nearer = finding.nearer
        known = self._worst.get(hostile)
        if known is None or finding.status.rank > known[0].rank:
            self._worst[hostile] = (finding.status, finding.reason, question)

    @property
    def status(self) -> Status:
        """The worst so far."""
        return max((w[0] for w in self._worst.values()), key=lambda s: s.rank, default=Status.PASS)

    def judged(self) -> Judged:
        """The sum of it; what no case reached is not said to be right."""
        if not self.seen:
            reason = "no case reached it"
            return Judged(self.name, Status.INSUFFICIENT, reason, op=self.op, where=self.where)
        status = self.status
        reason = question = ""
        for hostile in (True, False):
            found = self._worst.get(hostile)
            if found is not None and found[0] is status:
                reason, question = found[1], found[2]
                if hostile and status in DECISIVE:
                    reason = ONLY_HOSTILE + reason
        ulp, size = self._figures.get(False) or self._figures.get(True, (0.0, 0.0))
        return Judged(
            self.name,
            status,
            reason,
            ulp,
            size,
            self.nearer,
            self.op,
            self.where,
            question,
            histogram=self._histograms.get(False) or self._histograms.get(True, ()),
        )
