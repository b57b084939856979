"""Activations: each the ONNX operator of the same meaning where there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.frontends.torch.errors import NotLowered

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value


def plain(op: str, **attributes: Any) -> Rule:
    """An operator without parameters."""

    def rule(ctx: Context, x: Value) -> Value:
        return ctx(op, ctx.cast(x, ctx.result_dtype), **attributes)

    return rule


def relu(ctx: Context, x: Value) -> Value:
    """Max for integers, which run times have no Relu for."""
    dtype = ctx.dtype(x)
    return ctx("Relu", x) if dtype.is_float else ctx("Max", x, ctx.const(0, dtype))


def gelu(ctx: Context, x: Value, *, approximate: str = "none") -> Value:
    return ctx("Gelu", x, approximate=approximate)


def silu(ctx: Context, x: Value) -> Value:
    """Not ONNX's Swish, which no released run time has a kernel for."""
    return ctx("Mul", x, ctx("Sigmoid", x))


def leaky_relu(ctx: Context, x: Value, slope: float = 0.01) -> Value:
    return ctx("LeakyRelu", x, alpha=float(slope))


def elu(
    ctx: Context, x: Value, alpha: float = 1.0, scale: float = 1.0, inner: float = 1.0
) -> Value:
    if inner != 1.0:
        raise NotLowered(f"elu with input_scale={inner}")
    made = ctx("Elu", x, alpha=float(alpha))
    return made if scale == 1.0 else ctx("Mul", made, ctx.const(scale, ctx.dtype(x)))


def selu(ctx: Context, x: Value) -> Value:
    return ctx("Selu", x, alpha=1.6732632423543772, gamma=1.0507009873554805)


def celu(ctx: Context, x: Value, alpha: float = 1.0) -> Value:
    return ctx("Celu", x, alpha=float(alpha))


def softplus(ctx: Context, x: Value, beta: float = 1.0, threshold: float = 20.0) -> Value:
    """Linear above the threshold, as torch defines it."""
    dtype = ctx.dtype(x)
    scaled = x if beta == 1 else ctx("Mul", x, ctx.const(beta, dtype))
    soft = ctx("Softplus", scaled)
    if beta != 1:
        soft = ctx("Div", soft, ctx.const(beta, dtype))
    return ctx.where(ctx("Greater", scaled, ctx.const(threshold, dtype)), x, soft)


def hardtanh(ctx: Context, x: Value, low: float = -1.0, high: float = 1.0) -> Value:
    return ctx("Clip", x, ctx.const(low, ctx.dtype(x)), ctx.const(high, ctx.dtype(x)))


def relu6(ctx: Context, x: Value) -> Value:
    return hardtanh(ctx, x, 0.0, 6.0)


def hardsigmoid(ctx: Context, x: Value) -> Value:
    return ctx("HardSigmoid", x, alpha=1 / 6, beta=0.5)


def prelu(ctx: Context, x: Value, weight: Value) -> Value:
    """One slope per channel, which is axis 1."""
    rank = ctx.rank(x)
    if ctx.shape(weight) != (1,) and rank > 2:
        weight = ctx.unsqueeze(weight, *range(1, rank - 1))
    return ctx("PRelu", x, weight)


def threshold(ctx: Context, x: Value, limit: float, value: float) -> Value:
    dtype = ctx.dtype(x)
    above = ctx("Greater", x, ctx.const(limit, dtype))
    return ctx.where(above, x, ctx.const(value, dtype))


def log_sigmoid(ctx: Context, x: Value) -> Value:
    return ctx("Neg", ctx("Softplus", ctx("Neg", x)))


def shrink(ctx: Context, x: Value, lambd: float = 0.5) -> Value:
    return ctx("Shrink", x, lambd=float(lambd), bias=0.0)


def softshrink(ctx: Context, x: Value, lambd: float = 0.5) -> Value:
    return ctx("Shrink", x, lambd=float(lambd), bias=float(lambd))


def tanhshrink(ctx: Context, x: Value) -> Value:
    return ctx("Sub", x, ctx("Tanh", x))


def glu(ctx: Context, x: Value, dim: int = -1) -> Value:
    axis = ctx.axis(dim, ctx.rank(x))
    half = ctx.fixed(x, axis, "glu") // 2
    a, b = ctx.slice(x, axis, 0, half), ctx.slice(x, axis, half, 2 * half)
    return ctx("Mul", a, ctx("Sigmoid", b))


def same(ctx: Context, x: Value, p: float = 0.5, train: bool = False, *rest: Any) -> Value:
    """Dropout while evaluating."""
    if train and p > 0:
        raise NotLowered("dropout in training", "F.dropout(x, p, self.training), or nn.Dropout")
    return x


def native_dropout(ctx: Context, x: Value, p: float, train: bool | None) -> Any:
    if train and p > 0:
        raise NotLowered("dropout in training", "F.dropout(x, p, self.training), or nn.Dropout")
    from isomorph.ir.types import DType

    return x, ctx.full(ctx.shape(x), True, DType.BOOL)


ATEN: dict[str, Rule] = {
    "aten.alpha_dropout.default": same,
    "aten.celu.default": celu,
    "aten.dropout.default": same,
    "aten.elu.default": elu,
    "aten.feature_dropout.default": same,
    "aten.gelu.default": gelu,
    "aten.glu.default": glu,
    "aten.hardshrink.default": shrink,
    "aten.hardsigmoid.default": hardsigmoid,
    "aten.hardswish.default": plain("HardSwish"),
    "aten.hardtanh.default": hardtanh,
    "aten.leaky_relu.default": leaky_relu,
    "aten.log_sigmoid.default": log_sigmoid,
    "aten.mish.default": plain("Mish"),
    "aten.native_dropout.default": native_dropout,
    "aten.prelu.default": prelu,
    "aten.relu.default": relu,
    "aten.relu6.default": relu6,
    "aten.selu.default": selu,
    "aten.sigmoid.default": plain("Sigmoid"),
    "aten.silu.default": silu,
    "aten.softplus.default": softplus,
    "aten.softshrink.default": softshrink,
    "aten.threshold.default": threshold,
}
