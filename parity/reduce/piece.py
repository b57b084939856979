"""A part of one graph, or the same part of two, cut out at values that were recorded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.copies import copy_attributes, copy_graph
from isomorph.ir.graph import Graph
from isomorph.ir.types import TensorType
from isomorph.ir.weights import Weight
from isomorph.parity.arrays import is_tensor
from isomorph.parity.leaves import type_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isomorph.ir.graph import Op, Value
    from isomorph.ir.types import Type


@dataclass(frozen=True)
class Piece:
    """Something small that may fail as the whole did.

    Attributes:
        graph: the candidate's part.
        reference: the reference's, with inputs and outputs in the same order; `None` where the
            failure is the run time's.
        inputs: one per input, in stored dtypes.
        origin: ops of the piece → ops that they are copies of.
    """

    graph: Graph
    inputs: tuple[Any, ...]
    reference: Graph | None = None
    origin: dict[Op, Op] = field(default_factory=dict["Op", "Op"])

    @property
    def nodes(self) -> int:
        """Operators of the candidate's part, those of subgraphs too."""
        return sum(1 for _ in self.graph.walk())

    def graphs(self) -> list[Graph]:
        """The candidate's part, and the reference's if there is one."""
        return [self.graph] if self.reference is None else [self.graph, self.reference]

    def with_arrays(
        self, inputs: Sequence[Any], weights: Mapping[Value, np.ndarray], *, resized: bool = False
    ) -> Piece:
        """A copy with other inputs and weights; types follow where sizes changed."""
        made: list[Graph] = []
        for graph in self.graphs():
            copied, new = copy_graph(graph)
            for value, array in weights.items():
                if value in new and value.weight is not None:
                    new[value].weight = Weight.of(np.ascontiguousarray(array), value.weight.dtype)
                    new[value].type = new[value].weight.type  # type: ignore[union-attr] - just set
            if resized:
                for value, array in zip(copied.inputs, inputs, strict=True):
                    value.type = _fitting(value.type, array)
                for op in copied.ops():
                    for value in op.results:
                        value.type = None
            made.append(copied)
        return replace(
            self,
            graph=made[0],
            inputs=tuple(inputs),
            reference=made[1] if len(made) > 1 else None,
            origin={},
        )

    def non_default(self) -> int:
        """Elements of inputs and weights (those of subgraphs too) that are neither 0 nor 1."""
        arrays: list[Any] = [*self.inputs]
        for graph in self.graph.graphs():
            arrays += [v.weight.numpy() for v in graph.weights() if v.weight is not None]
        return sum(_unusual(a) for a in arrays)


def _unusual(array: Any) -> int:
    if not is_tensor(array):
        return 0
    found = np.asarray(array)
    if found.dtype.kind in "OUST":
        return int(sum(bool(v) for v in found.reshape(-1).tolist()))
    wide = found.astype(np.float64) if found.dtype.kind in "Vf" else found
    return int(((wide != 0) & (wide != 1)).sum())


def cut(
    ops: Sequence[Op],
    known: Mapping[Value, Any],
    whole: Graph,
    *,
    inputs: Sequence[Value] | None = None,
    outputs: Sequence[Value] | None = None,
    types: Mapping[str, Type] | None = None,
    alias: Mapping[Value, Value] | None = None,
) -> tuple[Graph, list[Value], dict[Value, Value], dict[Op, Op]]:
    """A graph of some ops of one graph, which reads whatever else they need as inputs.

    Args:
        ops: in an order in which they can be evaluated.
        known: recorded values, for their types.
        whole: the main graph that they belong to.
        inputs: values that become inputs whether they are needed or not, first.
        outputs: what to return; by default whatever these ops do not use up themselves.
        types: of values by name.
        alias: what captures of subgraphs stand for.

    Returns:
        The graph, the values that its inputs stand for, all values old → new, ops new → old.

    Raises:
        KeyError: when a value that is needed was not recorded.
    """
    made = Graph(whole.name)
    made.opsets, made.extra = dict(whole.opsets), dict(whole.extra)
    made.functions = dict(whole.functions)
    new: dict[Value, Value] = {}
    given: list[Value] = []
    origin: dict[Op, Op] = {}

    def enter(value: Value) -> Value:
        value = (alias or {}).get(value, value)
        if value in new:
            return new[value]
        if value.weight is not None:
            new[value] = made.add_weight(value.weight, value.name)
        else:
            kind = _typed(value, known[value], types or {})
            new[value] = made.add_input(value.name, kind)
            given.append(value)
        return new[value]

    for value in inputs or ():
        enter(value)
    for op in ops:
        added = made.add_op(
            op.type,
            [None if v is None else enter(v) for v in op.inputs],
            copy_attributes(op),
            outputs=[None if v is None else v.name for v in op.outputs],
            domain=op.domain,
            version=op.version,
            captures=[enter(v) for v in op.captures],
            source=op.source,
            name=op.name,
        )
        origin[added] = op
        for old, value in zip(op.results, added.results, strict=True):
            new[old] = value
            value.type = old.type
    if outputs is None:
        inside = {v for op in ops for v in op.operands}
        every = [v for op in ops for v in op.results]
        outputs = [v for v in every if v not in inside or _read_elsewhere(v, ops, whole)]
    made.outputs = [new[v] for v in dict.fromkeys(outputs)]
    return made, given, new, origin


def _read_elsewhere(value: Value, ops: Sequence[Op], whole: Graph) -> bool:
    """Whether others than these ops read a value, as far as the main graph tells."""
    if value.producer is None or value.producer not in whole.nx:
        return False
    own = set(ops)
    return whole.is_output(value) or any(op not in own for op in whole.consumers(value))


def _typed(value: Value, array: Any, types: Mapping[str, Type]) -> Type | None:
    """What a value is declared as once it is an input: symbolic dims stay symbolic."""
    known = type_of(array)
    if not isinstance(known, TensorType):
        return value.type or types.get(value.name) or known
    for stated in (value.type, types.get(value.name)):
        if not isinstance(stated, TensorType) or stated.shape is None:
            continue
        if len(stated.shape) == np.ndim(array) and stated.dtype is known.dtype:
            return _fitting(stated, array)
    return TensorType(known.dtype, (None,) * np.ndim(array))


def _fitting(kind: Type | None, array: Any) -> Type | None:
    """A type whose fixed dims are those of an array."""
    if not isinstance(kind, TensorType) or kind.shape is None or not is_tensor(array):
        return kind
    sizes = np.shape(array)
    if len(sizes) != len(kind.shape):
        return TensorType(kind.dtype, (None,) * len(sizes))
    shape = tuple(
        size if isinstance(dim, int) else dim for dim, size in zip(kind.shape, sizes, strict=True)
    )
    return TensorType(kind.dtype, shape)
