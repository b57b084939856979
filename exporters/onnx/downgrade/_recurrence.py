"""LinearAttention without itself: a Scan over the tokens, or its one step where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade._attention import repeated_heads
from isomorph.exporters.onnx.downgrade._older import single
from isomorph.exporters.onnx.downgrade._sizes import over, size_of, times, vector
from isomorph.ir.build import Build
from isomorph.ir.graph import Graph
from isomorph.ir.ops.attention import RULES
from isomorph.ir.patch import Patch
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.exporters.onnx.downgrade._sizes import Size
    from isomorph.ir.graph import Op, Value

FLOAT = DType.FLOAT32


def linear_attention_27(op: Op, patch: Patch) -> None:
    """Tokens first, in float32; the state is carried, and rounded once at the end."""
    build = Build(op, patch)
    queries, heads = int(op.attr("q_num_heads")), int(op.attr("kv_num_heads"))
    counts = (queries, heads, heads)
    packed = [build.operand(i) for i in range(3)]
    sizes = [over(build, size_of(build, x, 2), n) for x, n in zip(packed, counts, strict=True)]
    tokens = [
        _tokens(build, x, vector(build, 0, 0, n, size))
        for x, n, size in zip(packed, counts, sizes, strict=True)
    ]
    for index, value in ((4, op.input(4)), (5, op.input(5))):
        if value is None:
            continue
        width = size_of(build, value, 2)
        shape = (heads, over(build, width, heads)) if index == 4 else (width, 1)
        tokens.append(_tokens(build, value, vector(build, 0, 0, *shape)))
    state = op.input(3)
    if state is not None:
        state = build.cast(state, FLOAT)
    else:
        shape = (size_of(build, packed[0], 0), heads, sizes[1], sizes[2])
        state = build("Expand", build.const(0, FLOAT), vector(build, *shape))
    length = size_of(build, packed[0], 1)
    if length == 1:
        first = [build("Squeeze", x, build.ints(0)) for x in tokens]
        state, found = _step(build, op, state, first)
        found = build("Unsqueeze", found, build.ints(0))
    else:
        body = _body(op, state, tokens)
        inputs = (state, *tokens)
        state, found = build.op("Scan", inputs, {"body": body, "num_scan_inputs": len(tokens)}, 2)
    scaled = build("Mul", found, _scale(build, sizes[0]))
    hidden = times(build, queries, sizes[2])
    turned = build("Transpose", scaled, perm=(1, 0, 2, 3))
    y = build("Reshape", turned, vector(build, 0, 0, hidden))
    kept = build.dtype(3 if op.input(3) is not None else 0)
    build.done(build.cast(y, build.dtype()), build.cast(state, kept))


def _tokens(build: Build, value: Value, shape: Value) -> Value:
    """(batch, length, heads · size) as (length, batch, heads, size)."""
    apart = build("Reshape", build.cast(value, FLOAT), shape)
    return build("Transpose", apart, perm=(1, 0, 2, 3))


def _scale(build: Build, size: Size) -> Value:
    factor = single(build.old, "scale")
    if factor:
        return build.const(factor, FLOAT)
    if isinstance(size, int):
        return build.exact(1 / np.sqrt(float(max(size, 1))), FLOAT)
    return build("Reciprocal", build("Sqrt", build.cast(size, FLOAT)))


def _body(op: Op, state: Value, tokens: list[Value]) -> Graph:
    """One step as a graph: the state, and what belongs to one token → the state, what is read."""
    graph = Graph("token")
    inner = Patch(graph)
    build = Build(op, inner)
    given = [
        graph.add_input(name, _without_first(v.type) if index else v.type)
        for index, (name, v) in enumerate(
            zip(("state", "q", "k", "v", "first", "second"), (state, *tokens), strict=False)
        )
    ]
    after, found = _step(build, op, given[0], given[1:])
    graph.outputs = [after, found]
    return graph


def _without_first(known: object) -> TensorType:
    shape = known.shape if isinstance(known, TensorType) else None
    return TensorType(FLOAT, None if shape is None else shape[1:])


def _step(build: Build, op: Op, state: Value, token: list[Value]) -> tuple[Value, Value]:
    """The state (batch, heads, size of keys, size of values) after a token, and what it reads."""
    decays, corrects = RULES[op.attr("update_rule", "gated_delta")]
    q, k, v, *rest = token
    last, before = build.ints(-1), build.ints(-2)
    column, row = build("Unsqueeze", k, last), build("Unsqueeze", v, before)
    if decays:
        state = build("Mul", state, build("Unsqueeze", build("Exp", rest[0]), last))
    if corrects:
        recalled = build("MatMul", build("Unsqueeze", k, before), state)
        rate = build("Unsqueeze", rest[-1], last)
        row = build("Mul", rate, build("Sub", row, recalled))
    state = build("Add", state, build("Mul", column, row))
    queries, heads = int(op.attr("q_num_heads")), int(op.attr("kv_num_heads"))
    seen = repeated_heads(build, state, queries, heads)
    found = build("MatMul", build("Unsqueeze", q, before), seen)
    return state, build("Squeeze", found, before)
