"""control_flow: small well-typed instances of each operator, with their subgraphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.graph import Graph, Value
from isomorph.ir.instances import Arg, Instance
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key


class _Body:
    """A subgraph in the making; its types are left to inference, but for its inputs'."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.graph = Graph("body")

    def capture(self) -> Value:
        return self.graph.add_capture("outer")

    def input(self, rank: int | None = None, dtype: DType | None = None) -> Value:
        shape = None if rank is None else (None,) * rank
        return self.graph.add_input("in", TensorType(dtype or self.dtype, shape))

    def const(self, value: object, dtype: DType) -> Value:
        array = np.array(value).astype(str) if dtype is DType.STRING else np.array(value)
        return self.graph.add_weight(Weight.of(array.astype(dtype.numpy), dtype))

    def op(self, kind: str, *inputs: Value, **attributes: object) -> Value:
        return self.graph.add_op(kind, inputs, attributes).output

    def done(self, *outputs: Value) -> Graph:
        self.graph.outputs = [self.op("Identity", v) if v.producer is None else v for v in outputs]
        return self.graph


def _keep(dtype: DType) -> Graph:
    """(x) → x."""
    body = _Body(dtype)
    return body.done(body.capture())


def _turn(dtype: DType) -> Graph:
    """(x) → xᵀ."""
    body = _Body(dtype)
    return body.done(body.op("Transpose", body.capture()))


def _flat(dtype: DType) -> Graph:
    """(x) → x as a vector."""
    body = _Body(dtype)
    return body.done(body.op("Reshape", body.capture(), body.const([-1], DType.INT64)))


def _two(dtype: DType) -> Graph:
    """(x) → x, x beside itself."""
    body = _Body(dtype)
    outer = body.capture()
    return body.done(outer, body.op("Concat", outer, outer, axis=0))


def _two_turned(dtype: DType) -> Graph:
    """(x) → xᵀ, x above the same."""
    body = _Body(dtype)
    outer = body.capture()
    return body.done(body.op("Transpose", outer), body.op("Concat", outer, outer, axis=1))


def _fresh(dtype: DType) -> Graph:
    """() → a constant."""
    body = _Body(dtype)
    return body.done(body.const([1, 2], dtype))


def _other(dtype: DType) -> Graph:
    """() → another, longer constant."""
    body = _Body(dtype)
    return body.done(body.const([3, 4, 5], dtype))


def _nested(dtype: DType) -> Graph:
    """(x, flag) → flag ? xᵀ : x, by an If of its own."""
    body = _Body(dtype)
    outer, flag = body.capture(), body.graph.add_capture("flag")
    branches = {"then_branch": _turn(dtype), "else_branch": _keep(dtype)}
    inner = body.graph.add_op("If", [flag], branches, captures=[outer]).output
    return body.done(inner)


def _keep_with_flag(dtype: DType) -> Graph:
    body = _Body(dtype)
    outer = body.capture()
    body.graph.add_capture("flag")
    return body.done(outer)


def _turning(dtype: DType) -> Graph:
    """i, go, v → go, vᵀ, v."""
    body = _Body(dtype)
    body.input(0, DType.INT64)
    go, value = body.input(0, DType.BOOL), body.input()
    return body.done(go, body.op("Transpose", value), value)


def _turned_only(dtype: DType) -> Graph:
    """i, go, v → go, vᵀ."""
    body = _Body(dtype)
    body.input(0, DType.INT64)
    go, value = body.input(0, DType.BOOL), body.input()
    return body.done(go, body.op("Transpose", value))


def _growing(dtype: DType) -> Graph:
    """i, go, v → i < 2, v beside the captured, i."""
    body = _Body(dtype)
    outer = body.capture()
    step, _, value = body.input(0, DType.INT64), body.input(0, DType.BOOL), body.input()
    less = body.op("Less", step, body.const(2, DType.INT64))
    return body.done(less, body.op("Concat", value, outer, axis=0), step)


def _collecting(dtype: DType) -> Graph:
    """i, go → go, row i of the captured."""
    body = _Body(dtype)
    outer = body.capture()
    step, go = body.input(0, DType.INT64), body.input(0, DType.BOOL)
    return body.done(go, body.op("Gather", outer, step, axis=0))


def _delay(dtype: DType) -> Graph:
    """state, x → x, state."""
    body = _Body(dtype)
    state, element = body.input(), body.input()
    return body.done(element, state)


def _pair(dtype: DType) -> Graph:
    """a, b → a beside b, b."""
    body = _Body(dtype)
    a, b = body.input(), body.input()
    return body.done(body.op("Concat", a, b, axis=0), b)


def _mix(dtype: DType) -> Graph:
    """state, x → state, x with the captured in front."""
    body = _Body(dtype)
    outer = body.capture()
    state, element = body.input(), body.input()
    return body.done(state, body.op("Concat", outer, element, axis=0))


_X = Arg((2, 3), "V")
_SQUARE = Arg((2, 2), "V")
_TYPES = ("float32", "bfloat16", "int32", "uint8", "bool", "string", "float64", "int64")
"""Those that the operators of the bodies allow."""


def _yes(value: int, *, const: bool = False) -> Arg:
    return Arg((), "bool", value, const=const)


def _times(value: int, *, const: bool = False) -> Arg:
    return Arg((), "int64", value, const=const)


def _branch(
    then: object, other: object, condition: Arg, *captures: Arg, outputs: int = 1, note: str = ""
) -> Instance:
    return Instance(
        (condition,),
        {"then_branch": then, "else_branch": other},
        outputs=outputs,
        main="V",
        note=note,
        dtypes=_TYPES,
        captures=captures,
    )


def _repeat(
    body: object, inputs: tuple[Arg | None, ...], outputs: int, *captures: Arg, note: str = ""
) -> Instance:
    return Instance(
        inputs,
        {"body": body},
        outputs=outputs,
        main="V",
        note=note,
        dtypes=_TYPES,
        captures=captures,
    )


def _scan(
    body: object, inputs: tuple[Arg, ...], scanned: int, *captures: Arg, **attributes: object
) -> Instance:
    return Instance(
        inputs,
        {"body": body, "num_scan_inputs": scanned, **attributes},
        outputs=2,
        main="V",
        dtypes=_TYPES,
        captures=captures,
    )


INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "If"): (
        _branch(_keep, _keep, _yes(1), _X, note="same"),
        _branch(_keep, _turn, _yes(0), _X, note="shapes differ"),
        _branch(_keep, _flat, _yes(0, const=True), _X, note="ranks differ"),
        _branch(_keep, _turn, _yes(0, const=True), _X, note="constant condition"),
        _branch(_two, _two_turned, _yes(1), _X, outputs=2, note="two results"),
        _branch(_fresh, _other, Arg((1,), "bool", [0]), note="no captures"),
        _branch(_nested, _keep_with_flag, _yes(1), _X, _yes(1), note="nested"),
    ),
    ("", "Loop"): (
        _repeat(_turning, (_times(3), None, _SQUARE), 2, note="for"),
        _repeat(_turned_only, (_times(3), _yes(1), _X), 1, note="shape changes"),
        _repeat(
            _turning, (_times(4, const=True), _yes(1, const=True), _SQUARE), 2, note="constant"
        ),
        _repeat(_growing, (_times(5), _yes(1), _X), 2, _X, note="ends early"),
        _repeat(_growing, (None, _yes(1), _X), 2, _X, note="while"),
        _repeat(_growing, (_times(5), _yes(0), _X), 2, _X, note="never"),
        _repeat(_collecting, (_times(2, const=True), None), 1, _X, note="no state"),
        _repeat(_collecting, (_times(0), _yes(1)), 1, _X, note="no iterations"),
    ),
    ("", "Scan"): (
        _scan(_delay, (Arg((3,), "V"), _X), 1),
        _scan(_delay, (Arg((2,), "V"), _X), 1, scan_input_axes=(-1,), scan_output_axes=(1,)),
        _scan(
            _delay,
            (Arg((3,), "V"), _X),
            1,
            scan_input_directions=(1,),
            scan_output_directions=(1,),
            scan_output_axes=(-1,),
        ),
        _scan(_pair, (Arg((3, 2), "V"), Arg((2, 3), "V")), 2, scan_input_axes=(0, 1)),
        _scan(_mix, (Arg((1,), "V"), _X), 1, Arg((2,), "V")),
    ),
}
