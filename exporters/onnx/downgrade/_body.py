"""An operator without a step of its own: its definition's function body takes its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir import schema
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.infer import infer_op
from isomorph.ir.proto.function import inline_body
from isomorph.ir.versions import InexpressibleError, drop_unknown_attributes, fits

if TYPE_CHECKING:
    from isomorph.ir.context import Content
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch

CHANGED = {
    "AveragePool": 19,
    "BatchNormalization": 15,
    "DFT": 20,
    "GroupNormalization": 21,
    "Hardmax": 13,
    "LogSoftmax": 13,
    "Resize": 19,
    "Softmax": 13,
    "Upsample": 10,
}
"""Operators that meant something else, in the same words, before this version."""


def has_body(op: Op) -> bool:
    """Whether the definition of an op, in the version it has, comes with a function body."""
    return not any(True for _ in op.subgraphs()) and schema.has_body(op.domain, op.type, op.version)


def by_body(op: Op, patch: Patch) -> None:
    """Write an op as its function body, in canonical operators with types.

    Raises:
        InexpressibleError: when there is none for these operands, or it has operators of versions
            that the canonical ones do not stand for.
    """
    reason = f"{op.type}-{op.version} has no equivalent below opset {op.version}"
    remedy = f"export at opset {op.version} or newer"
    if not inline_body(op, patch, schema.CANONICAL[""]):
        raise InexpressibleError(reason, remedy, op.version)
    contents: dict[Value, Content] = {}
    for made in patch.made:
        known = schema.canonical(made.domain, made.type)
        if known is None or made.version < CHANGED.get(made.type, 0):
            raise InexpressibleError(f"{reason}: its body has {made.type}", remedy, op.version)
        if made.version != known.since:
            problem = fits(made, known.since)
            if problem:
                raise InexpressibleError(f"{reason}: {problem}", remedy, op.version)
            drop_unknown_attributes(made, known.since)
            made.version = known.since
        try:
            infer_op(made, patch.graph, contents)
        except TypeInferenceError as error:
            raise InexpressibleError(f"{reason}: {error}", remedy, op.version) from None
