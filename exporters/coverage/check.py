"""Will this graph export for that target? Every obstacle at once, found without writing anything.

The real downgrade runs on a copy; each op that it leaves is looked up in what the run time was
observed to do. Where the table is silent, the installed release is asked about that very op.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.coverage.collect import Collector, Origin
from isomorph.exporters.coverage.report import Report
from isomorph.exporters.coverage.risks import risks
from isomorph.exporters.coverage.runnable import Runnable
from isomorph.exporters.onnx.downgrade import LOWEST_WRITTEN, downgrade
from isomorph.exporters.target import limits_of
from isomorph.ir import schema
from isomorph.ir.bulk import uncollected
from isomorph.ir.copies import copy_graph
from isomorph.ir.opdef import OPS
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.exporters.target import Target
    from isomorph.ir.graph import Graph
    from isomorph.ir.versions import Inexpressible

PLACEHOLDER = "isomorph.unsupported"
"""Domain of what a front end could not express; attributes `function`, `reason`, `remedy`."""


@uncollected()
def check(graph: Graph, target: Target, memory: int | None = None) -> Report:
    """Every obstacle and risk of exporting a graph for a target.

    Args:
        graph: upgraded and typed as far as possible; ops that could not be upgraded, and ops that
            nobody knows, may be among them. Not changed; no weight is read.
        target: opset and run time.
        memory: bytes that a result may take where the file is verified; any number by default.
    """
    found = Collector()
    _inputs(graph, found)
    _outputs(graph, found)
    if target.opset < LOWEST_WRITTEN and graph.opsets.get("") != target.opset:
        found.add(
            None,
            "opset",
            f"graphs are rewritten to opset {LOWEST_WRITTEN} at the lowest, not {target.opset}",
            f"export at opset {LOWEST_WRITTEN} or newer",
        )
        return Report(target, found.findings(), source=graph.origin)
    copied, _ = copy_graph(graph)
    for _, op in copied.walk():
        op.metadata = Origin(op)
        if op.domain == PLACEHOLDER:
            name = op.attributes.get("function") or op.type
            reason = op.attributes.get("reason") or f"{name} cannot be expressed yet"
            remedy = op.attributes.get("remedy") or "operations that are supported"
            found.add(op, "unsupported-op", str(reason), f"use {remedy}")
    stuck = downgrade(copied, target.opset)
    for problem in stuck:
        _stuck(problem, target, found)
    placeholders = {op for _, op in copied.walk() if op.domain == PLACEHOLDER}
    runnable = Runnable(target, found)
    runnable.look_at(copied, placeholders | {problem.op for problem in stuck})
    risks(graph, target, found, memory)
    notes = [*graph.extra.get("notes", ()), *runnable.notes]
    own = graph.opsets.get("", 0)
    if own > target.opset:
        notes.append(f"the model was read at opset {own} and is rewritten for {target.opset}")
    return Report(target, found.findings(), tuple(notes), graph.origin)


def _inputs(graph: Graph, found: Collector) -> None:
    for value in graph.inputs:
        if value.type is None:
            found.add(
                None,
                "dtype",
                f"the type of input {value.name!r} is not known",
                f"state it: --input '{value.name}: float32[…]'",
                place=value.name,
            )


def _outputs(graph: Graph, found: Collector) -> None:
    if not graph.outputs:
        found.add(
            None,
            "shape",
            "the model has no outputs: there is nothing to compute, nor to compare",
            "make a value that it computes an output",
        )


def _stuck(problem: Inexpressible, target: Target, found: Collector) -> None:
    op = problem.op
    if op.domain == PLACEHOLDER:
        return
    if not schema.versions(*op.key):
        found.add(
            op,
            "unsupported-op",
            f"ONNX defines no operator {op.type}",
            "write it with operators that ONNX defines",
        )
        return
    remedy = _remedy(problem, target)
    if OPS.get(op.key) is None:
        reason = f"isomorph has no rules for {op.type} yet, so it stays at version {op.version}"
        found.add(op, "unsupported-op", f"{reason}: {problem.reason}", remedy)
        return
    unknown = any(not isinstance(v.type, TensorType) or v.type.shape is None for v in op.operands)
    kind = "shape" if problem.lowest is None and unknown else "opset"
    found.add(op, kind, f"at opset {target.opset}: {problem.reason}", remedy)


def _remedy(problem: Inexpressible, target: Target) -> str:
    op, lowest = problem.op, problem.lowest
    newest = limits_of(target.runtime, target.release)[0].opset
    if lowest is not None and lowest > newest:
        who = f"{target.runtime} {target.release}"
        return f"no opset that {who} loads expresses it: rewrite it, or use a newer release"
    if problem.remedy:
        return problem.remedy
    if lowest is not None:
        return f"export at opset {lowest} or newer"
    return f"rewrite it, or export at an opset that means {op.type}-{op.version}"
