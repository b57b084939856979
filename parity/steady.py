"""Whether what a candidate is compared with is a function of its inputs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.parity.nearness import changed
from isomorph.parity.pytorch import TorchReference
from isomorph.parity.sources import FunctionReference, RefusedError
from isomorph.parity.traced import TracedReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.parity.sources import Reference


def wavers(reference: Reference, inputs: Sequence[Any], found: Sequence[Any]) -> bool:
    """Whether a function, or the one behind a trace, gives something else when asked again.

    Args:
        reference: what is asked.
        inputs: of the case.
        found: what the reference gave for them.
    """
    if isinstance(reference, TracedReference):
        function = reference.witness.function
        for ask in (function.wide, function.narrow):
            try:
                return _differ(ask(inputs), ask(inputs))
            except RefusedError:
                continue
        return False
    asked = isinstance(reference, FunctionReference | TorchReference)
    return asked and _differ(found, reference.wide(inputs))


def _differ(one: Sequence[Any], two: Sequence[Any]) -> bool:
    return len(one) != len(two) or any(map(changed, one, two))
