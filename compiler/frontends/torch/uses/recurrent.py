"""Uses of recurrent layers, on weights that never change."""

from __future__ import annotations

from typing import Any

import torch

from isomorph.frontends.torch.uses.use import Use, use

X = "x: float32[time in 1.., batch, 3]"  # onnxruntime dies of a GRU without steps
BATCHED = "x: float32[batch, time, 3]"


def _weights(rows: int, layers: int = 1, directions: int = 1) -> list[Any]:
    """Of layers of width 4 on inputs of width 3: an even spread of numbers, each another one."""
    made: list[Any] = []
    for layer in range(layers):
        width = 3 if layer == 0 else 4 * directions
        for direction in range(directions):
            for shape in ((rows, width), (rows, 4), (rows,), (rows,)):
                count = torch.Size(shape).numel()
                numbers = torch.arange(count) * 7 + len(made) + direction
                made.append(((numbers % 11 - 5) / 8.0).reshape(shape).float())
    return made


TWO_WAYS, ONE_WAY = _weights(16, 2, 2), _weights(16)
GATED, PLAIN, STACKED = _weights(12), _weights(4), _weights(4, 2)


def _states(x: Any, count: int, axis: int) -> Any:
    return torch.zeros(count, x.shape[axis], 4)


def _lstm(x: Any) -> Any:
    h = _states(x, 4, 1)
    return torch.lstm(x, (h, h), TWO_WAYS, True, 2, 0.0, False, True, False)


def _lstm_states(x: Any, h: Any) -> Any:
    return torch.lstm(x, (h, h * 2), ONE_WAY, True, 1, 0.0, False, False, True)


def _lstm_computed(x: Any, w: Any) -> Any:
    h = _states(x, 1, 1)
    return torch.lstm(x, (h, h), [w * 2, w.repeat(1, 2)[:, :4]], False, 1, 0.0, False, False, False)


def _gru(x: Any) -> Any:
    return torch.gru(x, _states(x, 1, 1), GATED, True, 1, 0.0, False, False, False)


def _rnn_tanh(x: Any) -> Any:
    return torch.rnn_tanh(x, _states(x, 2, 1), STACKED, True, 2, 0.0, False, False, False)


def _rnn_relu(x: Any) -> Any:
    return torch.rnn_relu(x, _states(x, 1, 0), PLAIN, True, 1, 0.0, False, False, True)


USES: list[Use] = [
    use("lstm", _lstm, X),
    use("lstm states", _lstm_states, BATCHED, "h: float32[1, batch, 4]"),
    use("lstm computed", _lstm_computed, X, "w: float32[16, 3]"),
    use("gru", _gru, X),
    use("rnn_tanh", _rnn_tanh, X),
    use("rnn_relu", _rnn_relu, BATCHED),
]
