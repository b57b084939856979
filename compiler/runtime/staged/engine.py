"""The engine of graphs that the host steps through."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from isomorph.frontends.canonical import canonical
from isomorph.ir.types import OptionalType, SequenceType
from isomorph.lowering import unheld
from isomorph.lowering.branches import DecidedBranches
from isomorph.lowering.context import is_held
from isomorph.lowering.errors import NoKernelError
from isomorph.passes.canonical import CANONICAL
from isomorph.runtime.plan import Hosted, Plans
from isomorph.runtime.program import KernelEngine, Store
from isomorph.runtime.staged.expand import expand
from isomorph.runtime.staged.partition import Partition
from isomorph.runtime.staged.procedure import Procedure, Site
from isomorph.runtime.staged.tables import is_host
from isomorph.runtime.tensors import given, held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph
    from isomorph.ir.types import Type
    from isomorph.runtime.arena import Machine
    from isomorph.runtime.program import Watch


class StagedEngine:
    """The engine of `Run` for graphs with control flow, sequences, or sizes that data decides.

    Args:
        graph: canonical; it is kept.
        machine: what launches the kernels.

    Raises:
        NoKernelError: listing every op that nothing runs.
    """

    def __init__(self, graph: Graph, machine: Machine) -> None:
        self._graph = graph
        self.store = Store(machine)
        self._site = Site(self.store)
        self._site.missing += unheld(graph, _may_hold)
        self._procedure = Procedure(graph, self._site)
        if self._site.missing:
            raise NoKernelError(graph.name, list(dict.fromkeys(self._site.missing)))
        self._lock = Lock()
        self._reads = 0

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The graph's outputs from its inputs."""
        return self.watched(inputs, None)

    def watched(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """The same; `watch` is told of every step of kernels, and can read what is there then."""
        with self._lock:
            self._site.plans.clear()
            pool = self.store.pool
            pool.reads = 0
            outputs = self._procedure.run([held(pool, v) for v in inputs], watch)
            self._reads = pool.reads
            return [given(v) for v in outputs]

    @property
    def reads(self) -> int:
        """Tensors that the host read to go on, in the latest run."""
        return self._reads

    @property
    def plan(self) -> Plans:
        """The kernels of the latest run; before the first, those whose shapes are known."""
        site = self._site
        plans = site.plans.values() or [p for s in site.segments for p in s.plans]
        hosted = tuple(Hosted(op.type, op.where) for op in site.hosted)
        return Plans(tuple(plans), hosted, self._graph)


def _may_hold(kind: Type | None) -> bool:
    """Whether there may be values of a type: tensors on the machine, and lists of them."""
    while isinstance(kind, SequenceType | OptionalType):
        kind = kind.element
    return is_held(kind)


def engine_of(graph: Graph, machine: Machine) -> KernelEngine | StagedEngine:
    """What runs a graph on a machine: one program of kernels where that is all it takes.

    Raises:
        NoKernelError: listing every op that nothing runs.
    """
    made = canonical(graph)
    expand(made)
    if DecidedBranches().apply(made):
        CANONICAL.run(made)
    stages = Partition(made, is_host).stages
    if len(stages) > 1 or any(stage.host for stage in stages):
        return StagedEngine(made, machine)
    return KernelEngine(made, machine, ready=True)
