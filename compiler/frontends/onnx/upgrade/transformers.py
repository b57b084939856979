"""transformers: how older versions become the canonical one: there is one version of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.versions import Steps

UPGRADES: dict[Key, Steps] = {}
