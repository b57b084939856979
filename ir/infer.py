"""Types of every value from the types of the inputs, with symbolic dims and known contents."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from isomorph.ir import schema
from isomorph.ir.context import Content, Context, broadcast
from isomorph.ir.dims import ComplexDimError
from isomorph.ir.errors import OPERAND_ERRORS
from isomorph.ir.merge import merge
from isomorph.ir.opdef import OPS
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.dims import Constraint
    from isomorph.ir.graph import Graph, Op, Value

LARGEST = 2**63 - 1
"""The largest dim that a file can state."""

NO_SENSE = "its operands or attributes make no sense"

__all__ = ["Content", "Context", "broadcast", "infer", "infer_op", "is_canonical", "merge"]


def infer(
    graph: Graph,
    contents: dict[Value, Content] | None = None,
    constraints: Sequence[Constraint] | None = None,
    *,
    body: bool = False,
) -> bool:
    """Set the type of every value that can be known; returns whether any changed.

    Rules exist for canonical versions; other ops keep the types they were read with, and so do
    those whose dims become too long to calculate with.

    Args:
        graph: changed in place, its subgraphs too.
        contents: known elements of values; extended.
        constraints: relations between dims that hold; the graph's own by default.
        body: it is the body of an op, which may never run: see `infer_op`.

    Raises:
        TypeInferenceError: when operands do not fit their operator, or an inferred type
            contradicts a stated one.
    """
    known = {} if contents is None else contents
    held = graph.constraints if constraints is None else constraints
    changed = False
    for op in graph.sorted_ops():
        changed |= infer_op(op, graph, known, held, body=body)
    return changed


_infer_body = partial(infer, body=True)


def infer_op(
    op: Op,
    graph: Graph,
    contents: dict[Value, Content],
    constraints: Sequence[Constraint] = (),
    *,
    body: bool = False,
) -> bool:
    """Type the results of one op; returns whether any changed.

    In the body of another op, which may never run, sizes below 0 are not known; elsewhere they are
    errors.
    """
    definition = OPS.get(op.key)
    if definition is None or not is_canonical(op):
        return False
    context = Context(op, graph, contents, constraints, _infer_body)
    changed = False
    try:
        every = definition.rule(context)
    except ComplexDimError:
        return False
    except OPERAND_ERRORS as error:
        raise context.error(f"{NO_SENSE}: {type(error).__name__}: {error}") from error
    for index, (value, found) in enumerate(zip(op.outputs, every, strict=False)):
        if value is None or found is None:
            continue
        if isinstance(found, TensorType):
            if body and _is_below_0(found):
                continue
            if problem := _problem(found):
                raise context.error(f"output {index} (%{value.name}) {problem}")
        try:
            merged = merge(value.type, found)
        except ValueError as error:
            raise context.error(f"output {index} (%{value.name}): {error}") from None
        if merged != value.type:
            value.type = merged
            changed = True
    return changed


def _problem(kind: TensorType) -> str:
    """Why no tensor can have a type; empty when one can."""
    if any(isinstance(d, int) and d > LARGEST for d in kind.shape or ()):
        return "is larger than any tensor can be"
    return f"would be {kind}, a size below 0" if _is_below_0(kind) else ""


def _is_below_0(kind: TensorType) -> bool:
    return any(isinstance(d, int) and d < 0 for d in kind.shape or ())


def is_canonical(op: Op) -> bool:
    """Whether an op has the version that the canonical opset means."""
    found = schema.canonical(op.domain, op.type)
    return found is not None and found.since == op.version
