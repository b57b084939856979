"""text: how the canonical version becomes older ones: nothing older says the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._older import inexpressible

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.versions import Steps


_FIRST = inexpressible("nothing older takes texts apart, puts them together or matches them")

DOWNGRADES: dict[Key, Steps] = {
    ("", "StringConcat"): {20: _FIRST},
    ("", "StringSplit"): {20: _FIRST},
    ("", "RegexFullMatch"): {20: _FIRST},
}
