"""Every use of one operator, tallied into its ledger entry."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.exporters.coverage.entries import Entry, Tally
from isomorph.exporters.coverage.measure import cell
from isomorph.exporters.coverage.measure.digests import digest, family_of, spelled
from isomorph.exporters.coverage.measure.old_forms import old_form
from isomorph.exporters.onnx.downgrade import LOWEST_WRITTEN
from isomorph.ir import schema
from isomorph.ir.errors import IsomorphError
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, build, dtypes_of
from isomorph.ir.interpret import interpret
from isomorph.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from isomorph.exporters.coverage.measure.cell import Feeds, Written
    from isomorph.ir.graph import Graph
    from isomorph.ir.instances import Instance
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import DType

    Say = Callable[[str], None]

OPSETS = range(LOWEST_WRITTEN, schema.CANONICAL[""] + 1)
MOST_FAILURES = 8
"""How many failures an entry tells of in words; all are counted."""


@dataclass(frozen=True)
class Limits:
    """The newest opset and IR version of the run time that is measured with."""

    opset: int
    ir_version: int


@dataclass
class Notebook:
    """Tallies of one operator as they grow."""

    imports: dict[int, Tally] = field(default_factory=lambda: defaultdict(Tally))
    exports: dict[int, Tally] = field(default_factory=lambda: defaultdict(Tally))
    dtypes: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    refused: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    stuck: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    failures: list[str] = field(default_factory=list[str])

    def fail(self, name: str, problems: list[str]) -> None:
        """Remember in words what went wrong with a case."""
        self.failures += [f"{name}: {p}" for p in problems[:2]]


def measure_operator(
    key: Key, limits: Limits, releases: dict[str, str], say: Say, skip: Collection[str] = ()
) -> Entry:
    """The entry of one operator.

    Args:
        key: which.
        limits: what the run time loads.
        releases: of the packages that are measured with.
        say: told the name of each case before onnxruntime runs it: it may kill the process.
        skip: cases that did; they count as failed.
    """
    book = Notebook()
    for number, instance in enumerate(INSTANCES.get(key) or ()):
        for main in dtypes_of(key, instance):
            _Use(key, number, instance, main, limits, book, say, skip).measure()
    _old_forms(key, book)
    return Entry(
        digest(key, releases),
        family_of(key),
        dict(book.imports),
        dict(book.exports),
        dict(book.dtypes),
        {k: tuple(sorted(v)) for k, v in book.refused.items()},
        {k: tuple(sorted(v)) for k, v in book.stuck.items()},
        tuple(sorted(book.failures)[:MOST_FAILURES]),
        spelled(key),
    )


def _old_forms(key: Key, book: Notebook) -> None:
    """Versions that only hand-made models have."""
    for version in schema.versions(*key):
        made = old_form(key, version)
        if made is None:
            continue
        problems = cell.upgrades(*made)
        book.imports[version] += Tally(int(not problems), 1)
        if problems:
            book.fail(f"{key[1]}-{version}", problems)


class _Use:
    """One instance at one element type."""

    def __init__(
        self,
        key: Key,
        number: int,
        instance: Instance,
        main: DType,
        limits: Limits,
        book: Notebook,
        say: Say,
        skip: Collection[str],
    ) -> None:
        self.key = key
        self.instance = instance
        self.main = main
        self.limits = limits
        self.book = book
        self.say = say
        self.skip = skip
        self.name = f"{key[1]} #{number} {instance.note}".strip() + f" {main}"

    def measure(self) -> None:
        """Tally it at every opset; one run for all opsets that write it alike."""
        try:
            graph, feeds = build(self.key, self.instance, self.main)
            infer(graph)
            wide = interpret(graph, feeds, wide=True)
        except (IsomorphError, TypeError, ValueError, OverflowError) as error:
            self.book.fail(self.name, [f"cannot be built: {error}"])
            return
        groups: dict[str, list[Written]] = defaultdict(list)
        for opset in OPSETS:
            written = cell.write(graph, opset)
            if written.graph is None:
                self.book.stuck[written.reason].add(opset)
            else:
                groups[written.shape].append(written)
        for group in groups.values():
            self._group(group, feeds, wide)

    def _group(self, group: list[Written], feeds: Feeds, wide: list[object]) -> None:
        first = group[0]
        if first.graph is None:
            return
        name = f"{self.name} at opset {first.opset}"
        problems = self._reads_back(first.graph, first.opset, feeds, wide)
        equal = Tally(int(not problems), 1)
        for written in group:
            self.book.exports[written.opset] += equal
        version = self._version(first.graph)
        if version is not None:
            self.book.imports[version] += equal
            if first.opset == LOWEST_WRITTEN:
                self._older(first.graph, version, feeds, wide)
        runnable = [w.opset for w in group if w.opset <= self.limits.opset]
        if runnable:
            problems += self._run(name, first.graph, runnable, feeds)
        if problems:
            self.book.fail(name, problems)

    def _run(self, name: str, graph: Graph, opsets: list[int], feeds: Feeds) -> list[str]:
        """Run on onnxruntime what several opsets write alike; what is wrong with it."""
        dtype = str(self.main)
        if name in self.skip:
            self.book.dtypes[dtype] += Tally(0, 1)
            return ["onnxruntime dies on it"]
        self.say(name)
        try:
            told = cell.runs(graph, opsets[0], self.limits.ir_version, feeds)
        except RunError as error:
            told = cell.Told(refused=str(error))
        if told.refused:
            self.book.refused[dtype].update(opsets)
            return []
        self.book.dtypes[dtype] += Tally(int(not told.problems), 1)
        return told.problems

    def _reads_back(self, graph: Graph, opset: int, feeds: Feeds, wide: list[object]) -> list[str]:
        try:
            return cell.reads_back(graph, opset, feeds, wide)
        except IsomorphError as error:
            return [f"{type(error).__name__}: {error}"]

    def _version(self, graph: Graph) -> int | None:
        ops = graph.ops()
        return ops[0].version if len(ops) == 1 and ops[0].key == self.key else None

    def _older(self, graph: Graph, version: int, feeds: Feeds, wide: list[object]) -> None:
        """Versions below the lowest opset that is written, where the op can have them as it is."""
        lowest = schema.since_version(*self.key, schema.LOWEST_READ) or 0
        for older in (v for v in schema.versions(*self.key) if lowest <= v < version):
            moved = cell.older(graph, self.key, older)
            if moved is None:
                continue
            opset = max(older, schema.LOWEST_READ)
            try:
                interpret(moved, feeds, wide=True)
            except IsomorphError:  # not a use that the older version has, or has meaning for here
                continue
            problems = self._reads_back(moved, opset, feeds, wide)
            self.book.imports[older] += Tally(int(not problems), 1)
            if problems:
                self.book.fail(f"{self.name} at opset {opset}", problems)
