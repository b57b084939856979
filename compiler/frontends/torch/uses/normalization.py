"""Uses of normalizations and softmax."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import IMG, Use, X, use

aten = torch.ops.aten
W = "w: float32[4] in 0.1..2"

USES: list[Use] = [
    use("softmax", lambda x: F.softmax(x, 1)),
    use("softmax dtype", lambda x: F.softmax(x.half(), 1, dtype=torch.float32)),
    use("_softmax", lambda x: aten._softmax(x, 1, False)),  # noqa: SLF001 - torch's own
    use("log_softmax", lambda x: F.log_softmax(x, -1)),
    use("_log_softmax", lambda x: aten._log_softmax(x, 1, False)),  # noqa: SLF001 - torch's own
    use("layer_norm", lambda x: F.layer_norm(x, (6,))),
    use("layer_norm two", lambda x: F.layer_norm(x, (8, 8), eps=1e-3), IMG),
    use("native_layer_norm", lambda x: torch.native_layer_norm(x, [6], None, None, 1e-5)[0]),
    use("group_norm", lambda x: F.group_norm(x, 2), IMG),
    use("group_norm weight", lambda x, w: F.group_norm(x, 2, w, w), IMG, W),
    use("instance_norm", F.instance_norm, IMG),
    use("rms_norm", lambda x, w: F.rms_norm(x, (6,), w, 1e-6), X, "w: float32[6]"),
    use("rms_norm plain", lambda x: F.rms_norm(x, (6,))),
    use("batch_norm", lambda x, w: F.batch_norm(x, w, w, w, w), IMG, W),
    use(
        "_native_batch_norm_legit_no_training",
        lambda x, w: aten._native_batch_norm_legit_no_training(x, w, w, w, w, 0.1, 1e-5)[0],  # noqa: SLF001 - torch's own
        IMG,
        W,
    ),
    use("local_response", lambda x: F.local_response_norm(x, 2), IMG),
]
