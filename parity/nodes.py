"""Question 2 over a whole model: every node judged on the run time's own operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.dice import may_draw
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.opdef import Tolerance
from isomorph.parity import drawn, exact
from isomorph.parity.excess import Excess
from isomorph.parity.finding import Finding
from isomorph.parity.tolerance import tolerance_of
from isomorph.parity.verdict import Status
from isomorph.parity.well import judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.parity.candidate import Candidate

    Sink = Callable[[Op, Finding], None]


WRONG = (Status.FAIL, Status.SUSPECT)


def judge_nodes(candidate: Candidate, values: Mapping[Value, Any], sink: Sink) -> None:
    """Judge every node of the main graph, and of the branches that were taken.

    Args:
        candidate: whose nodes.
        values: every value of the main graph, as `Candidate.observe` gives them.
        sink: told each node's worst finding.
    """
    _judge_graph(candidate, candidate.graph, values, sink)


def _judge_graph(
    candidate: Candidate, graph: Graph, values: Mapping[Value, Any], sink: Sink
) -> None:
    excess = Excess(values)
    for op in graph.sorted_ops():
        operands = [None if v is None else values[v] for v in op.inputs]
        results = [None if v is None else values[v] for v in op.outputs]
        if op.type == "If" and not op.domain:
            _judge_if(candidate, op, operands, values, results, sink)
            continue
        if tolerance_of(op) is Tolerance.CONTROL or op.captures:
            continue
        try:
            findings = (drawn.judge if may_draw(op) else judge)(op, operands, results)
            if any(f.status in WRONG for f in findings):
                findings = excess.judge(op, results) or findings
        except UnsupportedError as error:
            sink(op, Finding(reason=f"not judged: {error}"))
            continue
        sink(op, max(findings, key=lambda f: (f.status.rank, f.max_ulp), default=Finding()))


def _judge_if(
    candidate: Candidate,
    op: Op,
    operands: list[Any],
    values: Mapping[Value, Any],
    results: list[Any],
    sink: Sink,
) -> None:
    """The branch that was taken runs as a model of its own, on the captured values as they were."""
    taken = bool(np.asarray(operands[0]).reshape(-1)[0])
    name = "then_branch" if taken else "else_branch"
    body: Graph = op.attributes[name]
    inner = candidate.observe_body(op, name, body, [values[v] for v in op.captures])
    _judge_graph(candidate, body, inner, sink)
    if drawn.drawing(body):  # it was run a second time, and drew anew
        return
    for result, formal in zip(results, body.outputs, strict=False):
        problem = "" if result is None else exact.differs(result, inner[formal])
        if problem:
            sink(op, Finding(Status.FAIL, f"not what its {name} gives: {problem}"))
            return
    sink(op, Finding())
