"""Uses of products."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import Use, X, Y, use

USES: list[Use] = [
    use("matmul", lambda x, y: x @ y.T, X, "y: float32[n, 6]"),
    use("bmm", torch.bmm, "x: float32[batch, 3, 4]", "y: float32[batch, 4, 5]"),
    use("mm", lambda x: torch.mm(x, x.t())),
    use("mv", lambda x: torch.mv(x, x[0])),
    use("dot", lambda x: torch.dot(x[0], x[0])),
    use("addmm", lambda x: torch.addmm(x[:, :1], x, x.t(), beta=0.5, alpha=2.0)),
    use("addmv", lambda x: torch.addmv(x[:, 0], x, x[0], beta=0.5, alpha=2.0)),
    use(
        "baddbmm",
        lambda x: torch.baddbmm(x, x, x.transpose(1, 2), alpha=0.5),
        "x: float32[batch, 4, 4]",
    ),
    use("outer", lambda x: torch.outer(x[0], x[0])),
    use("linear", lambda x: F.linear(x, torch.arange(12.0).view(2, 6), torch.tensor([1.0, 2.0]))),
    use("bilinear", lambda x, y: F.bilinear(x, y, torch.arange(72.0).view(2, 6, 6)), X, Y),
    use("einsum", lambda x, y: torch.einsum("bi,bj->bij", x, y), X, Y),
]
