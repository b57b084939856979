"""transformers: what each attention of onnxruntime's own domain is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.opdef import OpDef, Tolerance
from isomorph.ir.ops import _shapes as s
from isomorph.ir.ops._heads import one, share, times
from isomorph.ir.schema_microsoft import DOMAIN

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import Shape, Type

    Types = tuple[Type | None, ...]


def _ranked(ctx: Context, index: int, name: str, *ranks: int) -> Shape | None:
    """An operand's shape, which has one of these ranks; `None` when absent or unknown."""
    shape = ctx.shape(index) if ctx.has(index) else None
    if shape is not None and len(shape) not in ranks:
        wanted = " or ".join(map(str, ranks))
        raise ctx.error(f"{name} has rank {len(shape)}, {wanted} was expected")
    return shape


def _vector(ctx: Context, index: int, name: str, size: Dim) -> None:
    """An operand of one element per something."""
    shape = _ranked(ctx, index, name, 1)
    if shape is not None:
        one(ctx, f"the number of elements of {name}", shape[0], size)


def _heads(ctx: Context, name: str = "num_heads") -> int:
    """How many heads an attribute states."""
    count = int(ctx.attr(name) or 0)
    if count < 1:
        raise ctx.error(f"{name} is {count}, 1 or more was expected")
    return count


def _sum(*dims: Dim) -> Dim:
    total: Dim = 0
    for dim in dims:
        total = None if total is None or dim is None else total + dim
    return total


def _bias(ctx: Context, index: int, batch: Dim, heads: Dim, length: Dim, total: Dim) -> None:
    """What is added to the scores: its first two dims may be 1."""
    shape = _ranked(ctx, index, "attention_bias", 4)
    if shape is None:
        return
    for dim, wanted, what in zip(shape[:2], (batch, heads), ("batch", "heads"), strict=True):
        if dim != 1:
            one(ctx, f"the {what} of attention_bias", dim, wanted)
    one(ctx, "the number of queries of attention_bias", shape[2], length)
    one(ctx, "the number of keys of attention_bias", shape[3], total)


def _mask(
    ctx: Context,
    index: int,
    name: str,
    batch: Dim,
    length: Dim,
    keys: tuple[Dim, ...],
    *,
    ends: tuple[str, ...],
) -> None:
    """A mask: lengths, or places where keys end and start, or a number for each key.

    Args:
        ctx: of the op.
        index: of the mask.
        name: of the mask.
        batch: of the op.
        length: how many queries there are.
        keys: numbers of keys that a row of two dims may have.
        ends: forms that a mask of one dim may have.
    """
    shape = ctx.shape(index) if ctx.has(index) else None
    if shape is None or not isinstance(batch, int):
        return
    sizes = {"batch": batch, "2 batch": 2 * batch, "3 batch + 2": 3 * batch + 2}
    total = keys[-1]
    known = all(isinstance(d, int) for d in (*shape, length, *keys))
    match len(shape):
        case 1:
            right = not isinstance(shape[0], int) or shape[0] in [sizes[e] for e in ends]
        case 2:
            right = not known or (shape[0] == batch and shape[1] in keys)
            right = right or ("2 batch" in ends and shape[0] in (1, batch) and shape[1] == 1)
        case 3:
            right = not known or shape == (batch, length, total)
        case 4 if "2 batch" in ends:
            side = shape[2]
            right = not known or (shape[:2] == (batch, 1) and side == shape[3])
            if isinstance(side, int) and isinstance(total, int):
                right = right and side >= total
        case _:
            right = False
    if not right:
        found = ", ".join(map(str, shape))
        raise ctx.error(
            f"{name} has shape ({found}); {', '.join(ends)} lengths, or a number for each of "
            f"{batch} × {total} keys or of {batch} × {length} × {total} scores were expected"
        )


def hidden_sizes(ctx: Context, whole: Dim) -> tuple[Dim, Dim]:
    """Hidden sizes of the keys and of the values of Attention, whose projections are one matrix."""
    stated = ctx.attr("qkv_hidden_sizes")
    if not stated:
        size = share(ctx, "the columns of weights, which are Q, K and V,", whole, 3)
        return size, size
    if len(stated) != 3 or stated[0] != stated[1] or min(stated) < 1:
        raise ctx.error(
            f"qkv_hidden_sizes are {', '.join(map(str, stated))}; three were expected, two equal"
        )
    one(ctx, "the number of columns of weights", whole, sum(stated))
    return int(stated[1]), int(stated[2])


def _attention(ctx: Context) -> Types:
    """Attention of what one matrix projects to Q, K and V."""
    heads = _heads(ctx)
    x = _ranked(ctx, 0, "input", 3) or (None,) * 3
    weights = _ranked(ctx, 1, "weights", 2) or (None,) * 2
    one(ctx, "the number of rows of weights", x[2], weights[0])
    bias = _ranked(ctx, 2, "bias", 1) or (None,)
    hidden, v_hidden = hidden_sizes(
        ctx, one(ctx, "the number of columns of weights", weights[1], *bias)
    )
    size = share(ctx, "the hidden size", hidden, heads)
    v_size = share(ctx, "the hidden size of V", v_hidden, heads)
    past = _ranked(ctx, 4, "past", 5)
    before: Dim = 0
    shared = bool(ctx.attr("past_present_share_buffer"))
    if ctx.has(4) or len(ctx.op.outputs) > 1:
        one(ctx, "the head size, which present has one of,", size, v_size)
    batch, length = x[0], x[1]
    if ctx.has(4):
        known = past or (None,) * 5
        one(ctx, "the first dim of past", known[0], 2)
        batch = one(ctx, "the batch", batch, known[1])
        one(ctx, "the number of heads", heads, known[2])
        one(ctx, "the head size", size, known[4])
        before = known[3]
        if shared:
            if not ctx.has(6):
                raise ctx.error("past_sequence_length is required where the buffer is shared")
            stated = ctx.dims(6)
            before = stated[0] if stated else None
    total = _sum(before, length)
    _mask(ctx, 3, "mask_index", batch, length, (total,), ends=("batch", "2 batch", "3 batch + 2"))
    _bias(ctx, 5, batch, heads, length, total)
    kept = past[3] if past is not None and shared else total
    return (
        s.tensor(ctx.dtype(0), (batch, length, v_hidden)),
        s.tensor(ctx.dtype(0), (2, batch, heads, kept, size)),
    )


def _packed(ctx: Context, heads: int) -> tuple[tuple[Dim, Dim, Dim], ...] | None:
    """Batch, length and head size of Q, K and V where they are one operand, or K and V are."""
    q, k = _ranked(ctx, 0, "query", 3, 5), _ranked(ctx, 1, "key", 3, 4, 5)
    if q is not None and len(q) == 5:
        if ctx.has(1) or ctx.has(2):
            raise ctx.error("query has rank 5: it holds the keys and values, which are given, too")
        one(ctx, "the number of heads of query", q[2], heads)
        one(ctx, "how many query holds", q[3], 3)
        return ((q[0], q[1], q[4]),) * 3
    if k is not None and len(k) == 5:
        if ctx.has(2):
            raise ctx.error("key has rank 5: it holds the values, which are given, too")
        one(ctx, "the number of heads of key", k[2], heads)
        one(ctx, "how many key holds", k[3], 2)
        size = None if q is None else share(ctx, "query's hidden size", q[2], heads)
        batch, length = (None, None) if q is None else q[:2]
        return ((batch, length, size), *((k[0], k[1], k[4]),) * 2)
    if q is not None and not (ctx.has(1) and ctx.has(2)):
        raise ctx.error("key and value are required, unless query of rank 5 or key of rank 5 holds")
    return None


def _parts(ctx: Context, heads: int) -> tuple[tuple[Dim, Dim, Dim], ...]:
    """Batch, length and head size of Q, K and V."""
    packed = _packed(ctx, heads)
    if packed is not None:
        return packed
    found: list[tuple[Dim, Dim, Dim]] = []
    for index, name in enumerate(("query", "key", "value")):
        shape = _ranked(ctx, index, name, 3, *((4,) if index else ()))
        if shape is None:
            found.append((None, None, None))
        elif len(shape) == 4:
            one(ctx, f"the number of heads of {name}", shape[1], heads)
            found.append((shape[0], shape[2], shape[3]))
        else:
            size = share(ctx, f"{name}'s hidden size", shape[2], heads)
            found.append((shape[0], shape[1], size))
    ranks = {r for r in (ctx.rank(1), ctx.rank(2)) if r is not None}
    if len(ranks) > 1:
        raise ctx.error("key and value have ranks 3 and 4, not one")
    return tuple(found)


def _multi_head(ctx: Context) -> Types:
    """MultiHeadAttention."""
    heads = _heads(ctx)
    q, k, v = _parts(ctx, heads)
    if ctx.has(6) != ctx.has(7):
        raise ctx.error("past_key and past_value come together; one of them is absent")
    size = one(ctx, "the head size", q[2], k[2])
    v_size = v[2]
    if ctx.rank(1) == 4:
        v_size = one(ctx, "the head size", size, v_size)
    pasts = [p for i, n in ((6, "past_key"), (7, "past_value")) if (p := _ranked(ctx, i, n, 4))]
    batch = one(ctx, "the batch", q[0], k[0], v[0], *(p[0] for p in pasts))
    length = one(ctx, "the number of keys", k[1], v[1])
    one(ctx, "the number of heads", heads, *(p[1] for p in pasts))
    before: Dim = one(ctx, "the length of the past", *(p[2] for p in pasts)) if pasts else None
    if ctx.has(6):
        size = one(ctx, "the head size", size, v_size, *(p[3] for p in pasts))
        v_size = size
    else:
        before = 0
    kept = before
    if ctx.has(6) and ctx.has(8):
        stated = ctx.dims(8)
        before = stated[0] if stated else None
    total = _sum(before, length)
    if not (ctx.has(6) and ctx.has(8)):
        kept = total
    hidden, v_hidden = times(heads, size), times(heads, v_size)
    _vector(ctx, 3, "bias", _sum(hidden, hidden, v_hidden))
    _mask(ctx, 4, "key_padding_mask", batch, q[1], (length, total), ends=("batch", "3 batch + 2"))
    _bias(ctx, 5, batch, heads, q[1], total)
    return (
        s.tensor(ctx.dtype(0), (batch, q[1], v_hidden)),
        s.tensor(ctx.dtype(0), (batch, heads, kept, size)),
        s.tensor(ctx.dtype(0), (batch, heads, kept, v_size)),
        s.tensor(ctx.dtype(0), (batch, heads, q[1], total)),
    )


def _grouped_sizes(ctx: Context, heads: int, groups: int) -> tuple[Shape, Dim, Dim]:
    """Query's shape, how many new keys there are, and the head size of GroupQueryAttention."""
    q = _ranked(ctx, 0, "query", 3) or (None,) * 3
    if ctx.has(1) != ctx.has(2):
        raise ctx.error("key and value come together; one of them is absent")
    if not ctx.has(1):
        together = heads + 2 * groups
        return q, q[1], share(ctx, "query's hidden size, which holds Q, K and V,", q[2], together)
    k, v = (_ranked(ctx, i, n, 3) or (None,) * 3 for i, n in ((1, "key"), (2, "value")))
    size = one(
        ctx,
        "the head size",
        share(ctx, "query's hidden size", q[2], heads),
        share(ctx, "key's hidden size", k[2], groups),
        share(ctx, "value's hidden size", v[2], groups),
    )
    length = one(ctx, "the number of new keys", k[1], v[1])
    if length != 0 or not ctx.has(3):
        length = one(ctx, "the number of queries, and of new keys,", length, q[1])
    batch = one(ctx, "the batch", q[0], k[0], v[0])
    return (batch, q[1], q[2]), length, size


def _grouped(ctx: Context) -> Types:
    """GroupQueryAttention: the keys so far, as many as each sequence has, in rows of a buffer."""
    heads, groups = _heads(ctx), _heads(ctx, "kv_num_heads")
    share(ctx, "the query heads share those of the keys", heads, groups)
    q, length, size = _grouped_sizes(ctx, heads, groups)
    if ctx.has(3) != ctx.has(4):
        raise ctx.error("past_key and past_value come together; one of them is absent")
    if ctx.has(7) != ctx.has(8) or (ctx.attr("do_rotary") and not ctx.has(7)):
        raise ctx.error("cos_cache and sin_cache come together, and are required by do_rotary")
    if ctx.has(14) != ctx.has(15):
        raise ctx.error("q_norm_weight and k_norm_weight come together; one of them is absent")
    window = ctx.attr("local_window_size", -1)
    if not ctx.attr("causal", 1) and window != -1:
        raise ctx.error(f"local_window_size is {window}, and causal is 0: -1 was expected")
    if len(ctx.op.outputs) > 3 and ctx.attr("qk_output", 0) not in (1, 2):
        raise ctx.error("output_qk shows scores (qk_output 1) or weights (2); neither is stated")
    pasts = [p for i, n in ((3, "past_key"), (4, "past_value")) if (p := _ranked(ctx, i, n, 4))]
    batch = one(ctx, "the batch", q[0], *(p[0] for p in pasts))
    one(ctx, "kv_num_heads", groups, *(p[1] for p in pasts))
    kind = ctx.dtype(3) if ctx.has(3) else ctx.dtype(0)
    stored = one(ctx, "the head size that is stored", *(p[3] for p in pasts)) if pasts else None
    if kind is not None and kind.is_float:
        stored = one(ctx, "the head size", size, stored)
    stated = ctx.dims(6)
    total: Dim = stated[0] if stated else None
    if not ctx.has(3):
        kept = total = one(ctx, "the number of keys", total, length)
    else:
        room = one(ctx, "the length of the past", *(p[2] for p in pasts)) if pasts else None
        kept = None if total is None or room is None else s.larger(total, room)
        if ctx.attr("sliding_window_cache"):
            kept = room
    lengths = _ranked(ctx, 5, "seqlens_k", 1, 2)
    if lengths is not None:
        one(ctx, "the number of seqlens_k", lengths[0], batch)
    _rotation(ctx, size)
    _vector(ctx, 11, "head_sink", heads)
    _vector(ctx, 14, "q_norm_weight", size)
    _vector(ctx, 15, "k_norm_weight", size)
    places = _ranked(ctx, 9, "position_ids", 2)
    if places is not None:
        one(ctx, "the batch of position_ids", places[0], batch)
        one(ctx, "the number of position_ids", places[1], q[1])
    _bias(ctx, 10, batch, heads, q[1], total)
    hidden = q[2] if ctx.has(1) else times(heads, size)
    cache = (batch, groups, kept, stored)
    return (
        s.tensor(ctx.dtype(0), (batch, q[1], hidden)),
        s.tensor(kind, cache),
        s.tensor(kind, cache),
        s.tensor(ctx.dtype(0), (batch, heads, q[1], total)),
    )


def _rotation(ctx: Context, size: Dim) -> None:
    """The angles: half as many as numbers of a head that are rotated."""
    cos, sin = (_ranked(ctx, i, n, 2) for i, n in ((7, "cos_cache"), (8, "sin_cache")))
    if cos is None or sin is None:
        return
    half = one(ctx, "the width of cos_cache and sin_cache", cos[1], sin[1])
    if isinstance(half, int) and isinstance(size, int) and 2 * half > size:
        raise ctx.error(f"{2 * half} numbers of heads of {size} are rotated: there are too few")


OPS: dict[Key, OpDef] = {
    (DOMAIN, "Attention"): OpDef(_attention, Tolerance.ATTENTION),
    (DOMAIN, "GroupQueryAttention"): OpDef(_grouped, Tolerance.ATTENTION),
    (DOMAIN, "MultiHeadAttention"): OpDef(_multi_head, Tolerance.ATTENTION),
}
