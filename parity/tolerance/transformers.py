"""The attentions of onnxruntime's own domain: `weighed`, of operands that are not what is given.

Q, K and V of Attention are products of K terms and a bias: each number carries soft
4u√(K+1)(‖x∘w‖₂ + |q|), hard γ_(K+2)(Σ|x w| + |b|). MultiHeadAttention adds a bias, one rounding;
GroupQueryAttention rotates, three roundings of no more than |c a| + |s b|. Those sizes are what the
operator itself makes of magnitudes, with a past of zeros: what is copied from there has no error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import Call
from isomorph.ir.semantics._attention import join_heads
from isomorph.ir.semantics._grouped import grouped
from isomorph.ir.semantics._multihead import weigh
from isomorph.ir.semantics._projected import attention, multi_head
from isomorph.parity.arrays import is_double
from isomorph.parity.tolerance.units import Bound, Unit, gamma
from isomorph.parity.tolerance.weighed import Given, error_of, peak_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op
    from isomorph.ir.semantics._attention import Stages
    from isomorph.ir.semantics._multihead import Parts

    Array = np.ndarray[Any, Any]
    Size = Callable[[Array], Array]

PARTS: dict[str, Callable[..., Parts]] = {
    "Attention": attention,
    "GroupQueryAttention": grouped,
    "MultiHeadAttention": multi_head,
}
PASTS = {"Attention": (4,), "GroupQueryAttention": (3, 4), "MultiHeadAttention": (6, 7)}
"""Operands that hold what went before."""
SINES, NORMS, BIAS = 8, 14, 3
"""Operands of GroupQueryAttention, and of MultiHeadAttention, that the errors depend on."""
BOUNDED = frozenset((DOMAIN, name) for name in PARTS)


def bound(
    op: Op, operands: Sequence[Any], truth: np.ndarray, index: int, unit: Unit
) -> Bound | None:
    """The limits of a result, of what is handed on, or of the scores that are shown."""
    given = _Given(op, operands, unit)
    if given.normalized:
        return None
    parts = PARTS[op.type](Call(op, wide=True), *operands)
    last = {"Attention": 2, "GroupQueryAttention": 3, "MultiHeadAttention": 3}[op.type]
    if 0 < index < last:
        place = index - 1
        return Bound(
            given.present(place, hard=False),
            lambda: given.present(place, hard=True),
            given.largest(truth.shape),
            "a copy, or what was projected or rotated",
        )
    stages = weigh(parts)
    mode = 4
    if index:
        mode = {1: 2, 2: 3}.get(int(op.attr("qk_output", 0)), 0)
        mode = 2 if op.type == "MultiHeadAttention" else mode

    def fitted(found: Array) -> Array:
        if not index:
            return join_heads(np.broadcast_to(found, stages.result.shape))
        return np.broadcast_to(found, stages.raw.shape)[..., : truth.shape[-1]]

    def limit(*, hard: bool) -> Array:
        moved = given.errors(stages, parts.summed, hard=hard)
        return fitted(error_of(stages, parts.cap, unit, unit, mode, hard=hard, given=moved))

    peak = np.fmax(fitted(peak_of(stages, -unit.top)), given.largest(truth.shape))
    terms = f"{stages.queries.shape[3]} and {stages.keys.shape[2]}"
    basis = f"products of {terms} terms around a softmax, of what was projected or rotated"
    return Bound(limit(hard=False), lambda: limit(hard=True), peak, basis, spreads=True)


class _Given:
    """Errors of Q, K, V and of what is handed on."""

    def __init__(self, op: Op, operands: Sequence[Any], unit: Unit) -> None:
        self._op = op
        self._operands = [*operands]
        self._unit = unit

    def _has(self, index: int) -> bool:
        return index < len(self._operands) and self._operands[index] is not None

    @property
    def normalized(self) -> bool:
        """Whether heads are normalized, which is bounded by conditioning alone."""
        return self._op.type == "GroupQueryAttention" and self._has(NORMS)

    def _sized(self, size: Size, sine: float = 1.0) -> Parts:
        """What the op makes of sizes of its operands."""
        moved = [size(np.abs(v)) if is_double(v) else v for v in self._operands]
        for past in PASTS[self._op.type]:
            if self._has(past):
                moved[past] = np.zeros_like(moved[past])
        if self._op.type == "GroupQueryAttention" and self._has(SINES):
            moved[SINES] = sine * moved[SINES]
        return PARTS[self._op.type](Call(self._op, wide=True), *moved)

    def _limits(self, taken: Callable[[Parts], Array], *, hard: bool) -> Array:
        """The limit of one of the parts: queries, keys, values, or what is handed on."""
        u, tiny = self._unit.u, self._unit.tiny
        size = np.abs(taken(self._sized(lambda v: v)))
        match self._op.type:
            case "Attention":
                terms = np.shape(self._operands[0])[2] + 2
                lost = np.where(size > 0, terms * tiny, 0.0)
                if hard:
                    return gamma(terms, u) * size + lost
                norm = np.sqrt(taken(self._sized(lambda v: v * v)))
                return 4 * u * np.sqrt(terms - 1) * (norm + size) + lost
            case "MultiHeadAttention":
                return u * size if self._has(BIAS) else np.zeros_like(size)
            case _:
                if not self._op.attr("do_rotary"):
                    return np.zeros_like(size)
                other = np.abs(taken(self._sized(lambda v: v, -1.0)))
                size = np.fmax(size, other)
                return 3 * u * size + np.where(size > 0, 3 * tiny, 0.0)

    def present(self, place: int, *, hard: bool) -> Array:
        """Of what is handed on; values are copied as they are, unless projected or biased."""
        grouped_values = self._op.type == "GroupQueryAttention" and place == 1
        found = self._limits(lambda p: p.present[place], hard=hard)
        return np.zeros_like(found) if grouped_values else found

    def errors(self, stages: Stages, summed: Array | None, *, hard: bool) -> Given:
        """Of Q, K and V as they are multiplied."""
        queries = self._limits(lambda p: p.queries, hard=hard)
        keys = _laid(self._limits(lambda p: p.keys, hard=hard), stages.keys)
        values = _laid(self._limits(lambda p: p.values, hard=hard), stages.values)
        if self._op.type == "GroupQueryAttention":
            values = np.zeros_like(values)
        return Given(queries, keys, values, summed)

    def largest(self, shape: tuple[int, ...]) -> Array:
        """The largest magnitude that a partial result of a projection may have."""
        parts = self._sized(lambda v: v)
        found = 0.0
        for part in (parts.queries, parts.keys, parts.values):
            found = max(found, float(np.fmax.reduce(np.abs(part), axis=None, initial=0.0)))
        return np.full(shape, found)


def _laid(x: Array, like: Array) -> Array:
    """Errors of keys or of values for each head of queries; the key of a sink has none."""
    groups = like.shape[1] // max(x.shape[1], 1)
    found = np.repeat(x, groups, 1) if groups != 1 else x
    return np.pad(found, ((0, 0), (0, 0), (0, like.shape[2] - found.shape[2]), (0, 0)))
