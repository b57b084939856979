"""`isomorph show`: what is in a model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Value


def show(
    source: options.SourceArgument,
    input: options.Inputs = None,  # noqa: A002 - the option's name
    as_json: options.Json = False,
) -> None:
    """Show the operators, types, dims, weights, opsets and provenance of SOURCE.

    Exit code 0, or 2 for unreadable input.
    """
    with command(as_json=as_json) as say:
        from isomorph.cli.source import graph_of

        say("read")
        facts = describe(graph_of(source, input or ()))
        if as_json:
            emit(facts)
        else:
            _print(facts)
    raise typer.Exit(0)


def describe(graph: Graph) -> dict[str, Any]:
    """The facts that `show` prints, as plain data."""
    ops = Counter(
        f"{op.domain}.{op.type}-{op.version}" if op.domain else f"{op.type}-{op.version}"
        for _, op in graph.walk()
    )
    weights = [v.weight for g in graph.graphs() for v in g.weights() if v.weight is not None]
    dtypes = Counter[str]()
    for weight in weights:
        dtypes[str(weight.dtype)] += weight.size
    return {
        "schema_version": 1,
        "name": graph.name,
        "origin": graph.origin,
        "doc": graph.doc,
        "producer": " ".join(
            str(graph.extra.get(k, "")) for k in ("producer_name", "producer_version")
        ).strip(),
        "ir_version": graph.extra.get("ir_version"),
        "opsets": graph.opsets,
        "inputs": [_value(v) for v in graph.inputs],
        "outputs": [_value(v) for v in graph.outputs],
        "dims": sorted(graph.symbols()),
        "constraints": [str(c) for c in graph.constraints],
        "metadata": graph.metadata,
        "nodes": len(graph),
        "nodes_with_subgraphs": ops.total(),
        "ops": dict(sorted(ops.items(), key=lambda item: (-item[1], item[0]))),
        "weights": {
            "count": len(weights),
            "elements": sum(w.size for w in weights),
            "bytes": sum(w.nbytes for w in weights),
            "elements_by_dtype": dict(sorted(dtypes.items())),
        },
    }


def _value(value: Value) -> dict[str, str]:
    return {"name": value.name, "type": str(value.type) if value.type is not None else "unknown"}


def _print(facts: dict[str, Any]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    opsets = ", ".join(f"{d or 'ai.onnx'} {v}" for d, v in facts["opsets"].items()) or "none yet"
    console.print(f"{facts['origin'] or facts['name']}", style="bold", markup=False)
    for label, text in (
        ("producer", facts["producer"] or "unknown"),
        ("opsets", opsets),
        ("IR version", facts["ir_version"] or "none yet"),
        ("dims", ", ".join(facts["dims"]) or "all fixed"),
        ("constraints", "; ".join(facts["constraints"]) or "none"),
    ):
        console.print(f"  {label}: {text}", markup=False)
    for label in ("inputs", "outputs"):
        for value in facts[label]:
            console.print(f"  {label[:-1]} {value['name']}: {value['type']}", markup=False)
    weights = facts["weights"]
    kinds = ", ".join(f"{n:,} {d}" for d, n in weights["elements_by_dtype"].items()) or "none"
    console.print(f"  weights: {weights['count']} tensors, {weights['bytes']:,} bytes ({kinds})")
    for key, value in facts["metadata"].items():
        console.print(f"  {key}: {value}", markup=False)
    table = Table("operator", "count", title=f"{facts['nodes_with_subgraphs']} nodes")
    for name, count in facts["ops"].items():
        table.add_row(name, str(count))
    console.print(table)
