"""Compute equal things once: equal constants, and equal ops on equal operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from isomorph.ir.opdef import OPS
from isomorph.ir.patch import Patch
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Hashable

    from isomorph.ir.graph import Graph, Op, Value


@dataclass(frozen=True)
class CommonSubexpressions:
    """Merge constants with the same bits, then deterministic ops with the same operands."""

    name: str = "common-subexpressions"

    def apply(self, graph: Graph) -> bool:
        """Merge, in each graph by itself; whether anything was merged."""
        changed = False
        for current in graph.graphs():
            changed |= _merge_weights(current) | _merge_ops(current)
        return changed


def _merge_weights(graph: Graph) -> bool:
    buckets: dict[Hashable, list[tuple[Value, Weight]]] = {}
    for value in graph.weights():
        weight = value.weight
        if weight is not None:
            buckets.setdefault((weight.dtype, weight.shape), []).append((value, weight))
    patch = Patch(graph)
    merged = False
    for bucket in buckets.values():
        first: dict[bytes, Value] = {}
        for value, weight in bucket if len(bucket) > 1 else ():
            kept = first.setdefault(weight.digest(), value)
            if kept is not value and not graph.is_output(value):
                patch.replace(value, kept)
                merged |= bool(graph.consumers(value))
    patch.apply()
    return merged


def _merge_ops(graph: Graph) -> bool:
    first: dict[Hashable, Op] = {}
    merged = False
    for op in graph.sorted_ops():
        definition = OPS.get(op.key)
        if definition is None or not definition.deterministic or any(True for _ in op.subgraphs()):
            continue
        kept = first.setdefault(_key(op), op)
        if kept is op or any(graph.is_output(v) for v in op.results):
            continue
        patch = Patch(graph, op)
        patch.replace_op(op, kept)
        patch.apply()
        merged = True
    return merged


def _key(op: Op) -> Hashable:
    definition = OPS.get(op.key)
    inputs = tuple(None if v is None else id(v) for v in op.inputs)
    if definition is not None and definition.commutative and len(inputs) == 2:
        inputs = tuple(sorted(inputs, key=str))
    attributes = tuple(sorted((k, _plain(v)) for k, v in op.attributes.items()))
    outputs = tuple(v is not None for v in op.outputs)
    return op.domain, op.type, op.version, inputs, attributes, outputs


def _plain(value: Any) -> str:
    if isinstance(value, Weight):
        return value.digest().hex()
    if isinstance(value, tuple):
        return f"({', '.join(map(_plain, cast('tuple[Any, ...]', value)))})"
    return repr(value)
