"""Small functions on tensors, one or more for every row of the ATen tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it


@dataclass(frozen=True)
class Case:
    """A function, the specifications of its inputs, and how its numbers are drawn."""

    name: str
    function: Any
    specs: tuple[str, ...]
    low: float = -2.0
    high: float = 2.0
    loose: float = 1.0
    """How many times the ordinary tolerance, for functions that amplify rounding."""

    def __str__(self) -> str:
        return self.name


X = "x: float32[batch, 6]"
Y = "y: float32[batch, 6]"
I = "i: int64[batch, 6] in 0..5"  # noqa: E741 - an index
M = "m: bool[batch, 6]"
IMG = "x: float32[batch, 4, 8, 8]"
SEQ = "x: float32[batch, seq, 6]"
TIME = "x: float32[batch, 4, t]"
ROW = "x: float32[batch, 4, 8]"


def one(name: str, function: Any, *specs: str, **kwargs: Any) -> Case:
    return Case(name, function, specs or (X,), **kwargs)


def _written(x: Any) -> Any:
    y = x * 2
    y[:, 1:3] = 7.0
    y[0].add_(1)
    return y


def _masked(x: Any) -> Any:
    y = x.clone()
    y[y > 0] = 0.5
    return y


UNARY = [
    one(f.__name__, f)
    for f in (
        torch.abs, torch.ceil, torch.cos, torch.cosh, torch.erf, torch.exp, torch.exp2, torch.expm1,
        torch.floor, torch.frac, torch.isfinite, torch.isinf, torch.isnan, torch.logical_not,
        torch.neg, torch.reciprocal, torch.relu, torch.round, torch.sigmoid, torch.sign, torch.sin,
        torch.sinh, torch.square, torch.tan, torch.tanh, torch.trunc, torch.zeros_like,
        torch.ones_like, torch.atan, torch.asinh, F.relu6, F.silu, F.mish, F.hardswish,
        F.hardsigmoid, F.hardtanh, F.selu, F.elu, F.celu, F.softplus, F.softsign, F.logsigmoid,
        F.tanhshrink, F.hardshrink, F.softshrink, F.leaky_relu, F.gelu, torch.clone,
    )
] + [
    one(f.__name__, f, X, low=0.05, high=0.95)
    for f in (torch.acos, torch.asin, torch.atanh, torch.log, torch.log1p, torch.log2, torch.log10,
              torch.rsqrt, torch.sqrt)
] + [
    one("acosh", torch.acosh, X, low=1.1, high=3.0),
    one("gelu tanh", lambda x: F.gelu(x, approximate="tanh")),
    one("softplus beta", lambda x: F.softplus(x * 20, beta=2.0, threshold=10.0)),
    one("round decimals", lambda x: torch.round(x, decimals=1)),
    one("log1p tiny", lambda x: torch.log1p(x * 1e-6)),
    one("expm1 tiny", lambda x: torch.expm1(x * 1e-6)),
    one("relu int", torch.relu, I),
    one("sqrt int", torch.sqrt, I),
    one("neg int", torch.neg, I),
    one("bitwise_not", torch.bitwise_not, M),
    one("prelu", F.prelu, IMG, "w: float32[4]"),
    one("threshold", lambda x: F.threshold(x, 0.1, 7.0)),
    one("glu", lambda x: F.glu(x, -1)),
    one("dropout", lambda x: F.dropout(x, 0.5, training=False)),
]  # fmt: skip

BINARY = [
    one(f.__name__, f, X, Y)
    for f in (torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum,
              torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge, torch.atan2,
              torch.floor_divide, torch.remainder, torch.fmod, torch.logical_and, torch.logical_or,
              torch.logical_xor, torch.dist)
] + [
    one("add alpha", lambda x, y: torch.add(x, y, alpha=2.5), X, Y),
    one("sub scalar", lambda x: x - 0.1),
    one("rsub", lambda x: 3 - x),
    one("rdiv", lambda x: 3 / x),
    one("add int float", lambda i, x: i + x, I, X),
    one("add int scalar", lambda i: i + 1.5, I),
    one("add int int", lambda i: i + 2, I),
    one("mul bool", lambda m, x: m * x, M, X),
    one("add bool", lambda m, n: m + n, M, "n: bool[batch, 6]"),
    one("and", lambda m, n: m & n, M, "n: bool[batch, 6]"),
    one("or int", lambda i, j: i | j, I, "j: int64[batch, 6] in 0..9"),
    one("xor", lambda m, n: m ^ n, M, "n: bool[batch, 6]"),
    one("div floor", lambda x, y: torch.div(x, y, rounding_mode="floor"), X, Y),
    one("div trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), X, Y),
    one("div int", lambda i: i / 4, I),
    one("floordiv int", lambda i: (i - 3) // 4, I),
    one("mod int", lambda i: (i - 3) % 4, I),
    one("mod negative", lambda i: (i - 3) % -4, I),
    one("pow 2", lambda x: x**2),
    one("pow 3", lambda x: x**3),
    one("pow half", lambda x: x**0.5, X, low=0.1, high=2.0),
    one("pow tensor", torch.pow, X, Y, low=0.1, high=2.0),
    one("pow scalar base", lambda x: 2.0**x),
    one("pow int", lambda i: i**3, I),
    one("compare mixed", lambda i, x: i > x, I, X),
    one("compare scalar", lambda i: i > 2.5, I),
    one("eq bool", lambda m, n: m == n, M, "n: bool[batch, 6]"),
    one("where", torch.where, M, X, Y),
    one("where scalar", lambda m, x: torch.where(m, x, 0.5), M, X),
    one("where promoted", torch.where, M, I, X),
    one("masked_fill", lambda x, m: x.masked_fill(m, -3.0), X, M),
    one("clamp", lambda x: torch.clamp(x, -0.5, 0.7)),
    one("clamp min", lambda x: x.clamp(min=0.2)),
    one("clamp tensor", lambda x, y: torch.clamp(x, max=y), X, Y),
    one("clamp int", lambda i: i.clamp(1, 3), I),
    one("addcmul", lambda x, y: torch.addcmul(x, x, y, value=0.5), X, Y),
    one("addcdiv", lambda x, y: torch.addcdiv(x, x, y, value=0.5), X, Y, low=0.5, high=2.0),
    one("lerp", lambda x, y: torch.lerp(x, y, 0.3), X, Y),
    one("to int", lambda x: (x * 3).to(torch.int32)),
    one("to bool", lambda x: x.bool()),
    one("to half", lambda x: x.half() + 1),
    one("type_as", lambda i, x: i.type_as(x), I, X),
    one("float", lambda i: i.float(), I),
    one("size as number", lambda x: x / x.shape[0]),
    one("size root", lambda x: x * x.shape[1] ** -0.5 + x.shape[0] ** 0.5),
    one("logaddexp", torch.logaddexp, X, Y),
    one("xlogy", torch.xlogy, X, Y, low=0.1, high=2.0),
    one("heaviside", torch.heaviside, X, Y),
    one("nan_to_num", lambda x: torch.nan_to_num(x / x.round())),
    one("logit", torch.logit, X, low=0.1, high=0.9),
    one("huber", F.huber_loss, X, Y),
    one("smooth l1", F.smooth_l1_loss, X, Y),
    one("mse", F.mse_loss, X, Y),
]  # fmt: skip

REDUCTION = [
    one("sum", lambda x: x.sum()),
    one("sum dim", lambda x: x.sum(1)),
    one("sum keep", lambda x: x.sum((0, 1), keepdim=True)),
    one("sum int", lambda i: i.sum(0), I),
    one("sum bool", lambda m: m.sum(1), M),
    one("sum dtype", lambda i: i.sum(1, dtype=torch.float32), I),
    one("mean", lambda x: x.mean()),
    one("mean dims", lambda x: x.mean((2, 3)), IMG),
    one("mean negative", lambda x: x.mean(-1, keepdim=True)),
    one("prod", lambda x: x.prod(1)),
    one("prod all", lambda x: x.prod()),
    one("amax", lambda x: x.amax(1)),
    one("amin", lambda x: x.amin((0, 1))),
    one("max", lambda x: x.max()),
    one("max dim", lambda x: x.max(1)),
    one("min dim", lambda x: x.min(1, keepdim=True)),
    one("argmax", lambda x: x.argmax(1)),
    one("argmax all", lambda x: x.argmax()),
    one("argmin keep", lambda x: x.argmin(1, keepdim=True)),
    one("any", lambda m: m.any(), M),
    one("any dim", lambda m: m.any(1), M),
    one("all dim", lambda x: (x > 0).all(1)),
    one("var", lambda x: x.var(1)),
    one("var biased", lambda x: x.var(1, unbiased=False)),
    one("var open", lambda x: x.var(0)),
    one("var correction", lambda x: torch.var(x, 1, correction=2)),
    one("std", lambda x: x.std(1)),
    one("std all", lambda x: x.std()),
    one("var_mean", lambda x: torch.var_mean(x, 1)),
    one("std_mean", lambda x: torch.std_mean(x, 1, keepdim=True)),
    one("logsumexp", lambda x: torch.logsumexp(x, 1)),
    one("norm", lambda x: torch.linalg.vector_norm(x, dim=1)),
    one("norm 1", lambda x: torch.linalg.vector_norm(x, 1, dim=1)),
    one("norm inf", lambda x: torch.linalg.vector_norm(x, float("inf"))),
    one("norm 3", lambda x: torch.linalg.vector_norm(x, 3, dim=1)),
    one("norm old", lambda x: x.norm(dim=1)),
    one("normalize", lambda x: F.normalize(x, dim=1)),
    one("cumsum", lambda x: x.cumsum(1)),
    one("cumsum int", lambda i: i.cumsum(0), I),
    one("cumprod", lambda x: x.cumprod(1)),
    one("count_nonzero", lambda i: torch.count_nonzero(i, 1), I),
    one("sorted pick", lambda x: x.sort(1)[0][:, 2]),
    one("softmax", lambda x: F.softmax(x, 1)),
    one("softmax dtype", lambda x: F.softmax(x.half(), 1, dtype=torch.float32)),
    one("log_softmax", lambda x: F.log_softmax(x, -1)),
    one("cosine", F.cosine_similarity, X, Y),
]  # fmt: skip

MOVEMENT = [
    one("view", lambda x: x.view(-1, 2, 3)),
    one("view size", lambda x: x.view(x.shape[0], 3, 2)),
    one("view merged", lambda x: x.view(x.shape[0] * 2, -1)),
    one("view two open", lambda x: x.reshape(x.shape[0], x.shape[1], 2, 3), SEQ),
    one("view swap open", lambda x: x.reshape(x.shape[1], x.shape[0], 6), SEQ),
    one("flatten", lambda x: x.flatten(1), IMG),
    one("flatten all", lambda x: x.flatten()),
    one("unflatten", lambda x: x.unflatten(1, (2, 3))),
    one("permute", lambda x: x.permute(0, 2, 3, 1), IMG),
    one("transpose", lambda x: x.transpose(-1, -2)),
    one("t", lambda x: x.t()),
    one("T", lambda x: x.T),
    one("movedim", lambda x: torch.movedim(x, 1, 3), IMG),
    one("cat", lambda x, y: torch.cat([x, y], 1), X, Y),
    one("cat promoted", lambda x, i: torch.cat([x, i], 0), X, I),
    one("stack", lambda x, y: torch.stack([x, y], 1), X, Y),
    one("hstack", lambda x, y: torch.hstack([x, y]), X, Y),
    one("split", lambda x: x.split(4, 1)),
    one("split sizes", lambda x: x.split([1, 2, 3], 1)),
    one("chunk", lambda x: x.chunk(4, 1)),
    one("tensor_split", lambda x: torch.tensor_split(x, 4, 1)),
    one("unbind", lambda x: x.unbind(1)),
    one("slice", lambda x: x[:, 1:5:2]),
    one("slice negative", lambda x: x[1:, :-2]),
    one("slice open", lambda x: x[: x.shape[0] // 2]),
    one("select", lambda x: x[:, -1]),
    one("select open", lambda x: x[x.shape[0] - 1]),
    one("narrow", lambda x: x.narrow(1, 2, 3)),
    one("none index", lambda x: x[:, None, :, None]),
    one("ellipsis", lambda x: x[..., 0], IMG),
    one("expand", lambda x: x[:, :1].expand(-1, 5)),
    one("expand open", lambda x, y: x[:1].expand(y.shape[0], -1), X, "y: float32[other, 2]"),
    one("broadcast_to", lambda x: torch.broadcast_to(x, (3, *x.shape))),
    one("repeat", lambda x: x.repeat(2, 3)),
    one("repeat more", lambda x: x.repeat(2, 1, 3)),
    one("tile", lambda x: torch.tile(x, (2,))),
    one("repeat_interleave", lambda x: x.repeat_interleave(3, 1)),
    one("squeeze", lambda x: x[:, :1].squeeze(1)),
    one("squeeze two", lambda x: x[:, :1, :1].squeeze((1, 2)), IMG),
    one("unsqueeze", lambda x: x.unsqueeze(-1)),
    one("flip", lambda x: x.flip(1)),
    one("flip open", lambda x: x.flip((0, 1))),
    one("roll", lambda x: x.roll(2, 1)),
    one("roll two", lambda x: torch.roll(x, (1, -2), (2, 3)), IMG),
    one("roll flat", lambda x: x.roll(1)),
    one("pad", lambda x: F.pad(x, (1, 2))),
    one("pad value", lambda x: F.pad(x, (1, 2, 0, 1), value=3.0)),
    one("pad negative", lambda x: F.pad(x, (-1, 2))),
    one("pad reflect", lambda x: F.pad(x, (1, 2, 1, 1), mode="reflect"), IMG),
    one("pad replicate", lambda x: F.pad(x, (1, 2, 1, 1), mode="replicate"), IMG),
    one("tril", lambda x: x.tril()),
    one("triu", lambda x: torch.triu(x, 1)),
    one("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), IMG),
    one("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), IMG),
    one("contiguous", lambda x: x.t().contiguous()),
    one("einsum", lambda x, y: torch.einsum("bi,bj->bij", x, y), X, Y),
    one("meshgrid", lambda x: torch.meshgrid(x[0], x[0, :3], indexing="ij")),
    one("in place", lambda x: (x + 1).mul_(2).relu_()),
    one("in place view", _written),
    one("copy_", lambda x, y: (x * 1).copy_(y), X, Y),
    one("fill_", lambda x: (x * 1).fill_(2.5)),
    one("unfold", lambda x: x.unfold(1, 2, 2)),
]  # fmt: skip

CREATION = [
    one("arange", lambda x: torch.arange(6) + x),
    one("arange open", lambda x: torch.arange(x.shape[0], device=x.device)[:, None] + x),
    one("arange float", lambda x: torch.arange(0, 3, 0.5) + x),
    one("arange step", lambda x: torch.arange(1, 2 * x.shape[0], 2)),
    one("zeros", lambda x: torch.zeros(x.shape[0], 6) + x),
    one("full", lambda x: torch.full((x.shape[0], 1), 2.5) + x),
    one("new_zeros", lambda x: x.new_zeros(2, x.shape[0])),
    one("full_like", lambda x: torch.full_like(x, 7)),
    one("eye", lambda x: torch.eye(6) + x[:1]),
    one("eye open", lambda x: torch.eye(x.shape[0])),
    one("linspace", lambda x: torch.linspace(0, 1, 6) + x),
    one("tensor", lambda x: torch.tensor([1.0, 2.0, 3.0]).repeat(2) + x),
    one("scalar tensor", lambda x: torch.tensor(0.5) * x),
]

INDEXING = [
    one("index_select", lambda x: torch.index_select(x, 1, torch.tensor([0, 3, 3]))),
    one("gather", lambda x, i: torch.gather(x, 1, i), X, I),
    one("index", lambda x, i: x[:, i[0]], X, I),
    one("index two", lambda x: x[:, torch.tensor([0, 1]), torch.tensor([2, 3])], IMG),
    one("index split", lambda x: x[torch.tensor([0, 1]), :, torch.tensor([2, 3])], IMG),
    one("index broadcast", lambda x: x[torch.tensor([[0], [1]]), torch.tensor([2, 3])]),
    one("index negative", lambda x: x[:, torch.tensor([-1, 0])]),
    one("embedding", lambda i: F.embedding(i, torch.arange(12.0).view(6, 2)), I),
    one("one_hot", lambda i: F.one_hot(i, 6), I),
    one("scatter", lambda x, i: torch.zeros_like(x).scatter(1, i[:, :1], x[:, :1]), X, I),
    one("scatter value", lambda x, i: x.scatter(1, i[:, :1], 9.0), X, I),
    one("scatter_add", lambda x, i: torch.zeros_like(x).scatter_add(1, i, x), X, I),
    one("scatter_reduce", lambda x, i: x.scatter_reduce(1, i, x, "amax"), X, I),
    one("index_put", lambda x: x.index_put((torch.tensor([0, 1]),), torch.tensor(5.0))),
    one("mask put", _masked),
    one("nonzero", lambda x: torch.nonzero(x > 0)),
    one("masked_select", lambda x: torch.masked_select(x, x > 0)),
    one("mask index", lambda x: x[x > 0]),
    one("topk", lambda x: torch.topk(x, 3, 1)),
    one("topk smallest", lambda x: torch.topk(x, 2, 1, largest=False)),
    one("sort", lambda x: torch.sort(x, 1, descending=True)),
    one("argsort", lambda x: torch.argsort(x, 1)),
    one("select_scatter", lambda x, y: torch.select_scatter(x, y[:, 0], 1, 2), X, Y),
    one("slice_scatter", lambda x, y: torch.slice_scatter(x, y[:, :2], 1, 1, 3), X, Y),
]

LINEAR = [
    one("matmul", lambda x, y: x @ y.T, X, "y: float32[n, 6]"),
    one("bmm", torch.bmm, "x: float32[batch, 3, 4]", "y: float32[batch, 4, 5]"),
    one("mm", lambda x: torch.mm(x, x.t())),
    one("mv", lambda x: torch.mv(x, x[0])),
    one("dot", lambda x: torch.dot(x[0], x[0])),
    one("addmm", lambda x: torch.addmm(x[:, :1], x, x.t(), beta=0.5, alpha=2.0)),
    one(
        "baddbmm",
        lambda x: torch.baddbmm(x, x, x.transpose(1, 2), alpha=0.5),
        "x: float32[batch, 4, 4]",
    ),
    one("outer", lambda x: torch.outer(x[0], x[0])),
    one("linear", lambda x: F.linear(x, torch.arange(12.0).view(2, 6), torch.tensor([1.0, 2.0]))),
    one("bilinear", lambda x, y: F.bilinear(x, y, torch.arange(72.0).view(2, 6, 6)), X, Y),
    one(
        "attention",
        F.scaled_dot_product_attention,
        "q: float32[batch, 2, s, 4]",
        "k: float32[batch, 2, t, 4]",
        "v: float32[batch, 2, t, 4]",
    ),
    one(
        "attention causal",
        lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
        "q: float32[batch, 2, s, 4]",
    ),
    one(
        "attention mask",
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        "q: float32[batch, 2, s, 4]",
        "m: bool[batch, 1, s, s]",
    ),
    one(
        "attention float mask",
        lambda q, m: F.scaled_dot_product_attention(
            q, q, q, attn_mask=torch.where(m, 0.5, float("-inf"))
        ),
        "q: float32[batch, 2, s, 4]",
        "m: bool[s, s]",
    ),
    one(
        "attention grouped",
        lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True, scale=0.3),
        "q: float32[batch, 4, s, 4]",
        "k: float32[batch, 2, s, 4]",
    ),
]

W2 = "w: float32[5, 4, 3, 3]"
SPATIAL = [
    one("conv1d", lambda x, w: F.conv1d(x, w, padding=1), TIME, "w: float32[5, 4, 3]"),
    one("conv2d", lambda x, w: F.conv2d(x, w, stride=2, padding=(1, 0), dilation=2), IMG, W2),
    one("conv2d same", lambda x, w: F.conv2d(x, w, padding="same", dilation=2), IMG, W2),
    one("conv2d valid", lambda x, w: F.conv2d(x, w, padding="valid"), IMG, W2),
    one("conv2d groups", lambda x, w: F.conv2d(x, w, groups=4), IMG, "w: float32[8, 1, 3, 3]"),
    one("conv2d one image", lambda x, w: F.conv2d(x[0], w), IMG, W2),
    one("conv3d", F.conv3d, "x: float32[batch, 2, 4, 4, 4]", "w: float32[3, 2, 2, 2, 2]"),
    one(
        "conv_transpose2d",
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        IMG,
        "w: float32[4, 5, 3, 3]",
    ),
    one("conv_transpose1d", F.conv_transpose1d, "x: float32[batch, 4, 8]", "w: float32[4, 2, 3]"),
    one("max_pool1d", lambda x: F.max_pool1d(x, 2), ROW),
    one("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), IMG),
    one("max_pool2d ceil", lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), IMG),
    one("max_pool2d ceil pad", lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True), IMG),
    one("max_pool2d dilation", lambda x: F.max_pool2d(x, 2, 1, dilation=2), IMG),
    one("max_pool2d indices", lambda x: F.max_pool2d(x, 2, return_indices=True), IMG),
    one("max_pool3d", lambda x: F.max_pool3d(x, 2), "x: float32[batch, 2, 4, 4, 4]"),
    one("avg_pool1d", lambda x: F.avg_pool1d(x, 2), ROW),
    one("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), IMG),
    one("avg_pool2d exclude", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), IMG),
    one("avg_pool2d ceil", lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True), IMG),
    one("avg_pool2d divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMG),
    one("adaptive_avg 1", lambda x: F.adaptive_avg_pool2d(x, 1), IMG),
    one("adaptive_avg even", lambda x: F.adaptive_avg_pool2d(x, (4, 2)), IMG),
    one("adaptive_avg odd", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), IMG),
    one("adaptive_avg1d", lambda x: F.adaptive_avg_pool1d(x, 1), "x: float32[batch, 4, t]"),
    one("adaptive_max even", lambda x: F.adaptive_max_pool2d(x, 4), IMG),
    one("upsample nearest", lambda x: F.interpolate(x, scale_factor=2), IMG),
    one("upsample size", lambda x: F.interpolate(x, size=(5, 13)), IMG),
    one("upsample bilinear", lambda x: F.interpolate(x, scale_factor=2.5, mode="bilinear"), IMG),
    one(
        "upsample aligned",
        lambda x: F.interpolate(x, size=(11, 5), mode="bilinear", align_corners=True),
        IMG,
    ),
    one("upsample bicubic", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), IMG),
    one("upsample linear", lambda x: F.interpolate(x, scale_factor=2, mode="linear"), ROW),
    one("layer_norm", lambda x: F.layer_norm(x, (6,))),
    one("layer_norm two", lambda x: F.layer_norm(x, (8, 8), eps=1e-3), IMG),
    one("group_norm", lambda x: F.group_norm(x, 2), IMG),
    one("group_norm weight", lambda x, w: F.group_norm(x, 2, w, w), IMG, "w: float32[4]"),
    one("instance_norm", F.instance_norm, IMG),
    one("rms_norm", lambda x, w: F.rms_norm(x, (6,), w, 1e-6), X, "w: float32[6]"),
    one("rms_norm plain", lambda x: F.rms_norm(x, (6,))),
    one(
        "batch_norm",
        lambda x, w: F.batch_norm(x, w, w.abs() + 0.1, w, w),
        IMG,
        "w: float32[4]",
    ),
    one("local_response", lambda x: F.local_response_norm(x, 2), IMG),
    one("channel_shuffle", lambda x: F.channel_shuffle(x, 2), IMG),
]  # fmt: skip


CASES = [*UNARY, *BINARY, *REDUCTION, *MOVEMENT, *CREATION, *INDEXING, *LINEAR, *SPATIAL]
