"""Sequences and optionals whose elements are known by name: the elements take their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.constants import integers
from isomorph.ir.patch import Patch
from isomorph.ir.types import OptionalType, TensorType
from isomorph.passes.rules import Rules

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op, Value

MOST_PARTS = 1024
"""Elements of a sequence that is looked into."""


def _made_by(value: Value | None, *kinds: str) -> Op | None:
    op = None if value is None else value.producer
    return op if op is not None and not op.domain and op.type in kinds else None


def _elements(value: Value | None) -> list[Value] | None:
    """The values that a sequence holds, where the ops that made it say so."""
    steps: list[Op] = []
    while (step := _made_by(value, "SequenceInsert", "SequenceErase")) is not None:
        if len(steps) == MOST_PARTS:
            return None
        steps.append(step)
        value = step.inputs[0]
    made = _made_by(value, "SequenceConstruct", "SequenceEmpty")
    if made is None:
        return None
    found = [v for v in made.inputs if v is not None]
    for step in reversed(steps):
        inserts = step.type == "SequenceInsert"
        place = _place(step.input(1 + inserts), len(found), len(found) if inserts else -1)
        new = step.input(1)
        if place is None:
            return None
        if inserts and new is not None:
            found.insert(place, new)
        elif not inserts and place < len(found):
            del found[place]
        else:
            return None
    return found


def _place(position: Value | None, count: int, default: int) -> int | None:
    """A constant position from 0 on; `None` when it is computed, or out of range."""
    found = (default,) if position is None else integers(position)
    if found is None or len(found) != 1:
        return None
    place = found[0] + count if found[0] < 0 else found[0]
    return place if 0 <= place <= count else None


def _passed(graph: Graph, op: Op, value: Value) -> Patch | None:
    """Let a value take the place of the op's result, unless both are ends of the graph."""
    if graph.is_output(op.output) and (value.producer is None or graph.is_output(value)):
        return None
    patch = Patch(graph, op)
    patch.replace(op.output, value)
    patch.remove(op)
    return patch


def _constant(graph: Graph, op: Op, value: object) -> Patch | None:
    if graph.is_output(op.output):
        return None
    patch = Patch(graph, op)
    patch.replace(op.output, patch.weight(value, op.output.name))
    patch.remove(op)
    return patch


def element(graph: Graph, op: Op) -> Patch | None:
    """SequenceAt(SequenceConstruct(a, b, …), 1) = b."""
    found = _elements(op.inputs[0])
    place = None if found is None else _place(op.inputs[1], len(found), 0)
    if not found or place is None or place == len(found):
        return None
    return _passed(graph, op, found[place])


def length(graph: Graph, op: Op) -> Patch | None:
    """SequenceLength(SequenceConstruct(a, b, …)) = 2, …."""
    found = _elements(op.inputs[0])
    return None if found is None else _constant(graph, op, np.array(len(found), np.int64))


def joined(graph: Graph, op: Op) -> Patch | None:
    """ConcatFromSequence(SequenceConstruct(a, b)) = Concat(a, b), each with a new axis if asked."""
    found, axis = _elements(op.inputs[0]), op.attr("axis")
    if not found:
        return None
    patch = Patch(graph, op)
    if op.attr("new_axis"):
        place = patch.weight(np.array([axis], np.int64), "axes")
        found = [patch.op("Unsqueeze", [value, place]).output for value in found]
    patch.replace_op(op, patch.op("Concat", found, {"axis": axis}, types=[op.output.type]))
    return patch


def parts(graph: Graph, op: Op) -> Patch | None:
    """A split, each of whose parts is taken by a constant position: Split, of that many results.

    With `split` given, `keepdims` has no meaning; run times that obey it nevertheless are spared.
    """
    sizes = _sizes(op)
    takers = graph.consumers(op.output)
    if sizes is None or graph.is_output(op.output) or not _only_taken(takers, len(sizes)):
        return _without_keepdims(graph, op)
    patch = Patch(graph, op)
    axis = op.attr("axis")
    made = patch.op(
        "Split",
        [op.inputs[0], patch.weight(np.array(sizes, np.int64), "split")],
        {"axis": axis},
        outputs=len(sizes),
    )
    results = list(made.results)
    if op.input(1) is None and not op.attr("keepdims"):
        place = patch.weight(np.array([axis], np.int64), "axes")
        results = [patch.op("Squeeze", [value, place]).output for value in results]
    for taker in takers:
        place_taken = _place(taker.inputs[1], len(sizes), 0) or 0
        result = results[place_taken]
        result.type = result.type or taker.output.type
        patch.replace(taker.output, result)
        patch.remove(taker)
    patch.remove(op)
    return patch


def _only_taken(takers: list[Op], count: int) -> bool:
    places = [
        _place(t.inputs[1], count, 0) if t.key == ("", "SequenceAt") else None for t in takers
    ]
    return bool(places) and all(p is not None and p < count for p in places)


def _sizes(op: Op) -> list[int] | None:
    """The lengths of the parts, where they are known."""
    x, split = op.inputs[0], op.input(1)
    kind = None if x is None else x.type
    if not isinstance(kind, TensorType) or not kind.shape:
        return None
    whole = kind.shape[int(op.attr("axis")) % len(kind.shape)]
    given = None if split is None else integers(split)
    scalar = split is None or (isinstance(split.type, TensorType) and split.type.rank == 0)
    if split is not None and given is None:
        return None
    if given is not None and not scalar:
        return [*given] if 0 < len(given) <= MOST_PARTS else None
    part = 1 if given is None else given[0]
    if not isinstance(whole, int) or part < 1 or not 0 < whole <= part * MOST_PARTS:
        return None
    return [min(part, whole - start) for start in range(0, whole, part)]


def _without_keepdims(graph: Graph, op: Op) -> Patch | None:
    if op.input(1) is None or op.attr("keepdims"):
        return None
    patch = Patch(graph, op)
    given = {k: v for k, v in op.attributes.items() if k != "keepdims"}
    patch.replace_op(op, patch.op("SplitToSequence", op.inputs, given, types=[op.output.type]))
    return patch


def present(graph: Graph, op: Op) -> Patch | None:
    """OptionalHasElement of what is no optional, or was just made one."""
    value = op.input(0)
    made = _made_by(value, "Optional")
    if made is not None:
        return _constant(graph, op, np.array(made.input(0) is not None))
    if value is not None and (value.type is None or isinstance(value.type, OptionalType)):
        return None
    return _constant(graph, op, np.array(value is not None))


def contained(graph: Graph, op: Op) -> Patch | None:
    """OptionalGetElement of what is no optional, or was just made one."""
    value = op.inputs[0]
    made = _made_by(value, "Optional")
    inner = made.input(0) if made is not None else value
    if inner is None or inner.type is None or isinstance(inner.type, OptionalType):
        return None
    return _passed(graph, op, inner)


SEQUENCES = Rules(
    "sequences",
    {
        ("", "SequenceAt"): (element,),
        ("", "SequenceLength"): (length,),
        ("", "ConcatFromSequence"): (joined,),
        ("", "SplitToSequence"): (parts,),
        ("", "OptionalHasElement"): (present,),
        ("", "OptionalGetElement"): (contained,),
    },
)
