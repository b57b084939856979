"""Recurrent layers, in ONNX's layout: sequence first, directions side by side."""

from __future__ import annotations

from typing import Any

from isomorph.frontends.array.operators import op


def lstm(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    *,
    lengths: Any = None,
    h0: Any = None,
    c0: Any = None,
    peepholes: Any = None,
    direction: str = "forward",
    activations: tuple[str, ...] | None = None,
    clip: float | None = None,
) -> tuple[Any, Any, Any]:
    """Long short-term memory, gates in the order i, o, f, c.

    x[T, N, in], w[D, 4H, in], r[D, 4H, H], b[D, 8H] (input's, then recurrence's), lengths int32[N],
    h0, c0[D, N, H], peepholes[D, 3H] → y[T, D, N, H], h[D, N, H], c[D, N, H]; D is 2 for
    direction="bidirectional". Source: ONNX LSTM.
    """
    return op(
        "LSTM", x, w, r, b, lengths, h0, c0, peepholes,
        outputs=3, hidden_size=r.shape[-1], direction=direction, activations=activations, clip=clip,
    )  # fmt: skip


def gru(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    *,
    lengths: Any = None,
    h0: Any = None,
    direction: str = "forward",
    linear_before_reset: bool = True,
    activations: tuple[str, ...] | None = None,
    clip: float | None = None,
) -> tuple[Any, Any]:
    """Gated recurrent unit, gates in the order z, r, h; `linear_before_reset` as torch trains it.

    x[T, N, in], w[D, 3H, in], r[D, 3H, H], b[D, 6H], lengths int32[N], h0[D, N, H]
    → y[T, D, N, H], h[D, N, H]. Source: ONNX GRU.
    """
    return op(
        "GRU", x, w, r, b, lengths, h0,
        outputs=2, hidden_size=r.shape[-1], direction=direction, activations=activations, clip=clip,
        linear_before_reset=int(linear_before_reset),
    )  # fmt: skip


def rnn(
    x: Any,
    w: Any,
    r: Any,
    b: Any = None,
    *,
    lengths: Any = None,
    h0: Any = None,
    direction: str = "forward",
    activations: tuple[str, ...] | None = None,
    clip: float | None = None,
) -> tuple[Any, Any]:
    """Plain recurrence, h = tanh(x·wᵀ + h·rᵀ + b).

    x[T, N, in], w[D, H, in], r[D, H, H], b[D, 2H], lengths int32[N], h0[D, N, H]
    → y[T, D, N, H], h[D, N, H]. Source: ONNX RNN.
    """
    return op(
        "RNN", x, w, r, b, lengths, h0,
        outputs=2, hidden_size=r.shape[-1], direction=direction, activations=activations, clip=clip,
    )  # fmt: skip
