"""If, Loop, Scan and SequenceMap: the host decides, bodies are programs of kernels.

What bodies carry stays on the machine; the host reads conditions and trip counts.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, cast

import numpy as np

from isomorph.ir.dims import substitute
from isomorph.ir.types import TensorType
from isomorph.runtime.errors import RunError
from isomorph.runtime.tensors import Tensor, stacked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.runtime.program import Watch
    from isomorph.runtime.staged.action import Action, Handler, Make
    from isomorph.runtime.tensors import Held


def truth(tensor: Tensor) -> bool:
    """The one element of a condition."""
    return bool(tensor.numpy().reshape(-1)[0])


def number(tensor: Tensor) -> int:
    """The one element of an integer."""
    return int(tensor.numpy().reshape(-1)[0])


def _if(op: Op, make: Make) -> Action:
    branches = [make.procedure(op, op.attributes[n]) for n in ("else_branch", "then_branch")]

    def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
        return branches[truth(operands[0])].run(operands[1:], watch)

    return run


def _loop(op: Op, make: Make) -> Action:
    body: Graph = op.attributes["body"]
    inner = make.procedure(op, body)
    carried_count = len(op.inputs) - 2
    formals = body.outputs[1 + carried_count :]
    vectors = [isinstance(v.type, TensorType) and v.type.rank == 1 for v in body.inputs[:2]]
    pool = make.pool

    def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
        trips, condition = operands[:2]
        state, captured = list(operands[2 : 2 + carried_count]), operands[2 + carried_count :]
        most = None if trips is None else number(trips)
        goes_on = condition is None or truth(condition)
        rows: list[list[Tensor]] = [[] for _ in formals]
        for index in count():
            if not goes_on or (most is not None and index >= most):
                break
            given = (np.array(index, np.int64), np.array(goes_on))
            told = [
                Tensor.of(pool, a.reshape(1) if vector else a)
                for a, vector in zip(given, vectors, strict=True)
            ]
            results = inner.run([*told, *state, *captured], watch)
            # As in `ir.semantics`: the body is heard where there is a condition, or no count.
            goes_on = truth(results[0]) if condition is not None or most is None else True
            state = results[1 : 1 + carried_count]
            for row, value in zip(rows, results[1 + carried_count :], strict=True):
                row.append(value)
        scans = [
            stacked(pool, row) if row else _empty(make, formal, body, captured)
            for row, formal in zip(rows, formals, strict=True)
        ]
        return [*state, *scans]

    return run


def _empty(make: Make, formal: Value, body: Graph, captured: Sequence[Held], at: int = 0) -> Tensor:
    """What no iteration yields: the shape is what it would be, unknown dims 0."""
    kind = formal.type
    if not isinstance(kind, TensorType):
        return Tensor.of(make.pool, np.zeros(0, np.float32))
    sizes: dict[str, int] = {}
    for value, actual in zip(body.captures, captured, strict=True):
        if isinstance(value.type, TensorType) and value.type.shape and isinstance(actual, Tensor):
            for dim, size in zip(value.type.shape, actual.shape, strict=False):
                sizes.setdefault(str(dim), size)
    found = [substitute(d, sizes) for d in kind.shape or ()]
    shape = [d if isinstance(d, int) else 0 for d in found]
    shape.insert(at + len(shape) + 1 if at < 0 else at, 0)
    return Tensor.of(make.pool, np.zeros(shape, kind.dtype.numpy))


def _scan(op: Op, make: Make) -> Action:
    body: Graph = op.attributes["body"]
    inner = make.procedure(op, body)
    scanned = int(op.attr("num_scan_inputs"))
    states = len(op.inputs) - scanned
    formals = body.outputs[states:]
    axes = op.attr("scan_input_axes") or (0,) * scanned
    backward = op.attr("scan_input_directions") or (0,) * scanned
    places = op.attr("scan_output_axes") or (0,) * len(formals)
    prepends = op.attr("scan_output_directions") or (0,) * len(formals)

    def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
        state = list(operands[:states])
        captured = operands[len(op.inputs) :]
        sequences = [
            make.moved(x, axis, 0)
            for x, axis in zip(operands[states : len(op.inputs)], axes, strict=True)
        ]
        lengths = {x.shape[0] for x in sequences}
        if len(lengths) != 1:
            raise RunError(f"{op}: its scan inputs have {sorted(lengths)} elements")
        rows: list[list[Tensor]] = [[] for _ in formals]
        length = lengths.pop()
        for step in range(length):
            elements = [
                x.row(length - 1 - step if back else step)
                for x, back in zip(sequences, backward, strict=True)
            ]
            results = inner.run([*state, *elements, *captured], watch)
            for before, after in zip(state, results, strict=False):
                if before.shape != after.shape:
                    raise RunError(
                        f"{op}: a state is {list(before.shape)} before step {step} and "
                        f"{list(after.shape)} after it"
                    )
            state = results[:states]
            for row, value in zip(rows, results[states:], strict=True):
                row.append(value)
        scans: list[Held] = []
        for row, formal, axis, reverse in zip(rows, formals, places, prepends, strict=True):
            if not row:
                scans.append(_empty(make, formal, body, captured, axis))
                continue
            whole = stacked(make.pool, row[::-1] if reverse else row)
            scans.append(make.moved(whole, 0, axis))
        return [*state, *scans]

    return run


def _sequence_map(op: Op, make: Make) -> Action:
    body: Graph = op.attributes["body"]
    inner = make.procedure(op, body)

    def run(operands: Sequence[Held], watch: Watch | None) -> list[Held]:
        columns, captured = operands[: len(op.inputs)], operands[len(op.inputs) :]
        lengths = [len(cast("list[Held]", c)) for c in columns if isinstance(c, list)]
        if len(set(lengths)) != 1:
            raise RunError(f"{op}: its sequences have {lengths} elements")
        rows = [
            inner.run([*(c[n] if isinstance(c, list) else c for c in columns), *captured], watch)
            for n in range(lengths[0])
        ]
        return [[row[index] for row in rows] for index in range(len(body.outputs))]

    return run


CONTROL: dict[Key, Handler] = {
    ("", "If"): _if,
    ("", "Loop"): _loop,
    ("", "Scan"): _scan,
    ("", "SequenceMap"): _sequence_map,
}
