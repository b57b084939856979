"""Uses of what moves elements: shapes, orders, joins, parts, padding, writes in place."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import CUBE, IMG, ROW, SEQ, I, Use, X, Y, use

aten = torch.ops.aten


def _written(x: Any) -> Any:
    y = x * 2
    y[:, 1:3] = 7.0
    y[0].add_(1)
    return y


SHAPES: list[Use] = [
    use("view", lambda x: x.view(-1, 2, 3)),
    use("view size", lambda x: x.view(x.shape[0], 3, 2)),
    use("view merged", lambda x: x.view(x.shape[0] * 2, -1)),
    use("view two open", lambda x: x.reshape(x.shape[0], x.shape[1], 2, 3), SEQ),
    use("view swap open", lambda x: x.reshape(x.shape[1], x.shape[0], 6), SEQ),
    use("view as", lambda x, y: x.view_as(y.reshape(-1, 2, 3)), X, Y),
    use("reshape as", lambda x, y: x.reshape_as(y.reshape(-1, 2, 3)), X, Y),
    use("view.dtype", lambda x: x.view(torch.int32)),
    use("_unsafe_view", lambda x: aten._unsafe_view(x, [-1, 2, 3])),  # noqa: SLF001 - torch's own
    use("_reshape_alias", lambda x: aten._reshape_alias(x, [x.shape[0], 2, 3], [6, 3, 1])),  # noqa: SLF001 - torch's own
    use("flatten", lambda x: x.flatten(1), IMG),
    use("flatten all", lambda x: x.flatten()),
    use("unflatten", lambda x: x.unflatten(1, (2, 3))),
    use("expand", lambda x: x[:, :1].expand(-1, 5)),
    use("expand open", lambda x, y: x[:1].expand(y.shape[0], -1), X, "y: float32[other, 2]"),
    use("broadcast_to", lambda x: torch.broadcast_to(x, (3, *x.shape))),
    use("squeeze", lambda x: x[:, :1].squeeze(1)),
    use("squeeze two", lambda x: x[:, :1, :1].squeeze((1, 2)), IMG),
    use("squeeze all", lambda x: x[:2, None, :3].squeeze(), "x: float32[5, 6]"),
    use("unsqueeze", lambda x: x.unsqueeze(-1)),
    use("none index", lambda x: x[:, None, :, None]),
    use("meshgrid", lambda x: torch.meshgrid(x[0], x[0, :3], indexing="ij")),
]

ORDERS: list[Use] = [
    use("clone", torch.clone),
    use("alias", lambda x: aten.alias(x) + 1),
    use("contiguous", lambda x: x.t().contiguous()),
    use("permute", lambda x: x.permute(0, 2, 3, 1), IMG),
    use("transpose", lambda x: x.transpose(-1, -2)),
    use("swapaxes", lambda x: x.swapaxes(1, 2), IMG),
    use("t", lambda x: x.t()),
    use("T", lambda x: x.T),
    use("movedim", lambda x: torch.movedim(x, 1, 3), IMG),
    use("flip", lambda x: x.flip(1)),
    use("flip open", lambda x: x.flip((0, 1))),
    use("roll", lambda x: x.roll(2, 1)),
    use("roll two", lambda x: torch.roll(x, (1, -2), (2, 3)), IMG),
    use("roll flat", lambda x: x.roll(1)),
    use("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), IMG),
    use("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), IMG),
    use("channel_shuffle", lambda x: F.channel_shuffle(x, 2), IMG),
    use("tril", lambda x: x.tril()),
    use("triu", lambda x: torch.triu(x, 1)),
]

JOINS: list[Use] = [
    use("cat", lambda x, y: torch.cat([x, y], 1), X, Y),
    use("cat promoted", lambda x, i: torch.cat([x, i], 0), X, I),
    use("concat", lambda x, y: aten.concat([x, y], 1), X, Y),
    use("stack", lambda x, y: torch.stack([x, y], 1), X, Y),
    use("hstack", lambda x, y: torch.hstack([x, y]), X, Y),
    use("repeat", lambda x: x.repeat(2, 3)),
    use("repeat more", lambda x: x.repeat(2, 1, 3)),
    use("tile", lambda x: torch.tile(x, (2,))),
    use("repeat_interleave", lambda x: x.repeat_interleave(3, 1)),
    use("split", lambda x: x.split(4, 1)),
    use("split sizes", lambda x: x.split([1, 2, 3], 1)),
    use("split.sizes", lambda x: aten.split.sizes(x, [1, 2, 3], 1)),
    use("unsafe_split", lambda x: torch.unsafe_split(x, 4, 1)),
    use("chunk", lambda x: x.chunk(4, 1)),
    use("unsafe_chunk", lambda x: torch.unsafe_chunk(x, 4, 1)),
    use("tensor_split", lambda x: torch.tensor_split(x, 4, 1)),
    use("unbind", lambda x: x.unbind(1)),
]

PARTS: list[Use] = [
    use("slice", lambda x: x[:, 1:5:2]),
    use("slice negative", lambda x: x[1:, :-2]),
    use("slice open", lambda x: x[: x.shape[0] // 2]),
    use("select", lambda x: x[:, -1]),
    use("select open", lambda x: x[x.shape[0] - 1]),
    use("narrow", lambda x: x.narrow(1, 2, 3)),
    use("ellipsis", lambda x: x[..., 0], IMG),
    use("unfold", lambda x: x.unfold(1, 2, 2)),
    use("select_scatter", lambda x, y: torch.select_scatter(x, y[:, 0], 1, 2), X, Y),
    use("slice_scatter", lambda x, y: torch.slice_scatter(x, y[:, :2], 1, 1, 3), X, Y),
    use("in place", lambda x: (x + 1).mul_(2).relu_()),
    use("in place view", _written),
    use("copy_", lambda x, y: (x * 1).copy_(y), X, Y),
]

PADDING: list[Use] = [
    use("pad", lambda x: F.pad(x, (1, 2))),
    use("pad value", lambda x: F.pad(x, (1, 2, 0, 1), value=3.0)),
    use("pad negative", lambda x: F.pad(x, (-1, 2))),
    use("pad reflect", lambda x: F.pad(x, (1, 2, 1, 1), mode="reflect"), IMG),
    use("pad replicate", lambda x: F.pad(x, (1, 2, 1, 1), mode="replicate"), IMG),
    use("constant_pad_nd", lambda x: aten.constant_pad_nd(x, [1, 2], 3.0)),
    use("reflection_pad1d", lambda x: aten.reflection_pad1d(x, [1, 2]), ROW),
    use("reflection_pad2d", lambda x: aten.reflection_pad2d(x, [1, 2, 1, 0]), IMG),
    use("reflection_pad3d", lambda x: aten.reflection_pad3d(x, [1] * 6), CUBE),
    use("replication_pad1d", lambda x: aten.replication_pad1d(x, [1, 2]), ROW),
    use("replication_pad2d", lambda x: aten.replication_pad2d(x, [1, 2, 1, 0]), IMG),
    use("replication_pad3d", lambda x: aten.replication_pad3d(x, [1] * 6), CUBE),
]

USES: list[Use] = [*SHAPES, *ORDERS, *JOINS, *PARTS, *PADDING]
