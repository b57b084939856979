"""A graph on our own kernels: specialised, fused, lowered and planned once per set of shapes."""

from __future__ import annotations

from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.canonical import canonical
from isomorph.ir.errors import InvalidGraphError, TypeInferenceError
from isomorph.lowering import lower, refuse_unheld, refuse_unknown
from isomorph.runtime import hosted
from isomorph.runtime.arena import Arena
from isomorph.runtime.errors import DeviceError, RunError
from isomorph.runtime.plan import Plan, make_plan, size_of, tensor
from isomorph.runtime.specialise import Shapes, is_open, shapes_of, specialised
from isomorph.runtime.tensors import Pool, Tensor
from isomorph.simulator.kernel import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isomorph.codegen.spec import Launch
    from isomorph.ir.graph import Graph, Value
    from isomorph.runtime.arena import Machine

    Read = Callable[[Value], np.ndarray]
    Watch = Callable[[Plan, int, Read], None]
    """Told of a plan with −1 before its first step, and with each step's index after it."""

MOST_PLANS = 64
"""Plans that are kept; the one used longest ago goes."""
TRIALS = (8, 4, 2, 1, 3, 16, 32, 64, 128, 224, 256)
"""Sizes that symbolic dims are given to see, before the first run, that everything has a kernel."""


class Store:
    """Memory that programs on one machine share: what they work in, constants, and results.

    Args:
        machine: what launches the kernels.
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.arena = Arena(machine)
        self.pool = Pool(machine)
        self._constants: dict[bytes, int] = {}

    def constant(self, value: Value) -> int:
        """The address of a constant, uploaded once by content."""
        weight = value.weight
        if weight is None:
            raise InvalidGraphError(f"%{value.name} is no constant")
        key = weight.digest()
        if key not in self._constants:
            array = np.ascontiguousarray(weight.numpy())
            address = self.machine.allocate(max(array.nbytes, 1))
            self.machine.upload(address, array)
            self._constants[key] = address
        return self._constants[key]


class KernelEngine:
    """The engine of `Run` for `sim:…` and `cuda:N`.

    Args:
        graph: any graph.
        machine: what launches the kernels.
        store: memory to share with other programs on the machine.
        ready: the graph is canonical, and is kept.

    Raises:
        NoKernelError: listing every op that has no kernel.
    """

    def __init__(
        self, graph: Graph, machine: Machine, store: Store | None = None, *, ready: bool = False
    ) -> None:
        self._machine = machine
        self._graph = graph if ready else canonical(graph)
        refuse_unheld(self._graph)
        self.store = store or Store(machine)
        self._is_part = store is not None
        self._hosted = hosted.hosted(self._graph)
        self._bound: dict[tuple[Shapes, tuple[tuple[int, bytes], ...]], _Bound] = {}
        self._lock = Lock()
        self.plan: Plan | None = None
        self._try()

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """The graph's outputs from its inputs."""
        return self.watched(inputs, None)

    def watched(self, inputs: Sequence[Any], watch: Watch | None) -> list[Any]:
        """The same; `watch` is told of every step, and can read what is there then."""
        feeds = [Tensor.of(self.store.pool, a) for a in inputs]
        with self._lock:
            bound = self._bound_to(feeds)
            bound.run(feeds, watch)
            return [bound.read(v) for v in bound.plan.graph.outputs]

    def held(self, feeds: Sequence[Tensor], watch: Watch | None) -> list[Tensor]:
        """The outputs, which stay on the machine."""
        with self._lock:
            bound = self._bound_to(feeds)
            bound.run(feeds, watch)
            return [bound.keep(v) for v in bound.plan.graph.outputs]

    def _bound_to(self, feeds: Sequence[Tensor]) -> _Bound:
        shapes = tuple(f.shape for f in feeds)
        values = {n: feeds[n].numpy() for n in self._hosted if prod(shapes[n]) <= hosted.LONGEST}
        key = shapes, tuple((n, a.tobytes()) for n, a in values.items())
        bound = self._bound.pop(key, None) or _Bound(self.plan_for(shapes, values), self)
        while len(self._bound) >= MOST_PLANS:
            self._bound.pop(next(iter(self._bound)))
        self._bound[key] = bound
        self.plan = bound.plan
        return bound

    @property
    def current(self) -> Plan:
        """The plan of the latest run; raises DeviceError before the first."""
        if self.plan is None:
            raise DeviceError("no shapes are known yet: run it once")
        return self.plan

    def plan_for(self, shapes: Shapes, values: Mapping[int, np.ndarray] | None = None) -> Plan:
        """The plan for inputs of these shapes.

        Args:
            shapes: of all inputs.
            values: of those that shapes depend on, by position.

        Raises:
            RunError: when an op does not take them.
            NoKernelError: listing every op that has no kernel.
        """
        return self._plan(self._graph, shapes, values or {})

    def _plan(self, source: Graph, shapes: Shapes, values: Mapping[int, np.ndarray]) -> Plan:
        try:
            graph = specialised(source, shapes, self._machine.arch, values)
        except (TypeInferenceError, InvalidGraphError) as error:
            shown = ", ".join(
                f"{v.name} {s}" for v, s in zip(self._graph.inputs, shapes, strict=True)
            )
            raise RunError(f"{self._graph.name} does not take {shown}: {error}") from error
        return make_plan(graph, lower(graph, self._machine.arch))

    @property
    def machine(self) -> Machine:
        """What launches the kernels."""
        return self._machine

    @property
    def arena(self) -> Arena:
        """What it works in."""
        return self.store.arena

    def _try(self) -> None:
        """Plan at the first sizes that fit, so that ops without a kernel are known now."""
        refuse_unknown(self._graph, hosted.told(self._graph))
        symbols = sorted(self._graph.symbols())
        values = hosted.guesses(self._graph, self._hosted)
        for size in TRIALS if symbols or is_open(self._graph) else TRIALS[:1]:
            dims = dict.fromkeys(symbols, size)
            if any(c.holds(dims) is False for c in self._graph.constraints):
                continue
            shapes = shapes_of(self._graph, dims, size)
            if shapes is None:
                return
            try:
                if values:
                    self._plan(hosted.without_types(self._graph), shapes, values)
                    return
                self.plan = self.plan_for(shapes)
            except RunError:
                if not symbols and not values and not self._is_part:
                    raise
                continue
            self._machine.prepare(self.plan.specs)
            return


class _Bound:
    """A plan with addresses: everything that a run needs, made once."""

    def __init__(self, plan: Plan, engine: KernelEngine) -> None:
        self.plan = plan
        self._engine = engine
        engine.machine.prepare(plan.specs)
        self._base = -1
        self._launches: list[list[tuple[Launch, list[bytes], list[Memory]]]] = []

    def run(self, feeds: Sequence[Tensor], watch: Watch | None) -> None:
        """Launch everything; results lie in the arena until the next run."""
        plan, arena, machine = self.plan, self._engine.arena, self._engine.machine
        arena.ensure(plan.peak_bytes)
        if arena.base != self._base:
            self._bind(arena.base)
        for value, feed in zip(plan.graph.inputs, feeds, strict=True):
            if value in plan.offsets and feed.nbytes:
                feed.copy_to(self.address(value))
        status = plan.lowering.status
        if status in plan.offsets:
            machine.upload(self.address(status), np.zeros(1, np.int32))
        if watch is not None:
            watch(plan, -1, self.read)
        for index, launches in enumerate(self._launches):
            for launch, parameters, memory in launches:
                if 0 not in launch.grid:
                    machine.launch(launch.spec, launch.grid, parameters, launch.shared, memory)
            if watch is not None:
                watch(plan, index, self.read)
        if status in plan.offsets and (found := int(self.read(status)[0])):
            raise RunError(
                f"{plan.graph.name}: an index is out of range (at position {found - 1} of those of "
                "an op that gathers, scatters or reverses, or at an earlier one)"
            )

    def keep(self, value: Value) -> Tensor:
        """A value as a tensor of its own, on the machine; a constant stays with the host."""
        dtype, shape = tensor(value)
        pool, weight = self._engine.store.pool, self.plan.home(value).weight
        if weight is not None:
            return Tensor.of(pool, weight.numpy().reshape(shape))
        made = Tensor(pool, dtype, shape, pool.take(size_of(value)))
        if made.nbytes:
            self._engine.machine.copy(made.address(), self.address(value), made.nbytes)
        return made

    def address(self, value: Value) -> int:
        """Where a value's data is."""
        owner = self.plan.home(value)
        if owner.weight is not None:
            return self._engine.store.constant(owner)
        return self._engine.arena.base + self.plan.offsets[owner]

    def read(self, value: Value) -> np.ndarray:
        """A value as it is on the machine now."""
        dtype, shape = tensor(value)
        array = np.empty(shape, dtype)
        if array.nbytes:
            self._engine.machine.download(self.address(value), array)
        return array

    def _bind(self, base: int) -> None:
        self._base = base
        arena = self._engine.arena
        for value, offset in self.plan.offsets.items():
            arena.touch(-(-(offset + size_of(value)) // 256) * 256)
        self._launches = [
            [
                (
                    launch,
                    [b.packed([self._pointer(v) for v in b.pointers]) for b in launch.parameters],
                    self._memory(launch),
                )
                for launch in step.launches
            ]
            for step in self.plan.lowering.steps
        ]

    def _pointer(self, value: Value | None) -> int:
        return 0 if value is None else self.address(value)

    def _memory(self, launch: Launch) -> list[Memory]:
        """One range per buffer: readable if anything but the written value lies there."""
        written = {self.address(v) for v in launch.writes}
        status = self.plan.lowering.status
        read = {self.address(v) for v in launch.values if v not in launch.writes or v is status}
        ranges: dict[int, int] = {}
        for value in launch.values:
            address = self.address(value)
            ranges[address] = max(ranges.get(address, 0), size_of(value))
        return [Memory(a, size, a in written, a in read) for a, size in ranges.items()]
