"""Nodes of a file in an order in which each comes after what it reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.errors import InvalidModelError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from onnx import GraphProto, NodeProto

MAX_DEPTH = 64
"""Levels of subgraphs within subgraphs, those of functions' bodies included."""


def in_order(nodes: Sequence[NodeProto], known: Container[str], where: str) -> Sequence[NodeProto]:
    """The nodes themselves when they are in order, else moved as little as that needs.

    Args:
        nodes: of one graph.
        known: names that are defined before any node runs.
        where: the graph, for errors.

    Raises:
        InvalidModelError: when there is a cycle; names nodes on it.
    """
    reads = [node_reads(node) for node in nodes]
    if _is_ordered(nodes, reads, known):
        return nodes
    made: dict[str, int] = {}
    for index, node in enumerate(nodes):
        for name in node.output:
            if name and name not in known:
                made.setdefault(name, index)
    order: list[NodeProto] = []
    state = [0] * len(nodes)  # 0 unseen, 1 being placed, 2 placed
    for first in range(len(nodes)):
        stack = [first]
        while stack:
            index = stack[-1]
            if state[index] == 0:
                state[index] = 1
                wanted = sorted({made[n] for n in reads[index] if n in made}, reverse=True)
                if any(state[w] == 1 for w in wanted):
                    raise InvalidModelError(
                        f"{where}: there is a cycle through {_label(nodes[index])}"
                    )
                stack.extend(w for w in wanted if not state[w])
                continue
            stack.pop()
            if state[index] == 1:
                state[index] = 2
                order.append(nodes[index])
    return order


def node_reads(node: NodeProto, depth: int = 0) -> set[str]:
    """Names that a node reads, its subgraphs' references to names around it included.

    Raises:
        UnsupportedError: when subgraphs are nested too deep to be read.
    """
    found = set(node.input)
    found.discard("")
    for attribute in node.attribute:
        for graph in _graphs(attribute):
            found |= _outer_names(graph, depth + 1)
    return found


def _outer_names(graph: GraphProto, depth: int) -> set[str]:
    """Names that a subgraph uses and does not define."""
    if depth > MAX_DEPTH:
        raise UnsupportedError(f"its subgraphs are nested deeper than {MAX_DEPTH} levels")
    inner = {i.name for i in graph.input} | {i.name for i in graph.initializer}
    inner |= {i.values.name for i in graph.sparse_initializer}
    used = {o.name for o in graph.output}
    for node in graph.node:
        inner.update(node.output)
        used |= node_reads(node, depth)
    return used - inner - {""}


def _graphs(attribute: object) -> Iterator[GraphProto]:
    if attribute.HasField("g"):  # type: ignore[attr-defined]
        yield attribute.g  # type: ignore[attr-defined]
    yield from attribute.graphs  # type: ignore[attr-defined]


def _is_ordered(
    nodes: Sequence[NodeProto], reads: Sequence[set[str]], known: Container[str]
) -> bool:
    ready: set[str] = set()
    for node, wanted in zip(nodes, reads, strict=True):
        if not all(n in ready or n in known for n in wanted):
            return False
        ready.update(node.output)
    return True


def _label(node: NodeProto) -> str:
    return f"node {node.name or '|'.join(node.output)!r} ({node.op_type})"
