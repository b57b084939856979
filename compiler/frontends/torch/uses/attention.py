"""Uses of scaled dot-product attention."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import Use, use

Q = "q: float32[batch, 2, s, 4]"

USES: list[Use] = [
    use(
        "attention",
        F.scaled_dot_product_attention,
        Q,
        "k: float32[batch, 2, t, 4]",
        "v: float32[batch, 2, t, 4]",
    ),
    use(
        "attention causal",
        lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True),
        Q,
    ),
    use(
        "attention mask",
        lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        Q,
        "m: bool[batch, 1, s, s]",
    ),
    use(
        "attention float mask",
        lambda q, m: F.scaled_dot_product_attention(
            q, q, q, attn_mask=torch.where(m, 0.5, float("-inf"))
        ),
        Q,
        "m: bool[s, s]",
    ),
    use(
        "attention grouped",
        lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True, scale=0.3),
        "q: float32[batch, 4, s, 4]",
        "k: float32[batch, 2, s, 4]",
    ),
    use(
        "flash attention",
        lambda q: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, q, q),  # noqa: SLF001 - torch's own
        "q: float32[batch in 1.., 2, s in 1.., 4]",  # torch dies of no elements
    ),
    use(
        "flash attention causal",
        lambda q: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(  # noqa: SLF001 - torch's own
            q, q, q, 0.0, True, scale=0.3
        ),
        "q: float32[batch in 1.., 2, s in 1.., 4]",
    ),
]
