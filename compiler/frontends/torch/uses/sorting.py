"""Uses of order."""

from __future__ import annotations

import torch

from isomorph.frontends.torch.uses.use import Use, use

USES: list[Use] = [
    use("topk", lambda x: torch.topk(x, 3, 1)),
    use("topk smallest", lambda x: torch.topk(x, 2, 1, largest=False)),
    use("sort", lambda x: torch.sort(x, 1, descending=True)),
    use("sort stable", lambda x: torch.sort(x, dim=1, stable=True)),
    use("sorted pick", lambda x: x.sort(1)[0][:, 2]),
    use("argsort", lambda x: torch.argsort(x, 1)),
]
