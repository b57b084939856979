"""What inputs a graph takes, completed by what it does with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.dims import Expr, symbol
from isomorph.ir.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    innermost,
)
from isomorph.parity.strategies.kinds import FOR_FLOATS_ONLY, HOSTILE, ORDINARY
from isomorph.parity.strategies.roles import Role, roles_of
from isomorph.parity.strategies.texts import texts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isomorph.ir.graph import Graph
    from isomorph.ir.types import Type

UNKNOWN_RANK = 2


@dataclass(frozen=True, slots=True)
class Spec:
    """One input.

    Attributes:
        name: of the input.
        dtype: element type.
        shape: dims of the tensor, or of those that the value holds; where the graph knows none, a
            symbol of the input's own.
        low, high: range of the values, where one is known.
        role: what the graph does with the values, where that restricts them.
        kind: sequences, optionals and maps around the tensor; `None` for the tensor alone.
        lengths: of the sequences and maps, outermost first: symbols of the input's own.
        keys: that the graph looks up in a map.
        texts: that it looks up, matches or takes apart; `strict` where no others are valid.
        anchors: numbers at which the graph may change its mind, the telling ones first.
        table: where the values index a table, its size, and what is added to them before.
    """

    name: str
    dtype: DType
    shape: tuple[int | Expr, ...]
    low: float | None = None
    high: float | None = None
    role: Role | None = None
    kind: Type | None = None
    lengths: tuple[Expr, ...] = ()
    keys: tuple[int | str, ...] = ()
    texts: tuple[str, ...] = ()
    strict: bool = False
    anchors: tuple[float, ...] = ()
    table: tuple[int, int] | None = None

    def symbols(self) -> set[str]:
        """Names of the symbols in its shape and lengths."""
        return {s for d in self.extents if isinstance(d, Expr) for s in d.symbols()}

    @property
    def extents(self) -> tuple[int | Expr, ...]:
        """Every dim: lengths, then the shape."""
        return (*self.lengths, *self.shape)

    def sizes(self, dims: Mapping[str, int]) -> tuple[int, ...]:
        """Its shape under bindings; KeyError names a symbol that has none."""
        return _sizes(self.shape, dims)

    def elements(self, dims: Mapping[str, int]) -> int:
        """How many elements it has under bindings."""
        return prod(_sizes(self.extents, dims))

    def bound(self, value: Any) -> dict[str, int]:
        """The sizes that a value has, by symbol, where the symbol stands alone."""
        found: list[int] = []
        for _ in self.lengths:
            if not isinstance(value, list | dict):
                break
            items = list(cast("Any", value.values() if isinstance(value, dict) else value))
            found.append(len(items))
            value = items[0] if items else None
        shape = () if value is None or isinstance(value, int | str) else np.shape(value)
        pairs = zip(self.extents, (*found, *shape), strict=False)
        return {str(d): size for d, size in pairs if str(d) in self.symbols()}

    def kinds(self, wanted: tuple[str, ...]) -> list[str]:
        """Which kinds of values make sense here."""
        bounded = self.low is not None or self.high is not None or self.role is not None
        found = [
            k
            for k in wanted
            if (self.dtype.is_float or k not in FOR_FLOATS_ONLY)
            and (self.dtype is not DType.STRING or k not in HOSTILE)
            and not (bounded and k in HOSTILE)
            and (self.anchors or k != "constants")
        ]
        return found or ["normal"]

    def hostile_kinds(self) -> list[str]:
        """The hostile ones of them, or ordinary ones where none makes sense."""
        return [k for k in self.kinds(HOSTILE) if k in HOSTILE] or self.kinds(ORDINARY)

    def with_range(self, name: str, bounds: str) -> str:
        """How it is declared with bounds of one of its symbols: `x: float32[n in 1.., 4]`.

        Only tensors can be declared so; others give an empty text.
        """
        if self.kind is not None:
            return ""
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
        other = roles_of(using)
        for mine, theirs in zip(graph.inputs, using.inputs, strict=False):
            if mine.name not in roles and theirs.name in other:
                roles[mine.name] = other[theirs.name]
    found = [
        _spec(v.name, v.type, graph.domains.get(v.name), roles.get(v.name)) for v in graph.inputs
    ]
    others = using.inputs if using is not None else graph.inputs
    for index, (mine, theirs) in enumerate(zip(graph.inputs, others, strict=False)):
        if found[index].dtype is DType.STRING:
            told, strict = texts_of(graph, mine)
            if using is not None:
                more, other = texts_of(using, theirs)
                told, strict = (*told, *more), strict or other
            texts = tuple(dict.fromkeys(told))
            found[index] = replace(found[index], texts=texts, strict=strict)
    return tuple(found)


def _spec(
    name: str, kind: Type | None, domain: tuple[float, float] | None, role: Role | None
) -> Spec:
    tensor = innermost(kind) or TensorType(DType.FLOAT32)
    lengths = tuple(_lengths(name, kind))
    if _is_mapped(kind):  # its values are scalars
        tensor = TensorType(tensor.dtype, ())
    given = (None,) * UNKNOWN_RANK if tensor.shape is None else tensor.shape
    shape = tuple(symbol(f"{name}.{axis}") if d is None else d for axis, d in enumerate(given))
    low, high = domain if domain is not None else (None, None)
    table = None
    if role is not None and role.kind == "index" and isinstance(role.bound, int):
        table = role.bound, role.offset
    if domain is not None or (tensor.dtype.is_float and role is not None and role.kind == "choice"):
        role = None
    keys: tuple[int | str, ...] = ()
    if role is not None and role.kind == "keys":
        role, keys = None, role.texts or tuple(int(c) for c in role.choices)
    held = None if isinstance(kind, TensorType) else kind
    return Spec(name, tensor.dtype, shape, low, high, role, held, lengths, keys, table=table)


def _lengths(name: str, kind: Type | None) -> Iterator[Expr]:
    """One symbol per sequence or map, outermost first."""
    count = 0
    while isinstance(kind, SequenceType | OptionalType | MapType):
        if not isinstance(kind, OptionalType):
            yield symbol(f"{name}.length" + ("" if not count else f".{count}"))
            count += 1
        kind = kind.value if isinstance(kind, MapType) else kind.element


def _is_mapped(kind: Type | None) -> bool:
    while isinstance(kind, SequenceType | OptionalType):
        kind = kind.element
    return isinstance(kind, MapType)


def _sizes(extents: tuple[int | Expr, ...], dims: Mapping[str, int]) -> tuple[int, ...]:
    return tuple(d if isinstance(d, int) else d.evaluate(dims) for d in extents)
