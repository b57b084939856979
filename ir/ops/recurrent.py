"""recurrent: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim
    from isomorph.ir.infer import Context
    from isomorph.ir.types import Type

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4, "DynamicQuantizeLSTM": 4}
"""Blocks of rows in the weights of each operator."""
TRANSPOSED = frozenset({"DynamicQuantizeLSTM"})
"""Operators whose weights have a column, not a row, for each gate."""
DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def layer_types(context: Context) -> tuple[Type | None, ...]:
    """Every hidden state, and the states after the last step."""
    tensor = context.tensor(0)
    if tensor is None:
        return (None,) * 3
    direction = context.attr("direction", "forward")
    if direction not in DIRECTIONS:
        raise context.error(f"direction is {direction!r}; {', '.join(DIRECTIONS)} are known")
    clip = context.attr("clip")
    if clip is not None and clip < 0:
        raise context.error(f"clip is {clip}; 0 or more was expected, as it bounds magnitudes")
    directions = DIRECTIONS[direction]
    shape = tensor.shape or (None, None, None)
    if len(shape) != 3:
        raise context.error(f"operand 0 has rank {len(shape)}, rank 3 was expected")
    hidden = _hidden(context, directions, shape[2])
    if context.attr("layout", 0):
        batch, steps = shape[:2]
        last = (batch, directions, hidden)
        every = (batch, steps, directions, hidden)
    else:
        steps, batch = shape[:2]
        last = (directions, batch, hidden)
        every = (steps, directions, batch, hidden)
    state = TensorType(tensor.dtype, last)
    return TensorType(tensor.dtype, every), state, state


def _hidden(context: Context, directions: int, features: Dim) -> Dim:
    """The size of the hidden state, which the weights must fit."""
    hidden: Dim = context.attr("hidden_size")
    recurrence = context.shape(2)
    turned = context.op.type in TRANSPOSED
    if hidden is None and recurrence is not None:
        hidden = recurrence[1 if turned else -1]
    rows = hidden * GATES[context.op.type] if isinstance(hidden, int) else None
    for index, columns in ((1, features), (2, hidden)):
        found = context.shape(index)
        wanted = (directions, columns, rows) if turned else (directions, rows, columns)
        if found is None:
            continue
        pairs = zip(found, wanted, strict=False)
        if len(found) != 3 or any(
            isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs
        ):
            text = ", ".join("?" if d is None else str(d) for d in wanted)
            raise context.error(f"operand {index} should have shape ({text})")
    return hidden


OPS: dict[Key, OpDef] = {
    ("", "LSTM"): OpDef(layer_types, Tolerance.RECURRENT),
    ("", "GRU"): OpDef(layer_types, Tolerance.RECURRENT),
    ("", "RNN"): OpDef(layer_types, Tolerance.RECURRENT),
}
