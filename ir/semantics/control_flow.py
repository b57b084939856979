"""control_flow: what each operator computes."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.dims import substitute
from isomorph.ir.semantics import Call, Impl
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Value
    from isomorph.ir.opdef import Key


def _truth(value: Any) -> bool:
    return bool(np.asarray(value).reshape(-1)[0])


def _if(call: Call, condition: Any) -> tuple[Any, ...]:
    return tuple(call.run(call.attr("then_branch" if _truth(condition) else "else_branch")))


def _loop(call: Call, trips: Any = None, condition: Any = None, *state: Any) -> tuple[Any, ...]:
    body: Graph = call.attr("body")
    most = None if trips is None else int(np.asarray(trips).reshape(-1)[0])
    goes_on = condition is None or _truth(condition)
    carried = list(state)
    rows: list[list[Any]] = [[] for _ in body.outputs[1 + len(state) :]]
    for index in count():
        if not goes_on or (most is not None and index >= most):
            break
        given = (np.array(index, np.int64), np.array(goes_on))
        counted = [_declared(a, v) for a, v in zip(given, body.inputs, strict=False)]
        results = call.run(body, [*counted, *carried])
        # The definition's table ignores what the body says of a condition that is absent;
        # without a trip count too, nothing else could end the loop.
        goes_on = _truth(results[0]) if condition is not None or most is None else True
        carried = results[1 : 1 + len(state)]
        for row, value in zip(rows, results[1 + len(state) :], strict=True):
            row.append(call.keep(value))
    formals = body.outputs[1 + len(state) :]
    scans = [_stack(call, row, formal, 0) for row, formal in zip(rows, formals, strict=True)]
    return (*carried, *scans)


def _declared(scalar: np.ndarray, formal: Value) -> np.ndarray:
    """A scalar, or a vector of it where a body says that it takes that."""
    vector = isinstance(formal.type, TensorType) and formal.type.rank == 1
    return scalar.reshape(1) if vector else scalar


def _stack(call: Call, row: list[Any], formal: Value, axis: int) -> np.ndarray:
    """The elements along a new axis; without any, what their shape would be, unknown dims 0."""
    if row:
        return np.stack(row, axis)
    known = formal.type
    if not isinstance(known, TensorType):
        return np.zeros(0, np.float32)
    sizes = _sizes(call)
    found = [substitute(d, sizes) for d in known.shape or ()]
    shape = [d if isinstance(d, int) else 0 for d in found]
    shape.insert(axis + len(shape) + 1 if axis < 0 else axis, 0)
    return np.zeros(shape, call.float_dtype(known.dtype))


def _sizes(call: Call) -> dict[str, int]:
    """What the symbols of the captures' types stand for in this evaluation."""
    body: Graph = call.attr("body")
    sizes: dict[str, int] = {}
    for formal, actual in zip(body.captures, call.captures, strict=True):
        if isinstance(formal.type, TensorType) and formal.type.shape is not None:
            for dim, size in zip(formal.type.shape, np.shape(actual), strict=True):
                sizes.setdefault(str(dim), size)
    return sizes


def _scan(call: Call, *operands: Any) -> tuple[Any, ...]:
    body: Graph = call.attr("body")
    scanned = call.attr("num_scan_inputs")
    state, sequences = list(operands[:-scanned]), operands[-scanned:]
    axes = call.attr("scan_input_axes") or (0,) * scanned
    backward = call.attr("scan_input_directions") or (0,) * scanned
    length = sequences[0].shape[axes[0]]
    formals = body.outputs[len(state) :]
    rows: list[list[Any]] = [[] for _ in formals]
    for step in range(length):
        elements = [
            np.take(x, length - 1 - step if back else step, axis)
            for x, axis, back in zip(sequences, axes, backward, strict=True)
        ]
        results = call.run(body, [*state, *map(np.asarray, elements)])
        for row, value in zip(rows, results[len(state) :], strict=True):
            row.append(call.keep(value))
        state = [call.fitting(r, np.shape(s)) for r, s in zip(results, state, strict=False)]
    places = call.attr("scan_output_axes") or (0,) * len(rows)
    prepends = call.attr("scan_output_directions") or (0,) * len(rows)
    scans = [
        _stack(call, row[::-1] if reverse else row, formal, axis)
        for row, formal, axis, reverse in zip(rows, formals, places, prepends, strict=True)
    ]
    return (*state, *scans)


def _scan_8(call: Call, lengths: Any, *operands: Any) -> tuple[Any, ...]:
    """Each sample of a batch on its own, along axis 1; what lies beyond its length is 0."""
    body: Graph = call.attr("body")
    scanned = call.attr("num_scan_inputs")
    count_state = len(operands) - scanned
    backward = call.attr("directions") or (0,) * scanned
    batch, longest = operands[-1].shape[:2]
    samples: list[list[Any]] = []
    for sample in range(batch):
        length = longest if lengths is None else int(lengths[sample])
        state = [x[sample] for x in operands[:count_state]]
        rows: list[list[Any]] = [[] for _ in body.outputs[count_state:]]
        for step in range(length):
            elements = [
                np.asarray(x[sample][length - 1 - step if back else step])
                for x, back in zip(operands[count_state:], backward, strict=True)
            ]
            results = call.run(body, [*state, *elements])
            state = results[:count_state]
            for row, value in zip(rows, results[count_state:], strict=True):
                row.append(call.keep(value))
        formals = body.outputs[count_state:]
        scans = [_stack(call, row, formal, 0) for row, formal in zip(rows, formals, strict=True)]
        padded = [
            np.concatenate([s, np.zeros((longest - length, *s.shape[1:]), s.dtype)]) for s in scans
        ]
        samples.append([*state, *padded])
    return tuple(np.stack(values) for values in zip(*samples, strict=True))


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "If"): (Impl(_if),),
    ("", "Loop"): (Impl(_loop),),
    ("", "Scan"): (Impl(_scan_8, 8, 8), Impl(_scan, 9)),
}
