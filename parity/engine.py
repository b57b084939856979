"""`verify`: generate cases, put each before the court, say what was found."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.ir.budget import BudgetError, Limits, bounded, weight_bytes
from isomorph.ir.dice import Dice, rolling
from isomorph.ir.errors import IsomorphError
from isomorph.parity import locate, reduce, replay, structure
from isomorph.parity.blame import blame, optimizer
from isomorph.parity.candidate import Candidate
from isomorph.parity.case import Case, smallest
from isomorph.parity.compiled import Compiled
from isomorph.parity.court import Court
from isomorph.parity.demands import Demands, refuse_looser
from isomorph.parity.driven import Examples
from isomorph.parity.explore import Explorer
from isomorph.parity.metric import Question
from isomorph.parity.recorded import RecordedReference
from isomorph.parity.resolve import reference_of
from isomorph.parity.sources import GraphReference
from isomorph.parity.strategies import PROFILES, plan, specs_of
from isomorph.parity.strategies.anchors import anchors, small_constants
from isomorph.parity.strategies.hints import hints, integers, integers_of
from isomorph.parity.strategies.scales import boundaries
from isomorph.parity.strategies.tables import Tables
from isomorph.parity.summary import ENOUGH_FAILURES, LOSSY, Summary
from isomorph.parity.together import Together
from isomorph.parity.verdict import Measured, Status, Verdict
from isomorph.parity.worker import WorkerDiedError, shared
from isomorph.runtime.device import Run
from isomorph.runtime.errors import RuntimeLoadError
from isomorph.runtime.settings import Settings, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isomorph.ir.graph import Graph
    from isomorph.parity.demands import Limit
    from isomorph.parity.sources import Reference
    from isomorph.parity.strategies import Batch, Spec
    from isomorph.parity.worker import Worker

    Progress = Callable[[str], None]
    Driver = Callable[[Examples], str]

BUDGET = 20.0
"""Seconds that the cases may take when nothing is said; the verdict states how many ran."""
EXPLORING = 0.4
"""Share of cases and time that looking for sizes may take."""
JUDGING = 0.3
"""Share of the time for judging nodes where it runs short; other cases answer question 1 alone."""
FEWEST_JUDGED = 2
BATCHES = 64
"""In so many batches every kind of values has its turn on each of three inputs."""
SLOWER, PATIENCE = 20.0, 10.0
"""Once there are cases, another may take so many times longer than they did; seconds at least."""
ALONE_EVERY = 4
"""So often one case of a batch runs alone where the others run together."""
LONGEST_RUN = 1.0
"""Seconds that a run of several cases may take, as it is foreseen."""
MOST_TRIES = 6
"""Times as many cases are tried as are wanted, where some are refused."""


def verify(
    reference: Any,
    candidate: Graph | Run | str | Path,
    *,
    inputs: Sequence[Any] = (),
    cases: int = 200,
    seed: int = 0,
    profile: str = "all",
    budget: float | None = None,
    samples: Sequence[Sequence[Any]] = (),
    names: bool = True,
    replay_folder: str | Path | None = None,
    reducing: float = reduce.SECONDS,
    progress: Progress | None = None,
    worker: Worker | None = None,
    limits: Limits | None = None,
    driver: Driver | None = None,
    waive: Mapping[str, str] | None = None,
    max_ulp: Limit = None,
    max_abs: Limit = None,
    metric: Any = None,
    data: Any = None,
    max_loss: float | None = None,
    higher_is_better: bool = True,
    session_options: Any = None,
    providers: Sequence[Any] = (),
    custom_ops: Sequence[str | Path] = (),
    **others: Any,
) -> Verdict:
    """Whether two models are the same function, and whether the run time computes it well.

    Args:
        reference: a graph, the path of an .onnx or .pt2 file, a torch module or program, a
            function on arrays, or saved arrays: see `isomorph.parity.recorded`.
        candidate: the path of an .onnx file, whoever wrote it, a graph (it is written first), or
            what `compile` gave for a device of our own kernels.
        inputs: specifications such as `x: float32[batch, 3] in 0..1`.
        cases: how many sets of inputs to compare.
        seed: of everything random; the same seed gives the same cases.
        profile: `ordinary` values, `hostile` ones among them, or `all` (both).
        budget: seconds that the cases may take; fewer then run, and the verdict says so.
        samples: sets of inputs of the user's own, tried first.
        names: whether names of inputs and outputs count.
        replay_folder: where to keep a failing case; a new temporary folder by default.
        reducing: seconds that making it small may take; it is kept whole where that is 0.
        progress: told now and then what is going on.
        worker: the process that runs onnxruntime; one is shared by default.
        limits: what evaluating the models on one set of inputs may cost, before both models'
            weights are counted in; `Limits()` by default. Inputs that cost more are no case.
        driver: draws cases before every kind of values has its turn; tells what it found.
        waive: outputs whose findings do not count, with a reason each, which the report repeats.
        max_ulp, max_abs: limits for the distance of every output, or of those named, from the
            reference in float64, on top of the derived bounds.
        metric: called with outputs and data, arrays by name, of either model; gives a number.
        data: arrays by name, or a .npz file of them, for the metric: axis 0 counts samples.
        max_loss: what the candidate may lose by that metric. If it is given, a difference of
            outputs is a deliberate loss, which it judges; else the metric is only told.
        higher_is_better: whether a larger number of the metric is a better one.
        session_options: attributes and config entries of the user's own sessions, by name, or an
            onnxruntime.SessionOptions.
        providers: names of execution providers, or (name, options); the CPU provider by default.
        custom_ops: libraries of custom operators.

    Raises:
        InvalidModelError: a file cannot be read.
        SpecError: specifications do not fit.
        RecordingError, DemandError, MetricError, SettingsError: what was asked for makes no sense.
    """
    refuse_looser(others)
    if others:
        raise TypeError(f"verify() got an unexpected keyword argument {next(iter(others))!r}")
    if cases < 1:
        raise IsomorphError(f"cases {cases}: a number of 1 or more is expected")
    if seed < 0:
        raise IsomorphError(f"seed {seed}: a number of 0 or more is expected")
    question = Question.of(metric, data, max_loss, higher=higher_is_better)
    settings = Settings.of(session_options, providers, custom_ops)
    if profile not in PROFILES:
        raise IsomorphError(f"profile {profile!r}: expected one of {', '.join(PROFILES)}")
    started = time.monotonic()
    say = progress or _silent
    with _candidate(candidate, worker, settings) as model:
        demands = Demands.of(model.outputs, waive, max_ulp, max_abs)
        source = reference_of(reference, inputs, model.graph)
        if isinstance(source, GraphReference) and not source.weaker:
            source.weaker = model.lend(source.program, source.graph)
        measured = None if question is None else question.ask(source, model)
        problems = structure.declared(
            "input", source.inputs, model.inputs, names=names and source.named
        )
        unusable = bool(problems) and len(source.inputs) != len(model.inputs)
        if source.outputs is not None:
            problems += structure.declared("output", source.outputs, model.outputs, names=names)
        if isinstance(source, GraphReference):
            problems += structure.narrowed(source.graph, model.graph)
        allowed = (limits or Limits()).of(weight_bytes(source.graph) + weight_bytes(model.graph))
        with bounded(Limits(None, allowed.memory)), rolling(Dice(source.graph, model.graph)):
            run = _Run(source, model, cases, seed, profile, budget, say, allowed, driver)
            run.ask(demands, measured)
            try:
                if isinstance(source, RecordedReference):
                    run.go(source.samples, generate=False)
                elif not unusable and model.outputs:
                    run.go(samples)
                verdict = run.verdict(problems, time.monotonic() - started)
                verdict = run.accounted(verdict, replay_folder, reducing)
            finally:
                run.court.close()
    return verdict


def _noted(verdict: Verdict, note: str) -> Verdict:
    return replace(verdict, notes=(*verdict.notes, note))


def _silent(_: str) -> None:
    """Progress that nobody asked for."""


def _candidate(
    candidate: Graph | Run | str | Path, worker: Worker | None, settings: Settings
) -> Candidate:
    if isinstance(candidate, Run):
        if settings:
            raise SettingsError(
                f"session options are for onnxruntime, the candidate runs on {candidate.device!r}"
            )
        return Compiled(candidate)
    chosen = worker or shared()
    if settings:
        chosen.check(settings)
    return Candidate(candidate, chosen, settings or None)


class _Run(Summary):
    """The cases of one verification, in their order."""

    def __init__(
        self,
        source: Reference,
        model: Candidate,
        cases: int,
        seed: int,
        profile: str,
        budget: float | None,
        say: Progress,
        limits: Limits,
        driver: Driver | None,
    ) -> None:
        self.driver = driver
        self.measured: Measured | None = None
        self.court = Court(source, model)
        self.source, self.model = source, model
        self.demands = Demands.of(model.outputs)
        self.wanted, self.seed, self.profile = cases, seed, profile
        self.budget = BUDGET if budget is None else budget
        self.say, self.limits = say, limits
        self.specs = specs_of(source.graph, model.graph)
        self.constraints = [*source.graph.constraints]
        self.tables = Tables(self.specs)
        self.started = time.monotonic()
        self.out_of_time = False
        self.refused_to_load = ""
        self.slowest = 0.0
        self.overran: list[BudgetError] = []

    def ask(self, demands: Demands, measured: Measured | None) -> None:
        """Set what the user asks beyond the derived bounds."""
        self.demands, self.measured = demands, measured
        self.court.excused = lambda index, question: (
            index in demands.waived or (self.lossy and question in LOSSY)
        )

    def go(self, samples: Sequence[Sequence[Any]], *, generate: bool = True) -> None:
        """Samples first, then a look for sizes, then batches at the sizes that were found."""
        if not generate:
            self.wanted = len(samples)
        try:
            for sample in samples:
                if generate or not self._over():
                    self._one(Case(list(sample), self._dims_of(sample), hostile=False))
            sizes = self._explore() if generate else []
            if sizes:
                self._draw(sizes)
        except RuntimeLoadError as error:
            self.refused_to_load = str(error)
        except WorkerDiedError as error:
            self.refused_to_load = f"{error} while it loaded the model"

    def verdict(self, problems: list[str], seconds: float) -> Verdict:
        """What all of it amounts to."""
        court = self.court
        outputs = self.demands.judge(self.seen([t.judged() for t in court.outputs]))
        nodes = tuple(t.judged() for t in court.nodes.values())
        status, reason = self.status(problems, outputs, nodes)
        divergence = court.divergence
        if status is Status.FAIL and divergence is None and court.failing:
            divergence = self._locate()
        return Verdict(
            status=status,
            reason=reason,
            outputs=outputs,
            nodes=nodes,
            structure=tuple(problems),
            first_divergence=divergence,
            cases=court.cases,
            wanted=self.wanted,
            refused=court.refusals.count,
            judged=court.judged,
            dims={n: sorted(s) for n, s in court.dims.items()},
            seed=self.seed,
            profile=self.profile,
            seconds=seconds,
            weaker=self.weaker,
            metric=self.measured,
            notes=self.told(),
        )

    def accounted(self, verdict: Verdict, folder: str | Path | None, reducing: float) -> Verdict:
        """The verdict with who is to blame, and a folder that fails on its own."""
        found = self.court.failing or self.court.suspect
        if not found or verdict.exit_code not in {3, 4}:
            return self.explained(verdict, reducing)
        failure, source = smallest(found), self.court.reference
        self.say("verify: making the failure small")
        with bounded(self.limits):
            small = reduce.reduced(failure, source, self.model, reducing)
        try:
            with bounded(self.limits):
                who = blame(failure, small, self.model, verdict.first_divergence)
                verdict = replace(verdict, blame=who)
        except BudgetError as error:
            verdict = _noted(verdict, f"who is at fault was not asked to the end: {error}")
        with bounded(self.limits):
            if small is None:
                path = replay.write(source, self.model, failure, verdict, folder)
            else:
                path = small.write(failure, verdict, folder)
        return replace(verdict, replay=path)

    def explained(self, verdict: Verdict, reducing: float) -> Verdict:
        """The verdict with the passes of the run time's optimizer that are known to differ."""
        if not self.court.moved or reducing <= 0:
            return verdict
        failure = smallest(self.court.moved)
        try:
            with bounded(self.limits):
                who = optimizer(failure, self.model, failure.case.inputs, None)
        except BudgetError as error:
            return _noted(verdict, f"the optimizer's pass was not found: {error}")
        return replace(verdict, blame=who)

    # -- cases ------------------------------------------------------------------------------

    def _one(self, case: Case) -> bool:
        self._throttle()
        started = time.monotonic()
        try:
            with bounded(self._limits()):
                accepted = self.court.try_case(case)
            self.slowest = max(self.slowest, time.monotonic() - started)
        except BudgetError as error:
            self.overran.append(error)
            self.court.refusals.count += 1
            return False
        if accepted:
            self.tables.add(case.inputs)
        if self.court.cases % 10 == 1 or case.count > 1:
            self.say(f"verify: {self.court.cases} of {self.wanted} cases")
        return accepted

    def _limits(self) -> Limits:
        """What one case may cost: once some were judged, not very much more than they did."""
        seconds = self.limits.seconds
        if seconds is not None and self.court.cases:
            seconds = min(seconds, max(PATIENCE, SLOWER * self.slowest))
        return Limits(seconds, self.limits.memory)

    def _throttle(self) -> None:
        """Judge nodes on every case if the time allows it, else in a fair share of the time."""
        court, elapsed = self.court, time.monotonic() - self.started
        if court.judged < FEWEST_JUDGED:
            return
        expected = elapsed / max(court.cases, 1) * self.wanted
        court.judging = expected < self.budget or court.judging_seconds < JUDGING * elapsed

    def _spent(self, share: float = 1.0) -> bool:
        return time.monotonic() - self.started > share * self.budget

    def _over(self) -> bool:
        court = self.court
        if (court.cases or self.overran) and self._spent():
            self.out_of_time = True
        if not court.cases and any(e.kind == "time" for e in self.overran):
            return True
        return (
            court.cases >= self.wanted
            or self.out_of_time
            or len(court.failing) >= ENOUGH_FAILURES
            or court.died
            or bool(court.unsteady)
        )

    def _explore(self) -> list[dict[str, int]]:
        """Bindings of the symbols that the models accept."""

        def enough() -> bool:
            share = self.court.cases > max(EXPLORING * self.wanted, 8)
            return share or self._spent(EXPLORING)

        coded = integers_of(getattr(self.source, "function", None))
        found = hints((*integers(self.source.graph), *coded), integers(self.model.graph))
        return Explorer(
            self.specs, self.constraints, self.seed, self._one, self._over, enough, found
        ).run()

    def _draw(self, sizes: list[dict[str, int]]) -> None:
        left = self.wanted - self.court.cases
        known = self.source.numbers()[0] if self.source.named is False else None
        own = small_constants(self.source.graph) if known is None else known
        steps = [*boundaries(self.source.graph), *boundaries(self.model.graph)]
        found = anchors(own, small_constants(self.model.graph), steps)
        specs = [s.anchored(found) for s in self.specs]
        count = max(1, min(64, left // BATCHES))
        if self.driver is not None and not self._over():
            self._driven(self.driver, specs, sizes, left, count)
            left = self.wanted - self.court.cases
        before, tried = self.court.cases, 0
        models = (self.court.reference.wide, self.court.candidate.wide)
        together = None if self.court.draws else Together(specs, self.constraints, models)
        batches = plan(specs, sizes, profile=self.profile, count=count, seed=self.seed)
        for turn, batch in enumerate(batches):
            drawn = [Case(i, dict(batch.dims), batch.hostile) for i in batch.cases(specs)]
            drawn = drawn[: max(self.wanted - self.court.cases, 1)]
            tried += len(drawn)
            for cases in (drawn[:1], drawn[1:]) if turn % ALONE_EVERY == 0 else (drawn,):
                if self._over():
                    return
                if not self._joined(together, cases):
                    self._each(cases)
            if tried >= left and (self.court.cases == before or tried > MOST_TRIES * left):
                return

    def _joined(self, together: Together | None, cases: list[Case]) -> bool:
        """Judge cases in one run, where that can be done; of a bad one each is judged alone."""
        court = self.court
        each = (time.monotonic() - self.started) / max(court.cases, 1)
        if together is None or each * len(cases) > LONGEST_RUN:
            return False
        whole = together.join(cases)
        if whole is None:
            return False
        refused, overran = court.refusals.count, len(self.overran)
        bad = len(court.failing) + len(court.suspect)
        if not self._one(whole):
            court.refusals.count = refused
            del self.overran[overran:]
            return False
        if len(court.failing) + len(court.suspect) > bad:
            self._each([replace(case, count=0) for case in cases])
        return True

    def _each(self, cases: list[Case]) -> None:
        for case in cases:
            if self._over():
                return
            self._one(case)

    def _driven(
        self,
        driver: Driver,
        specs: Sequence[Spec],
        sizes: list[dict[str, int]],
        left: int,
        count: int,
    ) -> None:
        """Let somebody else draw."""

        def fails(batch: Batch) -> bool:
            before = len(self.court.failing)
            for inputs in batch.cases(specs):
                self._one(Case(inputs, dict(batch.dims), batch.hostile))
                if len(self.court.failing) > before:
                    return True
            return False

        graph, profile, seed = self.source.graph, self.profile, self.seed
        found = driver(Examples(graph, specs, sizes, profile, seed, count, left, fails, self._over))
        if found:
            self.court.note(found)

    def _dims_of(self, sample: Sequence[Any]) -> dict[str, int]:
        found: dict[str, int] = {}
        for spec, value in zip(self.specs, sample, strict=True):
            found = spec.bound(value) | found
        return found

    def _locate(self) -> Any:
        source = self.court.reference
        if not isinstance(source, GraphReference) or self.model.inexact:
            return None
        case = smallest(self.court.failing).case
        with bounded(self.limits):
            return locate.first_difference(source.graph, self.model.graph, case.inputs)
