"""An operator's own definition, as `onnx.defs` gives it, in the place of the operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx

from isomorph.ir import schema
from isomorph.ir.proto.decode import Decoder, read_opsets
from isomorph.ir.proto.encode import encode_attribute
from isomorph.ir.proto.local import Functions
from isomorph.ir.proto.scope import Frame, Scope
from isomorph.ir.proto.types import encode_type

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch


def inline_body(op: Op, patch: Patch, opset: int | None = None) -> bool:
    """Put an operator's function body in its place: exact, because it is the definition.

    Works for any op whose schema has a body, context-dependent ones included when the operands'
    types are known, so a step of an upgrade or downgrade table may call it. The new ops have the
    versions that the body's opset means; the driver takes them on from there.

    Args:
        op: to be replaced; its subgraphs must capture nothing.
        patch: collects the edit; applying it is the caller's business.
        opset: the newest opset the body should be written in; an older body is preferred to a
            newer one. The op's own version by default.

    Returns:
        Whether there is a body.
    """
    body = _body(op, op.version if opset is None else opset)
    if body is None:
        return False
    opsets = {"": schema.CANONICAL[""], **read_opsets(body.opset_import, f"the body of {op.type}")}
    known = op.schema
    attributes = {
        name: encode_attribute(name, formal.default, op)
        for name, formal in (known.attributes.items() if known is not None else ())
        if formal.default is not None
    }
    attributes |= {name: encode_attribute(name, v, op) for name, v in op.attributes.items()}
    prefix = f"{op.outputs[0].name}." if op.outputs and op.outputs[0] else f"{op.type.lower()}."
    scope = Scope(patch.graph, Frame(opsets, attributes, prefix))
    wanted = {
        formal: actual.name
        for formal, actual in zip(body.output, op.outputs, strict=False)
        if actual is not None
    }

    def emit(kind: str, inputs: list[Value | None], given: dict[str, Any], **options: Any) -> Op:
        return patch.op(kind, inputs, given, **options)

    results = Decoder(None, Functions()).body(scope, body, list(op.inputs), 0, emit, wanted)
    for old, new in zip(op.outputs, results, strict=False):
        if old is not None and new is not None:
            new.type = new.type or old.type
            patch.replace(old, new)
    patch.remove(op)
    return True


def _body(op: Op, opset: int) -> onnx.FunctionProto | None:
    node = onnx.NodeProto(op_type=op.type, domain=op.domain)
    node.input.extend("" if v is None else f"i{n}" for n, v in enumerate(op.inputs))
    node.output.extend("" if v is None else f"o{n}" for n, v in enumerate(op.outputs))
    if op.captures:  # what a subgraph uses of the outside has no name in a body
        return None
    node.attribute.extend(encode_attribute(name, v, op) for name, v in op.attributes.items())
    types = [
        b"" if v is None or v.type is None else encode_type(v.type).SerializeToString()
        for v in op.inputs
    ]
    return schema.body(op.domain, op.type, op.version, opset, node.SerializeToString(), types)
