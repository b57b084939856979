"""BatchNormalization after a convolution disappears into its weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.interpret import widen
from isomorph.ir.patch import Patch
from isomorph.ir.weights import Weight
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op, Value


def fold(graph: Graph, op: Op) -> Patch | None:
    """bn(conv(x, W) + b) = conv(x, W·s) + (b − mean)·s + bias, with s = scale/√(var + ε).

    Computed in float64 and rounded once. Only in evaluation, on constant parameters, and when
    nothing else reads the convolution.
    """
    operand = op.inputs[0]
    conv = operand.producer if operand is not None else None
    if conv is None or conv.key != ("", "Conv") or op.attr("training_mode"):
        return None
    if any(graph.is_used(v) for v in op.results[1:]) or graph.is_output(conv.output):
        return None
    if graph.is_shared(conv.output):
        return None
    weight_value, bias_value = conv.inputs[1], conv.input(2)
    arrays = [a for v in (weight_value, *op.inputs[1:5]) if (a := _constant(v)) is not None]
    bias = np.float64(0) if bias_value is None else _constant(bias_value)
    if bias is None or len(arrays) < 5 or weight_value is None or weight_value.weight is None:
        return None
    weight, scale, shift, mean, var = arrays
    factor = scale / np.sqrt(var + op.attr("epsilon"))
    dtype = weight_value.weight.dtype
    new_weight = weight * factor.reshape(-1, *[1] * (weight.ndim - 1))
    new_bias = (bias - mean) * factor + shift
    patch = Patch(graph, op)
    made = patch.op(
        "Conv",
        [
            conv.inputs[0],
            patch.weight(Weight.of(new_weight.astype(dtype.numpy), dtype), weight_value.name),
            patch.weight(
                Weight.of(new_bias.astype(dtype.numpy), dtype), f"{weight_value.name}_bias"
            ),
        ],
        dict(conv.attributes),
        types=[op.output.type],
    )
    made.source, made.name = conv.source or op.source, conv.name or op.name
    patch.replace_op(op, made)
    patch.remove(conv)
    return patch


def _constant(value: Value | None) -> np.ndarray | None:
    if value is None or value.weight is None:
        return None
    return widen(value.weight.numpy())


CONV_BATCHNORM = Rules("conv-batchnorm", {("", "BatchNormalization"): (fold,)})
