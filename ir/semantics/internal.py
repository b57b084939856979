"""internal: ops that target passes make and no file ever holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.semantics import Call, Impl

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key


def _fused(call: Call) -> tuple[Any, ...]:
    return tuple(call.run(call.attr("body")))


SEMANTICS: dict[Key, tuple[Impl, ...]] = {("isomorph", "Fused"): (Impl(_fused),)}
