"""random: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.graph import Attribute, Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _random_22(op: Op, patch: Patch) -> None:
    """bfloat16 was neither drawn nor looked at: what is drawn in float32 is rounded to it."""
    build = Build(op, patch)
    before = 7 if op.type == "Multinomial" else 1
    inputs = [_plain(build, v) for v in op.inputs]
    attributes = dict(op.attributes)
    kind = op.output.type
    drawn = kind.dtype if isinstance(kind, TensorType) else build.dtype()
    if drawn is not DType.BFLOAT16:
        if inputs != list(op.inputs):
            attributes["dtype"] = drawn.value
        restate(op, patch, before, inputs, attributes)
        return
    attributes["dtype"] = DType.FLOAT32.value
    build.done(build.cast(build.op(op.type, inputs, attributes)[0], drawn))


def _plain(build: Build, value: Value | None) -> Value | None:
    known = value.type if value is not None else None
    if value is None or not isinstance(known, TensorType) or known.dtype is not DType.BFLOAT16:
        return value
    return build.cast(value, DType.FLOAT32)


def _bernoulli(op: Op, patch: Patch) -> None:
    """1 where a number between 0 and 1 lies below the probability.

    Also where the older version exists: its function body, which run times use, draws 1 where the
    number lies above, the complement of what the text says.
    """
    build = Build(op, patch)
    p = build.operand()
    at = DType.FLOAT64 if build.dtype() is DType.FLOAT64 else DType.FLOAT32
    attributes: dict[str, Attribute] = {"dtype": at.value, "low": 0.0, "high": 1.0}
    if op.attr("seed") is not None:
        attributes["seed"] = op.attr("seed")
    (drawn,) = build.op("RandomUniformLike", [p], attributes)
    to = DType(op.attr("dtype") or build.dtype().value)
    build.done(build.cast(build("Less", drawn, build.cast(p, at)), to))


_DRAWN: Steps = {22: _random_22}

DOWNGRADES: dict[Key, Steps] = {
    ("", "Bernoulli"): {22: _bernoulli, 15: _bernoulli},
    ("", "Multinomial"): _DRAWN,
    ("", "RandomNormal"): _DRAWN,
    ("", "RandomNormalLike"): _DRAWN,
    ("", "RandomUniform"): _DRAWN,
    ("", "RandomUniformLike"): _DRAWN,
}
