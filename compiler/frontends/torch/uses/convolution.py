"""Uses of convolutions."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import CUBE, IMG, TIME, Use, use

W1 = "w: float32[5, 4, 3]"
W2 = "w: float32[5, 4, 3, 3]"
W3 = "w: float32[3, 2, 2, 2, 2]"


def _whole(x: Any, w: Any) -> Any:
    return torch.convolution(x, w, None, [2, 2], [1, 0], [1, 1], False, [0, 0], 1)


def _whole_private(x: Any, w: Any) -> Any:
    flags = (False, False, True, True)
    return torch._convolution(x, w, None, [1, 1], [1, 1], [1, 1], True, [0, 0], 1, *flags)  # noqa: SLF001 - torch's own


USES: list[Use] = [
    use("conv1d", lambda x, w: F.conv1d(x, w, padding=1), TIME, W1),
    use("conv1d same", lambda x, w: F.conv1d(x, w, padding="same"), TIME, W1),
    use("conv2d", lambda x, w: F.conv2d(x, w, stride=2, padding=(1, 0), dilation=2), IMG, W2),
    use("conv2d same", lambda x, w: F.conv2d(x, w, padding="same", dilation=2), IMG, W2),
    use("conv2d valid", lambda x, w: F.conv2d(x, w, padding="valid"), IMG, W2),
    use("conv2d groups", lambda x, w: F.conv2d(x, w, groups=4), IMG, "w: float32[8, 1, 3, 3]"),
    use("conv2d one image", lambda x, w: F.conv2d(x[0], w), IMG, W2),
    use("conv3d", F.conv3d, CUBE, W3),
    use("conv3d same", lambda x, w: F.conv3d(x, w, padding="same"), CUBE, W3),
    use(
        "conv_transpose2d",
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        IMG,
        "w: float32[4, 5, 3, 3]",
    ),
    use("conv_transpose1d", F.conv_transpose1d, "x: float32[batch, 4, 8]", "w: float32[4, 2, 3]"),
    use("conv_transpose3d", F.conv_transpose3d, CUBE, "w: float32[2, 3, 2, 2, 2]"),
    use("convolution", _whole, IMG, W2),
    use("_convolution", _whole_private, IMG, "w: float32[4, 5, 3, 3]"),
]
