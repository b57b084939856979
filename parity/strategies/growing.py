"""A graph that grows op by op; each is run on the way, so that the whole is known to be valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.dims import Expr, symbol
from isomorph.ir.errors import OPERAND_ERRORS, IsomorphError
from isomorph.ir.graph import Graph, Op, Value
from isomorph.ir.infer import infer_op
from isomorph.ir.interpret import interpret
from isomorph.ir.schema import canonical
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType, TensorType
from isomorph.ir.verify import unfit
from isomorph.ir.weights import Weight
from isomorph.parity.arrays import is_list, is_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from isomorph.ir.context import Content
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import Type

    Allow = Callable[[Op], bool]

LARGEST = 2048
"""Elements of a result; what would be larger is not taken."""


class DisagreementError(IsomorphError):
    """An operator's shape rule and its evaluation say different things of one result."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A value of a growing graph, and what it is in the one run that is known to go through."""

    value: Value
    array: Any

    @property
    def type(self) -> Type | None:
        """Its type in the graph."""
        return self.value.type

    @property
    def tensor(self) -> TensorType | None:
        """Its type, if it is a tensor of known rank."""
        kind = self.value.type
        return kind if isinstance(kind, TensorType) and kind.shape is not None else None


@dataclass(frozen=True, slots=True, eq=False)
class Fresh:
    """An operand that does not exist yet: an input of the graph, or a weight."""

    type: Type
    array: Any
    constant: bool = False


@dataclass(frozen=True, slots=True)
class Use:
    """An op that could be added."""

    key: Key
    operands: tuple[Held | Fresh | None, ...]
    attributes: Mapping[str, Any]
    outputs: int = 1
    captures: tuple[Held | Fresh, ...] = ()


class Growing:
    """A graph in the making.

    Args:
        allow: which ops may be added, once their operands are known.
        strict: raise where a shape rule contradicts an evaluation, instead of leaving the op out.

    Attributes:
        graph: what there is of it.
        held: every value that ops may use, in order.
        sizes: of its symbols, in the run that goes through.
        feeds: the inputs of that run.
        closed: it is a body: what it uses it captures, and no input can be added.
    """

    def __init__(
        self,
        name: str = "drawn",
        *,
        sizes: dict[str, int] | None = None,
        allow: Allow | None = None,
        strict: bool = False,
        closed: bool = False,
    ) -> None:
        self.graph = Graph(name)
        self.held: list[Held] = []
        self.sizes: dict[str, int] = {} if sizes is None else sizes
        self.feeds: list[Any] = []
        self.closed = closed
        self.allow, self.strict = allow, strict
        self._contents: dict[Value, Content] = {}

    def dim(self, name: str, size: int) -> Expr:
        """A symbol, new or known, that has a size in the run that goes through."""
        self.sizes.setdefault(name, size)
        return symbol(name)

    def add(self, use: Use) -> tuple[Held, ...]:
        """Add an op with its new operands; its results, or nothing where it is not valid there.

        Raises:
            DisagreementError: when it is strict, and the shape rule contradicts what was computed.
        """
        operands = (*use.operands, *use.captures)
        if self.closed and any(isinstance(o, Fresh) and not o.constant for o in operands):
            return ()
        arrays = [None if o is None else o.array for o in operands]
        found = self._run(use, [_stand_in(o) for o in operands], arrays)
        if found is None or any(size_of(v) > LARGEST for v in found):
            return ()
        count = len(use.operands)
        linked = [None if o is None else self._linked(o) for o in operands]
        op = self.graph.add_op(
            use.key[1],
            linked[:count],
            use.attributes,
            outputs=use.outputs,
            domain=use.key[0],
            captures=[v for v in linked[count:] if v is not None],
        )
        infer_op(op, self.graph, self._contents)
        made = tuple(Held(v, a) for v, a in zip(op.results, found, strict=False))
        self.held += made
        return made

    def body(self, name: str) -> Growing:
        """A subgraph in the making."""
        return Growing(name, sizes=self.sizes, allow=self.allow, strict=self.strict, closed=True)

    def capture(self, outer: Held) -> Held:
        """Take an outer value in, and let ops use it."""
        made = Held(self.graph.add_capture("outer", outer.type), outer.array)
        self.held.append(made)
        return made

    def formal(self, name: str, kind: Type, array: Any) -> Held:
        """Add an input that the op around a body gives values to."""
        made = Held(self.graph.add_input(name, kind), array)
        self.held.append(made)
        return made

    def unused(self) -> list[Held]:
        """Results that nothing uses yet, the latest last."""
        return [h for h in self.held if h.value.producer and not self.graph.is_used(h.value)]

    def _run(self, use: Use, values: list[Value | None], arrays: Sequence[Any]) -> list[Any] | None:
        """The results of an op outside of the graph, `None` where it is not valid."""
        count = len(use.operands)
        known = canonical(*use.key)
        if known is None:
            return None
        captures = tuple(v for v in values[count:] if v is not None)
        given = {k: v for k, v in use.attributes.items() if v is not None}
        op = Op(*use.key, known.since, tuple(values[:count]), given, captures)
        op.outputs = tuple(Value(f"y{n}", None, op) for n in range(use.outputs))
        try:
            infer_op(op, self.graph, dict(self._contents))
            if next(unfit(op), None) or (self.allow is not None and not self.allow(op)):
                return None
            found = evaluate(op, arrays[:count], captures=arrays[count:], run=_run_body)
        except (IsomorphError, *OPERAND_ERRORS):
            return None
        if not _is_open(op, arrays):
            try:
                for value, array in zip(op.results, found, strict=False):
                    self._compare(op, value, array)
            except DisagreementError:
                if self.strict:
                    raise
                return None
        return found if len(found) >= len(op.results) else None

    def _linked(self, operand: Held | Fresh) -> Value:
        if isinstance(operand, Held):
            return operand.value
        if operand.constant:
            weight = Weight.of(operand.array, cast("TensorType", operand.type).dtype)
            value = self.graph.add_weight(weight, "w")
        else:
            value = self.graph.add_input("x", operand.type)
            self.feeds.append(operand.array)
        self.held.append(Held(value, operand.array))
        return value

    def _compare(self, op: Op, value: Value, array: Any) -> None:
        """Hold the type of a result against what was computed."""
        kind = value.type
        if not isinstance(kind, TensorType) or array is None or is_list(array) or is_map(array):
            return
        got = np.asarray(array)
        fits = DType.of(got.dtype) is kind.dtype and (
            kind.shape is None
            or (
                len(kind.shape) == got.ndim
                and all(
                    self._size(d) in {None, n} for d, n in zip(kind.shape, got.shape, strict=True)
                )
            )
        )
        if not fits:
            operands = ", ".join(str(v.type) if v is not None else "-" for v in op.inputs)
            raise DisagreementError(
                f"{op.type}-{op.version}({operands}) {op.attributes}: its rule says {kind}, it is "
                f"{DType.of(got.dtype)}{list(got.shape)} where {self.sizes}"
            )

    def _size(self, dim: int | Expr | None) -> int | None:
        if not isinstance(dim, Expr):
            return dim
        return dim.evaluate(self.sizes) if dim.symbols() <= self.sizes.keys() else None


def _is_open(op: Op, arrays: Sequence[Any]) -> bool:
    """Whether the shape of the result is nothing that a rule could know, or the standard says."""
    if any(True for _ in op.subgraphs()):  # of rounds that never came, no shape is known
        return True
    axes = arrays[1] if op.type.startswith("Reduce") and len(arrays) > 1 else None
    return axes is not None and np.unique(axes).size < np.size(axes)


def _stand_in(operand: Held | Fresh | None) -> Value | None:
    """A value of a new operand's type that is in no graph."""
    if operand is None or isinstance(operand, Held):
        return None if operand is None else operand.value
    weight = None
    if operand.constant:
        weight = Weight.of(operand.array, cast("TensorType", operand.type).dtype)
    return Value("x", operand.type, None, weight)


def _run_body(graph: Graph, inputs: Sequence[Any], captures: Sequence[Any]) -> list[Any]:
    return interpret(graph, inputs, captures)


def size_of(value: Any) -> int:
    """Elements of a value, those of all that it holds together."""
    if is_list(value):
        return sum(size_of(v) for v in cast("Iterable[Any]", value))
    return len(value) if is_map(value) else int(np.size(value))
