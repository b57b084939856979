"""Uses of pooling, adaptive pooling included."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import CUBE, IMG, ROW, TIME, Use, use

aten = torch.ops.aten

USES: list[Use] = [
    use("max_pool1d", lambda x: F.max_pool1d(x, 2), ROW),
    use("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), IMG),
    use("max_pool2d ceil", lambda x: F.max_pool2d(x, 3, 2, ceil_mode=True), IMG),
    use("max_pool2d ceil pad", lambda x: F.max_pool2d(x, 2, 3, 1, ceil_mode=True), IMG),
    use("max_pool2d dilation", lambda x: F.max_pool2d(x, 2, 1, dilation=2), IMG),
    use("max_pool1d indices", lambda x: F.max_pool1d(x, 2, return_indices=True), ROW),
    use("max_pool2d indices", lambda x: F.max_pool2d(x, 2, return_indices=True), IMG),
    use("max_pool3d indices", lambda x: F.max_pool3d(x, 2, return_indices=True), CUBE),
    use("max_pool3d", lambda x: F.max_pool3d(x, 2), CUBE),
    use("avg_pool1d", lambda x: F.avg_pool1d(x, 2), ROW),
    use("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), IMG),
    use("avg_pool2d exclude", lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), IMG),
    use("avg_pool2d ceil", lambda x: F.avg_pool2d(x, 3, 2, ceil_mode=True), IMG),
    use("avg_pool2d divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), IMG),
    use("avg_pool3d", lambda x: F.avg_pool3d(x, 2), CUBE),
    use("adaptive_avg 1", lambda x: F.adaptive_avg_pool2d(x, 1), IMG),
    use("adaptive_avg even", lambda x: F.adaptive_avg_pool2d(x, (4, 2)), IMG),
    use("adaptive_avg odd", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), IMG),
    use("adaptive_avg1d", lambda x: F.adaptive_avg_pool1d(x, 1), TIME),
    use("adaptive_avg3d", lambda x: F.adaptive_avg_pool3d(x, 2), CUBE),
    use("_adaptive_avg_pool2d", lambda x: aten._adaptive_avg_pool2d(x, [4, 2]), IMG),  # noqa: SLF001 - torch's own
    use("_adaptive_avg_pool3d", lambda x: aten._adaptive_avg_pool3d(x, [2, 2, 1]), CUBE),  # noqa: SLF001 - torch's own
    use("adaptive_max even", lambda x: F.adaptive_max_pool2d(x, 4), IMG),
    use("adaptive_max1d", lambda x: F.adaptive_max_pool1d(x, 4), ROW),
    use("adaptive_max3d", lambda x: F.adaptive_max_pool3d(x, 2), CUBE),
]
