"""Invariants of a graph. Run after every pass; an error names op, value and expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.graph import Graph, Op, Value


def verify(graph: Graph, after: str = "") -> None:
    """Check every invariant, in subgraphs too.

    Raises:
        InvalidGraphError: listing all that is broken, and the pass (`after`) that broke it.
    """
    found = [p for g in _graphs(graph) for p in _problems(g)]
    if found:
        head = f"after {after}: " if after else ""
        shown = "\n  ".join(found[:20])
        raise InvalidGraphError(f"{head}{len(found)} broken invariants:\n  {shown}")


def _graphs(graph: Graph) -> Iterator[Graph]:
    stack = [graph]
    while stack:
        current = stack.pop()
        yield current
        for op in current.ops():
            stack.extend(g for _, g in op.subgraphs())


def _problems(graph: Graph) -> Iterator[str]:
    names: dict[str, Value] = {}
    for value in graph.values():
        if not value.name:
            yield f"{graph.name}: a value of {value.producer} has no name"
        elif names.setdefault(value.name, value) is not value:
            yield f"{graph.name}: two values are called %{value.name}"
    for value in (*graph.inputs, *graph.captures):
        if value not in graph.nx:
            yield f"{graph.name}: input %{value.name} is not a node"
    for value in graph.outputs:
        if (value.producer or value) not in graph.nx:
            yield f"{graph.name}: output %{value.name} is not computed here"
    try:
        graph.sorted_ops()
    except InvalidGraphError as error:
        yield f"{graph.name}: {error}"
    for op in graph.ops():
        yield from _op_problems(graph, op)


def _op_problems(graph: Graph, op: Op) -> Iterator[str]:
    linked = {id(v) for _, _, vs in graph.nx.in_edges(op, data="values") for v in vs}
    used = {id(v) for v in op.operands}
    if linked != used:
        yield f"{op}: its edges do not carry its operands"
    for value in op.results:
        if value.producer is not op:
            yield f"{op}: result %{value.name} names {value.producer} as its producer"
    for name, sub in op.subgraphs():
        if len(sub.captures) != len(op.captures):
            yield (
                f"{op}: captures {len(op.captures)} values, its {name} takes {len(sub.captures)}"
            )
    known = op.schema
    if known is None:
        return
    if not known.min_inputs <= len(op.inputs) <= known.max_inputs:
        yield f"{op}: {len(op.inputs)} inputs, {known.min_inputs} to {known.max_inputs} are allowed"
    if not known.min_outputs <= len(op.outputs) <= known.max_outputs:
        allowed = f"{known.min_outputs} to {known.max_outputs} are allowed"
        yield f"{op}: {len(op.outputs)} outputs, {allowed}"
    for attribute in known.attributes.values():
        if attribute.required and attribute.name not in op.attributes:
            yield f"{op}: attribute {attribute.name!r} is missing"
    for name in op.attributes:
        if name not in known.attributes:
            yield f"{op}: {known.name}-{known.since} has no attribute {name!r}"
    for index, value in enumerate(op.inputs):
        if value is None or not isinstance(value.type, TensorType):
            continue
        if not known.allows(index, value.type.dtype):
            yield f"{op}: operand {index} is {value.type}, which {known.name}-{known.since} forbids"
