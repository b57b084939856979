"""Activations; each keeps the shape of x."""

from __future__ import annotations

from typing import Any

from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.operators import op


def relu(x: Any) -> Any:
    """max(x, 0). Source: ONNX Relu."""
    return op("Relu", x)


def leaky_relu(x: Any, alpha: float = 0.01) -> Any:
    """X where x ≥ 0, else alpha·x. Source: ONNX LeakyRelu."""
    return op("LeakyRelu", x, alpha=alpha)


def prelu(x: Any, slope: Any) -> Any:
    """X where x ≥ 0, else slope·x; slope broadcasts to x. Source: ONNX PRelu."""
    return op("PRelu", x, slope)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """X where x ≥ 0, else alpha·(eˣ − 1). Source: ONNX Elu."""
    return op("Elu", x, alpha=alpha)


def selu(x: Any) -> Any:
    """The self-normalizing scaled Elu. Source: ONNX Selu."""
    return op("Selu", x)


def gelu(x: Any, approximate: str = "none") -> Any:
    """x·Φ(x); with approximate="tanh", Φ by a hyperbolic tangent. Source: ONNX Gelu."""
    if approximate not in ("none", "tanh"):
        raise TraceError(f"gelu with approximate={approximate!r}: 'none' or 'tanh'")
    return op("Gelu", x, approximate=approximate)


def sigmoid(x: Any) -> Any:
    """1 / (1 + e⁻ˣ). Source: ONNX Sigmoid."""
    return op("Sigmoid", x)


def silu(x: Any) -> Any:
    """X · sigmoid(x), also called swish. Source: ONNX Sigmoid and Mul."""
    return x * op("Sigmoid", x)


def hard_sigmoid(x: Any, alpha: float = 1 / 6, beta: float = 0.5) -> Any:
    """max(0, min(1, alpha·x + beta)). Source: ONNX HardSigmoid."""
    return op("HardSigmoid", x, alpha=alpha, beta=beta)


def hard_swish(x: Any) -> Any:
    """X · hard_sigmoid(x). Source: ONNX HardSwish."""
    return op("HardSwish", x)


def softplus(x: Any) -> Any:
    """log(1 + eˣ). Source: ONNX Softplus."""
    return op("Softplus", x)


def shrink(x: Any, lambd: float = 0.5, bias: float = 0.0) -> Any:
    """X drawn towards 0 by bias where |x| > lambd, else 0. Source: ONNX Shrink."""
    return op("Shrink", x, lambd=lambd, bias=bias)


def softsign(x: Any) -> Any:
    """X / (1 + |x|). Source: ONNX Softsign."""
    return op("Softsign", x)


def mish(x: Any) -> Any:
    """X · tanh(softplus(x)). Source: ONNX Mish."""
    return op("Mish", x)


def erf(x: Any) -> Any:
    """The error function. Source: ONNX Erf."""
    return op("Erf", x)


def softmax(x: Any, axis: int = -1) -> Any:
    """eˣ over its sum along `axis`. Source: ONNX Softmax."""
    return op("Softmax", x, axis=axis)


def log_softmax(x: Any, axis: int = -1) -> Any:
    """The logarithm of softmax along `axis`. Source: ONNX LogSoftmax."""
    return op("LogSoftmax", x, axis=axis)


def dropout(x: Any, p: float = 0.5) -> Any:
    """The array itself: nothing is dropped in inference."""
    return x
