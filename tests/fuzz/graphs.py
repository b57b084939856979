"""One drawn graph through the house, and before the court: written, read, optimized, written, run.

A graph is drawn by number, written for one opset, read, upgraded, put through the passes, written
for another, and judged by parity against what was drawn: question 1 in float64, question 2 on
onnxruntime, node by node. What is wrong anywhere on the way is told as a kind.
"""

from __future__ import annotations

import re
import traceback
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.exporters.onnx.writer import ExportBlocked, to_proto
from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.exporters.runtimes.tables import load_table, rank_of, signature
from isomorph.exporters.target import Target, make_target
from isomorph.frontends.onnx.reader import read
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir import schema
from isomorph.ir.budget import BudgetError, Limits, bounded
from isomorph.ir.dice import Dice, rolling
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.types import TensorType
from isomorph.parity.arrays import is_float
from isomorph.parity.candidate import Candidate
from isomorph.parity.case import Case
from isomorph.parity.court import Court
from isomorph.parity.sources import GraphReference
from isomorph.parity.strategies.choices import Seeded, chance, one_of
from isomorph.parity.strategies.graphs import grow
from isomorph.parity.strategies.kinds import HOSTILE, ORDINARY
from isomorph.parity.strategies.sizes import symbols_of
from isomorph.parity.strategies.specs import specs_of
from isomorph.parity.strategies.uses import every_operator
from isomorph.parity.strategies.values import fill
from isomorph.parity.tally import ONLY_HOSTILE
from isomorph.parity.verdict import Status
from isomorph.parity.worker import Worker
from isomorph.passes.canonical import CANONICAL
from isomorph.runtime.errors import RuntimeLoadError
from isomorph.runtime.settings import Settings
from tests.fuzz.shrink import shrunk
from tests.fuzz.stages import Escape, TooSlowError, limited, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.parity.strategies.choices import Choices
    from isomorph.parity.strategies.graphs import Grown

    Outcome = tuple[str, Escape | None]

REFUSED, RUNTIME_REFUSED = "refused with a finding", "refused by the run time"
KNOWN_DIVERGENCE = "known divergence"
MISPLACED = "NaN or infinity of right nodes"
"""Rounding, or a range that is too small, on the way: of float16, or before a logarithm."""
SECONDS = 20.0
LIMITS = Limits(seconds=10.0, memory=256 << 20)
SIZES = (1, 2, 3, 5, 8)
MOST_OPS = 6
OPTIMIZED = 25
"""How often, in percent, the session that ships is tried too."""
UNKNOWN = 5
"""How often, in percent, an op is taken that the run time is known to refuse."""
KNOWN = (Status.RUNTIME, Status.UNSPECIFIED, Status.AMBIGUOUS)


class Sampled(Candidate):
    """A candidate whose optimized session is only asked where that is wanted."""

    optimizing = True

    def observe(self, inputs: Sequence[Any]) -> dict[Value, Any]:
        if self._instrumented is None:
            self._instrumented = self._instrument(self.graph, "main")
        self._seen = self._observe(self._instrumented, inputs)
        return self._seen

    def run(self, inputs: Sequence[Any], *, optimize: bool) -> list[Any]:
        if optimize and not self.optimizing:
            return [self._seen[v] for v in self.graph.outputs]
        return super().run(inputs, optimize=optimize)


class Graphs:
    """Graphs by number, of one seed; a job of `tests.fuzz.run`."""

    def __init__(self, seed: int, keys: Sequence[Key] = ()) -> None:
        self.seed, self.keys = seed, tuple(keys) or every_operator()

    def begin(self, folder: Path) -> Callable[[int], Outcome]:
        self.worker = worker = Worker(20.0)  # which goes with this process
        worker.check(Settings())  # what takes long is to start it
        return lambda index: Trial(self.seed, index, folder, worker, self.keys).outcome()


class Trial:
    """One graph.

    Attributes:
        choices: what decides everything about it.
        grown: the graph, once it is drawn.
        case: the inputs that were tried last.
    """

    def __init__(
        self, seed: int, index: int, folder: Path, worker: Worker, keys: Sequence[Key] = ()
    ) -> None:
        self.keys = tuple(keys) or every_operator()
        self.choices: Choices = Seeded(f"{seed}-{index}")
        self.index, self.folder, self.worker = index, folder, worker
        newest = _newest()
        self.newest = newest
        self.source = 11 + self.choices.below(schema.CANONICAL[""] - 10)
        self.target = Target(
            11 + self.choices.below(newest.opset - 10), newest.ir_version, "onnxruntime"
        )
        self.table = load_table("onnxruntime", newest.release, "cpu")
        self.optimizing = chance(self.choices, OPTIMIZED)
        self.reckless = chance(self.choices, UNKNOWN)
        self.grown: Grown | None = None
        self.case: Case | None = None

    def outcome(self) -> Outcome:
        """How far it came, and what is wrong, if anything is."""
        stage = "draw"
        try:
            with limited(SECONDS), bounded(LIMITS), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of numpy, where a session computes nothing of it
                self.grown = self.draw()
                stage = "judge"
                return self.tried(self.grown.graph, self.cases(self.grown))
        except TooSlowError:
            trace = traceback.format_exc()
            return stage, Escape(stage, f"too slow at {place_of(trace)}", trace)
        except BudgetError:
            return "costly", None
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            return stage, raised(stage, error)

    def tried(self, graph: Graph, cases: Sequence[Case]) -> Outcome:
        """What becomes of a graph on some inputs."""
        try:
            model = self.through(graph)
        except (ExportBlocked, UnsupportedError):
            return REFUSED, None
        except BudgetError:
            raise
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            return "write", raised("write", error)
        return self.judged(graph, model, cases)

    def small(self, escape: Escape, case: Case | None) -> tuple[Graph, list[Any]] | None:
        """The graph made small, and inputs at which it still fails in the same way."""
        if self.grown is None:
            return None
        feeds = self.grown.feeds if case is None else case.inputs

        def fails(graph: Graph, inputs: list[Any]) -> bool:
            try:
                with limited(SECONDS), bounded(LIMITS), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = self.tried(graph, [Case(inputs, {}, hostile=False)])[1]
            except (Exception, TooSlowError):  # noqa: BLE001 - it is another failure
                return False
            return found is not None and alike(found) == alike(escape)

        return shrunk(self.grown.graph, feeds, fails)

    def draw(self) -> Grown:
        """The graph."""
        keys = self.keys
        first = keys[self.index % len(keys)]
        allow = None if self.reckless else self.allowed
        return grow(self.choices, keys, most=MOST_OPS, first=first, allow=allow, strict=True)

    def allowed(self, op: Op) -> bool:
        """Whether the run time is not known to refuse an op."""
        if self.table is None:
            return True
        version = schema.since_version(*op.key, self.target.opset if not op.domain else op.version)
        seen = None if version is None else self.table.observed(op.key, version)
        text = signature(op)
        if seen is None or text is None:
            return True
        return seen.look_up(text, rank_of(op))[0] != "fails"

    def foretold(self, graph: Graph) -> bool:
        """Whether some op of a file is one that the run time's table says it does not take."""
        if self.table is None:
            return False
        for _, op in graph.walk():
            seen, text = self.table.observed(op.key, op.version), signature(op)
            told = None if seen is None or text is None else seen.look_up(text, rank_of(op))[0]
            if told in {"fails", "some"}:
                return True
        return False

    def through(self, graph: Graph) -> bytes:
        """The file that is written of a graph at last."""
        newest = schema.ir_version_for(schema.CANONICAL[""])
        try:
            first = to_proto(graph, Target(self.source, newest, "any run time"))
        except ExportBlocked:
            first = to_proto(graph, Target(schema.CANONICAL[""], newest, "any run time"))
        checked(first)
        ready = read(first.SerializeToString())
        upgrade(ready)
        CANONICAL.run(ready)
        try:
            model = to_proto(ready, self.target)
        except ExportBlocked:
            model = to_proto(ready, self.newest)
        checked(model)
        return model.SerializeToString()

    def judged(self, graph: Graph, model: bytes, cases: Sequence[Case]) -> Outcome:
        """What parity says."""
        path = self.folder / "graph.onnx"
        path.write_bytes(model)
        with Sampled(path, self.worker) as candidate:
            candidate.optimizing = self.optimizing
            court = Court(GraphReference(graph), candidate)
            try:
                with rolling(Dice(graph, candidate.graph)):
                    for case in cases:
                        self.case = case
                        court.try_case(case)
                        if court.died or court.failing or court.suspect:
                            break
            except RuntimeLoadError:
                return (REFUSED if self.foretold(candidate.graph) else RUNTIME_REFUSED), None
            finally:
                court.close()
            return self.sum_of(court)

    def sum_of(self, court: Court) -> Outcome:
        """Outcomes of all cases together."""
        wrong = (Status.FAIL, Status.SUSPECT)
        if court.died and any(kills(op, graph) for graph, op in court.candidate.graph.walk()):
            return KNOWN_DIVERGENCE, None
        judged = [t.judged() for t in (*court.nodes.values(), *court.outputs)]
        for found in judged:
            if found.status in wrong:
                kind = shortened(found.reason)
                if "onnxruntime fails" in found.reason:
                    return RUNTIME_REFUSED, None
                if "reads beyond what it is given" in found.reason:  # a fault that parity knows
                    return KNOWN_DIVERGENCE, None
                if "in other places" in found.reason and not found.op:
                    return MISPLACED, None  # every node is right on what it was given
                where = found.op or "output"
                kind = f"{found.status} {found.question} {where}: {kind}"
                return "judged", Escape("parity", kind, str(found))
        if not court.cases:
            return "no case", None
        known = any(f.status in KNOWN for f in judged)
        return (KNOWN_DIVERGENCE if known else "ok"), None

    def cases(self, grown: Grown) -> list[Case]:
        """The inputs that it is known to take, others of their sizes, and other sizes."""
        specs = specs_of(grown.graph)
        known = dict.fromkeys(symbols_of(specs), 2) | grown.sizes
        for spec, value in zip(specs, grown.feeds, strict=True):
            known = spec.bound(value) | known
        weights = [v.weight for g in grown.graph.graphs() for v in g.weights()]
        extreme = any(w is not None and is_extreme(w.numpy()) for w in weights)
        made = [Case(grown.feeds, dict(grown.sizes), hostile=extreme)]
        rng = np.random.default_rng(self.choices.below(1 << 32))
        for kinds, moved in ((ORDINARY, False), (ORDINARY + HOSTILE, False), (ORDINARY, True)):
            sizes = dict(known)
            if moved:
                if not grown.sizes:
                    continue
                sizes |= {n: one_of(self.choices, SIZES) for n in grown.sizes}
            chosen = [one_of(self.choices, s.kinds(kinds)) for s in specs]
            inputs = [fill(s, k, sizes, rng) for s, k in zip(specs, chosen, strict=True)]
            hostile = extreme or any(k in HOSTILE for k in chosen)
            made.append(Case(inputs, {n: sizes[n] for n in grown.sizes}, hostile=hostile))
        return made


def checked(model: onnx.ModelProto) -> None:
    """Raise ValidationError unless onnx takes the file.

    It refuses operators that were deprecated, which ai.onnx.ml keeps beside their successors, and
    those that onnxruntime adds to the default domain.
    """
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        if not any(words in str(error) for words in ("is deprecated in", "No Op registered")):
            raise


def kills(op: Op, graph: Graph) -> bool:
    """Whether an op of a graph is known to kill onnxruntime 1.31.1, on some operands."""
    crashes = [e for e in DIVERGENCES.values() if e.kind == "crash" and op.key in e.ops]
    if any(e.when is None or e.when(op, graph) for e in crashes):
        return True
    kinds = [v.type for v in op.operands if isinstance(v.type, TensorType)]
    if op.key in {("", "Div"), ("", "Mod")}:  # the least integer by -1
        return any(k.dtype.is_integer for k in kinds)
    if op.type in {"GroupNormalization", "InstanceNormalization"}:  # of no elements; its body
        return not op.domain
    if op.type == "QLinearWhere":  # by scales or zero points that are no constants
        return any(v is not None and v.weight is None for v in op.inputs[2:])
    return False


def is_extreme(array: np.ndarray) -> bool:
    """Whether a weight holds what no ordinary one has."""
    if not is_float(array):
        return False
    size = np.abs(array.astype(np.float64))
    return bool((~((size < 1e30) & ((size == 0) | (size > 1e-30)))).any())


def raised(stage: str, error: Exception) -> Escape:
    """An error that nobody should see."""
    trace = traceback.format_exc()
    said = re.sub(r"'[^']*'|\d+|%\S+", "_", str(error))[:100]
    return Escape(stage, f"{type(error).__name__} at {place_of(trace)}: {said}", trace)


def alike(escape: Escape) -> str:
    """What two failures have in common that are the same."""
    return escape.key.replace(ONLY_HOSTILE, "").partition("#")[0]


@cache
def _newest() -> Target:
    return make_target()


def shortened(reason: str) -> str:
    """A reason without the numbers and names that differ from graph to graph."""
    reason = reason.replace(ONLY_HOSTILE, "")
    plain = re.sub(r"'[^']*'|%\S+", "_", reason.partition("; at")[0])
    return re.sub(r"-?\d[\d.e+-]*|nan|inf", "#", plain)[:120]
