"""attention: what each operator computes, in float32 at least, rounded once at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.ops.attention import RULES
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._attention import attend, join_heads, split_heads

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]


def _attention(call: Call, q: Any, k: Any, v: Any, *rest: Any) -> tuple[Array, ...]:
    """The scores that the fourth result shows: raw, capped, masked, or after the softmax."""
    found = attend(call, q, k, v, *rest)
    shown = (found.raw, found.capped, found.scores, found.weights)
    mode = int(call.attr("qk_matmul_output_mode", 0))
    scores = shown[mode] if 0 <= mode < len(shown) else found.raw
    y = found.result if np.ndim(q) == 4 else join_heads(found.result)
    scores = np.broadcast_to(scores, found.weights.shape)
    return n.like(y, q), found.present_key, found.present_value, n.like(scores, q)


def _rotary(call: Call, x: Any, cos: Any, sin: Any, places: Any = None) -> Array:
    """Pairs of numbers of a head turned by their position's angle; what is not rotated is kept."""
    heads = call.attr("num_heads", 0)
    a = x if x.ndim == 4 else split_heads(call, x, heads)
    size = a.shape[3]
    rotated = call.attr("rotary_embedding_dim", 0) or size
    if places is not None:
        cos, sin = np.asarray(cos)[places], np.asarray(sin)[places]
    if cos.ndim != 3 or cos.shape[2] * 2 != rotated or rotated > size:
        raise TypeInferenceError(
            f"{call.op.where}: {rotated} of {size} numbers cannot be rotated by angles of shape "
            f"{cos.shape}"
        )
    found = rotate(a, cos, sin, interleaved=bool(call.attr("interleaved", 0)))
    return found if x.ndim == 4 else join_heads(found)


def rotate(a: Array, cos: Any, sin: Any, *, interleaved: bool) -> Array:
    """Heads (batch, heads, length, size) turned by angles (batch, length, half of what is turned).

    Pairs are neighbours where they are interleaved, else the two halves of what is turned.
    """
    cos, sin = n.up(cos)[:, None], n.up(sin)[:, None]
    rotated = 2 * cos.shape[3]
    turned = n.up(a[..., :rotated])
    first, second = (
        (turned[..., 0::2], turned[..., 1::2]) if interleaved else np.split(turned, 2, -1)
    )
    pair = cos * first - sin * second, sin * first + cos * second
    found = np.stack(pair, -1).reshape(turned.shape) if interleaved else np.concatenate(pair, -1)
    return np.concatenate((n.like(found, a), a[..., rotated:]), -1)


def linear_attention(
    call: Call,
    query: Any,
    key: Any,
    value: Any,
    past: Any = None,
    decay: Any = None,
    beta: Any = None,
    *,
    rounded: Callable[[Array], Array] = lambda x: x,
) -> tuple[Array, Array]:
    """The recurrence, token after token.

    Args:
        call: the evaluation.
        query, key, value, past, decay, beta: operands.
        rounded: applied to whatever a step computes, for those who ask what rounding does.
    """
    decays, corrects = RULES[call.attr("update_rule", "gated_delta")]
    q_heads, heads = call.attr("q_num_heads"), call.attr("kv_num_heads")
    q = n.up(split_heads(call, query, q_heads))
    k, v = (n.up(split_heads(call, x, heads)) for x in (key, value))
    batch, _, length, size = q.shape
    groups = q_heads // heads
    state = np.zeros((batch, heads, size, v.shape[3]), q.dtype) if past is None else n.up(past)
    call.fitting(state, (batch, heads, size, v.shape[3]))
    factor = np.ones((batch, heads, length, 1), q.dtype)
    if decays:
        factor = rounded(np.exp(n.up(split_heads(call, decay, heads))))
    rate = np.ones((batch, 1, length, 1), q.dtype)
    if corrects:
        rate = n.up(split_heads(call, beta, beta.shape[2]))
    scale = call.attr("scale", 0.0) or 1 / np.sqrt(float(max(size, 1)))
    found = np.zeros((batch, q_heads, length, v.shape[3]), q.dtype)
    for t in range(length):
        if decays:
            state = rounded(state * factor[:, :, t, :, None])
        column, row = k[:, :, t, :, None], v[:, :, t, None, :]
        if corrects:
            recalled = rounded(np.matmul(np.swapaxes(column, 2, 3), state))
            row = rounded(rate[:, :, t, :, None] * rounded(row - recalled))
        state = rounded(state + rounded(column * row))
        read = np.repeat(state, groups, 1) if groups != 1 else state
        found[:, :, t] = rounded(np.matmul(q[:, :, t, None, :], read))[:, :, 0]
    y = join_heads(q.dtype.type(scale) * found)
    return n.like(y, query), n.like(state, query if past is None else past)


def _causal_conv(
    call: Call, x: Any, weight: Any, bias: Any = None, past: Any = None
) -> tuple[Array, Array]:
    """Every channel by its own kernel, over what came before; then, perhaps, x · sigmoid(x)."""
    length, taps = x.shape[2], weight.shape[2]
    call.fitting(weight, (x.shape[1], 1, taps))
    if past is None:
        past = np.zeros((*x.shape[:2], taps - 1), x.dtype)
    call.fitting(past, (*x.shape[:2], taps - 1))
    padded = np.concatenate((past, x), 2)
    a, w = n.up(padded), n.up(weight)
    total = np.zeros(x.shape, a.dtype)
    for tap in range(taps):
        total += a[:, :, tap : tap + length] * w[:, 0, tap, None]
    if bias is not None:
        total = total + n.up(call.fitting(bias, x.shape[1:2]))[:, None]
    if call.attr("activation", "none") != "none":
        total = total * n.sigmoid(total)
    return n.like(total, x), padded[:, :, length:]


def _swiglu(call: Call, a: Any, b: Any) -> Array:
    call.fitting(b, np.shape(a))
    wide, alpha = n.up(a), call.attr("alpha", 1.0)
    gate = wide * n.sigmoid(wide.dtype.type(alpha) * wide)
    return n.like(gate * n.up(b), a)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "Attention"): (Impl(_attention),),
    ("", "CausalConvWithState"): (Impl(_causal_conv),),
    ("", "LinearAttention"): (Impl(linear_attention),),
    ("", "RotaryEmbedding"): (Impl(_rotary),),
    ("", "SwiGLU"): (Impl(_swiglu),),
}
