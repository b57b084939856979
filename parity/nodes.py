"""Question 2 over a whole model: every node judged on the run time's own operands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isomorph.ir.dice import may_draw
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.opdef import Tolerance
from isomorph.parity import drawn
from isomorph.parity.bodies import judge_bodies
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
    """Judge every node of the main graph, and of the bodies that ran inside its operators.

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

    def inside(body: Graph, found: Mapping[Value, Any]) -> None:
        _judge_graph(candidate, body, found, sink)

    for op in graph.sorted_ops():
        operands = [None if v is None else values[v] for v in op.inputs]
        results = [None if v is None else values[v] for v in op.outputs]
        if any(op.subgraphs()):
            captures = [values[v] for v in op.captures]
            sink(op, judge_bodies(candidate, op, operands, captures, results, inside))
            continue
        if tolerance_of(op) is Tolerance.CONTROL:
            continue
        try:
            findings = (drawn.judge if may_draw(op) else judge)(op, operands, results)
            if any(f.status in WRONG for f in findings):
                findings = excess.judge(op, results) or findings
        except UnsupportedError as error:
            sink(op, Finding(reason=f"not judged: {error}"))
            continue
        worst = max(findings, key=lambda f: (f.status.rank, f.max_ulp), default=Finding())
        sink(op, replace(worst, overflows=any(f.overflows for f in findings)))
