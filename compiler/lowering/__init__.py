"""Fused graph → launches of kernels, one file of rules per family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.graph import Value
from isomorph.ir.infer import is_canonical
from isomorph.ir.opdef import Manifest
from isomorph.ir.types import DType, TensorType
from isomorph.lowering.context import Alias, Group, is_held, shape_of
from isomorph.lowering.elementwise import pointwise
from isomorph.lowering.errors import Missing, NoKernel, NoKernelError
from isomorph.passes.fuse.group import POINTWISE, members

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from isomorph.codegen.spec import Launch
    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.types import Type
    from isomorph.lowering.context import Lowered

FAMILIES = (
    "elementwise",
    "reduction",
    "movement",
    "indexing",
    "linear",
    "convolution",
    "pooling",
    "normalization",
    "attention",
    "quantized",
    "image",
    "signal",
    "ml",
    "text",
)
MOST_BLOCKS = 65535
"""Blocks of a grid in y and in z; x has room for all that 32-bit indices reach."""
LOWERINGS: Manifest[Callable[[Group], Lowered]] = Manifest(
    "isomorph.lowering", "LOWERINGS", FAMILIES
)


@dataclass(frozen=True, slots=True)
class Step:
    """The launches of one group of ops."""

    op: Op
    launches: tuple[Launch, ...]

    @property
    def title(self) -> str:
        """The group's ops, such as `Gemm+Relu`."""
        return "+".join(m.type for m in members(self.op))


@dataclass(frozen=True, slots=True)
class Lowering:
    """A graph as launches.

    Attributes:
        steps: in order.
        aliases: results that are another value's buffer in another shape.
        status: stands for the word that kernels report a bad index in.
    """

    steps: tuple[Step, ...]
    aliases: dict[Value, Value]
    status: Value

    def root(self, value: Value) -> Value:
        """The value whose buffer a value's data is in."""
        while value in self.aliases:
            value = self.aliases[value]
        return value


def lower(graph: Graph, arch: str) -> Lowering:
    """The launches of a fused graph whose shapes are numbers.

    Raises:
        NoKernelError: listing every op that has no kernel.
    """
    status = Value("status", TensorType(DType.INT32, (1,)))
    steps: list[Step] = []
    aliases: dict[Value, Value] = {}
    missing: list[Missing] = []
    for op in graph.sorted_ops():
        try:
            for value in op.results:
                shape_of(value)
            found = _lowered(Group(op, arch, status))
        except NoKernel as reason:
            name = "+".join(m.type for m in members(op))
            missing.append(Missing(name, op.where, str(reason)))
            continue
        if isinstance(found, Alias):
            aliases[op.output] = found.source
        else:
            steps.append(Step(op, tuple(found)))
    if missing:
        raise NoKernelError(graph.name, missing)
    return Lowering(tuple(steps), aliases, status)


def refuse_unheld(graph: Graph) -> None:
    """Refuse a graph that takes or gives what no device memory holds: strings, sequences.

    Raises:
        NoKernelError: listing each.
    """
    missing = unheld(graph, is_held)
    if missing:
        raise NoKernelError(graph.name, missing)


def unheld(graph: Graph, fits: Callable[[Type | None], bool]) -> list[Missing]:
    """The inputs and outputs of a graph whose types do not fit."""
    sides = (("input", graph.inputs), ("output", graph.outputs))
    return [
        Missing(side, v.name, f"{v.type} is held by no device memory")
        for side, values in sides
        for v in values
        if not fits(v.type)
    ]


def refuse_unknown(graph: Graph, known: Collection[Value]) -> None:
    """Refuse operators that no kernel computes at any shape, before the shapes are known.

    Args:
        graph: canonical.
        known: values that the host computes.

    Raises:
        NoKernelError: listing every such op.
    """
    from isomorph.lowering.definitions import is_defined

    missing = [
        Missing(op.type, op.where, _reason(op))
        for op in graph.sorted_ops()
        if not (
            has_kernel(op)
            or (not op.domain and op.type in ON_THE_HOST)
            or op.key == ("", "If")
            or all(v in known or v.weight is not None for v in op.operands)
            or is_defined(op)
        )
    ]
    if missing:
        raise NoKernelError(graph.name, missing)


def has_kernel(op: Op) -> bool:
    """Whether kernels compute an operator, for some element types and shapes."""
    return op.key in LOWERINGS.rows() or (not op.domain and op.type in POINTWISE)


ON_THE_HOST = frozenset({"ConstantOfShape", "Range", "Shape", "Size"})
"""Operators that are constants where shapes are numbers and what they are told is known."""


def _reason(op: Op) -> str:
    kinds = ", ".join(str(v.type) for v in op.operands)
    domain = f"{op.domain}." if op.domain else ""
    return f"no kernel computes {domain}{op.type} of ({kinds})"


def computes(op: Op, arch: str) -> bool:
    """Whether there is a kernel for one op, whose shapes are numbers."""
    status = Value("status", TensorType(DType.INT32, (1,)))
    try:
        for value in op.results:
            shape_of(value)
        _lowered(Group(op, arch, status))
    except NoKernel:
        return False
    return True


def _lowered(group: Group) -> Lowered:
    for op in (*group.pointwise, *([group.anchor] if group.anchor else [])):
        if not is_canonical(op):
            raise NoKernel(f"version {op.version} of {op.type} cannot be upgraded")
    if group.anchor is None:
        return pointwise(group)
    key = group.anchor.key
    rule = LOWERINGS.get(key)
    if rule is None:
        raise NoKernel(_reason(group.op if group.op.key == key else group.anchor))
    found = rule(group)
    for launch in found if isinstance(found, list) else ():
        if max(launch.grid[1:]) > MOST_BLOCKS:
            raise NoKernel(f"its grid is {launch.grid}; y and z end at {MOST_BLOCKS}")
    return found
