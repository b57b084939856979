"""Single ops through `onnx.reference`, the interpreter that defines the standard's node tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import onnx
import onnx.helper

from isomorph.ir.budget import BudgetError
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Op

_FLOATS = frozenset(d.value for d in DType if d.is_float)
_DTYPE_ATTRIBUTES = ("to", "dtype", "output_dtype")


def evaluate_by_reference(op: Op, inputs: Sequence[Any], *, wide: bool = False) -> list[Any]:
    """The results of one op as the reference interpreter computes them.

    Raises:
        UnsupportedError: when it does not implement the operator, or fails on it.
    """
    from onnx.reference import ReferenceEvaluator

    from isomorph.ir.proto.encode import encode_attribute

    names = ["" if v is None else f"i{n}" for n, v in enumerate(inputs)]
    outputs = ["" if v is None else f"o{n}" for n, v in enumerate(op.outputs)]
    node = onnx.NodeProto(op_type=op.type, domain=op.domain, input=names, output=outputs)
    for name, value in op.attributes.items():
        if isinstance(value, Graph):
            raise UnsupportedError(f"{op}: the reference is not asked to run subgraphs")
        given = value
        if wide and name in _DTYPE_ATTRIBUTES and value in _FLOATS:
            given = DType.FLOAT64.value
        node.attribute.append(encode_attribute(name, given, op))
    graph = onnx.GraphProto(name="one", node=[node])
    graph.input.extend(onnx.ValueInfoProto(name=n) for n in names if n)
    graph.output.extend(onnx.ValueInfoProto(name=n) for n in outputs if n)
    model = onnx.ModelProto(graph=graph, ir_version=onnx.IR_VERSION)
    model.opset_import.append(onnx.helper.make_opsetid(op.domain, op.version))
    if op.domain:
        model.opset_import.append(onnx.helper.make_opsetid("", onnx.defs.onnx_opset_version()))
    try:
        feeds = {n: v for n, v in zip(names, inputs, strict=True) if n}
        with np.errstate(all="ignore"):
            evaluator: Any = ReferenceEvaluator(model)
            found = iter(evaluator.run(None, feeds))
    except (MemoryError, BudgetError):
        raise
    except Exception as error:
        raise UnsupportedError(
            f"{op}: the reference interpreter cannot evaluate it: {type(error).__name__}: {error}"
        ) from error
    results = [next(found) if n else None for n in outputs]
    return [_widen(r) if wide else r for r in results]


def _widen(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    array = cast("np.ndarray", value)
    real = array.dtype.kind not in "OUST" and DType.of(array.dtype).is_float
    return array.astype(np.float64) if real else array
