"""Operands that the run time never rounded: float32 behind what the graph says is float16.

onnxruntime's CPU provider has few float16 kernels. Around every other node it inserts casts to
float32 and back; of such a pair between two nodes it removes both, as it does with casts of the
model's own [onnxruntime/core/optimizer/insert_cast_transformer.cc: InsertCastTransformer, then
RemoveDuplicateCastTransformer, at every optimization level]. The second node computes on what the
first gave before it was rounded: as a product t of float32, not on fl₁₆(t), which is what a session
shows of it. Both are right; where a node is not, on what is shown, it is judged on this as well.

What was not rounded follows from the node that computed it, in float64, on its own operands: as
they are shown, or as they were before. It must round to what is shown, element by element, or it is
not what was there. It is known up to the errors of float32, whose deviations add up as those of
independent errors do: a node's own (a quarter of its soft bound, which is four deviations), and
what its operands' do to it, measured. Twelve deviations are allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.budget import BudgetError
from isomorph.ir.dice import may_draw
from isomorph.ir.interpret import widen
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType
from isomorph.parity.arrays import is_float
from isomorph.parity.finding import Finding
from isomorph.parity.noise import EVALUATION_ERRORS
from isomorph.parity.tolerance import Unit, bound, is_exact
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from isomorph.ir.graph import Op, Value

PROBES, DEVIATIONS, SOFT = 8, 12.0, 4.0
FEW, MOST = 3, 16
"""So many unrounded values of one operand, and so many combinations of operands, are tried."""
WORDS = (
    "excess precision: onnxruntime hands on unrounded, in float32, what the graph says is float16 "
    "[onnxruntime/core/optimizer/insert_cast_transformer.cc]"
)


@dataclass(frozen=True, slots=True)
class Unrounded:
    """A value in float64, and the standard deviation of what was there from it."""

    truth: np.ndarray
    deviation: np.ndarray


class Excess:
    """What the float16 values of one run of a graph were before they were rounded.

    Where some node in between has a float16 kernel, and rounds, is not known: several values may
    have become what is shown.

    Args:
        values: as a session shows them.
    """

    def __init__(self, values: Mapping[Value, Any]) -> None:
        self._values = values
        self._known: dict[Value, list[Unrounded]] = {}

    def judge(self, op: Op, results: Sequence[Any]) -> list[Finding] | None:
        """One finding per result that is present, where unrounded operands explain all of them."""
        for operands in self._choices(op):
            found = self._judged(op, operands, results)
            if found is not None:
                return found
        return None

    def _choices(self, op: Op) -> Iterator[list[Unrounded | None]]:
        """The operands, each unrounded where it can be or as it is shown, but not all as shown."""
        shown = [None if v is None else self._shown(v) for v in op.inputs]
        every = [
            [s] if v is None else [*self._before(v), s]
            for v, s in zip(op.inputs, shown, strict=True)
        ]
        for choice in islice(product(*every), MOST):
            if any(one is not s for one, s in zip(choice, shown, strict=True)):
                yield list(choice)

    def _shown(self, value: Value) -> Unrounded | None:
        array = np.asarray(widen(self._values[value]))
        return Unrounded(array, np.zeros(array.shape)) if array.dtype.kind == "f" else None

    def _before(self, value: Value) -> list[Unrounded]:
        if value not in self._known:
            self._known[value] = []  # while they are looked for
            self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: Value) -> list[Unrounded]:
        op, shown = value.producer, self._values.get(value)
        if op is None or op.captures or may_draw(op) or not _is_half(shown):
            return []
        plain = [None if v is None else self._shown(v) for v in op.inputs]
        index = op.outputs.index(value)
        found: list[Unrounded] = []
        for operands in (*self._choices(op), plain):
            made = self._evaluated(op, operands)
            one = None if made is None else made[index]
            if one is None or not _rounds_to(one, np.asarray(shown)):
                continue
            if not any(np.array_equal(one.truth, f.truth, equal_nan=True) for f in found):
                found.append(one)
        return found[:FEW]

    def _evaluated(self, op: Op, operands: list[Unrounded | None]) -> list[Unrounded | None] | None:
        """The results of an op that computes in float32, before they are rounded to less."""
        given = [
            None if v is None else self._values[v] if u is None else u.truth
            for v, u in zip(op.inputs, operands, strict=True)
        ]
        try:
            truths = evaluate(op, given, wide=True)
            return [
                None if v is None else self._result(op, operands, given, truths[n], n)
                for n, v in enumerate(op.outputs)
            ]
        except BudgetError:
            raise
        except EVALUATION_ERRORS:
            return None

    def _result(
        self,
        op: Op,
        operands: list[Unrounded | None],
        given: list[Any],
        truth: Any,
        index: int,
    ) -> Unrounded | None:
        truth = np.asarray(truth)
        if truth.dtype.kind not in "fbiu":
            return None
        own = np.zeros(truth.shape)
        with np.errstate(all="ignore"):
            if truth.dtype.kind == "f" and not is_exact(op):
                own = own + bound(op, given, truth, index, DType.FLOAT32).soft / SOFT
            return Unrounded(truth, np.hypot(own, _carried(op, operands, given, truth, index)))

    def _judged(
        self, op: Op, operands: list[Unrounded | None], results: Sequence[Any]
    ) -> list[Finding] | None:
        made = self._evaluated(op, operands)
        if made is None:
            return None
        found: list[Finding] = []
        for result, unrounded in zip(results, made, strict=False):
            if result is None:
                continue
            got = np.asarray(result)
            if unrounded is None or not _rounds_to(unrounded, got):
                return None
            with np.errstate(all="ignore"):
                off = np.abs(np.asarray(widen(got), np.float64) - unrounded.truth)
            size = float(np.where(np.isfinite(off), off, 0.0).max(initial=0.0))
            found.append(Finding(Status.RUNTIME, WORDS, max_abs=size))
        return found


def _is_half(array: Any) -> bool:
    return is_float(array) and DType.of(array.dtype).bits == 16


def _rounds_to(unrounded: Unrounded, shown: np.ndarray) -> bool:
    """Whether a value may have become, once rounded, what is shown; what decisions may tip, may."""
    truth, error = unrounded.truth, DEVIATIONS * unrounded.deviation
    if truth.shape != shown.shape:
        return False
    if not is_float(shown):
        return bool(((truth == shown) | (error > 0)).all())
    unit, got = Unit.of(DType.of(shown.dtype)), np.asarray(widen(shown))
    with np.errstate(all="ignore"):
        limit = error + unit.u * np.abs(truth) * (1 + unit.u) + unit.tiny
        beyond = np.isinf(got) & (np.sign(got) == np.sign(truth))
        beyond &= np.abs(truth) + error >= unit.top * (1 - unit.u)
        same = (np.isnan(got) & np.isnan(truth)) | (got == truth) | beyond
        return bool((same | (np.abs(got - truth) <= limit)).all())


def _carried(
    op: Op,
    operands: Sequence[Unrounded | None],
    given: list[Any],
    truth: np.ndarray,
    index: int,
) -> np.ndarray:
    """The deviation that those of an op's operands cause; 1 where they may decide a result."""
    total = np.zeros(truth.shape)
    if not any(u is not None and u.deviation.any() for u in operands):
        return total
    rng = np.random.default_rng(index)
    reach = np.sqrt(3) if truth.dtype.kind == "f" else DEVIATIONS
    for _ in range(PROBES):
        moved = [
            g if u is None else u.truth + reach * u.deviation * rng.uniform(-1, 1, u.truth.shape)
            for g, u in zip(given, operands, strict=True)
        ]
        other = np.asarray(evaluate(op, moved, wide=True)[index])
        if other.shape != truth.shape:
            raise ValueError(f"{op}: rounding decides the shape of its result")
        if truth.dtype.kind != "f":
            total = np.maximum(total, other != truth)
            continue
        change = np.abs(other - truth)
        total += np.where(np.isfinite(change), change, 0.0) ** 2
    return total if truth.dtype.kind != "f" else np.sqrt(total / PROBES)
