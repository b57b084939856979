"""What onnxruntime's optimizer makes of transformers: Gelus, and products of turned matrices."""

from __future__ import annotations

from math import pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.ops._transformer import turned
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._accumulate import accumulate

if TYPE_CHECKING:
    import numpy.typing as npt

    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]


def gelu(call: Call, x: Any) -> Array:
    """Gelu: x·Φ(x)."""
    a = n.up(x)
    return n.like(0.5 * a * n.erfc(-a / sqrt(2)), x)


def bias_gelu(call: Call, x: Any, bias: Any) -> Array:
    """BiasGelu: the same of x + bias, which broadcasts."""
    return n.like(gelu(call, n.up(x) + n.up(bias)), x)


def fast_gelu(call: Call, x: Any, bias: Any = None) -> Array:
    """FastGelu: Gelu's approximation by tanh."""
    a = n.up(x) if bias is None else n.up(x) + n.up(bias)
    # (1 + tanh y) / 2 is the sigmoid of 2y, which does not cancel in the left tail
    return n.like(a * n.sigmoid(2 * sqrt(2 / pi) * (a + 0.044715 * a**3)), x)


def quick_gelu(call: Call, x: Any) -> Array:
    """QuickGelu: x times the sigmoid of alpha times x."""
    a = n.up(x)
    return n.like(a * n.sigmoid(a * a.dtype.type(call.attr("alpha"))), x)


def fused_matmul(call: Call, a: Any, b: Any) -> Array:
    """FusedMatMul: operands are turned first, the product is scaled."""
    left, right = (
        accumulate(np.asarray(v).transpose(turned(np.ndim(v), call.attr, side)))
        for v, side in ((a, "A"), (b, "B"))
    )
    found = np.matmul(left, right)
    return n.like(found * found.dtype.type(call.attr("alpha", 1.0)), a)
