"""Uses of sums, means, extremes, norms and what accumulates."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import IMG, SOME, I, M, Use, X, Y, use

aten = torch.ops.aten

USES: list[Use] = [
    use("sum", lambda x: x.sum()),
    use("sum dim", lambda x: x.sum(1)),
    use("sum keep", lambda x: x.sum((0, 1), keepdim=True)),
    use("sum int", lambda i: i.sum(0), I),
    use("sum bool", lambda m: m.sum(1), M),
    use("sum dtype", lambda i: i.sum(1, dtype=torch.float32), I),
    use("mean", lambda x: x.mean(), SOME),
    use("mean dims", lambda x: x.mean((2, 3)), IMG),
    use("mean negative", lambda x: x.mean(-1, keepdim=True)),
    use("prod", lambda x: x.prod(1)),
    use("prod all", lambda x: x.prod()),
    use("amax", lambda x: x.amax(1)),
    use("amin", lambda x: x.amin((0, 1))),
    use("max", lambda x: x.max()),
    use("min", lambda x: x.min()),
    use("max dim", lambda x: x.max(1)),
    use("min dim", lambda x: x.min(1, keepdim=True)),
    use("argmax", lambda x: x.argmax(1)),
    use("argmax all", lambda x: x.argmax()),
    use("argmin keep", lambda x: x.argmin(1, keepdim=True)),
    use("any", lambda m: m.any(), M),
    use("any dim", lambda m: m.any(1), M),
    use("any dims", lambda m: torch.any(m, (0, 1)), M),
    use("all", lambda m: m.all(), M),
    use("all dim", lambda x: (x > 0).all(1)),
    use("all dims", lambda m: torch.all(m, (0, 1), keepdim=True), M),
    use("var", lambda x: x.var(1)),
    use("var biased", lambda x: x.var(1, unbiased=False)),
    use("var open", lambda x: x.var(0), SOME),
    use("var correction", lambda x: torch.var(x, 1, correction=2)),
    use("var all", aten.var.default, SOME),
    use("std", lambda x: x.std(1)),
    use("std all", lambda x: x.std(), SOME),
    use("std.default", aten.std.default, SOME),
    use("var_mean", lambda x: torch.var_mean(x, 1)),
    use("var_mean.correction", lambda x: torch.var_mean(x, dim=1, correction=0)),
    use("std_mean", lambda x: torch.std_mean(x, 1, keepdim=True)),
    use("std_mean.correction", lambda x: torch.std_mean(x, dim=1, correction=0)),
    use("logsumexp", lambda x: torch.logsumexp(x, 1)),
    use("norm", lambda x: torch.linalg.vector_norm(x, dim=1)),
    use("norm 1", lambda x: torch.linalg.vector_norm(x, 1, dim=1)),
    use("norm inf", lambda x: torch.linalg.vector_norm(x, float("inf"))),
    use("norm 3", lambda x: torch.linalg.vector_norm(x, 3, dim=1)),
    use("norm old", lambda x: x.norm(dim=1)),
    use("norm.Scalar", lambda x: aten.norm.Scalar(x, 2)),
    use("norm.ScalarOpt_dim", lambda x: aten.norm.ScalarOpt_dim(x, 2, [1])),
    use("normalize", lambda x: F.normalize(x, dim=1)),
    use("cumsum", lambda x: x.cumsum(1)),
    use("cumsum int", lambda i: i.cumsum(0), I),
    use("cumprod", lambda x: x.cumprod(1)),
    use("count_nonzero", lambda i: torch.count_nonzero(i, 1), I),
    use("cosine", F.cosine_similarity, X, Y),
]
