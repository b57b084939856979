"""How far the result of a fused group may be from the truth: its ops' bounds, carried through.

Each op adds its own bound, for float32 whatever the operands are stored in (for float64 where they
are float64); what its operands are off by moves its result by at most max |f(x ± e) − f(x)| (to
first order, element by element: behind the first op, groups are elementwise). The result is rounded
once to the type that it is stored in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import widen
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType, TensorType
from isomorph.parity import exact
from isomorph.parity.tolerance import Unit, bound, is_exact
from isomorph.parity.verdict import Status
from isomorph.parity.well import FURTHER, Finding, is_float
from isomorph.passes.fuse.group import FUSED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Op, Value


@dataclass(frozen=True, slots=True)
class Known:
    """A value in float64 with the limits of its error, and the largest partial result behind it."""

    truth: np.ndarray
    soft: np.ndarray
    hard: np.ndarray
    peak: np.ndarray


def judge_group(
    op: Op, operands: Sequence[Any], captured: Sequence[Any], results: Sequence[Any]
) -> Finding:
    """How the results of one op, or one `Fused` op, compare with float64 on the same operands."""
    if op.key != FUSED:
        members, outputs = [op], list(op.results)
        start = {v: a for v, a in zip(op.inputs, operands, strict=True) if v is not None}
    else:
        body: Graph = op.attributes["body"]
        members, outputs = body.sorted_ops(), list(body.outputs)
        start = dict(zip(body.captures, captured, strict=True))
    if not any(is_float(r) for r in results) or all(is_exact(m) for m in members):
        return _exact(op, members, start, outputs, results)
    hidden = len(members) > 1
    known = {v: _start(a) for v, a in start.items()}
    for member in members:
        _step(member, known)
    narrow: list[Any] | None = None
    worst = Finding()
    for value, result in zip(outputs, results, strict=True):
        finding = _compare(known[value], result, hidden=hidden)
        if finding.status is Status.SUSPECT:
            if narrow is None:
                narrow = _narrow(members, start, outputs)
            own = _compare(known[value], narrow[outputs.index(value)], hidden=hidden)
            if finding.max_ulp <= FURTHER * max(own.max_ulp, 1.0):
                finding = Finding(max_ulp=finding.max_ulp, max_abs=finding.max_abs)
        worst = max(worst, finding, key=lambda f: (f.status.rank, f.max_ulp))
    return worst


def _start(array: Any) -> Known:
    wide = np.asarray(widen(array))
    none = np.zeros(wide.shape)
    return Known(wide, none, none, none)


def _step(op: Op, known: dict[Value, Known]) -> None:
    """Add the results of one op."""
    operands = [None if v is None else known[v] for v in op.inputs]
    given = [None if k is None else k.truth for k in operands]
    truths = evaluate(op, given, wide=True)
    for index, value in enumerate(op.outputs):
        if value is None:
            continue
        truth = np.asarray(truths[index])
        soft = hard = peak = np.zeros(truth.shape)
        with np.errstate(all="ignore"):
            if truth.dtype.kind == "f" and op.type == "Cast":
                unit = Unit.of(_dtype(value))
                soft = hard = unit.u * np.abs(truth) + unit.tiny
            elif truth.dtype.kind == "f" and not is_exact(op):
                limits = bound(op, given, truth, index, _computed_in(op))
                soft, hard = limits.soft, limits.hard
                if _computed_in(op) is DType.FLOAT64:  # the truth is rounded as often itself
                    soft = hard = 2 * hard
                peak = np.broadcast_to(limits.peak, truth.shape)
            for at, operand in enumerate(operands):
                if operand is None or not operand.hard.any():
                    continue
                moved_soft = _moved(op, given, at, operand.soft, truth, index)
                moved_hard = _moved(op, given, at, operand.hard, truth, index)
                soft, hard = soft + moved_soft, hard + moved_hard
                peak = np.fmax(peak, operand.peak)
            if truth.dtype.kind == "f":
                peak = np.fmax(peak, np.abs(truth))
        known[value] = Known(truth, soft, hard, peak)


def _moved(
    op: Op, given: list[Any], at: int, off: np.ndarray, truth: np.ndarray, index: int
) -> np.ndarray:
    """How far the result moves when one operand does."""
    found = np.zeros(truth.shape)
    for sign in (1.0, -1.0):
        moved = [g + sign * off if n == at else g for n, g in enumerate(given)]
        other = np.asarray(evaluate(op, moved, wide=True)[index])
        change = np.abs(other.astype(np.float64) - truth.astype(np.float64))
        found = np.fmax(found, np.where(np.isnan(change), np.inf, change))
    return found


def _compare(known: Known, result: Any, *, hidden: bool) -> Finding:
    """`hidden`: an intermediate may have overflowed unseen, and a later op made it finite again."""
    result = np.asarray(result)
    got, truth = np.asarray(widen(result)), known.truth
    if got.shape != truth.shape:
        return Finding(Status.FAIL, f"its shape is {got.shape}, {truth.shape} is right")
    if got.dtype.kind != "f":
        wrong = (got != truth) & (known.hard == 0)
        return (
            Finding(Status.FAIL, f"{int(wrong.sum())} elements differ")
            if wrong.any()
            else Finding()
        )
    unit = Unit.of(DType.of(result.dtype))
    with np.errstate(all="ignore"):
        error = np.abs(got - truth)
        rounding = unit.u * np.abs(truth) * (1 + unit.u) + unit.tiny
        stored = truth.astype(result.dtype).astype(np.float64)
        same = (got == stored) | (np.isnan(got) & np.isnan(truth))
        excused = ~(np.isfinite(got) & np.isfinite(truth)) & (known.peak >= unit.top / 4)
        if hidden:
            excused |= known.peak >= Unit.of(DType.FLOAT32).top / 4
        fine = same | excused | (error <= known.soft + rounding)
        over = ~fine & ~(error <= known.hard + rounding)
        ulps = np.where(np.isfinite(error), error / unit.ulp(truth), 0.0)
        figures = (
            float(ulps.max(initial=0.0)),
            float(np.where(np.isfinite(error), error, 0.0).max(initial=0.0)),
        )
    if fine.all():
        return Finding(max_ulp=figures[0], max_abs=figures[1])
    bad, limit, kind = (over, known.hard, "hard") if over.any() else (~fine, known.soft, "soft")
    at = tuple(int(i) for i in np.argwhere(bad)[0])
    allowed = np.broadcast_to(limit + rounding, truth.shape)[at]
    text = (
        f"at {list(at)} it is {got[at]:.9g}, the truth is {truth[at]:.9g}, the {kind} limit "
        f"{allowed:.3g} (bounds of the group's ops, carried through)"
    )
    status = Status.FAIL if over.any() else Status.SUSPECT
    return Finding(status, text, figures[0], figures[1])


def _exact(
    op: Op,
    members: Sequence[Op],
    start: dict[Value, Any],
    outputs: Sequence[Value],
    results: Sequence[Any],
) -> Finding:
    """Movement and the like: bit by bit."""
    wanted = _narrow(members, start, outputs)
    for result, right in zip(results, wanted, strict=True):
        problem = exact.differs(result, right)
        if problem:
            return Finding(Status.FAIL, problem)
    return Finding()


def _narrow(members: Sequence[Op], start: dict[Value, Any], outputs: Sequence[Value]) -> list[Any]:
    """The group in the precision of its operands."""
    values = dict(start)
    for member in members:
        given = [None if v is None else values[v] for v in member.inputs]
        values.update(
            (v, r)
            for v, r in zip(member.outputs, evaluate(member, given), strict=False)
            if v is not None
        )
    return [values[v] for v in outputs]


def _computed_in(op: Op) -> DType:
    """Kernels compute in float32, and what is float64 in that; Attention stores its weights."""
    if op.type == "Attention":
        return _dtype(op.operands[0])
    kinds = {v.type.dtype for v in (*op.operands, *op.results) if isinstance(v.type, TensorType)}
    return DType.FLOAT64 if DType.FLOAT64 in kinds else DType.FLOAT32


def _dtype(value: Value) -> DType:
    if not isinstance(value.type, TensorType):
        raise TypeError(f"%{value.name} is {value.type}")
    return value.type.dtype
