"""control_flow: what each operator is. Types come from inference inside the subgraphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.constants import numbers
from isomorph.ir.copies import copy_graph
from isomorph.ir.merge import either, merge
from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.ops._bounds import Bounds, unify, unify_dims
from isomorph.ir.types import DType, OptionalType, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Graph, Value
    from isomorph.ir.types import Type

    Types = tuple[Type | None, ...]


def _if(ctx: Context) -> Types:
    branches: list[Graph] = [ctx.attr("then_branch"), ctx.attr("else_branch")]
    for branch in branches:
        ctx.infer_subgraph(branch)
        if len(branch.outputs) != len(ctx.op.outputs):
            raise ctx.error(
                f"{branch.name} yields {len(branch.outputs)} values, not {len(ctx.op.outputs)}"
            )
    condition = ctx.array(0)
    if condition is not None:
        branches = [branches[0] if condition.reshape(-1)[0] else branches[1]]
    found = [v.type for v in branches[0].outputs]
    for branch in branches[1:]:
        found = [_either(ctx, a, v.type) for a, v in zip(found, branch.outputs, strict=True)]
    return tuple(found)


def _either(ctx: Context, a: Type | None, b: Type | None) -> Type | None:
    try:
        return either(a, b)
    except ValueError as error:
        raise ctx.error(str(error)) from None


def _carried(
    ctx: Context, body: Graph, fixed: Sequence[Type | None], count: int
) -> list[Type | None]:
    """Types of a loop's carried values that hold before every iteration.

    They start as the operands' and are widened until the body's results fit them. Leaves the
    body typed for them.
    """
    types = [ctx.type(2 + i) for i in range(count)]
    while True:
        probe, _ = copy_graph(body)
        assume(ctx, probe, (*fixed, *types))
        ctx.infer_subgraph(probe)
        results = [v.type for v in probe.outputs[1 : 1 + count]]
        widened = [_either(ctx, a, b) for a, b in zip(types, results, strict=True)]
        if widened == types:
            break
        types = widened
    assume(ctx, body, (*fixed, *types))
    ctx.infer_subgraph(body)
    return types


def assume(ctx: Context, body: Graph, types: Sequence[Type | None]) -> None:
    """Type the formal inputs of a body, where that is known."""
    for formal, known in zip(body.inputs, types, strict=True):
        if known is None:
            continue
        try:
            formal.type = known if formal.type is None else merge(formal.type, known)
        except ValueError as error:
            raise ctx.error(f"{body.name}, input %{formal.name}: {error}") from None


def _loop(ctx: Context) -> Types:
    body: Graph = ctx.attr("body")
    count = len(ctx.op.inputs) - 2
    if len(body.inputs) != count + 2 or len(body.outputs) < count + 1:
        raise ctx.error(
            f"with {count} carried values its body takes {count + 2} inputs and yields at least "
            f"{count + 1}, not {len(body.inputs)} and {len(body.outputs)}"
        )
    kinds = (DType.INT64, DType.BOOL)
    fixed = [
        TensorType(dtype, ()) if formal.type is None else None
        for formal, dtype in zip(body.inputs, kinds, strict=False)
    ]
    carried = _carried(ctx, body, fixed, count)
    # A value that may be absent before a loop and never is after a step: the model says which.
    settled = [
        None if isinstance(t, OptionalType) and not isinstance(v.type, OptionalType) else t
        for t, v in zip(carried, body.outputs[1:], strict=False)
    ]
    trips = _trips(ctx, body)
    scans = [_stacked(v.type, trips, 0) for v in body.outputs[1 + count :]]
    return (*settled, *scans)


def _stacked(element: Type | None, length: Dim, axis: int) -> Type | None:
    """The type of a scan output: its elements along a new axis."""
    if not isinstance(element, TensorType):
        return None
    if element.shape is None:
        return TensorType(element.dtype, None)
    axis = axis + len(element.shape) + 1 if axis < 0 else axis
    return TensorType(element.dtype, (*element.shape[:axis], length, *element.shape[axis:]))


def _trips(ctx: Context, body: Graph) -> Dim:
    """Iterations of a loop that its condition never ends early; `None` when it may."""
    most = ctx.dims(0)
    condition = ctx.array(1)
    begins = not ctx.has(1) or (condition is not None and bool(condition.reshape(-1)[0]))
    if most is None or most[0] is None or not begins:
        return None
    if ctx.has(1) and not _stays_true(body):
        return None
    return Bounds(ctx.constraints).at_least(most[0], 0)


def _stays_true(body: Graph) -> bool:
    value: Value = body.outputs[0]
    while value.producer is not None and value.producer.key == ("", "Identity"):
        source = value.producer.inputs[0]
        if source is None:
            return False
        value = source
    fixed = numbers(value)
    return value is body.inputs[1] or (fixed is not None and bool(fixed.reshape(-1)[0]))


def _equal(ctx: Context, a: Type | None, b: Type | None) -> Type | None:
    """What is known of two values of one shape: a scan's state before and after a step."""
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return a or b
    if a.dtype is not b.dtype:
        raise ctx.error(f"a state is {a} before a step and {b} after it")
    return TensorType(a.dtype, unify((a.shape, b.shape)))


def _scan(ctx: Context) -> Types:
    body: Graph = ctx.attr("body")
    scanned = ctx.attr("num_scan_inputs")
    count = len(ctx.op.inputs) - scanned
    if count < 0 or len(body.inputs) != len(ctx.op.inputs) or len(body.outputs) < count:
        raise ctx.error(
            f"its body takes {len(body.inputs)} inputs and yields {len(body.outputs)}; with "
            f"{len(ctx.op.inputs)} operands, {scanned} of them scanned, that does not fit"
        )
    axes = ctx.attr("scan_input_axes") or (0,) * scanned
    types: list[Type | None] = [ctx.type(i) for i in range(count)]
    lengths: list[Dim] = []
    for index, axis in enumerate(axes, start=count):
        known = ctx.tensor(index)
        if known is None or known.shape is None:
            types.append(None if known is None else TensorType(known.dtype, None))
            continue
        place = ctx.axis(axis, len(known.shape))
        lengths.append(known.shape[place])
        rest = (*known.shape[:place], *known.shape[place + 1 :])
        types.append(TensorType(known.dtype, rest))
    assume(ctx, body, types)
    ctx.infer_subgraph(body)
    carried = [_equal(ctx, a, v.type) for a, v in zip(types, body.outputs[:count], strict=False)]
    length = unify_dims(lengths)
    results = body.outputs[count:]
    places = ctx.attr("scan_output_axes") or (0,) * len(results)
    scans = [_stacked(v.type, length, a) for v, a in zip(results, places, strict=True)]
    return (*carried, *scans)


OPS: dict[Key, OpDef] = {
    ("", "If"): OpDef(_if, Tolerance.CONTROL),
    ("", "Loop"): OpDef(_loop, Tolerance.CONTROL),
    ("", "Scan"): OpDef(_scan, Tolerance.CONTROL),
}
