"""Subgraphs of drawn graphs: both branches of an If, the body of a Loop, made of drawn ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.types import DType, TensorType
from isomorph.parity.strategies.choices import chance, one_of
from isomorph.parity.strategies.growing import Fresh, Growing, Held, Use

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.opdef import Key
    from isomorph.parity.strategies.choices import Choices

    AddOp = Callable[[Choices, Growing, Key], tuple[Held, ...]]

MOST_CAPTURES = 3
MOST_INNER = 3
AROUND = frozenset({("", "If"), ("", "Loop"), ("", "Scan"), ("", "SequenceMap")})
"""Operators with subgraphs: none is drawn inside of another."""


def add_branches(
    choices: Choices, growing: Growing, keys: Sequence[Key], add_op: AddOp
) -> tuple[Held, ...]:
    """Add an If whose branches are drawn; nothing where none fits."""
    outer = _captured(choices, growing)
    then, end = _body(choices, growing, "then", outer, keys, add_op)
    result = one_of(choices, end)
    other, options = _body(choices, growing, "otherwise", outer, keys, add_op)
    alike = [h for h in options if _alike(h, result)]
    if alike:
        chosen = one_of(choices, alike)
    elif isinstance(result.type, TensorType):
        chosen = _constant(other, result)
    else:
        return ()
    then.graph.outputs = [_own(then, result).value]
    other.graph.outputs = [_own(other, chosen).value]
    branches = {"then_branch": then.graph, "else_branch": other.graph}
    flag = np.array(choices.below(2) == 0)
    condition = _condition(choices, growing, flag)
    return growing.add(Use(("", "If"), (condition,), branches, 1, tuple(outer)))


def add_loop(
    choices: Choices, growing: Growing, keys: Sequence[Key], add_op: AddOp
) -> tuple[Held, ...]:
    """Add a Loop whose body is drawn, carries one value and collects another."""
    outer = _captured(choices, growing)
    starts = [h for h in growing.held if h.tensor is not None]
    if not starts:
        return ()
    start = one_of(choices, starts)
    body = growing.body("body")
    body.formal("i", TensorType(DType.INT64, ()), np.array(0))
    go = body.formal("go", TensorType(DType.BOOL, ()), np.array(True))
    carried = body.formal("v", _kind(start), start.array)
    inside = _fill(choices, body, outer, keys, add_op)
    tensors = [h for h in inside if h.tensor is not None]
    next_ = [h for h in tensors if _same(h, carried)] or [carried]
    ends = [go, one_of(choices, next_), one_of(choices, tensors or [carried])]
    body.graph.outputs = [_own(body, e).value for e in ends]
    count = Fresh(TensorType(DType.INT64, ()), np.array(choices.below(4)), constant=True)
    operands = (count, None if chance(choices, 50) else _true(), start)
    return growing.add(Use(("", "Loop"), operands, {"body": body.graph}, 2, tuple(outer)))


def _captured(choices: Choices, growing: Growing) -> list[Held]:
    count = 1 + choices.below(MOST_CAPTURES)
    return list(dict.fromkeys(one_of(choices, growing.held) for _ in range(count)))


def _body(
    choices: Choices,
    growing: Growing,
    name: str,
    outer: Sequence[Held],
    keys: Sequence[Key],
    add_op: AddOp,
) -> tuple[Growing, list[Held]]:
    body = growing.body(name)
    return body, _fill(choices, body, outer, keys, add_op)


def _fill(
    choices: Choices, body: Growing, outer: Sequence[Held], keys: Sequence[Key], add_op: AddOp
) -> list[Held]:
    """Ops in a body; its results, or what it captured where there are none."""
    captured = [body.capture(o) for o in outer]
    plain = [k for k in keys if k not in AROUND]
    found: list[Held] = []
    for _ in range(1 + choices.below(MOST_INNER)):
        if plain:
            found += [h for h in add_op(choices, body, one_of(choices, plain)) if h.type]
    return found or captured


def _own(body: Growing, held: Held) -> Held:
    """The value itself where an op of the body made it, else a copy that one makes."""
    if held.value.producer is not None:
        return held
    made = body.add(Use(("", "Identity"), (held,), {}))
    return made[0] if made else held


def _alike(one: Held, other: Held) -> bool:
    """Whether two values may be results of one If."""
    a, b = one.tensor, other.tensor
    if a is None or b is None:
        return a is b and one.type == other.type
    return a.dtype is b.dtype and a.rank == b.rank


def _same(one: Held, other: Held) -> bool:
    """Whether a value may take another's place in the next round."""
    a, b = one.tensor, other.tensor
    return a is not None and b is not None and a.dtype is b.dtype and a.shape == b.shape


def _kind(held: Held) -> TensorType:
    kind = held.tensor
    return TensorType(DType.FLOAT32) if kind is None else kind


def _constant(body: Growing, like: Held) -> Held:
    """A constant of the same type and size."""
    array = np.asarray(like.array)
    dtype = DType.of(array.dtype)
    given = Fresh(TensorType(dtype, array.shape), array, constant=True)
    made = body.add(Use(("", "Identity"), (given,), {}))
    return made[0] if made else like


def _condition(choices: Choices, growing: Growing, flag: np.ndarray) -> Held | Fresh:
    known = [
        h
        for h in growing.held
        if h.tensor is not None and h.tensor.dtype is DType.BOOL and h.tensor.shape == ()
    ]
    if known and chance(choices, 50):
        return one_of(choices, known)
    return Fresh(TensorType(DType.BOOL, ()), flag, constant=growing.closed)


def _true() -> Fresh:
    return Fresh(TensorType(DType.BOOL, ()), np.array(True), constant=True)
