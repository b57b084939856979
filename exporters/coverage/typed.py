"""Element types of results that rewriting left untyped, as the schemas bind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.types import Type


def fill_types(graph: Graph) -> None:
    """Give every untyped result the element type that its operator's definition implies.

    Shapes stay unknown; what the definition leaves open stays untyped. Subgraphs are included, and
    their captures take the types of what they stand for.
    """
    stack = [graph]
    while stack:
        current = stack.pop()
        for op in current.sorted_ops():
            if any(v.type is None for v in op.results):
                _fill(op)
            for _, sub in op.subgraphs():
                for inner, outer in zip(sub.captures, op.captures, strict=False):
                    inner.type = inner.type or outer.type
                stack.append(sub)


def _fill(op: Op) -> None:
    known = op.schema
    if known is None:
        return
    bound: dict[str, Type] = {}
    for index, value in enumerate(op.inputs):
        formal = known.input(index)
        if value is not None and formal is not None and value.type is not None:
            bound.setdefault(formal.type_var, _bare(value.type))
    for index, value in enumerate(op.outputs):
        formal = known.output(index)
        if value is None or value.type is not None or formal is None:
            continue
        target = op.attr("to") if op.type == "Cast" else op.attr("dtype")
        if formal.type_var in bound:
            value.type = bound[formal.type_var]
            continue
        possible = [d for d in DType if d.schema_name in formal.dtypes]
        if isinstance(target, int):
            possible = [d for d in possible if d.value == target]
        elif len(formal.dtypes) > 1:
            continue
        if possible:
            value.type = TensorType(possible[0], None)


def _bare(kind: Type) -> Type:
    return TensorType(kind.dtype, None) if isinstance(kind, TensorType) else kind
