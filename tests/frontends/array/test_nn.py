"""Layers: traced and eager agree, and both are what plain numpy computes."""

# ruff: noqa: B023, PLW0108 - lambdas are called before their loop goes on

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from isomorph import array as xp
from isomorph.frontends.array import TraceError, nn
from tests.frontends.array.tracing import agree, compare, traced

RNG = np.random.default_rng(3)


def draw(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


X4 = draw(2, 4, 7, 6)
X3 = draw(2, 4, 9)
X2 = draw(3, 8)
K = draw(6, 4, 3, 3)
SCALE, BIAS, MEAN, VAR = draw(4), draw(4), draw(4), np.abs(draw(4)) + 0.5


def windows(x: Any, w: Any, b: Any) -> Any:
    """Convolution with padding 1 and stride 2, by definition."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = sliding_window_view(padded, w.shape[2:], (2, 3))[:, :, ::2, ::2]
    return np.einsum("nchwij,mcij->nmhw", seen, w) + b[:, None, None]


def column(v: Any) -> Any:
    return v[:, None, None]


def normal(x: Any, axes: Any) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 0.5)


def attention(q: Any, k: Any, scale: float, kept: Any) -> Any:
    return softmax(np.where(kept, q @ np.swapaxes(k, -1, -2) * scale, -1e30)) @ k


def erf(x: Any) -> Any:
    return np.vectorize(math.erf)(x)


def lstm(x: Any, w: Any, r: Any, b: Any) -> Any:
    """One direction, gates i, o, f, c."""
    size = r.shape[-1]
    h = c = np.zeros((x.shape[1], size))
    steps = []
    for step in x:
        sums = step @ w[0].T + h @ r[0].T + b[0, : 4 * size] + b[0, 4 * size :]
        i, o, f, g = np.split(sums, 4, -1)
        c = 1 / (1 + np.exp(-f)) * c + 1 / (1 + np.exp(-i)) * np.tanh(g)
        h = 1 / (1 + np.exp(-o)) * np.tanh(c)
        steps.append(h)
    return np.stack(steps)[:, None], h[None], c[None]


def softmax(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


SEQ = draw(5, 2, 3)
LW, LR, LB = draw(1, 16, 3), draw(1, 16, 4), draw(1, 32)

LAYERS: list[tuple[Any, Any, tuple[Any, ...]]] = [
    (lambda x: nn.conv(x, K, draw_bias, strides=2, pads=1), lambda x: windows(x, K, draw_bias),
     (X4,)),
    (lambda x: nn.max_pool(x, 2),
     lambda x: sliding_window_view(x, (2, 2), (2, 3))[:, :, ::2, ::2].max((-1, -2)), (X4,)),
    (lambda x: nn.avg_pool(x, (3, 2), strides=1),
     lambda x: sliding_window_view(x, (3, 2), (2, 3)).mean((-1, -2)), (X4,)),
    (nn.global_avg_pool, lambda x: x.mean((2, 3), keepdims=True), (X4,)),
    (nn.global_max_pool, lambda x: x.max((2, 3), keepdims=True), (X4,)),
    (lambda x: nn.batch_norm(x, SCALE, BIAS, MEAN, VAR, epsilon=0.25),
     lambda x: (x - column(MEAN)) / np.sqrt(column(VAR) + 0.25) * column(SCALE) + column(BIAS),
     (X4,)),
    (lambda x: nn.layer_norm(x, X2[0], X2[1], epsilon=0.5),
     lambda x: normal(x, -1) * X2[0] + X2[1], (X2,)),
    (lambda x: nn.rms_norm(x, X2[0], epsilon=0.5),
     lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 0.5) * X2[0], (X2,)),
    (lambda x: nn.instance_norm(x, SCALE, BIAS, epsilon=0.5),
     lambda x: normal(x, (2, 3)) * column(SCALE) + column(BIAS), (X4,)),
    (lambda x: nn.group_norm(x, SCALE, BIAS, groups=1, epsilon=0.5),
     lambda x: normal(x, (1, 2, 3)) * column(SCALE) + column(BIAS), (X4,)),
    (nn.relu, lambda x: np.maximum(x, 0), (X2,)),
    (lambda x: nn.leaky_relu(x, 0.25), lambda x: np.where(x > 0, x, 0.25 * x), (X2,)),
    (lambda x: nn.prelu(x, 0.5), lambda x: np.where(x > 0, x, 0.5 * x), (X2,)),
    (nn.elu, lambda x: np.where(x > 0, x, np.expm1(x)), (X2,)),
    (nn.gelu, lambda x: (x * 0.5 * (1 + erf(x / math.sqrt(2)))), (X2,)),
    (lambda x: nn.gelu(x, "tanh"),
     lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), (X2,)),
    (nn.sigmoid, lambda x: 1 / (1 + np.exp(-x)), (X2,)),
    (nn.silu, lambda x: x / (1 + np.exp(-x)), (X2,)),
    (nn.hard_sigmoid, lambda x: np.clip(x / 6 + 0.5, 0, 1), (X2,)),
    (nn.hard_swish, lambda x: x * np.clip(x / 6 + 0.5, 0, 1), (X2,)),
    (nn.softplus, lambda x: np.log1p(np.exp(x)), (X2,)),
    (lambda x: nn.shrink(x, 0.5, 0.25),
     lambda x: np.where(abs(x) > 0.5, x - np.copysign(0.25, x), 0), (X2,)),
    (nn.softsign, lambda x: x / (1 + np.abs(x)), (X2,)),
    (nn.mish, lambda x: x * np.tanh(np.log1p(np.exp(x))), (X2,)),
    (nn.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
     (X2,)),
    (nn.erf, erf, (X2,)),
    (nn.softmax, softmax, (X2,)),
    (lambda x: nn.log_softmax(x, 1), lambda x: np.log(softmax(x, 1)), (X4,)),
    (nn.dropout, lambda x: x, (X2,)),
    (lambda x: nn.linear(x, draw_linear, draw_linear[:, 0]),
     lambda x: x @ draw_linear.T + draw_linear[:, 0], (X2,)),
    (lambda x: nn.linear(x[None], draw_linear), lambda x: x[None] @ draw_linear.T, (X2,)),
    (lambda i: nn.embedding(i, X2), lambda i: X2[i], (np.array([[0, 2], [1, 1]]),)),
    (lambda i: nn.one_hot(i, 4), lambda i: np.eye(4, dtype=np.float32)[i],
     (np.array([[0, 3], [1, 1]]),)),
    (lambda x: nn.topk(x, 2), lambda x: (-np.sort(-x)[:, :2], np.argsort(-x)[:, :2]), (X2,)),
    (lambda x: nn.topk(x, 1, axis=0, largest=False),
     lambda x: (x.min(0)[None], x.argmin(0)[None]), (X2,)),
    (lambda x: nn.pad(x, (0, 1, 2, 0), value=9),
     lambda x: np.pad(x, ((0, 2), (1, 0)), constant_values=9), (X2,)),
    (lambda x: nn.pad(x, (1, 2), mode="edge", axes=[1]),
     lambda x: np.pad(x, ((0, 0), (1, 2)), "edge"), (X2,)),
    (lambda x: nn.resize(x, scales=(2, 2)), lambda x: x.repeat(2, 2).repeat(2, 3), (X4,)),
    (lambda x: nn.resize(x, sizes=(14, 12), coordinates="asymmetric", rounding="floor"),
     lambda x: x.repeat(2, 2).repeat(2, 3), (X4,)),
    (lambda x: nn.scatter(x, [[1], [0]], x[:2] * 0),
     lambda x: x * np.array([[0], [0], [1]], np.float32), (X2,)),
    (lambda x: nn.scatter(x, np.zeros((1, 8), np.int64), x[:1], axis=0, reduction="add"),
     lambda x: x + np.array([[1], [0], [0]], np.float32) * x[:1], (X2,)),
    (lambda q: nn.attention(q, q, q), lambda q: attention(q, q, 1 / math.sqrt(6), True), (X4,)),
    (lambda q: nn.attention(q, q[:, :, :5], q[:, :, :5], mask=q[:, :, :, :5] > 0.6, scale=0.5),
     lambda q: attention(q, q[:, :, :5], 0.5, q[:, :, :, :5] > 0.6), (np.abs(X4) + 0.51,)),
    (lambda q: nn.attention(q, q, q, causal=True),
     lambda q: attention(q, q, 1 / math.sqrt(6), np.tri(7, dtype=bool)), (X4,)),
    (lambda x: nn.lstm(x, LW, LR, LB), lambda x: lstm(x, LW, LR, LB), (SEQ,)),
    (lambda x: nn.depth_to_space(x, 2),
     lambda x: x.reshape(2, 2, 2, 1, 7, 6).transpose(0, 3, 4, 1, 5, 2).reshape(2, 1, 14, 12),
     (X4,)),
]  # fmt: skip
draw_bias, draw_linear = draw(6), draw(5, 8)


@pytest.mark.parametrize(("layer", "plain", "arrays"), LAYERS)
def test_layers(layer: Any, plain: Any, arrays: tuple[Any, ...]):
    """The trace, at fixed and open sizes, against the layer on numpy; that against plain numpy."""
    agree(layer, *arrays, ulps=1024)
    agree(layer, *arrays, open_axes=(0,), ulps=1024)
    doubles = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
    found, want = layer(*doubles), plain(*doubles)
    many = isinstance(want, tuple)
    for got, expected in zip(found, want, strict=True) if many else [(found, want)]:
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrent_layers_trace_and_compute(direction: str):
    d = 2 if direction == "bidirectional" else 1
    lengths = np.array([5, 3], np.int32)
    h0 = draw(d, 2, 4)
    for layer, gates in ((nn.lstm, 4), (nn.gru, 3), (nn.rnn, 1)):
        w, r, b = draw(d, gates * 4, 3), draw(d, gates * 4, 4), draw(d, 2 * gates * 4)

        def fn(x: Any) -> Any:
            return layer(x, w, r, b, lengths=lengths, h0=h0, direction=direction)

        graph = agree(fn, SEQ, ulps=1024)
        assert str(graph.outputs[0].type) == f"float32[5, {d}, 2, 4]"


def test_windows_with_every_kind_of_padding():
    for pads in (0, 1, (1, 2), (1, 0, 2, 1), "same", "same_lower", "valid"):
        agree(lambda x: nn.conv(x, K, pads=pads), X4, open_axes=(0, 2, 3), ulps=1024)
        agree(lambda x: nn.max_pool(x, 3, pads=0 if pads == (1, 2) else pads, ceil=True), X4)
    w3, w4 = draw(4, 2, 3), draw(4, 2, 3, 3)
    agree(lambda x: nn.conv(x, w3, groups=2, dilations=2, strides=2), X3, ulps=1024)
    agree(lambda x: nn.conv_transpose(x, w4, strides=2, output_padding=1), X4, ulps=1024)
    agree(lambda x: nn.avg_pool(x, 3, pads=1, count_pads=True), X4, ulps=1024)


def test_attention_over_open_sequences():
    def fn(q: Any, k: Any) -> Any:
        mask = xp.ones(k.shape[-2])
        return nn.attention(q, k, k, causal=True), xp.nn.attention(q, k, k, mask=mask)

    graph = traced(fn, "q: float32[b, n, 8]", "k: float32[b, m, 8]")
    for n, m in ((1, 1), (4, 4), (2, 5)):
        compare(graph, fn, draw(2, n, 8), draw(2, m, 8), ulps=1024)


@pytest.mark.parametrize(
    ("fn", "text"),
    [
        (lambda x: nn.conv(x, K, strides=(1, 2, 3)), "2 numbers, one for each spatial axis"),
        (lambda x: nn.conv(x, K, pads=(1, 2, 3)), "2 of them, or 4"),
        (lambda x: nn.conv(x, K, pads="full"), "one of 'same'"),
        (lambda x: nn.conv(x, K[:, :3]), "Conv"),
        (lambda x: nn.gelu(x, "sigmoid"), "'none' or 'tanh'"),
        (lambda x: nn.group_norm(x, SCALE, BIAS, groups=3), "4 channels do not make 3 groups"),
        (lambda x: nn.resize(x), "sizes or scales"),
    ],
)
def test_arguments_are_checked(fn: Any, text: str):
    with pytest.raises(TraceError) as caught:
        traced(fn, "x: float32[2, 4, 7, 6]")
    assert text in str(caught.value)
