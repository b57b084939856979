"""Copies of graphs, and of ops into other graphs; weights are shared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.graph import Graph, Value, graphs_in

if TYPE_CHECKING:
    from isomorph.ir.graph import Attribute, Op


def copy_graph(graph: Graph) -> tuple[Graph, dict[Value, Value]]:
    """An independent copy (weights shared), and the map from old values to new ones."""
    made = Graph(graph.name)
    made.doc, made.origin = graph.doc, graph.origin
    made.opsets = dict(graph.opsets)
    made.constraints = list(graph.constraints)
    made.domains = dict(graph.domains)
    made.functions = dict(graph.functions)
    made.metadata = dict(graph.metadata)
    made.extra = dict(graph.extra)
    new: dict[Value, Value] = {}
    for node in graph.nx:
        if isinstance(node, Value):
            copied = made.source_value(node.name, node.type)
            copied.weight, copied.doc, copied.metadata = node.weight, node.doc, node.metadata
            new[node] = copied
    made.inputs = [new[v] for v in graph.inputs]
    made.captures = [new[v] for v in graph.captures]
    for op in graph.sorted_ops():
        copy_op(op, made, new, copy_attributes(op))
    made.outputs = [new[v] for v in graph.outputs]
    return made, new


def copy_op(
    op: Op, graph: Graph, new: dict[Value, Value], attributes: dict[str, Attribute] | None = None
) -> Op:
    """The same op in another graph, with everything that is known of it.

    Args:
        op: to be copied.
        graph: where to.
        new: the values of that graph by those that `op` has; its results are added.
        attributes: instead of its own, whose subgraphs would belong to both.
    """
    made = graph.add_op(
        op.type,
        [None if v is None else new[v] for v in op.inputs],
        op.attributes if attributes is None else attributes,
        outputs=[None if v is None else v.name for v in op.outputs],
        domain=op.domain,
        version=op.version,
        captures=[new[v] for v in op.captures],
        source=op.source,
        name=op.name,
    )
    made.doc, made.metadata, made.kept = op.doc, op.metadata, op.kept
    for old, fresh in zip(op.results, made.results, strict=True):
        fresh.type, fresh.doc, fresh.metadata = old.type, old.doc, old.metadata
        new[old] = fresh
    return made


def copy_attributes(op: Op) -> dict[str, Any]:
    """An op's attributes, with copies of its subgraphs."""
    return {name: _copied(value) for name, value in op.attributes.items()}


def _copied(value: Attribute) -> Attribute:
    copies = tuple(copy_graph(g)[0] for g in graphs_in(value))
    return value if not copies else copies[0] if isinstance(value, Graph) else copies
