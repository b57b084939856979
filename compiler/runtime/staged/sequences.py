"""Sequences and optionals: lists of tensors that lie on the machine, and `None`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.runtime.errors import RunError
from isomorph.runtime.staged.control import number
from isomorph.runtime.tensors import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.runtime.program import Watch
    from isomorph.runtime.staged.action import Action, Handler, Make
    from isomorph.runtime.tensors import Held

    Rule = Callable[[Op, Make, Sequence[Held]], Held]


def _plain(rule: Rule) -> Handler:
    """An action that needs nothing made ahead, with one result."""

    def handler(op: Op, make: Make) -> Action:
        def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
            return [rule(op, make, operands)]

        return run

    return handler


def _construct(_: Op, __: Make, operands: Sequence[Held]) -> Held:
    return [*operands]


def _empty(_: Op, __: Make, ___: Sequence[Held]) -> Held:
    return []


def _place(op: Op, position: Tensor | None, length: int, *, end: int) -> int:
    """A position from 0 to `end`; the last when none is given."""
    if position is None:
        return end
    place = number(position)
    if not -length <= place <= end:
        raise RunError(f"{op}: position {place} in a sequence of {length}")
    return place + length if place < 0 else place


def _at(op: Op, _: Make, operands: Sequence[Held]) -> Held:
    items = operands[0]
    return items[_place(op, operands[1], len(items), end=len(items) - 1)]


def _erase(op: Op, _: Make, operands: Sequence[Held]) -> Held:
    items = operands[0]
    position = operands[1] if len(operands) > 1 else None
    place = _place(op, position, len(items), end=len(items) - 1)
    if place < 0:
        raise RunError(f"{op}: there is nothing to erase: the sequence is empty")
    return [*items[:place], *items[place + 1 :]]


def _insert(op: Op, _: Make, operands: Sequence[Held]) -> Held:
    items, item = operands[:2]
    position = operands[2] if len(operands) > 2 else None
    place = _place(op, position, len(items), end=len(items))
    return [*items[:place], item, *items[place:]]


def _length(_: Op, make: Make, operands: Sequence[Held]) -> Held:
    return Tensor.of(make.pool, np.array(len(operands[0]), np.int64))


def _optional(_: Op, __: Make, operands: Sequence[Held]) -> Held:
    return operands[0] if operands else None


def _get(op: Op, _: Make, operands: Sequence[Held]) -> Held:
    if operands[0] is None:
        raise RunError(f"{op}: the optional is absent, so it has no element")
    return operands[0]


def _has(_: Op, make: Make, operands: Sequence[Held]) -> Held:
    return Tensor.of(make.pool, np.array(bool(operands) and operands[0] is not None))


def _same(_: Op, __: Make, operands: Sequence[Held]) -> Held:
    return operands[0]


def _split(op: Op, make: Make) -> Action:
    axis, squeezes = int(op.attr("axis", 0)), not op.attr("keepdims", 1)

    def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
        x: Tensor = operands[0]
        split: Tensor | None = operands[1] if len(operands) > 1 else None
        if not -len(x.shape) <= axis < len(x.shape):
            raise RunError(f"{op}: axis {axis} of a tensor of rank {len(x.shape)}")
        place = axis % len(x.shape)
        sizes = _sizes(op, split, x.shape[place])
        parts = make.apply("Split", [x], {"axis": place}, [np.array(sizes, np.int64)], len(sizes))
        if split is None and squeezes:
            shape = x.shape[:place] + x.shape[place + 1 :]
            parts = [p.reshaped(shape) for p in parts]
        return [parts]

    return run


def _sizes(op: Op, split: Tensor | None, whole: int) -> list[int]:
    if split is None:
        return [1] * whole
    if not split.shape:
        part = number(split)
        if part < 1:
            raise RunError(f"{op}: split is {part}, at least 1 was expected")
        return [min(part, whole - start) for start in range(0, whole, part)]
    sizes: list[int] = split.numpy().tolist()
    if any(n < 0 for n in sizes) or sum(sizes) != whole:
        raise RunError(f"{op}: lengths {sizes} do not add up to dim {whole}")
    return sizes


def _concat(op: Op, make: Make) -> Action:
    axis, new = int(op.attr("axis")), bool(op.attr("new_axis", 0))

    def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
        items: list[Tensor] = operands[0]
        if not items:
            raise RunError(f"{op}: there is nothing to concatenate: the sequence is empty")
        rank = len(items[0].shape) + new
        shapes = ", ".join(str(list(i.shape)) for i in items[:8])
        if not -rank <= axis < rank or any(len(i.shape) + new != rank for i in items):
            raise RunError(f"{op}: elements of shapes {shapes} along axis {axis}")
        place = axis % rank
        if new:
            items = [i.reshaped((*i.shape[:place], 1, *i.shape[place:])) for i in items]
        return make.apply("Concat", items, {"axis": place}) if len(items) > 1 else items

    return run


SEQUENCES: dict[Key, Handler] = {
    ("", "SequenceConstruct"): _plain(_construct),
    ("", "SequenceEmpty"): _plain(_empty),
    ("", "SequenceAt"): _plain(_at),
    ("", "SequenceErase"): _plain(_erase),
    ("", "SequenceInsert"): _plain(_insert),
    ("", "SequenceLength"): _plain(_length),
    ("", "SplitToSequence"): _split,
    ("", "ConcatFromSequence"): _concat,
    ("", "Optional"): _plain(_optional),
    ("", "OptionalGetElement"): _plain(_get),
    ("", "OptionalHasElement"): _plain(_has),
    ("", "Identity"): _plain(_same),
}
