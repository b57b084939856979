"""Ops against a run time: its table first, the installed release where the table is silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.coverage.typed import fill_types
from isomorph.exporters.runtimes.tables import NO_VARIABLES, load_table, rank_of, signature
from isomorph.exporters.target import installed
from isomorph.ir import schema

if TYPE_CHECKING:
    from collections.abc import Collection

    from isomorph.exporters.coverage.collect import Collector
    from isomorph.exporters.runtimes.tables import Failure, Verdict
    from isomorph.exporters.target import Target
    from isomorph.ir.graph import Graph, Op

UNREGISTERED = ("is not a registered function/op", "No opset import for domain", "No Op registered")

CONTROL = frozenset({"If", "Loop", "Scan"})


class Runnable:
    """Collects what a target's run time refuses among the ops of one graph.

    Attributes:
        notes: how the answers were come by, where it was not the table alone.
    """

    def __init__(self, target: Target, found: Collector) -> None:
        self.target = target
        self.found = found
        self.notes: list[str] = []
        self.table = load_table(target.runtime, target.release, target.provider)
        self.here = target.provider == "cpu" and installed(target.runtime) == target.release
        self._open: list[tuple[Op, Failure | None]] = []
        self._known: dict[tuple[object, ...], tuple[Verdict, Failure | None]] = {}

    def look_at(self, graph: Graph, passed_over: Collection[Op] = ()) -> None:
        """Judge every op of a graph that was rewritten for the target, subgraphs included.

        Args:
            graph: its untyped results get element types where definitions imply them.
            passed_over: ops of it that are not as the target wants them, for other reasons.
        """
        fill_types(graph)
        for _, op in graph.walk():
            if op in passed_over:
                continue
            verdict, failure = self._look_up(op)
            if verdict == "fails" and failure is not None and failure.outcome != "load-error":
                self._refuse(op, failure.outcome, failure.why)
            elif verdict == "unknown" and op.domain == "" and op.type in CONTROL:
                continue  # what is inside is looked at
            elif verdict != "runs":  # what does not load may have been refused for its attributes
                self._open.append((op, failure))
        if self._open:
            self._settle(graph)

    def _look_up(self, op: Op) -> tuple[Verdict, Failure | None]:
        text, rank = signature(op), rank_of(op)
        key = (op.key, op.version, text, rank)
        if key not in self._known:
            self._known[key] = self._judge(op, text, rank)
        return self._known[key]

    def _judge(self, op: Op, text: str | None, rank: int | None) -> tuple[Verdict, Failure | None]:
        seen = self.table.observed(op.key, op.version) if self.table is not None else None
        if seen is None:
            return "unknown", None
        if text is not None:
            return seen.look_up(text, rank)
        if not seen.fails:
            return "runs", None
        if not seen.runs and not seen.some:
            return "fails", seen.fails[0]
        return "unknown", None

    def _settle(self, graph: Graph) -> None:
        """Ask the installed release about every op that is still open."""
        if not self.here:
            for op, failure in self._open:
                self._unobserved(op, failure)
            return
        from isomorph.exporters.runtimes.live import alone, ask

        opsets = {**graph.opsets, "": self.target.opset}
        models = [alone(op, opsets, self.target.ir_version) for op, _ in self._open]
        answers = ask(m for m in models if m is not None)
        asked = set(models) - {None}
        if asked:
            silent = "its table does not settle" if self.table else "no table ships for"
            self.notes.append(
                f"{self.target.runtime} {self.target.release} was asked directly about "
                f"{len(asked)} use{'s' * (len(asked) != 1)} of operators that {silent}"
                + ("" if self.table else " this release")
            )
        for (op, failure), model in zip(self._open, models, strict=True):
            if model is None:
                if not schema.versions(*op.key):
                    self._unheard(op)
                continue
            outcome, why = answers[model]
            if outcome != "runs":
                self._refuse(op, outcome, why)
            elif failure is not None and failure.outcome in ("run-error", "crash"):
                self._unobserved(op, failure)

    def _unobserved(self, op: Op, failure: Failure | None) -> None:
        """Nothing certain is known; say so without standing in the way."""
        if not schema.versions(*op.key):
            self._unheard(op)
        elif failure is not None:
            self.found.add(
                op,
                "risk",
                f"some uses of {op.type}-{op.version} at these types were refused by "
                f"{self._who()}: {failure.why or failure.outcome}",
                "export loads and runs the file before it puts it in place",
                severity="risk",
            )
        elif self.table is None or signature(op) is not None:
            self.found.add(
                op,
                "risk",
                f"{op.type}-{op.version} at these types was not observed in {self._who()}",
                "try the file there before you rely on it",
                severity="risk",
            )

    def _unheard(self, op: Op) -> None:
        self.found.add(
            op,
            "unsupported-op",
            f"nobody here knows the operator {op.type} of domain {op.domain or 'ai.onnx'!r}",
            "write it with operators that ONNX defines",
        )

    def _refuse(self, op: Op, outcome: str, why: str) -> None:
        if not schema.versions(*op.key) and any(u in why for u in UNREGISTERED):
            self._unheard(op)
            return
        text = signature(op) or ""
        name = f"{op.type}-{op.version}{_at(op, text)}"
        origin = getattr(op.metadata, "op", op.type)
        made = f" ({origin} is written with it)" if origin != op.type else ""
        if outcome == "no-kernel":
            reason = f"{self._who()} has no kernel for {name}{made}"
        elif outcome == "crash":
            reason = f"{self._who()} crashes on {name}{made}: {why}"
        else:
            verb = "does not load" if outcome == "load-error" else "fails to run"
            reason = f"{self._who()} {verb} {name}{made}: {why}"
        seen = self.table.observed(op.key, op.version) if self.table is not None else None
        others = seen is not None and bool(seen.runs or seen.some)
        self.found.add(op, "dtype" if others else "no-kernel", reason, self._remedy(op, text))

    def _remedy(self, op: Op, text: str) -> str:
        """What is known to work instead: other types at this version, this type at others."""
        if self.table is None:
            return "use another operator or element type there"
        options: list[str] = []
        seen = self.table.observed(op.key, op.version)
        if seen is not None:
            working = alternatives(seen.runs, text)
            if working:
                options.append(f"cast its operands: {', '.join(working)} work")
        opsets = self._opsets(op, text)
        if opsets:
            options.append(f"export at opset {opsets}, where it has one")
        return " or ".join(options) or f"replace {op.type}: no use of it was seen to run"

    def _opsets(self, op: Op, text: str) -> str:
        """The opsets whose version of the op runs at these types."""
        if self.table is None or op.domain:
            return ""
        good = [
            opset
            for opset in range(11, self.table.newest_opset + 1)
            if (since := schema.since_version(*op.key, opset)) is not None
            and (seen := self.table.observed(op.key, since)) is not None
            and seen.look_up(text, rank_of(op))[0] == "runs"
        ]
        return ranges(good)

    def _who(self) -> str:
        return f"{self.target.runtime} {self.target.release} ({self.target.provider})"


def _at(op: Op, text: str) -> str:
    """` at float32`, or ` at T1=float32, T2=int64` where there are several type variables."""
    known = op.schema
    if text in ("", NO_VARIABLES) or known is None:
        return ""
    bound = [(v, d) for v, d in zip(known.type_vars, text.split(","), strict=False) if d != "-"]
    if len(bound) == 1:
        return f" at {bound[0][1]}"
    return " at " + ", ".join(f"{v}={d}" for v, d in bound) if bound else ""


def alternatives(runs: tuple[str, ...], text: str) -> list[str]:
    """The element types that work in place of the first variable's, the others being equal."""
    rest = text.partition(",")[2]
    found = [r.partition("@")[0] for r in runs]
    same = {r.partition(",")[0] for r in found if r.partition(",")[2] == rest}
    order = ("float32", "float64", "float16", "int64", "int32")
    return sorted(
        same - {"", NO_VARIABLES}, key=lambda d: (order.index(d) if d in order else len(order), d)
    )


def ranges(numbers: list[int]) -> str:
    """`11 to 16, 20` for those numbers, ascending."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and runs[-1][-1] == n - 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(str(r[0]) if len(r) == 1 else f"{r[0]} to {r[-1]}" for r in runs)
