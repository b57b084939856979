"""What inputs a graph takes, completed by what it does with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.dims import Expr, symbol
from isomorph.ir.types import DType, OptionalType, SequenceType, TensorType
from isomorph.parity.strategies.kinds import FOR_FLOATS_ONLY, HOSTILE
from isomorph.parity.strategies.roles import Role, roles_of

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """

    name: str
    dtype: DType
    shape: tuple[int | Expr, ...]
    low: float | None = None
    high: float | None = None
    role: Role | None = None
    listed: bool = False

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
            if (self.dtype.is_float or k not in FOR_FLOATS_ONLY) and not (bounded and k in HOSTILE)
        ]
        return found or ["normal"]


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
    return Spec(name, tensor.dtype, shape, low, high, role if domain is None else None, listed)
