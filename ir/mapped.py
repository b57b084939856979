"""SequenceMap as a Loop: how its definition says it in older operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.patch import Patch
from isomorph.ir.types import DType, SequenceType, TensorType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Op, Value


def map_as_loop(op: Op, patch: Patch) -> None:
    """Put a Loop over positions in the place of a SequenceMap.

    It carries the result sequences, which grow by one element a step, and captures the operands.

    Raises:
        InexpressibleError: when the element type of a result is not known.
    """
    kinds = [_element(op, v) for v in op.outputs]
    operands = [v for v in op.inputs if v is not None]
    if len(operands) < len(op.inputs):
        raise InvalidGraphError(f"{op}: an operand is absent")
    count = patch.op("SequenceLength", operands[:1], types=[TensorType(DType.INT64, ())]).output
    begin = [_nothing(patch, kind) for kind in kinds]
    body = _body(op.attr("body"), operands, kinds)
    made = patch.op(
        "Loop",
        [count, None, *begin],
        {"body": body},
        outputs=[None if v is None else v.name for v in op.outputs],
        captures=(*op.captures, *operands),
        types=[SequenceType(kind) for kind in kinds],
    )
    patch.replace_op(op, made)


def _nothing(patch: Patch, kind: TensorType) -> Value:
    attributes = {"dtype": kind.dtype.value}
    return patch.op("SequenceEmpty", [], attributes, types=[SequenceType(kind)]).output


def _body(mapped: Graph, operands: Sequence[Value], kinds: Sequence[TensorType]) -> Graph:
    """One step: the body on the elements at a position, its results put at the ends."""
    body, _ = copy_graph(mapped)
    formals = list(body.inputs)
    body.inputs = []
    step = body.add_input("step", TensorType(DType.INT64, ()))
    go_on = body.add_input("go_on", TensorType(DType.BOOL, ()))
    grown = [body.add_input("mapped", SequenceType(kind)) for kind in kinds]
    patch = Patch(body)
    for formal, outer in zip(formals, operands, strict=True):
        captured = body.add_capture(outer.name, outer.type)
        if isinstance(outer.type, SequenceType):
            captured = patch.op("SequenceAt", [captured, step], types=[formal.type]).output
        patch.replace(formal, captured)
    patch.apply()
    results = body.outputs
    body.outputs = [
        body.add_op("Identity", [go_on]).output,
        *(
            body.add_op("SequenceInsert", [before, result]).output
            for before, result in zip(grown, results, strict=True)
        ),
    ]
    for value in body.outputs:
        value.type = TensorType(DType.BOOL, ())
    for value, kind in zip(body.outputs[1:], kinds, strict=True):
        value.type = SequenceType(kind)
    for formal in formals:
        body.drop(formal)
    return body


def _element(op: Op, value: Value | None) -> TensorType:
    kind = None if value is None else value.type
    if not isinstance(kind, SequenceType) or not isinstance(kind.element, TensorType):
        raise InexpressibleError(
            f"{op.type}-{op.version}: what a result holds is not known",
            "state the types of the model's inputs",
        )
    return TensorType(kind.element.dtype)
