"""Which results of recurrent layers known divergences explain: measured on onnxruntime 1.31.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.semantics import Call
from isomorph.ir.semantics.recurrent import layer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op
    from isomorph.parity.tolerance.units import Unit

OFF = 3 * 2.0**-24
"""What a gate is off by: 2.8·2⁻²⁴, as Sigmoid is."""
PROBES, MARGIN = 8, 4


def gates_off(
    op: Op, operands: Sequence[Any], got: np.ndarray, truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Elements off by no more than gates with absolute errors make them."""
    nothing = np.zeros(got.shape, bool)
    if unit.u != 2.0**-24 or not (np.isfinite(got) & np.isfinite(truth)).any():
        return nothing
    rng = np.random.default_rng(PROBES)

    def same(x: np.ndarray) -> np.ndarray:
        return x

    def off(y: np.ndarray) -> np.ndarray:
        return y + OFF * rng.choice([-1.0, 1.0], y.shape)

    x, w, r = (np.asarray(v) for v in operands[:3])
    rest = [None if v is None else np.asarray(v) for v in operands[3:]]
    reach = np.zeros(truth.shape)
    for _ in range(PROBES):
        made = layer(Call(op, wide=True), x, w, r, *rest, changes=(same, off))
        moved = [m for m, v in zip(made, op.outputs, strict=False) if v is not None]
        like = [m for m in moved if m.shape == truth.shape]
        near = min(like, key=lambda m: float(np.abs(m - truth).sum()), default=truth)
        reach = np.fmax(reach, np.abs(near - truth))
    return np.abs(got - truth) <= MARGIN * reach


def softplus(
    op: Op, _operands: Sequence[Any], got: np.ndarray, _truth: np.ndarray, unit: Unit
) -> np.ndarray:
    """Infinities, clamped or not, of a Softplus among the gates' functions, and NaN of them."""
    names = [str(a).lower() for a in op.attr("activations", ()) or ()]
    return ~(np.abs(got) <= unit.top / 2) & ("softplus" in names)


def unread(
    op: Op, operands: Sequence[Any], got: np.ndarray, _truth: np.ndarray, _unit: Unit
) -> np.ndarray:
    """Anything that follows from a recurrence that is not finite, and is not read at first."""
    begins = op.input(5) is not None
    return np.full(got.shape, not begins and not np.isfinite(operands[2]).all())
