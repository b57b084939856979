"""Whether what a candidate is compared with is a function of its inputs alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.parity.nearness import changed
from isomorph.parity.pytorch import TorchReference
from isomorph.parity.sources import FunctionReference, RefusedError
from isomorph.parity.traced import TracedReference

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.parity.sources import Reference


def wavers(reference: Reference, inputs: Sequence[Any]) -> bool:
    """Whether a function, or the one behind a trace, gives something else when asked again."""
    asked: list[Callable[[Sequence[Any]], list[Any]]] = []
    if isinstance(reference, TracedReference):
        asked = [reference.witness.function.wide, reference.witness.function.narrow]
    elif isinstance(reference, FunctionReference | TorchReference):
        asked = [reference.wide]
    for ask in asked:
        try:
            one, two = ask(inputs), ask(inputs)
        except RefusedError:
            continue
        return len(one) != len(two) or any(map(changed, one, two))
    return False
