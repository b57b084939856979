"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.frontends.array.structure import is_many
from isomorph.frontends.torch.errors import NotLowered

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule
    from isomorph.frontends.torch.context import Context
    from isomorph.ir.graph import Value

Sizes = "int | Sequence[int]"


def per_axis(given: Any, rank: int) -> tuple[int, ...]:
    """One number per spatial axis."""
    many = given if is_many(given) else (given,)
    found = tuple(many) * rank if len(many) == 1 else tuple(many)
    if not all(isinstance(n, int) for n in found):
        raise NotLowered(f"sizes {found} that are not fixed")
    return found


def conv(
    ctx: Context,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Value:
    rank = ctx.rank(weight) - 2
    kernel = _kernel(ctx, weight)
    dilations = per_axis(dilation, rank)
    if padding == "valid":
        padding = 0
    if padding == "same":
        extra = [d * (k - 1) for d, k in zip(dilations, kernel, strict=True)]
        pads = (*(e // 2 for e in extra), *(e - e // 2 for e in extra))
    else:
        pads = per_axis(padding, rank) * 2
    batched = ctx.rank(x) == rank + 2
    made = ctx(
        "Conv",
        x if batched else ctx.unsqueeze(x, 0),
        weight,
        bias,
        strides=per_axis(stride, rank),
        dilations=dilations,
        group=groups,
        kernel_shape=kernel,
        pads=pads,
    )
    return made if batched else ctx.squeeze(made, 0)


def conv_transpose(
    ctx: Context,
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Value:
    rank = ctx.rank(weight) - 2
    batched = ctx.rank(x) == rank + 2
    made = ctx(
        "ConvTranspose",
        x if batched else ctx.unsqueeze(x, 0),
        weight,
        bias,
        strides=per_axis(stride, rank),
        dilations=per_axis(dilation, rank),
        group=groups,
        kernel_shape=_kernel(ctx, weight),
        pads=per_axis(padding, rank) * 2,
        output_padding=per_axis(output_padding, rank),
    )
    return made if batched else ctx.squeeze(made, 0)


def convolution(
    ctx: Context,
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *rest: Any,
) -> Value:
    if transposed:
        return conv_transpose(
            ctx, x, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return conv(ctx, x, weight, bias, stride, padding, dilation, groups)


def _kernel(ctx: Context, weight: Value) -> tuple[int, ...]:
    return tuple(ctx.fixed(weight, a, "a kernel") for a in range(2, ctx.rank(weight)))


ATEN: dict[str, Rule] = {
    "aten._convolution.default": convolution,
    "aten.conv1d.default": conv,
    "aten.conv1d.padding": conv,
    "aten.conv2d.default": conv,
    "aten.conv2d.padding": conv,
    "aten.conv3d.default": conv,
    "aten.conv3d.padding": conv,
    "aten.conv_transpose1d.default": conv_transpose,
    "aten.conv_transpose2d.input": conv_transpose,
    "aten.conv_transpose3d.input": conv_transpose,
    "aten.convolution.default": convolution,
}
