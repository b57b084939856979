"""Uses of what chooses and writes elements by indices and masks."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import IMG, I, Use, X, use


def _masked(x: Any) -> Any:
    y = x.clone()
    y[y > 0] = 0.5
    return y


USES: list[Use] = [
    use("index_select", lambda x: torch.index_select(x, 1, torch.tensor([0, 3, 3]))),
    use("gather", lambda x, i: torch.gather(x, 1, i), X, I),
    use("index", lambda x, i: x[:, i[0]], X, I),
    use("index two", lambda x: x[:, torch.tensor([0, 1]), torch.tensor([2, 3])], IMG),
    use("index split", lambda x: x[torch.tensor([0, 1]), :, torch.tensor([2, 3])], IMG),
    use("index broadcast", lambda x: x[torch.tensor([[0], [1]]), torch.tensor([2, 3])]),
    use("index negative", lambda x: x[:, torch.tensor([-1, 0])]),
    use("embedding", lambda i: F.embedding(i, torch.arange(12.0).view(6, 2)), I),
    use("one_hot", lambda i: F.one_hot(i, 6), I),
    use("scatter", lambda x, i: torch.zeros_like(x).scatter(1, i[:, :1], x[:, :1]), X, I),
    use("scatter value", lambda x, i: x.scatter(1, i[:, :1], 9.0), X, I),
    use("scatter_add", lambda x, i: torch.zeros_like(x).scatter_add(1, i, x), X, I),
    use("scatter_reduce", lambda x, i: x.scatter_reduce(1, i, x, "amax"), X, I),
    use("index_put", lambda x: x.index_put((torch.tensor([0, 1]),), torch.tensor(5.0))),
    use("mask put", _masked),
    use("nonzero", lambda x: torch.nonzero(x > 0)),
    use("masked_select", lambda x: torch.masked_select(x, x > 0)),
    use("mask index", lambda x: x[x > 0]),
]
