"""Invariants of a graph. Run after every pass; an error names op, value and expectation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.errors import InvalidGraphError, TypeInferenceError
from isomorph.ir.graph import Graph, Op
from isomorph.ir.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    SparseType,
    TensorType,
    schema_name,
)
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.graph import Attribute, Value
    from isomorph.ir.schema import AttributeDef, Schema
    from isomorph.ir.types import Type


def verify(graph: Graph, after: str = "") -> None:
    """Check every invariant, in subgraphs too.

    Raises:
        InvalidGraphError: listing all that is broken, and the pass (`after`) that broke it.
    """
    lists: _Lists = {}
    found = [p for g in graph.graphs() for p in _problems(g, lists)]
    if found:
        head = f"after {after}: " if after else ""
        shown = "\n  ".join(found[:20])
        raise InvalidGraphError(f"{head}{len(found)} broken invariants:\n  {shown}")


def check_types(graph: Graph) -> None:
    """Check that operands are what their operators take: the part of `verify` that is the user's.

    Raises:
        TypeInferenceError: listing every op whose operands do not fit it.
    """
    known = ((op, op.schema) for _, op in graph.walk())
    found = [p for op, definition in known if definition for p in _types(op, definition)]
    if found:
        shown = "\n  ".join(found[:20])
        raise TypeInferenceError(f"{len(found)} operands do not fit their operators:\n  {shown}")


def unfit(op: Op) -> Iterator[str]:
    """What of one op its definition does not allow: its form, and the types that are known."""
    known = op.schema
    if known is not None:
        yield from _form(op, known, {})
        yield from _types(op, known)


_Lists = dict[tuple[int, str], bool]
"""Whether a list, by identity, is one of a kind: inlined functions share long ones."""


def _problems(graph: Graph, lists: _Lists) -> Iterator[str]:
    names: dict[str, Value] = {}
    for value in graph.values():
        if not value.name:
            yield f"{graph.name}: a value of {value.producer} has no name"
        elif names.setdefault(value.name, value) is not value:
            yield f"{graph.name}: two values are called %{value.name}"
    ends: set[Value] = set()
    for value in (*graph.inputs, *graph.captures):
        if value not in graph.nx:
            yield f"{graph.name}: input %{value.name} is not a node"
        if value in ends:
            yield f"{graph.name}: input %{value.name} stands there twice"
        ends.add(value)
    for node in graph.nx:
        if not isinstance(node, Op) and node.weight is None and node not in ends:
            yield f"{graph.name}: %{node.name} is no input, no constant, and no op computes it"
    for value in graph.outputs:
        producer = value.producer
        if (producer or value) not in graph.nx or (producer and value not in producer.outputs):
            yield f"{graph.name}: output %{value.name} is not computed here"
    try:
        graph.sorted_ops()
    except InvalidGraphError as error:
        yield f"{graph.name}: {error}"
    for op in graph.ops():
        yield from _links(graph, op)
        yield from _regions(op)
        known = op.schema
        if known is not None:
            yield from _form(op, known, lists)
            yield from _types(op, known)


def _links(graph: Graph, op: Op) -> Iterator[str]:
    linked: set[tuple[Op | Value, Value]] = set()
    for node, edge in graph.nx.pred[op].items():
        linked.update((node, value) for value in edge["values"])
    if linked != {(v.producer or v, v) for v in op.operands}:
        yield f"{op}: its edges do not carry its operands"
    for value in op.operands:
        if value.producer is not None and value not in value.producer.outputs:
            yield f"{op}: operand %{value.name} is no result of {value.producer}"
    for value in op.results:
        if value.producer is not op:
            yield f"{op}: result %{value.name} names {value.producer} as its producer"


def _regions(op: Op) -> Iterator[str]:
    for name, sub in op.subgraphs():
        if len(sub.captures) != len(op.captures):
            yield f"{op}: captures {len(op.captures)} values, its {name} takes {len(sub.captures)}"
        for inner, outer in zip(sub.captures, op.captures, strict=False):
            one, two = inner.type, outer.type
            if one and two and schema_name(one) != schema_name(two):
                yield f"{op}: captures %{outer.name}: {two}, its {name} takes it as {one}"


def _form(op: Op, known: Schema, lists: _Lists) -> Iterator[str]:
    """Version, number of operands and results, attributes."""
    if op.version != known.since:
        yield f"{op}: no version {op.version} of {known.name} exists, {known.since} is in force"
    if not known.min_inputs <= len(op.inputs) <= known.max_inputs:
        yield f"{op}: {len(op.inputs)} inputs, {known.min_inputs} to {known.max_inputs} are allowed"
    for index, value in enumerate(op.inputs):
        formal = known.input(index)
        if value is None and formal is not None and not formal.optional:
            yield f"{op}: operand {index} ({formal.name}) is absent, {known.name} needs it"
    if not known.min_outputs <= len(op.outputs) <= known.max_outputs:
        allowed = f"{known.min_outputs} to {known.max_outputs} are allowed"
        yield f"{op}: {len(op.outputs)} outputs, {allowed}"
    for attribute in known.attributes.values():
        if attribute.required and attribute.name not in op.attributes:
            yield f"{op}: attribute {attribute.name!r} is missing"
    for name, given in op.attributes.items():
        formal = known.attributes.get(name)
        if formal is None:
            yield f"{op}: {known.name}-{known.since} has no attribute {name!r}"
        elif not _is_kind(given, formal.kind, lists):
            shown = f"{given!r} ({type(given).__name__})"
            yield f"{op}: attribute {name!r} is {shown}, {formal.kind} is expected"
        elif formal.kind == "INT" and name in _NAMES_OF_DTYPES and _is_no_dtype(given, formal):
            expected = f"an element type, 1 to {max(_NUMBERS)}, is expected"
            yield f"{op}: attribute {name!r} is {given!r}; {expected}"


_NAMES_OF_DTYPES = frozenset(
    (
        "to",
        "dtype",
        "output_dtype",
        "output_datatype",
        "stash_type",
        "softmax_precision",
        "precision",
    )
)
"""Attributes that are element types by number."""

_NUMBERS = frozenset(d.value for d in DType)


def _is_no_dtype(given: Attribute, formal: AttributeDef) -> bool:
    return given not in _NUMBERS and given != formal.default


_KINDS: dict[str, tuple[type, ...]] = {
    "INT": (int, np.integer),
    "FLOAT": (int, float, np.integer, np.floating),
    "STRING": (str, bytes),
    "TENSOR": (Weight,),
    "SPARSE_TENSOR": (Weight,),
    "GRAPH": (Graph,),
    "TYPE_PROTO": (TensorType, SparseType, SequenceType, OptionalType, MapType),
}


def _is_kind(given: Attribute, kind: str, lists: _Lists) -> bool:
    if kind in _KINDS:
        return isinstance(given, _KINDS[kind])
    if not isinstance(given, tuple):
        return False
    items = cast("tuple[Any, ...]", given)
    key = id(items), kind
    if key not in lists:
        allowed = _KINDS[kind.removesuffix("S")]
        lists[key] = all(isinstance(item, allowed) for item in items)
    return lists[key]


def _types(op: Op, known: Schema) -> Iterator[str]:
    """Types that the schema allows, the same for operands of one type variable."""
    bound: dict[str, tuple[str, Type, str]] = {}
    for values, what in ((op.inputs, "operand"), (op.outputs, "result")):
        for index, value in enumerate(values):
            name = None if value is None else schema_name(value.type)
            formal = known.input(index) if what == "operand" else known.output(index)
            if value is None or value.type is None or name is None or formal is None:
                continue
            where, found = f"{what} {index}", value.type
            if name not in formal.dtypes:
                yield f"{op}: {where} is {found}, which {known.name}-{known.since} forbids"
            elif formal.homogeneous and formal.type_var in known.type_vars:
                first, kind, other = bound.setdefault(formal.type_var, (where, found, name))
                if name != other:
                    both = f"{first} is {kind}, {where} is {found}"
                    yield f"{op}: {both}; they share {known.name}'s type {formal.type_var}"
