"""Gemm without factors is MatMul and Add: one form of a product, whoever wrote it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType
from isomorph.ir.weights import Weight
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op, Value


def split(graph: Graph, op: Op) -> Patch | None:
    """Gemm(a, b, c) = MatMul(a, b) + c; a constant `b` is stored the way it is multiplied.

    Factors other than 1, a transposed `a`, and a transposed `b` that is computed, or that something
    else reads too, stay: they would cost an op or a second copy.
    """
    a, b, c = op.inputs[0], op.inputs[1], op.input(2)
    if a is None or b is None or op.attr("transA") or op.attr("alpha") != 1:
        return None
    if c is not None and op.attr("beta") != 1:
        return None
    turned: Weight | None = None
    if op.attr("transB"):
        turned = _turned(graph, b)
        if turned is None:
            return None
    patch = Patch(graph, op)
    right = b if turned is None else patch.weight(turned, b.name)
    made = patch.op("MatMul", [a, right], types=[op.output.type])
    if c is not None:
        made = patch.op("Add", [made.output, c], types=[op.output.type])
    patch.replace_op(op, made)
    return patch


def _turned(graph: Graph, value: Value) -> Weight | None:
    """A matrix that nothing else reads, transposed; its memory is shared."""
    weight = value.weight
    if weight is None or graph.is_output(value) or graph.is_shared(value):
        return None
    if not isinstance(value.type, TensorType) or weight.dtype.bits < 8:
        return None
    return Weight.of(weight.numpy().T, weight.dtype)


SPLIT_GEMM = Rules("split-gemm", {("", "Gemm"): (split,)})
