"""Types that our own shape rules leave open, from ONNX's shape inference of that one operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.shape_inference

from isomorph.frontends.array.structure import is_many
from isomorph.ir import schema
from isomorph.ir.dims import Expr
from isomorph.ir.infer import merge
from isomorph.ir.proto.types import decode_type, encode_type
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.infer import Content

_DATA_LIMIT = 1024


def infer_by_onnx(op: Op, contents: dict[Value, Content]) -> None:
    """Type those results that have no type yet, for an operator that ONNX itself defines."""
    if all(v.type is not None for v in op.results) or op.captures or op.schema is None:
        return
    if any(True for _ in op.subgraphs()):
        return
    found = schema.canonical(op.domain, op.type)
    if found is None or found.since != op.version:
        return
    inputs = [v.name if v is not None else "" for v in op.inputs]
    node = onnx.helper.make_node(
        op.type,
        inputs,
        [v.name if v is not None else "" for v in op.outputs],
        domain=op.domain,
        **{k: _attribute(v) for k, v in op.attributes.items()},
    )
    types = {v.name: encode_type(v.type) for v in op.operands if v.type is not None}
    data = {v.name: _data(v, contents) for v in op.operands}
    try:
        made = onnx.shape_inference.infer_node_outputs(
            onnx.defs.get_schema(op.type, op.version, op.domain),
            node,
            types,
            {k: v for k, v in data.items() if v is not None},
            opset_imports=[onnx.helper.make_opsetid(op.domain, schema.CANONICAL[op.domain])],
        )
    except (onnx.shape_inference.InferenceError, RuntimeError):
        return
    for value in op.results:
        if value.name in made:
            inferred = decode_type(made[value.name], op.where)
            if isinstance(inferred, TensorType):
                value.type = merge(value.type, inferred)


def _attribute(value: Any) -> Any:
    from isomorph.ir.weights import Weight

    if isinstance(value, Weight):
        return onnx.numpy_helper.from_array(value.numpy())
    return list(value) if is_many(value) else value


def _data(value: Value, contents: dict[Value, Content]) -> onnx.TensorProto | None:
    import numpy as np

    if value.weight is not None and value.weight.size <= _DATA_LIMIT:
        return onnx.numpy_helper.from_array(value.weight.numpy())
    known = contents.get(value)
    if known is None or any(d is None or isinstance(d, Expr) for d in known.elements):
        return None
    array = np.array(known.elements, np.int64)
    return onnx.numpy_helper.from_array(array.reshape(()) if known.scalar else array)
