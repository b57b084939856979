"""Uses of activations, and of dropout while evaluating."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import IMG, I, Use, X, named, use

USES: list[Use] = [
    *named(
        (torch.relu, torch.sigmoid, F.relu6, F.silu, F.mish, F.hardswish, F.hardsigmoid, F.hardtanh,
         F.selu, F.elu, F.celu, F.softplus, F.softsign, F.logsigmoid, F.tanhshrink, F.hardshrink,
         F.softshrink, F.leaky_relu, F.gelu),
        X,
    ),
    use("gelu tanh", lambda x: F.gelu(x, approximate="tanh")),
    use("softplus beta", lambda x: F.softplus(x * 20, beta=2.0, threshold=10.0)),
    use("relu int", torch.relu, I),
    use("prelu", F.prelu, IMG, "w: float32[4]"),
    use("threshold", lambda x: F.threshold(x, 0.1, 7.0)),
    use("glu", lambda x: F.glu(x, -1)),
    use("dropout", lambda x: F.dropout(x, 0.5, training=False)),
    use("alpha_dropout", lambda x: F.alpha_dropout(x, 0.5, training=False)),
    use("feature_dropout", lambda x: torch.feature_dropout(x, 0.5, False), IMG),
    use("native_dropout", lambda x: torch.native_dropout(x, 0.5, False)[0]),
]  # fmt: skip
