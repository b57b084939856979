"""A graph at concrete shapes: launches, and where every tensor lies."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.types import TensorType
from isomorph.passes.plan import Tenant, lay_out
from isomorph.passes.plan.arena import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np

    from isomorph.codegen.spec import KernelSpec, Launch
    from isomorph.ir.graph import Graph, Value
    from isomorph.lowering import Lowering, Step


@dataclass(frozen=True, slots=True)
class Kernel:
    """One launch, for reports.

    Attributes:
        title: the ops that it computes.
        where: in the user's source.
        spec: the kernel.
        grid: blocks.
        bytes: of its operands and results together.
        flops: of products; 0 elsewhere.
    """

    title: str
    where: str
    spec: KernelSpec
    grid: tuple[int, int, int]
    bytes: int
    flops: int

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "ops": self.title,
            "where": self.where,
            "kernel": self.spec.name,
            "grid": list(self.grid),
            "threads": self.spec.threads,
            "bytes": self.bytes,
            "flops": self.flops,
        }


@dataclass(frozen=True, slots=True)
class Hosted:
    """An op of the host, for reports: its type, and where it stands."""

    op: str
    where: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run does.

    Attributes:
        graph: fused, every shape a number.
        lowering: its launches.
        offsets: places in the arena of values that own a buffer.
        homes: for a value whose result took the place of an operand, whose buffer that is.
        peak_bytes: what the arena needs.
        constant_bytes: what constants need beside it.
        kernels: the launches, for reports.
    """

    graph: Graph
    lowering: Lowering
    offsets: Mapping[Value, int]
    homes: Mapping[Value, Value]
    peak_bytes: int
    constant_bytes: int
    kernels: tuple[Kernel, ...]

    def home(self, value: Value) -> Value:
        """The value that owns the buffer which holds this one's data."""
        root = self.lowering.root(value)
        while root in self.homes:
            root = self.homes[root]
        return root

    @property
    def specs(self) -> tuple[KernelSpec, ...]:
        """Every kernel, each once."""
        return tuple(dict.fromkeys(k.spec for k in self.kernels))

    @property
    def hosted(self) -> tuple[Hosted, ...]:
        """None: the host launches kernels, and that is all."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "inputs": {v.name: str(v.type) for v in self.graph.inputs},
            "outputs": {v.name: str(v.type) for v in self.graph.outputs},
            "peak_bytes": self.peak_bytes,
            "constant_bytes": self.constant_bytes,
            "launches": [k.to_json() for k in self.kernels],
        }


@dataclass(frozen=True, slots=True)
class Plans:
    """What a run does where the host steps through a graph.

    Attributes:
        parts: the programs of kernels, each once however often it ran.
        hosted: the ops that the host does between them.
        graph: the whole.
    """

    parts: tuple[Plan, ...]
    hosted: tuple[Hosted, ...]
    graph: Graph

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The launches of all parts, for reports."""
        return tuple(k for part in self.parts for k in part.kernels)

    @property
    def specs(self) -> tuple[KernelSpec, ...]:
        """Every kernel, each once."""
        return tuple(dict.fromkeys(k.spec for k in self.kernels))

    @property
    def peak_bytes(self) -> int:
        """What the one arena needs that all parts work in."""
        return max((p.peak_bytes for p in self.parts), default=0)

    @property
    def constant_bytes(self) -> int:
        """What the constants of all parts need beside it, those of equal content once."""
        found = {
            v.weight.digest(): aligned(size_of(v))
            for part in self.parts
            for v in _constants(part.graph, part.lowering)
            if v.weight is not None
        }
        return sum(found.values())

    def to_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "inputs": {v.name: str(v.type) for v in self.graph.inputs},
            "outputs": {v.name: str(v.type) for v in self.graph.outputs},
            "peak_bytes": self.peak_bytes,
            "constant_bytes": self.constant_bytes,
            "hosted": [{"op": h.op, "where": h.where} for h in self.hosted],
            "launches": [k.to_json() for k in self.kernels],
        }


def tensor(value: Value) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """Element type and shape of a value whose shape is numbers."""
    kind = value.type
    if not isinstance(kind, TensorType) or kind.static_shape is None:
        raise InvalidGraphError(f"%{value.name} is {kind}: a plan knows every shape")
    return kind.dtype.numpy, kind.static_shape


def size_of(value: Value) -> int:
    """Bytes of a tensor whose shape is numbers."""
    dtype, shape = tensor(value)
    return prod(shape) * dtype.itemsize


def make_plan(graph: Graph, lowering: Lowering) -> Plan:
    """Lifetimes, results in the place of operands, and offsets."""
    first, last = _lifetimes(graph, lowering)
    homes: dict[Value, Value] = {}
    shown = {lowering.root(v) for v in graph.outputs}

    def home(value: Value) -> Value:
        while value in homes:
            value = homes[value]
        return value

    for index, step in enumerate(lowering.steps):
        for out, candidate in _in_place(step, lowering):
            owner = home(candidate)
            free = owner in first and last[owner] == index and candidate not in shown
            if free and size_of(owner) == size_of(out) and out in first:
                homes[out] = owner
                last[owner] = last.pop(out)
                first.pop(out)
                break
    tenants = [Tenant(v, size_of(v), first[v], last[v]) for v in first]
    layout = lay_out(tenants)
    offsets = {v: layout.offsets[v] for v in first}
    weights = {id(v.weight): v for v in _constants(graph, lowering)}
    constant_bytes = sum(aligned(size_of(v)) for v in weights.values())
    kernels = tuple(
        Kernel(
            step.title,
            step.op.where,
            launch.spec,
            launch.grid,
            sum(map(size_of, launch.values)),
            launch.flops,
        )
        for step in lowering.steps
        for launch in step.launches
    )
    return Plan(graph, lowering, offsets, homes, layout.peak_bytes, constant_bytes, kernels)


def _lifetimes(graph: Graph, lowering: Lowering) -> tuple[dict[Value, int], dict[Value, int]]:
    """First and last step of every buffer; inputs live from step −1, outputs to the end."""
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    end = len(lowering.steps)
    inputs = set(graph.inputs)
    for index, step in enumerate(lowering.steps):
        for value in _touched(step):
            root = lowering.root(value)
            if root.weight is None:
                begin = -1 if root in inputs or root is lowering.status else index
                first.setdefault(root, begin)
                last[root] = end if root is lowering.status else index
    for value in graph.outputs:
        root = lowering.root(value)
        if root.weight is None:
            first.setdefault(root, -1)
            last[root] = end
    return first, last


def _touched(step: Step) -> Iterator[Value]:
    for launch in step.launches:
        yield from launch.values
    yield from step.op.results


def _in_place(step: Step, lowering: Lowering) -> Iterator[tuple[Value, Value]]:
    """(result, operand whose buffer it may take); the operand is read through one pointer only."""
    if len(step.launches) != 1:
        return
    launch: Launch = step.launches[0]
    pointers = [lowering.root(v) for b in launch.parameters for v in b.pointers if v is not None]
    for value in launch.in_place:
        root = lowering.root(value)
        if root.weight is None and pointers.count(root) == 1:
            yield step.op.output, root


def _constants(graph: Graph, lowering: Lowering) -> list[Value]:
    """Weights that launches read or that are outputs."""
    used = [v for s in lowering.steps for launch in s.launches for v in launch.values]
    roots = (lowering.root(v) for v in (*used, *graph.outputs))
    return [v for v in dict.fromkeys(roots) if v.weight is not None]
