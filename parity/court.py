"""One case: reference and candidate in float64, the run time plain and optimized."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.budget import BudgetError, Limits, bounded, current
from isomorph.ir.interpret import widen
from isomorph.ir.types import DType
from isomorph.parity import locate, weak
from isomorph.parity.amount import Amount
from isomorph.parity.arrays import is_float
from isomorph.parity.case import Failure
from isomorph.parity.compiled import Compiled
from isomorph.parity.drawn import Drawn
from isomorph.parity.endtoend import compare_optimized, finite_where_expected, rounded_away
from isomorph.parity.finding import Finding
from isomorph.parity.leaves import Leaves, formed_otherwise, type_of
from isomorph.parity.nearness import distance, misplaced
from isomorph.parity.nodes import judge_nodes
from isomorph.parity.refusal import Refusals, deadly
from isomorph.parity.same import Same
from isomorph.parity.sources import FunctionReference, RefusedError
from isomorph.parity.steady import wavers
from isomorph.parity.structure import is_fixed, observed
from isomorph.parity.tally import EXPLAINED, Tally
from isomorph.parity.tolerance.units import Unit
from isomorph.parity.traced import TracedReference, through_trace
from isomorph.parity.verdict import Divergence, Status
from isomorph.parity.worker import WorkerDiedError
from isomorph.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.errors import IsomorphError
    from isomorph.ir.graph import Op
    from isomorph.ir.types import Type
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.case import Case
    from isomorph.parity.sources import Reference

NEARER_CASES = 4
"""On so many cases the reference runs in its own precision too, to say who is nearer."""

NODES = 0.5
"""Share of what is left of a case's time that judging its nodes may take."""

NOISE_CASES = 2
NOISE_SECONDS = 0.1
"""The first cases hold the optimized session against the noise of its precision in any event, if
one float64 evaluation takes no longer than this."""


class Court:
    """Judges cases and keeps what was found.

    Attributes:
        outputs, nodes: tallies.
        excused: whether a finding of an output is told, but counts as no failure.
        cases, judged: counts.
        failing, suspect: cases with a FAIL or a SUSPECT, each with the reason.
        moved: cases where the run time's optimizer makes a difference that is known.
        unsteady: why the reference is no function of its inputs; empty when it is.
        died: whether some case killed the run time's process.
        dims: sizes that were compared, by symbol, and how often.
        notes: what else a reader should know, each once.
        refusals: of inputs that are no case.
    """

    def __init__(self, reference: Reference, candidate: Candidate) -> None:
        self.reference, self.candidate = reference, candidate
        self.outputs = [Tally(str(p.name)) for p in candidate.outputs]
        self.amount = Amount(candidate.outputs)
        self.excused: Callable[[int, str], bool] | None = None
        self.nodes: dict[Op, Tally] = {}
        self.cases = self.judged = 0
        self.failing, self.suspect, self.moved = (list[Failure]() for _ in range(3))
        self.dims: dict[str, Counter[int]] = {}
        self.notes: dict[str, None] = {}
        self.refusals = Refusals(candidate)
        self.divergence: Divergence | None = None
        self.judging = True
        self.judging_seconds = 0.0
        self._same = Same(reference, candidate)
        self._trace: TracedReference | None = None
        self._traced = False
        self._types: list[Type | None] | None = None
        self.died, self.unsteady = False, ""
        self._judged_case: Case | None = None
        self._explained = self._overflowed = False
        self._seconds = 0.0
        self._drawn = Drawn(candidate)
        if self._drawn.outputs:
            self.note(self._drawn.words)

    def try_case(self, case: Case) -> bool:
        """Judge one case; false when it is none, because both models refuse it.

        Raises:
            BudgetError: when it costs more than it may; it was not judged then, and is no case.
        """
        wanted, got, no_reference, no_candidate = None, None, "", ""
        disputes: list[Finding] = []
        try:
            found = self.reference.wide(case.inputs)
            if not self.cases and self._changes(case, found):
                return True
            disputes = self.reference.disputes(case.inputs, found)
            wanted = found
        except RefusedError as error:
            if error.by_trace:
                self._fail(case, str(error), "trace")
                return True
            no_reference = str(error)
        started = time.monotonic()
        try:
            got = self.candidate.wide(case.inputs)
            self._seconds = time.monotonic() - started
        except RefusedError as error:
            no_candidate = str(error)
        try:
            values = self._observed(case) if self.judging else None
            plain = (
                self.candidate.run(case.inputs, optimize=False)
                if values is None
                else [values[v] for v in self.candidate.graph.outputs]
            )
        except (RunError, WorkerDiedError) as error:
            return self._unrun(case, error, no_reference, no_candidate)
        if wanted is None:
            self.refusals.add("reference", no_reference)
            if not no_candidate:
                words = no_reference if isinstance(self.reference, TracedReference) else ""
                self.note(
                    "the candidate accepts inputs that the reference refuses"
                    + (f" ({words}): state a constraint" if words else "")
                )
            return False
        if got is None:
            self.refusals.add("evaluation of the candidate", no_candidate)
            return False
        self._accept(case)
        for index, finding in enumerate(disputes):
            if finding.status is not Status.PASS:
                self._output(case, index, finding, "trace")
        try:
            self._judge(case, wanted, got, plain, values)
        except BudgetError:
            if not self.failing or self.failing[-1].case is not case:
                self._withdraw(case)
                raise
        return True

    def _observed(self, case: Case) -> dict[Any, Any] | None:
        """Every value of the run time, unless all of them together take too much memory."""
        try:
            return self.candidate.observe(case.inputs)
        except BudgetError as error:
            if error.kind != "memory":
                raise
            self.note(f"nodes were not judged on every case: {error}")
            return None

    def note(self, text: str) -> None:
        """Remember something, once."""
        self.notes.setdefault(text)

    @property
    def draws(self) -> bool:
        """Whether outputs depend on random numbers."""
        return bool(self._drawn.outputs)

    def _judge(
        self,
        case: Case,
        wanted: Sequence[Any],
        got: Sequence[Any],
        plain: list[Any],
        values: dict[Any, Any] | None,
    ) -> None:
        if len(wanted) != len(plain):
            words = f"the reference returns {len(wanted)} outputs, the candidate {len(plain)}"
            self._fail(case, words, "structure")
            return
        self.amount.add(wanted, plain)
        broken, odd = self._structure(case, wanted, got, plain)
        if len(broken) < len(plain):
            for index, finding in enumerate(self._compared(case, wanted, got, plain)):
                if index not in broken:
                    self._output(case, index, finding, "weak" if self.reference.weaker else "same")
        if values is not None and self._judged_case is not case:
            self._judge_nodes(case, values)
        self._measure(case, wanted, plain, broken | odd | self._drawn.outputs)
        try:
            optimized = self.candidate.run(case.inputs, optimize=True)
            optimized = self._drawn.set_aside(plain, optimized)
        except (RunError, WorkerDiedError) as error:
            if 0 in case.dims.values():
                self.note(f"RUNTIME: optimized, at a size of 0, {error}")
            elif isinstance(error, WorkerDiedError):
                self._died(case, error, optimize=True)
            else:
                words = f"optimized, onnxruntime refuses what it otherwise takes: {error}"
                self._fail(case, words, "refused", optimize=True)
            return
        for index, finding in enumerate(
            compare_optimized(
                self.candidate,
                case.inputs,
                got,
                plain,
                optimized,
                thorough=self.cases <= NOISE_CASES and self._seconds < NOISE_SECONDS,
            )
        ):
            if index not in broken:
                self._output(case, index, finding, "optimized")

    def _compared(
        self, case: Case, wanted: Sequence[Any], got: Sequence[Any], plain: list[Any]
    ) -> list[Finding]:
        """Question 1: one finding per output."""
        if self.candidate.inexact:
            return weak.compare(self.candidate, case.inputs, wanted, plain)
        found: list[Finding] = []
        if not self.reference.weaker:
            found = self._same.compare(case.inputs, wanted, got)
            if not any(f.status is Status.FAIL for f in found):
                return found
        traced = self._through_trace(case)
        if traced is not None:
            self.reference, self._same = traced, Same(traced, self.candidate)
            return self._same.compare(case.inputs, traced.wide(case.inputs), got)
        return found or weak.compare(self.candidate, case.inputs, wanted, plain)

    def _changes(self, case: Case, found: Sequence[Any]) -> bool:
        """Whether a function gives something else when it is asked again."""
        if self.draws or not wavers(self.reference, case.inputs, found):
            return False
        self.unsteady = (
            f"the reference {self.reference.name} gives different results on the same input "
            "(it has state, or is random): make it a function of its inputs alone"
        )
        self._accept(case)
        for tally in self.outputs:
            tally.add(Finding(Status.FAIL, self.unsteady), "same", hostile=case.hostile)
        return True

    def _through_trace(self, case: Case) -> TracedReference | None:
        """The trace of a function that rounds by itself, where both agree on this case."""
        if not isinstance(self.reference, FunctionReference):
            return None
        if self._trace is None and not self._traced:
            self._traced, self._trace = True, through_trace(self.reference)
        if self._trace is None:
            return None
        try:
            found = self._trace.disputes(case.inputs, self._trace.wide(case.inputs))
        except RefusedError:
            return None
        if any(f.status is Status.FAIL for f in found):
            return None
        return self._trace if self.reference.weaker or self._trace.witness.rounds else None

    def _structure(
        self, case: Case, wanted: Sequence[Any], got: Sequence[Any], plain: list[Any]
    ) -> tuple[set[int], set[int]]:
        """Outputs whose kind, dtype or shape is not the reference's; and those known to be so.

        Known are those that the run time alone gives another form, by a node that is explained.
        """
        kinds = self._output_types(case)
        broken: set[int] = set()
        odd: set[int] = set()
        for index, (value, result) in enumerate(zip(wanted, plain, strict=True)):
            stated = self.candidate.outputs[index].type
            problem = observed(stated, kinds[index], value, result)
            if not problem or self._drawn.decide(index, value, result):
                continue
            own = formed_otherwise(got[index], result)
            right = own and self._nodes_are_right(case)
            if right and (self._explained or not is_fixed(stated)):
                odd.add(index)
                status = Status.RUNTIME if self._explained else Status.AMBIGUOUS
                words = problem if self._explained else f"rounding decides its size: {problem}"
                self._output(case, index, Finding(status, words), "structure")
                continue
            broken.add(index)
            self._output(case, index, Finding(Status.FAIL, problem), "structure")
        return broken, odd

    def _output_types(self, case: Case) -> list[Type | None]:
        """Types of the reference's outputs: declared, else as its own precision gives."""
        if self._types is None:
            declared = self.reference.outputs
            found: list[Type | None] = [None] * len(self.candidate.outputs)
            if declared is not None:
                found = [p.type for p in declared]
            if None in found:
                try:
                    narrow = self.reference.narrow(case.inputs)
                    found = [f or type_of(n) for f, n in zip(found, narrow, strict=True)]
                except (RefusedError, TypeError, ValueError) as error:
                    self.note(f"the reference does not run in its own precision: {error}")
            self._types = found
        return self._types

    def _measure(
        self, case: Case, wanted: Sequence[Any], plain: list[Any], broken: set[int]
    ) -> None:
        """How far the run time's outputs are from the truth; whether NaN is where it should be."""
        narrow: list[Any] | None = None
        truths, results = Leaves(wanted, frozenset(broken)), Leaves(plain, frozenset(broken))
        for at, (truth, result) in enumerate(zip(truths.tensors, results.tensors, strict=True)):
            index = truths.places[at][0]
            if not is_float(result):
                continue
            unit = Unit.of(DType.of(result.dtype))
            given = np.asarray(widen(result))
            truth = np.asarray(truth, np.float64)  # noqa: PLW2901 - the same as an array
            mismatch = ~finite_where_expected(given, truth, unit)
            if narrow is None and (mismatch.any() or self.cases <= NEARER_CASES):
                try:
                    narrow = truths.like(self.reference.narrow(case.inputs))
                except (BudgetError, RefusedError, ValueError):
                    narrow = []
            own = np.asarray(widen(narrow[at])) if narrow else None
            if mismatch.any() and self._nodes_are_right(case):
                mismatch &= ~rounded_away(self.candidate, case.inputs, truths, results, at)
            self._nonfinite(case, index, given, truth, own, mismatch)
            finding = distance(given, truth, own, unit)
            if finding is not None:
                self._output(case, index, finding, "well")

    def _nonfinite(
        self,
        case: Case,
        index: int,
        given: np.ndarray,
        truth: np.ndarray,
        own: np.ndarray | None,
        mismatch: np.ndarray,
    ) -> None:
        text = misplaced(given, truth, own, mismatch)
        if not text:
            return
        if self._nodes_are_right(case) and (case.hostile or self._explained or self._overflowed):
            self.note(
                f"output {self.outputs[index].name}: NaN or infinity stand in other places than in "
                "float64, though every node is right, or known, on what it was given"
            )
            return
        self._output(
            case, index, Finding(Status.FAIL, f"NaN or infinity in other places: {text}"), "well"
        )

    def _nodes_are_right(self, case: Case) -> bool:
        """Whether every node was right on this very case."""
        if self._judged_case is not case:
            try:
                self._judge_nodes(case, self.candidate.observe(case.inputs))
            except (BudgetError, RunError, WorkerDiedError):
                return False
            if self._judged_case is not case:
                return False
        return not self.failing or self.failing[-1].case is not case

    def _judge_nodes(self, case: Case, values: dict[Any, Any]) -> None:
        started, budget = time.monotonic(), current()
        self._judged_case = case
        self._explained = self._overflowed = False
        first: list[tuple[Op, Divergence]] = []

        def sink(op: Op, finding: Finding) -> None:
            tally = self.nodes.get(op)
            if tally is None:
                tally = Tally(locate.node_name(op), op.type, op.where)
                self.nodes[op] = tally
            tally.add(finding, "well", hostile=case.hostile)
            self._explained |= finding.status in EXPLAINED
            self._overflowed |= finding.overflows
            if finding.status is Status.FAIL:
                if not first:
                    first.append((op, locate.divergence(op, finding.reason)))
            elif finding.status is Status.SUSPECT:
                words = f"{locate.node_name(op)}: {finding.reason}"
                self.suspect.append(Failure(case, words, "well", op=op))
            elif finding.reason.startswith("not judged"):
                self.note(f"{op.type} {locate.node_name(op)!r} was {finding.reason}")

        try:
            with bounded(Limits(None, None) if budget is None else budget.part(NODES)):
                if isinstance(self.candidate, Compiled):
                    self.candidate.judge(values, sink)
                else:
                    judge_nodes(self.candidate, values, sink)
        except (RunError, WorkerDiedError) as error:
            self.note(f"nodes inside a branch were not judged: {error}")
        except BudgetError as error:
            self._judged_case = None
            self.note(f"not every node was judged on every case: {error}")
        self.judged += case.count if self._judged_case is case else 0
        self.judging_seconds += time.monotonic() - started
        if first:
            op, place = first[0]
            self.divergence = self.divergence or place
            self.failing.append(Failure(case, f"{place}: {place.reason}", "well", op=op))

    def _output(self, case: Case, index: int, finding: Finding, kind: str) -> None:
        tally = self.outputs[index]
        question = "same" if kind in {"weak", "trace"} else kind
        tally.add(finding, question, hostile=case.hostile)
        if self.excused is not None and self.excused(index, question):
            return
        words = f"output {tally.name}: {finding.reason}"
        made = Failure(case, words, kind, index, optimize=kind == "optimized")
        if finding.status is Status.FAIL:
            self._remember(made)
        elif finding.status is Status.SUSPECT:
            self.suspect.append(made)
        elif finding.status is Status.RUNTIME and made.optimize:
            self.moved.append(made)

    def _fail(self, case: Case, reason: str, kind: str, *, optimize: bool = False) -> None:
        self._accept(case)
        for tally in self.outputs:
            tally.add(Finding(Status.FAIL, reason), "same", hostile=case.hostile)
        self._remember(Failure(case, reason, kind, optimize=optimize))

    def _remember(self, failure: Failure) -> None:
        if not self.failing or self.failing[-1].case is not failure.case:
            self.failing.append(failure)

    def _accept(self, case: Case) -> None:
        self.cases += case.count
        for name, size in case.dims.items():
            self.dims.setdefault(name, Counter())[size] += 1

    def _withdraw(self, case: Case) -> None:
        """Take back a case that turned out to cost too much."""
        self.cases -= case.count
        for name, size in case.dims.items():
            self.dims[name][size] -= 1
            self.dims[name] += Counter()  # which drops what is counted no more

    def _unrun(
        self, case: Case, error: IsomorphError, no_reference: str, no_candidate: str
    ) -> bool:
        """The run time refuses a case, or dies of it: whether it is one, which fails then."""
        died = isinstance(error, WorkerDiedError)
        if not died:
            no_reference = no_reference or self.refusals.of_reference(self.reference, case)
        elif no_reference and no_candidate:
            self.note(f"RUNTIME: on inputs that both models refuse, {error}")
        if no_reference and (no_candidate or not died):
            self.refusals.add("reference", no_reference)
            self.refusals.add("run time", str(error))
            return False
        if not no_reference and not no_candidate and 0 in case.dims.values():
            self.note(f"RUNTIME: at a size of 0, {error}")
            self.refusals.add("run time", str(error))
            return False
        if died:
            return self._died(case, error)
        shown = ", ".join(f"{n} = {s}" for n, s in case.dims.items()) or "these inputs"
        words = f"the reference accepts {shown}, the candidate does not: {error}"
        self._fail(case, words, "same" if no_candidate else "refused")
        return True

    def _died(self, case: Case, error: IsomorphError, *, optimize: bool = False) -> bool:
        """Fail a case of which the run time dies; hostile ones that are known to do it are none."""
        known = deadly(self.candidate.graph)
        if known and case.hostile and not optimize:
            self.note(f"RUNTIME: on hostile values, {error}: {known}")
            self.refusals.add("run time", str(error))
            return False
        self.died = True
        words = f"{error} on these inputs" + (f"; known: {known}" if known else "")
        self._fail(case, f"optimized: {words}" if optimize else words, "died", optimize=optimize)
        return True

    def close(self) -> None:
        """Let go of the reference's sessions."""
        self.refusals.close()
