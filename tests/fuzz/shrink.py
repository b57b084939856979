"""A failing graph made small: ops become inputs that hold what they gave, as long as it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.graph import Graph
from isomorph.ir.interpret import Program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op, Value

    Fails = Callable[[Graph, list[Any]], bool]


def shrunk(graph: Graph, feeds: Sequence[Any], fails: Fails) -> tuple[Graph, list[Any]]:
    """A smaller graph, and inputs for it, that fail alike; the same ones where none was found."""
    values = known(graph, feeds)
    wanted = list(graph.outputs)
    kept = set(graph.ops())
    best = graph, list(feeds)

    def attempt(ops: set[Op], outputs: list[Value]) -> bool:
        nonlocal best
        made = part(graph, ops, outputs, values)
        if made is None or not fails(*made):
            return False
        best = made
        return True

    for output in [*graph.outputs, *(v for op in graph.ops() for v in op.results)]:
        if output in values and attempt(kept, [output]):
            wanted = [output]
            break
    for op in graph.sorted_ops():
        if op in kept and attempt(kept - {op}, wanted):
            kept -= {op}
    for op in graph.sorted_ops()[::-1]:
        if op in kept and attempt(kept - {op}, wanted):
            kept -= {op}
    return best


def known(graph: Graph, feeds: Sequence[Any]) -> dict[Value, Any]:
    """Every value of a graph on some inputs."""
    found: dict[Value, Any] = dict(zip(graph.inputs, feeds, strict=True))

    def watch(op: Op, _operands: list[Any], results: list[Any]) -> None:
        found.update((v, r) for v, r in zip(op.outputs, results, strict=False) if v is not None)

    Program(graph).run(feeds, watch=watch)
    return found


def part(
    graph: Graph, ops: set[Op], outputs: Sequence[Value], values: dict[Value, Any]
) -> tuple[Graph, list[Any]] | None:
    """The ops of some that the outputs need, and inputs in place of the rest."""
    made, feeds = Graph(graph.name), []
    new: dict[Value, Value] = {}
    needed: set[Op] = set()
    stack = [v.producer for v in outputs]
    while stack:
        op = stack.pop()
        if op is None or op in needed or op not in ops:
            continue
        needed.add(op)
        stack += [v.producer for v in op.operands]
    if not needed:
        return None

    def find(value: Value) -> Value:
        if value not in new:
            if value.weight is not None:
                new[value] = made.add_weight(value.weight, value.name)
            else:
                new[value] = made.add_input(value.name, value.type)
                feeds.append(values[value])
        return new[value]

    for op in graph.sorted_ops():
        if op not in needed:
            continue
        copied = made.add_op(
            op.type,
            [None if v is None else find(v) for v in op.inputs],
            op.attributes,
            outputs=[None if v is None else v.name for v in op.outputs],
            domain=op.domain,
            version=op.version,
            captures=[find(v) for v in op.captures],
        )
        for before, after in zip(op.outputs, copied.outputs, strict=True):
            if before is not None and after is not None:
                new[before], after.type = after, before.type
    if not all(v in new for v in outputs):
        return None
    made.outputs = [new[v] for v in outputs]
    made.opsets = dict(graph.opsets)
    return made, feeds
