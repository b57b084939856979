"""What does not stop an export, but may surprise the one who uses the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.tables import type_text

if TYPE_CHECKING:
    from isomorph.exporters.coverage.collect import Collector
    from isomorph.exporters.target import Target
    from isomorph.ir.graph import Graph, Op

DATA_DEPENDENT = frozenset({"Compress", "NonMaxSuppression", "NonZero", "StringSplit", "Unique"})
"""Operators whose result shapes depend on the values of their operands, not on shapes alone."""


DIVERGENCES = {
    ("onnxruntime", "1.31.1"): {
        ("Gather", "string"): "returns empty strings where an index selects more than one element",
        ("GroupNormalization", "float64"): "computes it in float32",
        ("Gelu", "float64"): "computes its tanh form in float32",
        ("Shrink", "float64"): "computes it with float32 constants",
    }
}
"""Wrong results that a release was seen to give, by operator and first operand's element type."""

RANDOM = frozenset(
    {
        "Bernoulli",
        "Dropout",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
"""Operators whose results are drawn, Dropout only while training."""


def is_random(op: Op) -> bool:
    """Whether an op draws random numbers."""
    return not op.domain and op.type in RANDOM and (op.type != "Dropout" or len(op.inputs) > 2)


def risks(graph: Graph, target: Target, found: Collector) -> None:
    """Note the risks of a graph at a target, subgraphs included."""
    wrong = DIVERGENCES.get((target.runtime, target.release), {})
    for _, op in graph.walk():
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
        first = op.input(0)
        known = (op.type, type_text(first.type) or "") if first is not None else ("", "")
        if known in wrong:
            found.add(
                op,
                "risk",
                f"{target.runtime} {target.release} {wrong[known]}",
                "compare its results there, or use another release",
                severity="risk",
            )
        if is_random(op):
            seeded = op.attributes.get("seed") is not None
            found.add(
                op,
                "risk",
                f"{op.type} draws random numbers"
                + (": even with its seed, run times draw different ones" if seeded else ""),
                "make the random values an input of the model",
                severity="risk",
            )
