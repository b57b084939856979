"""What does not stop an export, but may surprise the one who uses the file."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.divergences import warnings_of
from isomorph.exporters.runtimes.limitations import limitations_of
from isomorph.ir.budget import size_text
from isomorph.ir.dice import may_draw
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.exporters.coverage.collect import Collector
    from isomorph.exporters.target import Target
    from isomorph.ir.graph import Graph

DATA_DEPENDENT = frozenset({"Compress", "NonMaxSuppression", "NonZero", "StringSplit", "Unique"})
"""Operators whose result shapes depend on the values of their operands, not on shapes alone."""


def risks(graph: Graph, target: Target, found: Collector, memory: int | None = None) -> None:
    """Note the risks of a graph at a target, subgraphs included.

    Args:
        graph: typed as far as possible.
        target: opset and run time.
        found: takes them.
        memory: bytes of float64 that one result may take; any number by default.
    """
    if memory is not None:
        _large(graph, found, memory)
    for _, op in graph.walk():
        who = f"{target.runtime} {target.release}"
        for limitation in limitations_of(op, target.runtime, target.release):
            found.add(op, "risk", f"{who} {limitation.reason}", limitation.remedy, severity="risk")
        for entry in warnings_of(op, graph, target.runtime, target.release):
            found.warn(op, f"{who}: {entry.what} [{entry.name}]", entry.remedy)
        if op.domain:
            continue
        if op.type in DATA_DEPENDENT:
            found.add(
                op,
                "risk",
                f"the shape of {op.type}'s result depends on the data: memory cannot be planned "
                "ahead, and some providers refuse it",
                "keep it where shapes may vary from run to run, or rewrite it with Where",
                severity="risk",
            )
        if may_draw(op):
            seeded = op.attributes.get("seed") is not None
            found.add(
                op,
                "risk",
                f"{op.type} draws random numbers"
                + (": even with its seed, run times draw different ones" if seeded else ""),
                "make the random values an input of the model",
                severity="risk",
            )


def _large(graph: Graph, found: Collector, memory: int) -> None:
    for _, op in graph.walk():
        for value in op.results:
            kind = value.type
            if not isinstance(kind, TensorType) or kind.static_shape is None:
                continue
            width = 8 if kind.dtype.is_float else max(1, kind.dtype.numpy.itemsize)
            taken = prod(kind.static_shape) * width
            if taken > memory:
                found.add(
                    op,
                    "risk",
                    f"its result {value.name!r}, {kind}, takes {size_text(taken)} to verify; "
                    f"{size_text(memory)} may be taken at once",
                    "make it smaller, or allow more with --max-memory where there is as much",
                    severity="risk",
                )
