"""Question 2 inside `If`, `Loop`, `Scan` and `SequenceMap`: their bodies, each run as a model.

The operator's own definition is followed (`ir.semantics`), with the run time for its bodies: on the
captured values and states as the run time has them, so that one bad node does not blame those after
it. What comes out must be what the operator gave, bit by bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.errors import IsomorphError
from isomorph.ir.semantics import evaluate
from isomorph.parity import drawn, exact
from isomorph.parity.arrays import is_tensor
from isomorph.parity.finding import Finding
from isomorph.parity.verdict import Status
from isomorph.parity.worker import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.parity.candidate import Candidate

    Judge = Callable[[Graph, Mapping[Value, Any]], None]

MOST_RUNS = 256
"""Runs of one operator's bodies that are followed."""
NO_RUN = (
    "a body that never ran leaves the sizes of what it stacks open: onnxruntime takes 0 for each "
    "that its file does not state [Loop-21 and Scan-21 are silent on it; measured]"
)


class _TooLongError(IsomorphError):
    """The bodies run more often than is followed."""


def judge_bodies(
    candidate: Candidate,
    op: Op,
    operands: Sequence[Any],
    captures: Sequence[Any],
    results: Sequence[Any],
    judge: Judge,
) -> Finding:
    """Judge the nodes of what runs inside an op, and whether the op gives what that gives.

    Args:
        candidate: whose run time runs the bodies.
        op: has graphs as attributes.
        operands, captures, results: as the run time has them.
        judge: told the graph and every value of each run that is looked into: the first three,
            then those whose number is a power of two.
    """
    runs = 0
    random = False

    def run(body: Graph, inputs: Sequence[Any], outer: Sequence[Any]) -> list[Any]:
        nonlocal runs, random
        runs += 1
        if runs > MOST_RUNS:
            raise _TooLongError(f"its body runs more than {MOST_RUNS} times")
        random = random or bool(drawn.drawing(body))
        values = candidate.observe_body(op, body, inputs, outer)
        if runs <= 3 or runs & (runs - 1) == 0:
            judge(body, values)
        return [values[v] for v in body.outputs]

    try:
        own = evaluate(op, operands, captures=captures, run=run)
    except (_TooLongError, RunError) as error:
        return Finding(reason=f"not judged as a whole: {error}")
    if random:  # the bodies were run a second time, and drew anew
        return Finding()
    for index, (result, inner) in enumerate(zip(results, own, strict=False)):
        problem = "" if result is None else exact.differs(result, inner)
        if problem and not runs and _is_open(result, inner):
            return Finding(Status.RUNTIME, NO_RUN)
        if problem:
            return Finding(Status.FAIL, f"result {index} is not what its body gives: {problem}")
    return Finding()


def _is_open(result: Any, own: Any) -> bool:
    """Whether nothing was stacked, and some size of what would have been was taken for 0."""
    if not is_tensor(result) or not is_tensor(own):
        return False
    sizes = zip(result.shape, own.shape, strict=False)
    same = result.dtype == own.dtype and result.ndim == own.ndim and not result.size + own.size
    return same and all(a in (0, b) for a, b in sizes)
