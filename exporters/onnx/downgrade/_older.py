"""What the steps of several families share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from isomorph.ir import schema
from isomorph.ir.build import Build, restate
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import SAME, InexpressibleError, fits

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isomorph.ir.graph import Attribute, Op, Value
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite, Same

NARROW = (DType.FLOAT16, DType.BFLOAT16)
"""Floats that a decomposition computes in float32: its constants and steps are then not rounded."""


def same(*versions: int) -> dict[int, Same]:
    """Steps that change nothing for what the older version allows."""
    return dict.fromkeys(versions, SAME)


def before(op: Op) -> int:
    """The version before the op's own."""
    return [v for v in schema.versions(*op.key) if v < op.version][-1]


def older(op: Op, patch: Patch, keep: Iterable[str] | None = None) -> None:
    """State the op in the version before its own; InexpressibleError when it does not fit.

    `keep` names the attributes that have an effect; others are dropped.
    """
    given = op.attributes
    if keep is not None:
        op.attributes = {k: v for k, v in given.items() if k in set(keep)}
    reason = fits(op, before(op))
    if reason:
        op.attributes = given
        refuse(op, reason)
    restate(op, patch, before(op), attributes=_known_before(op))


def widened(op: Op, patch: Patch) -> None:
    """The same, computing in float32 or int32 what the older version has no element type for.

    Casts to them are exact; the result is rounded (or wrapped) once, when it is cast back.
    """
    reason = fits(op, before(op))
    if not reason:
        restate(op, patch, before(op), attributes=_known_before(op))
        return
    build = Build(op, patch)
    known = schema.schema(op.domain, op.type, before(op))
    kinds = [_dtype(v) for v in op.inputs]
    lacking = [(i, k) for i, k in enumerate(kinds) if known and k and not known.allows(i, k)]
    if known is None or not lacking:
        refuse(op, reason)
    place, narrow = lacking[0]
    wide = DType.FLOAT32 if narrow.is_float else DType.INT32
    if narrow.bits > 16 or not known.allows(place, wide):
        refuse(op, reason)
    inputs = [
        build.cast(v, wide) if v is not None and k is narrow else v
        for v, k in zip(op.inputs, kinds, strict=True)
    ]
    (found,) = build.op(op.type, inputs, op.attributes)
    build.done(build.cast(found, narrow) if _dtype(op.output) is narrow else found)


def _dtype(value: Value | None) -> DType | None:
    return value.type.dtype if value is not None and isinstance(value.type, TensorType) else None


def _known_before(op: Op) -> dict[str, Attribute]:
    known = schema.schema(op.domain, op.type, before(op))
    allowed = known.attributes if known is not None else {}
    return {k: v for k, v in op.attributes.items() if k in allowed}


def single(op: Op, name: str) -> float:
    """A float attribute as the float32 that it is."""
    return float(np.float32(op.attr(name)))


def refuse(op: Op, reason: str = "") -> NoReturn:
    """Raise InexpressibleError: this op needs the opset of its own version."""
    text = reason or f"{op.type}-{op.version} has no exact equivalent below opset {op.version}"
    raise InexpressibleError(text, f"export at opset {op.version} or newer", op.version)


def inexpressible(reason: str = "") -> Rewrite:
    """A step that cannot be made."""

    def step(op: Op, patch: Patch) -> None:
        refuse(op, f"{op.type}-{op.version}: {reason}" if reason else "")

    return step


def computing(build: Build, index: int = 0) -> tuple[Value, DType]:
    """An operand and its dtype for a decomposition: float32 in place of narrower floats."""
    dtype = build.dtype(index)
    if dtype in NARROW:
        return build.cast(build.operand(index), DType.FLOAT32), DType.FLOAT32
    return build.operand(index), dtype
