"""Which ops may stand in one group, and how a group becomes one op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.copies import copy_op
from isomorph.ir.graph import Graph, Op
from isomorph.ir.patch import Patch
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Value
    from isomorph.ir.opdef import Key

FUSED: Key = ("isomorph", "Fused")

FLOATS = frozenset({DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16})
"""Element types that every kernel computes, in float32."""

STORED = FLOATS | {DType.BOOL}
"""What a kernel that computes in float32 may store at its end."""

ELEMENTS = STORED | {
    DType.FLOAT64,
    *(DType.INT8, DType.INT16, DType.INT32, DType.INT64),
    *(DType.UINT8, DType.UINT16, DType.UINT32, DType.UINT64),
}
"""Element types of expressions."""

POINTWISE = frozenset(
    {
        "Abs",
        "Acos",
        "Acosh",
        "Add",
        "And",
        "Asin",
        "Asinh",
        "Atan",
        "Atanh",
        "BatchNormalization",
        "BitShift",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "Cast",
        "Ceil",
        "Celu",
        "Clip",
        "Cos",
        "Cosh",
        "Div",
        "Elu",
        "Equal",
        "Erf",
        "Exp",
        "Floor",
        "Gelu",
        "Greater",
        "GreaterOrEqual",
        "HardSigmoid",
        "HardSwish",
        "IsInf",
        "IsNaN",
        "LeakyRelu",
        "Less",
        "LessOrEqual",
        "Log",
        "Max",
        "Mean",
        "Min",
        "Mish",
        "Mod",
        "Mul",
        "Neg",
        "Not",
        "Or",
        "PRelu",
        "Pow",
        "Reciprocal",
        "Relu",
        "Round",
        "Selu",
        "Shrink",
        "Sigmoid",
        "Sign",
        "Sin",
        "Sinh",
        "Softplus",
        "Softsign",
        "Sqrt",
        "Sub",
        "Sum",
        "Swish",
        "Tan",
        "Tanh",
        "ThresholdedRelu",
        "Where",
        "Xor",
    }
)
"""Ops of the default domain whose result element is an expression of operand elements."""

ANCHORS = frozenset(
    {
        "AveragePool",
        "Conv",
        "Gemm",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "GroupNormalization",
        "InstanceNormalization",
        "LayerNormalization",
        "LogSoftmax",
        "MatMul",
        "MaxPool",
        "RMSNormalization",
        "ReduceL1",
        "ReduceL2",
        "ReduceLogSum",
        "ReduceMax",
        "ReduceMean",
        "ReduceMin",
        "ReduceProd",
        "ReduceSum",
        "ReduceSumSquare",
        "Softmax",
    }
)
"""Ops whose kernels call a functor on each result before they store it."""


def static_shape(value: Value | None) -> tuple[int, ...] | None:
    """The shape, when every dim is a number."""
    if value is None or not isinstance(value.type, TensorType):
        return None
    return value.type.static_shape


def is_pointwise(op: Op) -> bool:
    """Whether an op's kernel would be one expression per element, with one result."""
    if op.domain or op.type not in POINTWISE or op.attr("training_mode"):
        return False
    if sum(v is not None for v in op.outputs) != 1:
        return False
    return _all_of(op.operands, ELEMENTS) and _all_of(op.results, ELEMENTS)


def _all_of(values: Sequence[Value], dtypes: frozenset[DType]) -> bool:
    return all(isinstance(v.type, TensorType) and v.type.dtype in dtypes for v in values)


def members(op: Op) -> list[Op]:
    """The ops of a group, in order; an op that stands alone is its own group."""
    return op.attributes["body"].sorted_ops() if op.key == FUSED else [op]


def is_pointwise_group(op: Op) -> bool:
    """Whether every op of a group is pointwise."""
    return all(is_pointwise(m) for m in members(op))


def sole_reader(graph: Graph, value: Value) -> Op | None:
    """The one op that reads a value, when nothing else does and it is no output."""
    readers = graph.consumers(value)
    return readers[0] if len(readers) == 1 and not graph.is_output(value) else None


def fuse(graph: Graph, first: Op, second: Op) -> Op:
    """Put `first`, whose result only `second` reads, into one group with it."""
    body = Graph("fused")
    inner: dict[Value, Value] = {}
    outside: list[Value] = []

    def take(outer: Value) -> Value:
        if outer not in inner:
            inner[outer] = body.add_capture(outer.name, outer.type)
            outside.append(outer)
        return inner[outer]

    for op in (first, second):
        if op.key == FUSED:
            _copy(op.attributes["body"], body, [take(v) for v in op.captures], inner, op)
        else:
            for value in op.operands:
                take(value)
            copy_op(op, body, inner)
    body.outputs = [inner[v] for v in second.results]
    patch = Patch(graph, second)
    made = patch.op(
        FUSED[1],
        [],
        {"body": body},
        domain=FUSED[0],
        version=1,
        captures=outside,
        types=[v.type for v in second.results],
    )
    made.source, made.name = first.source or second.source, first.name or second.name
    patch.replace_op(second, made)
    patch.remove(first)
    patch.apply()
    return made


def _copy(
    source: Graph, target: Graph, captures: Sequence[Value], inner: dict[Value, Value], op: Op
) -> None:
    """Put a body's ops into another; the group's own results become known by it."""
    new = dict(zip(source.captures, captures, strict=True))
    for member in source.sorted_ops():
        copy_op(member, target, new)
    inner.update(zip(op.results, (new[v] for v in source.outputs), strict=True))
