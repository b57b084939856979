"""Remove ops that pass their operand on unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.patch import Patch
from isomorph.ir.types import DType, TensorType
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op, Value

_LOSSLESS: dict[DType, frozenset[DType]] = {
    DType.FLOAT16: frozenset((DType.FLOAT32, DType.FLOAT64)),
    DType.BFLOAT16: frozenset((DType.FLOAT32, DType.FLOAT64)),
    DType.FLOAT32: frozenset((DType.FLOAT64,)),
    DType.INT8: frozenset((DType.INT16, DType.INT32, DType.INT64)),
    DType.INT16: frozenset((DType.INT32, DType.INT64)),
    DType.INT32: frozenset((DType.INT64,)),
    DType.UINT8: frozenset(
        (DType.UINT16, DType.UINT32, DType.UINT64, DType.INT16, DType.INT32, DType.INT64)
    ),
    DType.BOOL: frozenset((DType.UINT8, DType.INT8, DType.INT16, DType.INT32, DType.INT64)),
}
"""Casts that keep every value, so that a cast after them may start from the first operand."""


def _pass_on(graph: Graph, op: Op, operand: Value | None) -> Patch | None:
    """Let the readers of the op's first result read an operand instead."""
    if operand is None or any(graph.is_used(v) for v in op.results[1:]):
        return None
    if graph.is_output(op.output) and (operand.producer is None or graph.is_output(operand)):
        return None
    if isinstance(operand.type, TensorType) and operand.type.shape is None:
        operand.type = op.output.type or operand.type
    patch = Patch(graph, op)
    patch.replace(op.output, operand)
    patch.remove(op)
    return patch


def identity(graph: Graph, op: Op) -> Patch | None:
    """What only hands its operand on."""
    return _pass_on(graph, op, op.inputs[0])


def dropout(graph: Graph, op: Op) -> Patch | None:
    """Dropout whose training mode is absent or constantly false."""
    mode = op.input(2)
    if mode is not None and (mode.weight is None or bool(mode.weight.numpy())):
        return None
    return _pass_on(graph, op, op.inputs[0])


def single(graph: Graph, op: Op) -> Patch | None:
    """A variadic op of one operand."""
    return _pass_on(graph, op, op.inputs[0]) if len(op.inputs) == 1 else None


def cast(graph: Graph, op: Op) -> Patch | None:
    """A cast to the type it has already, or after one that lost nothing."""
    operand = op.inputs[0]
    if operand is None or not isinstance(operand.type, TensorType):
        return None
    if operand.type.dtype.value == op.attr("to"):
        return _pass_on(graph, op, operand)
    before = operand.producer
    if before is None or before.key != op.key or before.inputs[0] is None:
        return None
    first = before.inputs[0].type
    if not isinstance(first, TensorType):
        return None
    if operand.type.dtype not in _LOSSLESS.get(first.dtype, frozenset()):
        return None
    patch = Patch(graph, op)
    made = patch.op("Cast", [before.inputs[0]], dict(op.attributes), types=[op.output.type])
    patch.replace_op(op, made)
    return patch


def same_shape(graph: Graph, op: Op) -> Patch | None:
    """Reshape, Expand, Tile, Flatten, Squeeze to the very shape the operand has."""
    operand = op.inputs[0]
    if operand is None or not isinstance(operand.type, TensorType):
        return None
    made = op.output.type
    if not isinstance(made, TensorType) or made.shape is None or None in made.shape:
        return None
    return _pass_on(graph, op, operand) if made.shape == operand.type.shape else None


def no_pad(graph: Graph, op: Op) -> Patch | None:
    """A Pad by nothing."""
    pads = op.input(1)
    if pads is None or pads.weight is None or np.any(pads.weight.numpy()):
        return None
    return _pass_on(graph, op, op.inputs[0])


CLEAN = Rules(
    "clean",
    {
        ("", "Identity"): (identity,),
        ("", "Dropout"): (dropout,),
        ("", "Concat"): (single,),
        ("", "Sum"): (single,),
        ("", "Max"): (single,),
        ("", "Min"): (single,),
        ("", "Mean"): (single,),
        ("", "Cast"): (cast,),
        ("", "Reshape"): (same_shape,),
        ("", "Expand"): (same_shape,),
        ("", "Flatten"): (same_shape,),
        ("", "Squeeze"): (same_shape,),
        ("", "Pad"): (no_pad,),
    },
)
