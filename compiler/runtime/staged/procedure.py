"""A graph as stages that can be run: programs of kernels, and the host's ops between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isomorph.ir.copies import copy_graph
from isomorph.ir.graph import Graph, Value
from isomorph.ir.types import DType, TensorType, innermost
from isomorph.ir.weights import Weight
from isomorph.lowering.context import word
from isomorph.lowering.errors import Missing, NoKernel, NoKernelError
from isomorph.runtime.program import MOST_PLANS, KernelEngine
from isomorph.runtime.staged.partition import Partition, extracted
from isomorph.runtime.staged.tables import HANDLERS, MOVERS, is_host
from isomorph.runtime.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from isomorph.ir.graph import Op
    from isomorph.runtime.plan import Plan
    from isomorph.runtime.program import Store, Watch
    from isomorph.runtime.staged.action import Action
    from isomorph.runtime.tensors import Held


PLACED = 1024
"""Bytes from which a tensor that kernels read is put on the machine once for all of them."""


@dataclass
class Site:
    """What making and running a procedure shares with those inside of it.

    Attributes:
        store: the memory.
        missing: ops that nothing runs, found so far.
        plans: of the latest run, in order, each once.
        hosted: the host's ops.
        segments: all kernels.
    """

    store: Store
    missing: list[Missing] = field(default_factory=list[Missing])
    plans: dict[int, Plan] = field(default_factory=dict[int, "Plan"])
    hosted: list[Op] = field(default_factory=list["Op"])
    segments: list[Segment] = field(default_factory=list["Segment"])

    def refuse(self, op: Op, reason: str) -> None:
        """Note an op that nothing runs."""
        self.missing.append(Missing(op.type, op.where, reason))


class Segment:
    """Kernels that run together.

    Args:
        graph: without control flow.
        site: where it stands.
    """

    def __init__(self, graph: Graph, site: Site) -> None:
        self._graph, self._site = graph, site
        self._engines: dict[tuple[Any, ...], KernelEngine] = {}
        self._open = [v for v in graph.inputs if not _has_rank(v)]
        if not self._open:
            self._engines[()] = self._made(graph)
        else:
            self._refuse_unknown()

    def __call__(self, feeds: Sequence[Tensor], watch: Watch | None) -> list[Tensor]:
        engine = self._engine(feeds)
        for feed in feeds:
            if feed.nbytes >= PLACED:
                feed.address()
        found = engine.held(feeds, watch)
        plan = engine.current
        self._site.plans.setdefault(id(plan), plan)
        return found

    @property
    def plans(self) -> list[Plan]:
        """Of the latest shapes."""
        return [e.plan for e in self._engines.values() if e.plan is not None]

    def _engine(self, feeds: Sequence[Tensor]) -> KernelEngine:
        if not self._open:
            return self._engines[()]
        key = tuple((f.dtype, len(f.shape)) for f in feeds)
        if key not in self._engines:
            graph, _ = copy_graph(self._graph)
            for value, feed in zip(graph.inputs, feeds, strict=True):
                if not _has_rank(value):
                    value.type = TensorType(DType.of(feed.dtype), (None,) * len(feed.shape))
            self._engines[key] = self._made(graph)
        return self._engines[key]

    def _made(self, graph: Graph) -> KernelEngine:
        return KernelEngine(graph, self._site.store.machine, self._site.store, ready=True)

    def _refuse_unknown(self) -> None:
        from isomorph.lowering import refuse_unknown
        from isomorph.runtime import hosted

        refuse_unknown(self._graph, hosted.told(self._graph))


class Procedure:
    """A graph that the host steps through.

    Args:
        graph: canonical; captures are further inputs. It is kept.
        site: where it stands.
    """

    def __init__(self, graph: Graph, site: Site) -> None:
        self.graph = graph
        self._site = site
        self._steps: list[tuple[Action, list[Value | None], list[Value | None]]] = []
        for stage in Partition(graph, is_host).stages:
            if stage.host:
                for op in stage.ops:
                    self._add_host(op)
            else:
                self._add_kernels(stage.ops)
        self._weights = {v: v.weight for v in graph.weights() if v.weight is not None}
        self._constants: dict[Value, Tensor] = {}
        last: dict[Value, int] = {}
        for index, (_, taken, made) in enumerate(self._steps):
            last.update((v, index) for v in (*taken, *made) if v is not None)
        kept = set(graph.outputs)
        self._dead: list[list[Value]] = [[] for _ in self._steps]
        for value, index in last.items():
            if value not in kept:
                self._dead[index].append(value)

    def run(self, inputs: Sequence[Held], watch: Watch | None) -> list[Held]:
        """The outputs from the inputs and then the captures."""
        formal = (*self.graph.inputs, *self.graph.captures)
        known: dict[Value, Held] = dict(zip(formal, inputs, strict=True))
        for (action, taken, made), dead in zip(self._steps, self._dead, strict=True):
            operands = [None if v is None else self._value(v, known) for v in taken]
            results = action(operands, watch)
            del operands
            known.update((v, r) for v, r in zip(made, results, strict=False) if v is not None)
            del results
            for value in dead:
                known.pop(value, None)
        return [self._value(v, known) for v in self.graph.outputs]

    def _value(self, value: Value, known: dict[Value, Held]) -> Held:
        if value in known:
            return known[value]
        if value not in self._constants:
            array = self._weights[value].numpy()
            self._constants[value] = Tensor.of(self._site.store.pool, array)
        return self._constants[value]

    def _add_kernels(self, ops: Sequence[Op]) -> None:
        graph, taken, given = extracted(self.graph, ops, self.graph.name)
        if not given:
            return
        try:
            segment = Segment(graph, self._site)
        except NoKernelError as error:
            self._site.missing += error.missing
            return
        self._site.segments.append(segment)
        self._steps.append((segment, [*taken], [*given]))

    def _add_host(self, op: Op) -> None:
        for value in op.operands + op.results:
            kind = innermost(value.type)
            if kind is not None and kind.dtype is DType.STRING:
                self._site.refuse(op, f"%{value.name} is {value.type}: no device memory holds text")
                return
        kind = innermost(op.inputs[0].type) if op.type in MOVERS and op.inputs[0] else None
        if kind is not None:
            try:
                word(Value("element", TensorType(kind.dtype, ())))
            except NoKernel as reason:
                self._site.refuse(op, str(reason))
                return
        self._site.hosted.append(op)
        action = HANDLERS[op.key](op, Maker(self._site))
        self._steps.append((action, [*op.inputs, *op.captures], [*op.outputs]))


class Maker:
    """What handlers of the host's ops make their actions with."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.pool = site.store.pool
        self._single: dict[tuple[Any, ...], KernelEngine] = {}

    def procedure(self, op: Op, body: Graph) -> Procedure:
        """A subgraph of an op; constants that it captures are constants in it."""
        made, _ = copy_graph(body)
        for formal, outer in zip(made.captures, op.captures, strict=True):
            if outer.weight is not None:
                formal.weight = outer.weight
            elif formal.type is None:
                formal.type = outer.type
        return Procedure(made, self.site)

    def moved(self, x: Tensor, source: int, target: int) -> Tensor:
        """A tensor with one axis in another place."""
        rank = len(x.shape)
        source, target = source % rank, target % rank
        if source == target:
            return x
        order = [n for n in range(rank) if n != source]
        order.insert(target, source)
        return self.apply("Transpose", [x], {"perm": tuple(order)})[0]

    def apply(
        self,
        kind: str,
        operands: Sequence[Tensor],
        attributes: Mapping[str, Any],
        constants: Sequence[np.ndarray] = (),
        outputs: int = 1,
    ) -> list[Tensor]:
        """The results of one op of kernels, on operands of any shapes."""
        told = tuple((o.dtype, o.shape) for o in operands)
        key = kind, told, tuple(attributes.items()), tuple(c.tobytes() for c in constants)
        engine = self._single.pop(key, None)
        if engine is None:
            engine = self._one(kind, operands, attributes, constants, outputs)
        while len(self._single) >= MOST_PLANS:
            self._single.pop(next(iter(self._single)))
        self._single[key] = engine
        found = engine.held(operands, None)
        self.site.plans.setdefault(id(engine.current), engine.current)
        return found

    def _one(
        self,
        kind: str,
        operands: Sequence[Tensor],
        attributes: Mapping[str, Any],
        constants: Sequence[np.ndarray],
        outputs: int,
    ) -> KernelEngine:
        graph = Graph(kind)
        values = [graph.add_input("x", TensorType(DType.of(o.dtype), o.shape)) for o in operands]
        values += [graph.add_weight(Weight.of(c)) for c in constants]
        graph.outputs = graph.add_op(kind, values, attributes, outputs=outputs).results
        return KernelEngine(graph, self.site.store.machine, self.site.store)


def _has_rank(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.shape is not None
