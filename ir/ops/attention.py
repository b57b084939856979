"""attention: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.dims import floor_div
from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _shapes as s
from isomorph.ir.ops._heads import one, share, split, times
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import Shape, Type

    Types = tuple[Type | None, ...]

RULES = {
    "linear": (False, False),
    "gated": (True, False),
    "delta": (False, True),
    "gated_delta": (True, True),
}
"""Recurrences of LinearAttention: whether each decays, and whether it corrects what it recalls."""
ACTIVATIONS = ("none", "silu", "swish")
"""Of CausalConvWithState; the last two are one function."""


def _check_attention(ctx: Context, rank: int | None) -> tuple[Dim, Dim]:
    """What the definition demands of attributes and operands; heads of Q and of K as stated."""
    queries, keys = ctx.attr("q_num_heads"), ctx.attr("kv_num_heads")
    if rank == 3 and (queries is None or keys is None):
        raise ctx.error("with operands of rank 3, q_num_heads and kv_num_heads are required")
    if rank == 4:
        if queries is not None or keys is not None:
            raise ctx.error("with operands of rank 4, q_num_heads and kv_num_heads are not allowed")
        queries = keys = None
    if ctx.has(4) != ctx.has(5):
        raise ctx.error("past_key and past_value come together; one of them is absent")
    if ctx.has(4) and ctx.has(6):
        raise ctx.error("nonpad_kv_seqlen is for a cache of its own: no past_key may be given")
    for name in ("left_window_size", "right_window_size"):
        if ctx.attr(name, -1) < -1:
            raise ctx.error(f"{name} is {ctx.attr(name)}; -1 for none, or 0 and up was expected")
    precision = ctx.attr("softmax_precision")
    if precision is not None and precision not in (1, 10, 11, 16):
        raise ctx.error(
            f"softmax_precision is {precision}; 1, 10, 11 or 16 (a float type) was expected"
        )
    mask = ctx.shape(3)
    if mask is not None and len(mask) > 4:
        raise ctx.error(f"attn_mask has rank {len(mask)}, at most 4 was expected")
    return queries, keys


def _attention(ctx: Context) -> Types:
    """Y like Q with V's head size; keys and values with the past before them; the scores."""
    ranks = {r for r in map(ctx.rank, (0, 1, 2)) if r is not None}
    if len(ranks) > 1:
        raise ctx.error(f"Q, K and V have ranks {', '.join(map(str, sorted(ranks)))}, not one")
    rank = ranks.pop() if ranks else None
    q_heads, kv_heads = _check_attention(ctx, rank)
    q = split(ctx, 0, "Q", q_heads)
    k, v = split(ctx, 1, "K", kv_heads), split(ctx, 2, "V", kv_heads)
    past_key, past_value = ((ctx.shape(i) or (None,) * 4) if ctx.has(i) else None for i in (4, 5))
    for name, found in (("past_key", past_key), ("past_value", past_value)):
        if found is not None and len(found) != 4:
            raise ctx.error(f"{name} has rank {len(found)}, 4 was expected")
    pasts = [p for p in (past_key, past_value) if p is not None]
    batch = one(ctx, "the batch", q[0], k[0], v[0], *(p[0] for p in pasts))
    heads = one(ctx, "the number of key heads", k[1], v[1], *(p[1] for p in pasts))
    length = one(ctx, "the number of keys", k[2], v[2])
    size = one(ctx, "the head size", q[3], k[3], *(p[3] for p in pasts[:1]))
    value_size = one(ctx, "the head size of V", v[3], *(p[3] for p in pasts[1:]))
    share(ctx, "the heads of Q share those of K", q[1], heads)
    past: Dim = one(ctx, "the length of the past", *(p[2] for p in pasts)) if pasts else 0
    total = None if past is None or length is None else past + length
    shape: Shape | None = None
    if rank == 4:
        shape = (batch, q[1], q[2], value_size)
    elif rank == 3:
        packed = ctx.shape(2)
        same = q_heads == kv_heads and packed is not None
        hidden = packed[2] if same and packed is not None else times(q[1], value_size)
        shape = (batch, q[2], hidden)
    known = rank is not None
    return (
        s.tensor(ctx.dtype(0), shape),
        s.tensor(ctx.dtype(1), (batch, heads, total, size) if known else None),
        s.tensor(ctx.dtype(2), (batch, heads, total, value_size) if known else None),
        s.tensor(ctx.dtype(0), (batch, q[1], q[2], total) if known else None),
    )


def key_count(op: Op) -> Dim:
    """How many keys an Attention has, those of the past among them, as far as types tell."""
    total: Dim = 0
    for value in (op.input(1), op.input(4)):
        if value is None:
            continue
        known = value.type
        shape = known.shape if isinstance(known, TensorType) else None
        dim = None if shape is None else shape[-2]
        total = None if total is None or dim is None else total + dim
    return total


def mask_length(op: Op) -> Dim:
    """For how many keys the mask of an Attention is, where that is known."""
    mask = op.input(3)
    known = None if mask is None else mask.type
    return known.shape[-1] if isinstance(known, TensorType) and known.shape else None


def _rotary(ctx: Context) -> Types:
    shape = ctx.shape(0)
    if shape is None:
        return (ctx.type(0),)
    if len(shape) not in (3, 4):
        raise ctx.error(f"X has rank {len(shape)}, 3 or 4 was expected")
    heads = ctx.attr("num_heads") or None
    if len(shape) == 3 and heads is None:
        raise ctx.error("with X of rank 3, num_heads is required")
    size = share(ctx, "X's hidden size", shape[2], heads) if len(shape) == 3 else shape[3]
    rotated = ctx.attr("rotary_embedding_dim", 0) or size
    if isinstance(rotated, int) and (
        rotated % 2 or (isinstance(size, int) and not 0 <= rotated <= size)
    ):
        raise ctx.error(f"{rotated} numbers of heads of {size} are rotated: not possible in pairs")
    half = floor_div(rotated, 2) if rotated is not None else None
    for index, name in ((1, "cos_cache"), (2, "sin_cache")):
        cache = ctx.shape(index)
        wanted = 2 if ctx.has(3) else 3
        if cache is None:
            continue
        if len(cache) != wanted:
            how = "with" if ctx.has(3) else "without"
            raise ctx.error(
                f"{name} has rank {len(cache)}; {wanted} was expected {how} position_ids"
            )
        one(ctx, f"half of what is rotated, and the width of {name},", cache[-1], half)
    return (ctx.type(0),)


def _linear_attention(ctx: Context) -> Types:
    rule = ctx.attr("update_rule", "gated_delta")
    if rule not in RULES:
        raise ctx.error(f"update_rule is {rule!r}; {', '.join(RULES)} are known")
    for index, name, wanted in zip((4, 5), ("decay", "beta"), RULES[rule], strict=True):
        if ctx.has(index) != wanted:
            verb = "needs" if wanted else "does not take"
            raise ctx.error(f"update_rule {rule!r} {verb} {name}")
    q_heads, kv_heads = ctx.attr("q_num_heads"), ctx.attr("kv_num_heads")
    share(ctx, "the query heads share those of the keys", q_heads, kv_heads)
    for index, name in enumerate(("query", "key", "value")):
        rank = ctx.rank(index)
        if rank not in (None, 3):
            raise ctx.error(f"{name} has rank {rank}, 3 was expected")
    q, k, v = (
        split(ctx, i, n, h)
        for i, n, h in zip(
            range(3), ("query", "key", "value"), (q_heads, kv_heads, kv_heads), strict=True
        )
    )
    past: Shape = (None,) * 4
    if ctx.has(3):
        past = ctx.shape(3) or past
        if len(past) != 4:
            raise ctx.error(f"past_state has rank {len(past)}, 4 was expected")
    batch = one(ctx, "the batch", q[0], k[0], v[0], past[0])
    length = one(ctx, "the length", q[2], k[2], v[2])
    heads = one(ctx, "the number of key heads", kv_heads, past[1])
    size = one(ctx, "the key size", q[3], k[3], past[2])
    value_size = one(ctx, "the value size", v[3], past[3])
    packed = ctx.shape(2)
    hidden = packed[2] if q_heads == kv_heads and packed else times(q_heads, value_size)
    return (
        s.tensor(ctx.dtype(0), (batch, length, hidden)),
        s.tensor(ctx.dtype(3 if ctx.has(3) else 0), (batch, heads, size, value_size)),
    )


def _causal_conv(ctx: Context) -> Types:
    activation = ctx.attr("activation", "none")
    if activation not in ACTIVATIONS:
        raise ctx.error(f"activation is {activation!r}; {', '.join(ACTIVATIONS)} are known")
    shapes: list[Shape] = []
    for index, name in ((0, "input"), (1, "weight"), (3, "past_state")):
        shape = ctx.shape(index) if ctx.has(index) else None
        if shape is not None and len(shape) != 3:
            raise ctx.error(f"{name} has rank {len(shape)}, 3 was expected")
        shapes.append(shape or (None,) * 3)
    x, weight, past = shapes
    one(ctx, "the middle dim of weight", weight[1], 1)
    bias = ctx.shape(2) if ctx.has(2) else None
    batch = one(ctx, "the batch", x[0], past[0])
    channels = one(ctx, "the number of channels", x[1], weight[0], past[1], *(bias or ()))
    before = None if weight[2] is None else weight[2] - 1
    state = one(ctx, "the length of the state", before, past[2])
    return (
        s.tensor(ctx.dtype(0), (batch, channels, x[2])),
        s.tensor(ctx.dtype(0), (batch, channels, state)),
    )


def _swiglu(ctx: Context) -> Types:
    a, b = ctx.shape(0), ctx.shape(1)
    if a is None or b is None:
        return (s.tensor(ctx.dtype(0), b if a is None else a),)
    if len(a) != len(b):
        raise ctx.error(f"A has rank {len(a)} and B rank {len(b)}: nothing is broadcast")
    pairs = zip(a, b, strict=True)
    shape = tuple(one(ctx, f"dim {i}", *pair) for i, pair in enumerate(pairs))
    return (s.tensor(ctx.dtype(0), shape),)


OPS: dict[Key, OpDef] = {
    ("", "Attention"): OpDef(_attention, Tolerance.ATTENTION),
    ("", "CausalConvWithState"): OpDef(_causal_conv, Tolerance.ATTENTION),
    ("", "LinearAttention"): OpDef(_linear_attention, Tolerance.ATTENTION),
    ("", "RotaryEmbedding"): OpDef(_rotary, Tolerance.ATTENTION),
    ("", "SwiGLU"): OpDef(_swiglu, Tolerance.ELEMENTWISE, 7),  # Swish (6), Mul
}
