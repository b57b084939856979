"""What the cases of one verification amount to: the status, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isomorph.parity.recorded import RecordedReference
from isomorph.parity.strategies.sizes import unfit
from isomorph.parity.traced import TracedReference
from isomorph.parity.verdict import Judged, Measured, Status, worse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.budget import BudgetError
    from isomorph.ir.dims import Constraint
    from isomorph.parity.court import Court
    from isomorph.parity.demands import Demands
    from isomorph.parity.strategies import Spec
    from isomorph.parity.strategies.tables import Tables

ENOUGH_FAILURES = 3
LOSSY = ("same", "well")
"""What is asked of outputs, and fails where a model was made coarser on purpose."""
DECISIVE = {"same", "structure", "trace", "asked"}
"""Questions whose failure is told before others'."""


class Summary:
    """The sum of a run.

    Attributes:
        court: with what was found.
        demands: what the user asks beyond the derived bounds.
        measured: what the user's metric gives.
        specs, constraints, tables: of the inputs.
        wanted: cases that were asked for.
        budget: seconds that there were, and `out_of_time` when they were spent.
        refused_to_load: why there is no session; empty when there is.
        overran: what cost too much.
    """

    court: Court
    demands: Demands
    measured: Measured | None
    specs: tuple[Spec, ...]
    constraints: list[Constraint]
    tables: Tables
    wanted: int
    budget: float
    out_of_time: bool
    refused_to_load: str
    overran: list[BudgetError]

    @property
    def weaker(self) -> str:
        """Why less was asked than could be."""
        return self.court.reference.weaker or self.court.candidate.inexact

    @property
    def lossy(self) -> bool:
        """Whether the user's metric judges what differs."""
        return self.measured is not None and self.measured.met is not None

    def status(
        self, problems: Sequence[str], outputs: Sequence[Judged], nodes: Sequence[Judged]
    ) -> tuple[Status, str]:
        """Over all, and one sentence that says why."""
        court = self.court
        if self.refused_to_load:
            return Status.FAIL, self.refused_to_load
        if self.court.unsteady:
            return Status.FAIL, self.court.unsteady
        if problems:
            return Status.FAIL, problems[0]
        if self.lossy and court.failing:
            return Status.FAIL, court.failing[0].reason
        counted = [j for j in (*outputs, *nodes) if not j.waived and not self._lost(j)]
        status = Status.PASS
        for judged in counted:
            status = worse(status, judged.status)
        if status is Status.FAIL:
            failed = [j for j in counted if j.status is Status.FAIL]
            worst = next((j for j in failed if j.question in DECISIVE or j.op), failed[0])
            kind = f"node {worst.name} ({worst.op})" if worst.op else f"output {worst.name}"
            return Status.FAIL, f"{kind}: {worst.reason}{self._only_at_zero()}"
        if not outputs:
            return Status.INSUFFICIENT, "the models have no outputs: there is nothing to compare"
        if not court.cases and self.overran:
            return Status.INSUFFICIENT, f"nothing was judged: {self.overran[0]}"
        if not court.cases:
            return Status.INSUFFICIENT, self._insufficient()
        if nothing := self._nothing_compared():
            return Status.INSUFFICIENT, nothing
        if (
            court.refusals.count > 4 * court.cases
            and court.cases < self.wanted
            and not self.out_of_time
        ):
            if court.cases < min(self.wanted, 10):
                return Status.INSUFFICIENT, self._insufficient()
            court.note(f"{court.refusals.count} generated inputs were refused by both models")
        if self.measured is not None and self.measured.met is False:
            return Status.FAIL, f"more is lost than is allowed: {self.measured}"
        if status is Status.SUSPECT:
            worst = next(j for j in counted if j.status is Status.SUSPECT)
            return Status.SUSPECT, f"{worst.name}: {worst.reason}"
        return Status.PASS, self._praise(status, outputs)

    def _nothing_compared(self) -> str:
        """Why no number of any output was compared, and what to do; empty when some was."""
        words, every = self.court.amount.nothing(self.demands.waived)
        if not every:
            return ""
        remedy = "Say what valid inputs are (--input), or give a sample"
        if isinstance(self.court.reference, RecordedReference):
            remedy = "Save arrays of a run that computes numbers"
        return f"no number was compared in {self.court.cases} cases: {'; '.join(words)}. {remedy}"

    def seen(self, outputs: Sequence[Judged]) -> list[Judged]:
        """The outputs; none of them is right where no number of any was compared."""
        words, every = self.court.amount.nothing()
        if not every:
            return list(outputs)
        pairs = zip(outputs, words, strict=True)
        return [
            replace(j, status=Status.INSUFFICIENT, reason=w) if j.status is Status.PASS else j
            for j, w in pairs
        ]

    def _unseen(self) -> tuple[str, ...]:
        """Outputs that held no number in any case, where others did."""
        words, every = self.court.amount.nothing(self.demands.waived)
        return () if every or not self.court.cases else words

    def _only_at_zero(self) -> str:
        """What to add where every failing case has a size of 0 and other sizes were compared."""
        failing = [f.case.dims for f in self.court.failing]
        for name, sizes in self.court.dims.items():
            if len(sizes) > 1 and failing and all(d.get(name) == 0 for d in failing):
                text = next(s.with_range(name, "1..") for s in self.specs if name in s.symbols())
                others = ", ".join(str(size) for size in sorted(sizes) if size)
                only = f". Only when {name} = 0 (not at {others})"
                if not text:
                    return only
                return f"{only}; if that never happens, declare it: --input '{text}'"
        return ""

    def _lost(self, judged: Judged) -> bool:
        """Whether it is another function on purpose, which the user's metric judges."""
        return self.lossy and not judged.op and judged.question in LOSSY

    def _praise(self, status: Status, outputs: Sequence[Judged]) -> str:
        """What a verdict that is no alarm says."""
        asked = "compared in its own precision" if self.weaker else "the same function in float64"
        lost = [j for j in outputs if self._lost(j) and j.status is Status.FAIL and not j.waived]
        if lost:
            names = ", ".join(j.name for j in lost)
            asked = f"another function by a deliberate loss (output {names}), judged by metric"
        waived = [f"{j.name} is {j.status} ({j.waived})" for j in outputs if j.waived]
        text = f"{asked} on {self.court.cases} cases"
        if self.court.judged:
            text += f", every node within its bound on {self.court.judged}"
        if self.lossy:
            text += f"; {self.measured}"
        if waived:
            text += f"; waived: {', '.join(waived)}"
        return text if status is Status.PASS else f"{text} ({status} findings are listed)"

    def _insufficient(self) -> str:
        if not self.court.cases and not self.court.refusals.count:
            return f"no inputs were generated: {unfit(self.specs, self.constraints)}"
        words = "; ".join(f"{who}: {what}" for who, what in self.court.refusals.words.items())
        asked = ", ".join(
            f'--input "{s.name}: {s.dtype}[{", ".join(map(str, s.shape))}] in lo..hi"'
            for s in self.specs
        )
        tried = self.court.cases + self.court.refusals.count
        return (
            f"only {self.court.cases} of {tried} generated "
            f"inputs were usable ({words or 'no sizes fit the constraints'}). "
            f"Say what valid inputs are, for example {asked}, or give a sample"
        )

    def told(self) -> tuple[str, ...]:
        """What else a reader should know."""
        court = self.court
        found = [*court.notes, *self.tables.notes()]
        source = court.reference
        if isinstance(source, RecordedReference) and source.unused:
            found.append(f"no input or output, left out: {', '.join(source.unused)}")
        if isinstance(source, TracedReference) and source.witness.rounds:
            found.append(
                f"what {source.name} computes depends on its dtypes (it rounds inside): the file "
                "was held against its trace in float64, the trace against it within their rounding"
            )
        found += [f"{words}: no number of it was compared" for words in self._unseen()]
        if self.overran and court.cases:
            count = len(self.overran)
            found.append(f"{count} generated inputs cost too much to judge: {self.overran[0]}")
        if court.cases < self.wanted:
            if len(court.failing) >= ENOUGH_FAILURES or court.died:
                found.append(f"stopped after {len(court.failing)} failing cases")
            elif self.out_of_time:
                found.append(f"stopped after {self.budget:g} seconds")
        if court.judged < court.cases and court.judged:
            found.append(f"nodes were judged on {court.judged} of the {court.cases} cases")
        return tuple(found)
