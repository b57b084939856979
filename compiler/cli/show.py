"""`isomorph show`: what is in a model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit
from isomorph.cli.guard import guarded
from isomorph.ir.printable import printable

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Value


LONGEST = 400
"""Characters of a line of text."""


def show(
    source: options.SourceArgument,
    input: options.Inputs = None,  # noqa: A002 - the option's name
    as_json: options.Json = False,
) -> None:
    """Show the operators, types, dims, weights, opsets and provenance of SOURCE.

    Exit code 0, or 2 for unreadable input.
    """
    with command(as_json=as_json) as say, guarded():
        from isomorph.cli.source import graph_of

        say("read")
        facts = describe(graph_of(source, input or ()))
        if as_json:
            emit(facts)
        else:
            print(as_text(facts))
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
        "notes": list(graph.extra.get("notes", ())),
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


def as_text(facts: dict[str, Any]) -> str:
    """The facts as lines of text; what a file says is escaped where a terminal would act on it."""
    opsets = ", ".join(f"{d or 'ai.onnx'} {v}" for d, v in facts["opsets"].items()) or "none yet"
    weights = facts["weights"]
    kinds = ", ".join(f"{n:,} {d}" for d, n in weights["elements_by_dtype"].items()) or "none"
    lines = [
        facts["origin"] or facts["name"],
        f"  producer: {facts['producer'] or 'unknown'}",
        f"  opsets: {opsets}",
        f"  IR version: {facts['ir_version'] or 'none yet'}",
        f"  dims: {', '.join(facts['dims']) or 'all fixed'}",
        f"  constraints: {'; '.join(facts['constraints']) or 'none'}",
        *(f"  input {v['name']}: {v['type']}" for v in facts["inputs"]),
        *(f"  output {v['name']}: {v['type']}" for v in facts["outputs"]),
        f"  weights: {weights['count']} tensors, {weights['bytes']:,} bytes ({kinds})",
        *(f"  {key}: {value}" for key, value in facts["metadata"].items()),
        *(f"  note: {note}" for note in facts["notes"]),
        f"  {facts['nodes_with_subgraphs']} nodes",
    ]
    width = max((len(str(n)) for n in facts["ops"].values()), default=0)
    lines += [f"  {count:>{width + 2}} {name}" for name, count in facts["ops"].items()]
    return "\n".join(_cut(printable(line)) for line in lines)


def _cut(line: str) -> str:
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}… ({len(line):,} characters)"
