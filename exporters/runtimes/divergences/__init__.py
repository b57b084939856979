"""The known divergences of onnxruntime, by name: what `isomorph divergences` lists.

Of each: what it does, what is defined, and probes that show it on the installed release. `check`
warns of uses that a graph gives away, verdicts cite them, `docs/divergences.md` is made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.divergences import (
    attention,
    elementwise,
    image,
    ml,
    normalization,
    optimizer,
    quantized,
    recurrent,
    reduction,
    signal,
    text,
)
from isomorph.ir.errors import InvalidGraphError

if TYPE_CHECKING:
    from isomorph.exporters.runtimes.divergences.entry import Divergence

FAMILIES = (
    elementwise,
    reduction,
    normalization,
    attention,
    recurrent,
    quantized,
    signal,
    image,
    text,
    ml,
    optimizer,
)


def _by_name() -> dict[str, Divergence]:
    found: dict[str, Divergence] = {}
    for family in FAMILIES:
        for entry in family.ENTRIES:
            if entry.name in found:
                raise InvalidGraphError(f"two divergences are called {entry.name!r}")
            found[entry.name] = entry
    return found


DIVERGENCES: dict[str, Divergence] = _by_name()


def words(name: str) -> str:
    """What a verdict says of a divergence."""
    return DIVERGENCES[name].words
