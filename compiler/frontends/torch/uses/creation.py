"""Uses of what makes tensors from sizes and numbers."""

from __future__ import annotations

import torch

from isomorph.frontends.torch.uses.use import Use, use

USES: list[Use] = [
    use("arange", lambda x: torch.arange(6) + x),
    use("arange open", lambda x: torch.arange(x.shape[0], device=x.device)[:, None] + x),
    use("arange float", lambda x: torch.arange(0, 3, 0.5) + x),
    use("arange start", lambda x: torch.arange(1, 7) + x),
    use("arange step", lambda x: torch.arange(1, 2 * x.shape[0], 2)),
    use("zeros", lambda x: torch.zeros(x.shape[0], 6) + x),
    use("ones", lambda x: torch.ones(x.shape[0], 6) + x),
    use("empty", lambda x: torch.empty(x.shape[0], 6).fill_(1.5) + x),
    use("empty_like", lambda x: torch.empty_like(x).fill_(1.5) + x),
    use("full", lambda x: torch.full((x.shape[0], 1), 2.5) + x),
    use("zeros_like", torch.zeros_like),
    use("ones_like", torch.ones_like),
    use("full_like", lambda x: torch.full_like(x, 7)),
    use("new_zeros", lambda x: x.new_zeros(2, x.shape[0])),
    use("new_ones", lambda x: x.new_ones(2, x.shape[0])),
    use("new_full", lambda x: x.new_full((2, x.shape[0]), 3.5)),
    use("new_empty", lambda x: x.new_empty(2, x.shape[0]).fill_(1.5)),
    use("zero_", lambda x: (x * 1).zero_()),
    use("fill_", lambda x: (x * 1).fill_(2.5)),
    use("eye", lambda x: torch.eye(6) + x[:1]),
    use("eye open", lambda x: torch.eye(x.shape[0])),
    use("eye.m", lambda x: torch.eye(x.shape[0], 6) + x),
    use("linspace", lambda x: torch.linspace(0, 1, 6) + x),
    use("tensor", lambda x: torch.tensor([1.0, 2.0, 3.0]).repeat(2) + x),
    use("scalar tensor", lambda x: torch.tensor(0.5) * x),
    use("scalar_tensor", lambda x: torch.scalar_tensor(0.5) * x),
]
