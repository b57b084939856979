"""Recurrent layers, each whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from isomorph.frontends.torch.aten import Rule

ATEN: dict[str, Rule] = {}
