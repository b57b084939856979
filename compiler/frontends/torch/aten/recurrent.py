"""Recurrent layers, each whole: one ONNX operator per layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isomorph.frontends.array.structure import is_many
from isomorph.frontends.torch.errors import NotLowered
from isomorph.frontends.torch.scope import Param
from isomorph.frontends.torch.weights import array_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value

_GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}
"""Where each gate that ONNX wants stands among torch's: iofc of ifgo, zrh of rzn."""


def recurrent(op: str, **attributes: Any) -> Rule:
    """A stack of layers; states that are zeros of torch's making are left to ONNX's default."""

    def rule(
        ctx: Context,
        x: Value,
        hx: Any,
        params: Sequence[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        if train and dropout > 0:
            raise NotLowered("a recurrent layer in training", "module.eval()")
        directions = 2 if bidirectional else 1
        each = 4 if has_biases else 2
        if len(params) != each * directions * num_layers:
            raise NotLowered("an LSTM with a projection (proj_size)", "nn.Linear after the layer")
        raw = ctx.node.args[1]
        many = is_many(raw)
        states = [
            None if _is_zeros(r) else v
            for r, v in zip(raw if many else [raw], hx if many else [hx], strict=True)
        ]
        out = ctx.transpose(x, (1, 0, 2)) if batch_first else x
        finals: list[list[Value]] = [[] for _ in states]
        for layer in range(num_layers):
            first = layer * directions
            mine = [params[(first + d) * each : (first + d + 1) * each] for d in range(directions)]
            start = [
                None if s is None else _part(ctx, s, first, directions, num_layers) for s in states
            ]
            out, *ends = _layer(ctx, op, out, mine, start, attributes)
            for kept, end in zip(finals, ends, strict=True):
                kept.append(end)
        if batch_first:
            out = ctx.transpose(out, (1, 0, 2))
        return out, *(k[0] if len(k) == 1 else ctx("Concat", *k, axis=0) for k in finals)

    return rule


def _layer(
    ctx: Context,
    op: str,
    x: Value,
    params: Sequence[Sequence[Any]],
    start: Sequence[Value | None],
    attributes: dict[str, Any],
) -> tuple[Value, ...]:
    """One layer: (outputs [time, batch, width], final states)."""
    gates = _GATES[op]
    directions = len(params)
    weights = [_stacked(ctx, [p[i] for p in params], gates) for i in range(2)]
    biases: Value | None = None
    if len(params[0]) == 4:
        biases = _biases(ctx, [(p[2], p[3]) for p in params], gates)
    more = dict(attributes)
    if "activations" in more:
        more["activations"] = more["activations"] * directions
    hidden = ctx.shape(weights[1])[-1]
    ys = ctx.ops(
        op,
        x,
        *weights,
        biases,
        None,
        *start,
        outputs=1 + len(start),
        hidden_size=hidden,
        direction="bidirectional" if directions == 2 else "forward",
        **more,
    )
    out = ys[0]
    if directions == 1:
        joined = ctx.squeeze(out, 1)
    else:
        steps, _, batch, width = ctx.shape(out)
        joined = ctx.reshape(ctx.transpose(out, (0, 2, 1, 3)), (steps, batch, 2 * width))  # type: ignore[operator]
    return joined, *ys[1:]


def _part(ctx: Context, state: Value, first: int, count: int, layers: int) -> Value:
    return state if layers == 1 else ctx.slice(state, 0, first, first + count)


def _stacked(ctx: Context, matrices: Sequence[Any], gates: Sequence[int]) -> Value:
    """[directions, gates·hidden, in] with the gates in ONNX's order."""
    if all(isinstance(m, Param) for m in matrices):
        made = np.stack([_reordered(array_of(m.tensor), gates) for m in matrices])
        return ctx.scope.constant(made, matrices[0].name)
    parts = [ctx.unsqueeze(_reordered_value(ctx, ctx.stored(m), gates), 0) for m in matrices]
    return parts[0] if len(parts) == 1 else ctx("Concat", *parts, axis=0)


def _biases(ctx: Context, pairs: Sequence[tuple[Any, Any]], gates: Sequence[int]) -> Value:
    """[directions, 2·gates·hidden]: of the input, then of the state."""
    if all(isinstance(b, Param) for pair in pairs for b in pair):
        rows = [
            np.concatenate([_reordered(array_of(b.tensor), gates) for b in pair]) for pair in pairs
        ]
        return ctx.scope.constant(np.stack(rows), pairs[0][0].name)
    parts = [
        ctx.unsqueeze(
            ctx("Concat", *(_reordered_value(ctx, ctx.stored(b), gates) for b in pair), axis=0), 0
        )
        for pair in pairs
    ]
    return parts[0] if len(parts) == 1 else ctx("Concat", *parts, axis=0)


def _reordered(array: Any, gates: Sequence[int]) -> Any:
    blocks = np.split(array, len(gates))
    return np.concatenate([blocks[g] for g in gates])


def _reordered_value(ctx: Context, x: Value, gates: Sequence[int]) -> Value:
    if len(gates) == 1:
        return x
    blocks = ctx.ops("Split", x, outputs=len(gates), axis=0, num_outputs=len(gates))
    return ctx("Concat", *(blocks[g] for g in gates), axis=0)


def _is_zeros(node: Any) -> bool:
    return isinstance(node, torch.fx.Node) and str(node.target) == "aten.zeros.default"


ATEN: dict[str, Rule] = {
    "aten.gru.input": recurrent("GRU", linear_before_reset=1),
    "aten.lstm.input": recurrent("LSTM"),
    "aten.rnn_relu.input": recurrent("RNN", activations=("Relu",)),
    "aten.rnn_tanh.input": recurrent("RNN"),
}
