"""transformers: what each attention of onnxruntime's own domain computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.semantics._attention import Stages, join_heads
from isomorph.ir.semantics._grouped import grouped
from isomorph.ir.semantics._multihead import Parts, weigh
from isomorph.ir.semantics._projected import attention, multi_head

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = np.ndarray[Any, Any]


def _weighed(call: Call, parts: Parts) -> Stages:
    """What comes of it, where neither keys, values nor what is added make more of the queries."""
    batch, heads, length, size = parts.queries.shape
    shared, keys = parts.keys.shape[1:3]
    call.fitting(parts.keys, (batch, shared, keys, size))
    call.fitting(parts.values, (batch, shared, keys, parts.values.shape[3]))
    found = weigh(parts)
    call.fitting(found.result, (batch, heads, length, parts.values.shape[3]))
    return found


def _attention(call: Call, x: Any, *rest: Any) -> tuple[Array, ...]:
    parts = attention(call, x, *rest)
    return n.like(join_heads(_weighed(call, parts).result), x), n.like(parts.present[0], x)


def _multi_head(call: Call, q: Any, *rest: Any) -> tuple[Array, ...]:
    """The scores that the fourth result shows are those that the softmax is taken of."""
    parts = multi_head(call, q, *rest)
    found = _weighed(call, parts)
    y, scores = join_heads(found.result), found.scores
    return tuple(n.like(v, q) for v in (y, *parts.present, scores))


def _grouped(call: Call, q: Any, *rest: Any) -> tuple[Array, ...]:
    """The fourth result has 0 where a query does not see a key."""
    parts = grouped(call, q, *rest)
    found = _weighed(call, parts)
    mode, keys = int(call.attr("qk_output", 0)), parts.keys.shape[2]
    shown = (np.zeros_like(found.raw), found.scores, found.weights)[mode][..., :keys]
    stored = q if rest[2] is None else rest[2]
    present = (n.like(p, stored) for p in parts.present)
    seen = shown if parts.seen is None else np.where(parts.seen, shown, 0)
    return n.like(join_heads(found.result), q), *present, n.like(seen, q)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    (DOMAIN, "Attention"): (Impl(_attention),),
    (DOMAIN, "GroupQueryAttention"): (Impl(_grouped),),
    (DOMAIN, "MultiHeadAttention"): (Impl(_multi_head),),
}
