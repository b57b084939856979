"""The last touches before a graph becomes a file: what other tools need and passes do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.layout import same_contents
from isomorph.ir import schema
from isomorph.ir.patch import Patch, remove_unused_weights

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Value


def finalize(graph: Graph, opset: int, *, untouched: bool = False) -> None:
    """Make a graph ready to be written, in place, subgraphs included.

    Weights that nothing reads go. Outputs of subgraphs get a name of their own, an Identity where
    one is given twice, or is a value from around; those of the model keep theirs, even where they
    are inputs, weights, or listed twice, which run times take. Unless the graph is to be written as
    it was read: outputs of subgraphs are computed by an op, equal weights are merged, ops get
    unique names, and values of subgraphs names that nothing around them has, be it computed before
    or later: onnxruntime takes a repeated one for a second definition where it types nested loops
    twice.
    """
    names: dict[str, int] = {}
    for each in graph.graphs():
        remove_unused_weights(each)
        if each is not graph:
            _separate_outputs(each, opset, computed=not untouched)
        if not untouched:
            _merge_weights(each)
            _name_ops(each, names)
    if not untouched:
        _name_values(graph)


def _separate_outputs(graph: Graph, opset: int, *, computed: bool) -> None:
    seen: set[Value] = set()
    outputs: list[Value] = []
    for value in graph.outputs:
        outer = value.producer is None and (computed or value in graph.captures)
        if value in seen or outer:
            name = f"{value.name}_output"
            made = Patch(graph).op(
                "Identity",
                [value],
                outputs=[name],
                version=schema.since_version("", "Identity", opset),
                types=[value.type],
            )
            made.output.doc = value.doc
            outputs.append(made.output)
        else:
            outputs.append(value)
        seen.add(value)
    graph.outputs = outputs


def _merge_weights(graph: Graph) -> None:
    kept: dict[object, Value] = {}
    values = graph.weights()
    first = same_contents(v.weight for v in values if v.weight is not None)
    patch = Patch(graph)
    for value in values:
        weight = value.weight
        if weight is not None:
            key = id(first[id(weight)]), weight.dtype, weight.shape
            patch.replace(value, kept.setdefault(key, value))
    patch.apply()
    remove_unused_weights(graph)


def _name_ops(graph: Graph, taken: dict[str, int]) -> None:
    """Unique names; `taken` holds those of the whole model, and how often each was asked for."""
    for op in graph.sorted_ops():
        base = op.name or op.type
        name = op.name
        while not name or name in taken:
            taken[base] = count = taken.get(base, 0) + 1
            name = f"{base}_{count}"
        taken.setdefault(name, 0)
        op.name = name


def _name_values(graph: Graph) -> None:
    """Let no value of a subgraph have the name of one around it."""
    stack: list[tuple[Graph, frozenset[str]]] = [(graph, frozenset())]
    while stack:
        each, around = stack.pop()
        own = set(each.values()) - set(each.captures)
        for value in [v for v in own if v.name in around]:
            name, count = value.name, 0
            while name in around:
                count += 1
                name = each.unique_name(f"{value.name}_{count}")
            each.rename(value, name)
        inner = [sub for op in each.ops() for _, sub in op.subgraphs()]
        if inner:
            named = around | {v.name for v in own}
            stack += [(sub, named) for sub in inner]
