"""transformers: how the canonical version becomes older ones: there is one version of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.versions import Steps

DOWNGRADES: dict[Key, Steps] = {}
