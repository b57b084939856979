"""Our own kernels: every use of one operator lowered, run on the simulator, judged by parity.

A use passes when each of its kernels is within parity's bounds on the operands that it was given,
and the results are within those of the operator itself, whatever passes made of it.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from isomorph.codegen.flatten import source
from isomorph.exporters.coverage.entries import Kernels, Tally
from isomorph.exporters.coverage.measure.digests import (
    family_of,
    host_method,
    kernel_method,
    meaning,
)
from isomorph.ir.errors import IsomorphError
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, build, dtypes_of
from isomorph.ir.interpret import interpret, widen
from isomorph.ir.types import TensorType
from isomorph.lowering.errors import NoKernelError
from isomorph.parity.compiled import Compiled
from isomorph.parity.finding import Finding
from isomorph.parity.leaves import difference_of_form, leaves
from isomorph.parity.verdict import Status
from isomorph.parity.well import judge
from isomorph.runtime.device import Run, compile_graph
from isomorph.runtime.plan import Plan, Plans
from isomorph.runtime.staged.engine import engine_of
from isomorph.simulator.toolchain import NoCompilerError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from isomorph.codegen.spec import KernelSpec
    from isomorph.ir.graph import Graph
    from isomorph.ir.opdef import Key
    from isomorph.simulator.kernel import Memory

    Say = Callable[[str], None]

ARCH = "sm_90"
DEVICE = f"sim:{ARCH}"
MOST_TOLD = 4
"""How many failures an entry tells of in words; all are counted."""


class Cell(NamedTuple):
    """One use at one element type."""

    name: str
    dtype: str
    graph: Graph
    feeds: list[Any]


def cells(key: Key) -> Iterator[Cell]:
    """Every use of an operator at every element type that it can be built at."""
    for number, instance in enumerate(INSTANCES.get(key) or ()):
        for main in dtypes_of(key, instance):
            try:
                graph, feeds = build(key, instance, main)
                infer(graph)
            except (IsomorphError, TypeError, ValueError, OverflowError):
                continue  # told where the operator is measured
            name = f"{key[1]} #{number} {instance.note}".strip()
            yield Cell(f"{name} {main}", str(main), graph, feeds)


def digest(key: Key) -> str:
    """Of the kernels, launches and operands of every use, and of how results are judged."""
    told = hashlib.sha256(f"{kernel_method()}{meaning(family_of(key))}".encode())
    for cell in cells(key):
        told.update(f"{cell.name}\n{launches(cell.graph)}".encode())
        for feed in cell.feeds:
            told.update(_bytes(feed))
    return told.hexdigest()[:16]


def launches(graph: Graph) -> str:
    """The sources and launches that a graph lowers to; why there are none, where it is refused."""
    try:
        plan = engine_of(graph, NoMachine()).plan
    except IsomorphError as error:
        return str(error)
    return "runs before it is planned" if plan is None else told_by(plan)


def measure_kernels(key: Key, say: Say, skip: Collection[str] = ()) -> Kernels:
    """What our kernels make of an operator.

    Args:
        key: which.
        say: told the name of each case before it runs: it may kill the process.
        skip: cases that did; they count as failed.

    Raises:
        NoCompilerError: when there is no compiler.
    """
    dtypes: dict[str, Tally] = defaultdict(Tally)
    lacking: dict[str, tuple[int, str]] = {}
    failures: list[str] = []
    for cell in cells(key):
        problem = "the process dies of it"
        if cell.name not in skip:
            say(cell.name)
            try:
                problem = judged(compile_graph(cell.graph, DEVICE), cell)
            except NoKernelError as error:
                count, why = lacking.get(cell.dtype, (0, error.missing[0].reason))
                lacking[cell.dtype] = count + 1, why
                continue
            except NoCompilerError:
                raise
            except IsomorphError as error:
                problem = f"it does not compile: {type(error).__name__}: {error}"
        dtypes[cell.dtype] += Tally(int(not problem), 1)
        if problem:
            failures.append(f"{cell.name}: {problem}")
    return Kernels(digest(key), dict(dtypes), lacking, tuple(sorted(failures)[:MOST_TOLD]))


def judged(run: Run, cell: Cell) -> str:
    """What is wrong with a use's results; empty when nothing is."""
    candidate = Compiled(run)
    try:
        values = candidate.observe(cell.feeds)
    except IsomorphError as error:
        return f"{type(error).__name__}: {error}"
    found: list[Finding] = []
    candidate.judge(values, lambda _, finding: found.append(finding))
    results = [values[v] for v in cell.graph.outputs]
    for value, result in zip(cell.graph.outputs, results, strict=True):
        kind = value.type
        if isinstance(kind, TensorType) and result.dtype != kind.dtype.numpy:
            return f"it gives {result.dtype}, {kind} is right"
    found += _whole(cell, results)
    return next((f.reason for f in found if f.reason or f.status is not Status.PASS), "")


def _whole(cell: Cell, results: Sequence[Any]) -> list[Finding]:
    """The results against the operator itself: they may come from the wrong buffer."""
    (op,) = cell.graph.ops()
    if any(True for _ in op.subgraphs()):
        return _walked(cell, results)
    given = dict(zip(cell.graph.inputs, cell.feeds, strict=True))
    for value in cell.graph.weights():
        if value.weight is not None:
            given[value] = value.weight.numpy()
    operands = [None if v is None else given[v] for v in op.inputs]
    known = dict(zip(cell.graph.outputs, results, strict=True))
    found = judge(op, operands, [None if v is None else known[v] for v in op.outputs])
    return [f for f in found if f.status is Status.FAIL]


def _walked(cell: Cell, results: Sequence[Any]) -> list[Finding]:
    """Of control flow: the kernels of every step are judged; here, that they were the right ones.

    Rounding moves a result by less than 2^-4 of the largest element, another step by more.
    """
    wanted = interpret(cell.graph, cell.feeds, wide=True)
    problem = difference_of_form(wanted, list(results))
    if problem:
        return [Finding(Status.FAIL, problem)]
    found: list[Finding] = []
    for (_, one), (_, right) in zip(leaves(list(results)), leaves(wanted), strict=True):
        got, truth = (np.asarray(widen(v)) for v in (one, right))
        if got.shape != truth.shape:
            found.append(Finding(Status.FAIL, f"it has shape {got.shape}, {truth.shape} is right"))
        elif not np.allclose(got, truth, 0, 2**-4 * float(np.abs(truth).max(initial=0))):
            found.append(Finding(Status.FAIL, f"it gives {got}, {truth} is right"))
    return found


def _bytes(feed: Any) -> bytes:
    """Of an array of numbers its own; of anything else, a text."""
    if isinstance(feed, np.ndarray):
        array = cast("np.ndarray[Any, np.dtype[Any]]", feed)
        if not array.dtype.hasobject:
            return array.tobytes()
    return repr(cast("Any", feed)).encode()


def told_by(plan: Plan | Plans) -> str:
    """Everything that a plan's launches depend on, addresses aside."""
    if isinstance(plan, Plans):
        hosted = [f"{h.op} at {h.where}" for h in plan.hosted]
        return "\n".join([host_method(), *hosted, *map(told_by, plan.parts)])
    lines = [f"{k.name} is {v.name}" for k, v in plan.lowering.aliases.items()]
    for step in plan.lowering.steps:
        for launch in step.launches:
            blocks = [([v and v.name for v in b.pointers], b.words) for b in launch.parameters]
            lines.append(
                f"{step.title} {launch.grid} {launch.shared} {launch.spec.threads} {blocks}"
            )
            lines.append(source(launch.spec))
    return "\n".join(lines)


class NoMachine:
    """A machine to plan for, which runs nothing."""

    arch = ARCH

    def allocate(self, size: int) -> int:
        raise NotImplementedError(f"{size} bytes of a machine that runs nothing")

    def release(self, address: int) -> None:
        raise NotImplementedError(f"{address:#x} of a machine that runs nothing")

    def upload(self, address: int, array: np.ndarray) -> None:
        raise NotImplementedError(f"{address:#x} of a machine that runs nothing")

    def download(self, address: int, array: np.ndarray) -> None:
        raise NotImplementedError(f"{address:#x} of a machine that runs nothing")

    def copy(self, target: int, source: int, size: int) -> None:
        raise NotImplementedError(f"{size} bytes of a machine that runs nothing")

    def prepare(self, specs: Sequence[KernelSpec]) -> None:
        """Nothing: no kernel is built."""

    def launch(
        self,
        spec: KernelSpec,
        grid: tuple[int, int, int],
        parameters: Sequence[bytes],
        shared: int,
        memory: Sequence[Memory],
    ) -> None:
        raise NotImplementedError(f"{spec.name} on a machine that runs nothing")
