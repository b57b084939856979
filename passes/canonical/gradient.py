"""`Gradient` of the training preview, written out in the operators that it differentiates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.patch import Patch
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.ir.opdef import Key

GRADIENT = ("ai.onnx.preview.training", "Gradient")


@dataclass(frozen=True)
class ExpandGradients:
    """Replace every Gradient by reverse accumulation through the ops between `xs` and `y`.

    One stays as it is, and is reported as an operator that nothing knows, where an op on the way
    has no rule here, where a name is not a tensor of its graph, or where it is not known which dims
    an operand was broadcast along. It must run before anything that renames tensors or drops unread
    ones: `y` is given by name alone.

    Source: ONNX, operators of ai.onnx.preview.training, Gradient-1; Griewank and Walther,
    "Evaluating Derivatives", 2nd ed., section 3.2 (reverse accumulation).
    """

    name: str = "expand-gradients"

    def apply(self, graph: Graph) -> bool:
        """Expand; whether any was."""
        changed = False
        for current in graph.graphs():
            asked = [op for op in current.ops() if op.key == GRADIENT]
            if not asked:
                continue
            names = {value.name: value for value in current.values()}
            for op in asked:
                patch = Patch(current, op)
                if _expand(patch, op, names):
                    patch.apply()
                    changed = True
                else:
                    patch.discard()
        return changed


def _expand(patch: Patch, op: Op, names: Mapping[str, Value]) -> bool:
    xs, zs = (_named(op.attr(name), names) for name in ("xs", "zs"))
    y = names.get(_text(op.attr("y", "")))
    if xs is None or zs is None or y is None or not isinstance(y.type, TensorType):
        return False
    given = dict(zip([*xs, *zs], op.inputs, strict=False))
    if len(given) != len(op.inputs) or None in given.values():
        return False
    path = _between(patch.graph, {*given}, y)
    if path is None:
        return False
    values = _forward(patch, path, cast("dict[Value, Value]", given))
    gradients = _backward(patch, path, {*xs}, y, values)
    if gradients is None:
        return False
    for x, result in zip(xs, op.outputs, strict=False):
        if result is not None:
            patch.replace(result, gradients.get(x) or _filled(patch, 0, x, values.get(x, x)))
    patch.remove(op)
    return True


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _named(listed: Any, names: Mapping[str, Value]) -> list[Value] | None:
    found = [names.get(_text(name)) for name in listed or ()]
    return None if None in found else cast("list[Value]", found)


def _between(graph: Graph, given: set[Value], y: Value) -> list[Op] | None:
    """What makes `y` from the given values, in order; `None` where one op has no rule."""
    needed = set["Op"]()
    waiting = [y]
    while waiting:
        value = waiting.pop()
        producer = value.producer
        if value in given or producer is None or producer in needed:
            continue
        needed.add(producer)
        waiting += producer.operands
    reached = {*given}
    path: list[Op] = []
    for op in graph.sorted_ops():
        if op in needed and any(v in reached for v in op.operands):
            if op.key not in RULES:
                return None
            reached.add(op.output)
            path.append(op)
    return path


def _forward(patch: Patch, path: list[Op], given: dict[Value, Value]) -> dict[Value, Value]:
    """Evaluated anew where other values than the named ones are given."""
    if all(name is value for name, value in given.items()):
        return {}
    values = dict(given)
    for op in path:
        operands = [values.get(v, v) for v in op.operands]
        made = patch.op(op.type, operands, op.attributes, types=[op.output.type])
        values[op.output] = made.output
    return values


def _backward(
    patch: Patch, path: list[Op], xs: set[Value], y: Value, values: Mapping[Value, Value]
) -> dict[Value, Value] | None:
    varying = {*xs}
    for op in path:
        if varying.intersection(op.operands):
            varying.add(op.output)
    gradients = {y: _filled(patch, 1, y, values.get(y, y))} if y in varying else {}
    for op in reversed(path):
        gradient = gradients.get(op.output)
        if gradient is None:
            continue
        step = Step(
            patch, [values.get(v, v) for v in op.operands], values.get(op.output, op.output)
        )
        parts = RULES[op.key](step, gradient)
        for operand, part in zip(op.operands, parts, strict=True):
            if operand not in varying:
                continue
            fitted = part if op.type == "MatMul" else _summed(patch, part, op.output, operand)
            if part is None or fitted is None:
                return None
            before = gradients.get(operand)
            gradients[operand] = step("Add", before, fitted) if before else fitted
    return gradients


def _summed(patch: Patch, part: Value | None, result: Value, operand: Value) -> Value | None:
    """A gradient of the result's shape, summed over the dims that the operand was repeated in."""
    wide, narrow = result.type, operand.type
    if part is None or not isinstance(wide, TensorType) or not isinstance(narrow, TensorType):
        return None
    if wide.shape is None or narrow.shape is None:
        return None
    lead = len(wide.shape) - len(narrow.shape)
    pairs = list(zip(wide.shape[lead:], narrow.shape, strict=True))
    if any(b not in (a, 1) for a, b in pairs):
        return None
    repeated = [axis for axis, (a, b) in enumerate(pairs) if a != b]
    for axes, kept in (([*range(lead)], 0), (repeated, 1)):
        if axes:
            over = patch.weight(np.array(axes, np.int64))
            part = patch.op("ReduceSum", [part, over], {"keepdims": kept}).output
    return part


def _filled(patch: Patch, number: int, like: Value, of: Value) -> Value:
    kind = cast("TensorType", like.type)
    value = patch.weight(np.asarray(number, kind.dtype.numpy))
    return patch.op("Expand", [value, patch.op("Shape", [of]).output]).output


@dataclass(frozen=True)
class Step:
    """One op on the way back: its operands and result, and a way to make new ops."""

    patch: Patch
    operands: Sequence[Value]
    result: Value

    def __call__(self, type: str, *inputs: Value) -> Value:  # noqa: A002
        """The result of a new op."""
        return self.patch.op(type, inputs).output


Parts = tuple["Value | None", ...]


def _mul(step: Step, g: Value) -> Parts:
    a, b = step.operands
    return step("Mul", g, b), step("Mul", g, a)


def _div(step: Step, g: Value) -> Parts:
    _, b = step.operands
    part = step("Div", g, b)
    return part, step("Neg", step("Mul", part, step.result))


def _sqrt(step: Step, g: Value) -> Parts:
    return (step("Div", g, step("Add", step.result, step.result)),)


def _tanh(step: Step, g: Value) -> Parts:
    return (step("Sub", g, step("Mul", g, step("Mul", step.result, step.result))),)


def _sigmoid(step: Step, g: Value) -> Parts:
    part = step("Mul", g, step.result)
    return (step("Sub", part, step("Mul", part, step.result)),)


def _matmul(step: Step, g: Value) -> Parts:
    a, b = step.operands
    if not all(isinstance(v.type, TensorType) and v.type.rank == 2 for v in (a, b)):
        return None, None
    return step("MatMul", g, step("Transpose", b)), step("MatMul", step("Transpose", a), g)


RULES: Mapping[Key, Callable[[Step, Value], Parts]] = {
    ("", "Add"): lambda _, g: (g, g),
    ("", "Sub"): lambda step, g: (g, step("Neg", g)),
    ("", "Mul"): _mul,
    ("", "Div"): _div,
    ("", "Neg"): lambda step, g: (step("Neg", g),),
    ("", "Identity"): lambda _, g: (g,),
    ("", "Exp"): lambda step, g: (step("Mul", g, step.result),),
    ("", "Log"): lambda step, g: (step("Div", g, step.operands[0]),),
    ("", "Sqrt"): _sqrt,
    ("", "Tanh"): _tanh,
    ("", "Sigmoid"): _sigmoid,
    ("", "MatMul"): _matmul,
}
"""(domain, op) → gradients of its operands, of its result's shape (a product's of their own)."""
