"""What inputs a graph takes, completed by what it does with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.dims import Expr, symbol
from isomorph.ir.types import DType, OptionalType, SequenceType, TensorType
from isomorph.parity.strategies.kinds import FOR_FLOATS_ONLY, HOSTILE, ORDINARY
from isomorph.parity.strategies.roles import Role, roles_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isomorph.ir.graph import Graph
    from isomorph.ir.types import Type

UNKNOWN_RANK = 2
LIST_LENGTH = 2


@dataclass(frozen=True, slots=True)
class Spec:
    """One input.

    Attributes:
        name: of the input.
        dtype: element type.
        shape: dims; where the graph knows none, a symbol of the input's own.
        low, high: range of the values, where one is known.
        role: what the graph does with the values, where that restricts them.
        listed: a sequence of such tensors instead of one.
        anchors: numbers at which the graph may change its mind, the telling ones first.
        table: where the values index a table, its size, and what is added to them before.
    """

    name: str
    dtype: DType
    shape: tuple[int | Expr, ...]
    low: float | None = None
    high: float | None = None
    role: Role | None = None
    listed: bool = False
    anchors: tuple[float, ...] = ()
    table: tuple[int, int] | None = None

    def symbols(self) -> set[str]:
        """Names of the symbols in its shape."""
        found: set[str] = set()
        for dim in self.shape:
            if isinstance(dim, Expr):
                found |= dim.symbols()
        return found

    def sizes(self, dims: Mapping[str, int]) -> tuple[int, ...]:
        """Its shape under bindings; KeyError names a symbol that has none."""
        return tuple(d if isinstance(d, int) else d.evaluate(dims) for d in self.shape)

    def kinds(self, wanted: tuple[str, ...]) -> list[str]:
        """Which kinds of values make sense here."""
        bounded = self.low is not None or self.high is not None or self.role is not None
        found = [
            k
            for k in wanted
            if (self.dtype.is_float or k not in FOR_FLOATS_ONLY)
            and not (bounded and k in HOSTILE)
            and (self.anchors or k != "constants")
        ]
        return found or ["normal"]

    def hostile_kinds(self) -> list[str]:
        """The hostile ones of them, or ordinary ones where none makes sense."""
        return [k for k in self.kinds(HOSTILE) if k in HOSTILE] or self.kinds(ORDINARY)

    def with_range(self, name: str, bounds: str) -> str:
        """How it is declared with bounds of one of its symbols: `x: float32[n in 1.., 4]`."""
        dims = [f"{d} in {bounds}" if str(d) == name else str(d) for d in self.shape]
        return f"{self.name}: {self.dtype}[{', '.join(dims)}]"

    def anchored(self, found: Sequence[float]) -> Spec:
        """The same, with those of some numbers that lie in its domain."""
        if not self.dtype.is_float:
            return self
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high
        return replace(self, anchors=tuple(v for v in found if low <= v <= high))


def specs_of(graph: Graph, using: Graph | None = None) -> tuple[Spec, ...]:
    """One per input.

    Args:
        graph: whose inputs, domains and constraints.
        using: the graph whose ops say what is done with the inputs, when `graph` has none.
    """
    roles = roles_of(graph)
    if using is not None:
        found = roles_of(using)
        for mine, theirs in zip(graph.inputs, using.inputs, strict=False):
            if mine.name not in roles and theirs.name in found:
                roles[mine.name] = found[theirs.name]
    return tuple(
        _spec(v.name, v.type, graph.domains.get(v.name), roles.get(v.name)) for v in graph.inputs
    )


def _spec(
    name: str, kind: Type | None, domain: tuple[float, float] | None, role: Role | None
) -> Spec:
    listed = isinstance(kind, SequenceType)
    while isinstance(kind, SequenceType | OptionalType):
        kind = kind.element
    tensor = kind if isinstance(kind, TensorType) else TensorType(DType.FLOAT32)
    given = (None,) * UNKNOWN_RANK if tensor.shape is None else tensor.shape
    shape = tuple(symbol(f"{name}.{axis}") if d is None else d for axis, d in enumerate(given))
    low, high = domain if domain is not None else (None, None)
    table = None
    if role is not None and role.kind == "index" and isinstance(role.bound, int):
        table = role.bound, role.offset
    if domain is not None or (tensor.dtype.is_float and role is not None and role.kind == "choice"):
        role = None
    return Spec(name, tensor.dtype, shape, low, high, role, listed, table=table)
