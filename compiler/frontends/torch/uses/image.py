"""Uses of resizing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - what everybody calls it

from isomorph.frontends.torch.uses.use import CUBE, IMG, ROW, Use, use

if TYPE_CHECKING:
    from collections.abc import Callable

aten = torch.ops.aten


def _plain(name: str, sizes: list[int], *corners: bool) -> Callable[[Any], Any]:
    """The overload that a decomposed program has."""
    return lambda x: getattr(aten, f"upsample_{name}").default(x, sizes, *corners)


USES: list[Use] = [
    use("upsample nearest", lambda x: F.interpolate(x, scale_factor=2), IMG),
    use("upsample size", lambda x: F.interpolate(x, size=(5, 13)), IMG),
    use("upsample nearest 1", lambda x: F.interpolate(x, scale_factor=2), ROW),
    use("upsample nearest 3", lambda x: F.interpolate(x, scale_factor=2), CUBE),
    use("upsample bilinear", lambda x: F.interpolate(x, scale_factor=2.5, mode="bilinear"), IMG),
    use(
        "upsample aligned",
        lambda x: F.interpolate(x, size=(11, 5), mode="bilinear", align_corners=True),
        IMG,
    ),
    use("upsample bicubic", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), IMG),
    use("upsample linear", lambda x: F.interpolate(x, scale_factor=2, mode="linear"), ROW),
    use("upsample trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), CUBE),
    use("upsample_nearest1d", _plain("nearest1d", [16]), ROW),
    use("upsample_nearest2d", _plain("nearest2d", [16, 12]), IMG),
    use("upsample_nearest3d", _plain("nearest3d", [8, 8, 6]), CUBE),
    use("upsample_linear1d", _plain("linear1d", [16], False), ROW),
    use("upsample_bilinear2d", _plain("bilinear2d", [16, 12], True), IMG),
    use("upsample_bicubic2d", _plain("bicubic2d", [16, 12], False), IMG),
    use("upsample_trilinear3d", _plain("trilinear3d", [8, 8, 6], False), CUBE),
]
