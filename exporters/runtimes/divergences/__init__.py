"""The known divergences of onnxruntime, by name: what `isomorph divergences` lists.

Of each: what it does, what is defined, and probes that show it on the installed release. `check`
warns of uses that a graph gives away, verdicts cite them, `docs/divergences.md` is made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.divergences import (
    attention,
    casts,
    elementwise,
    image,
    ml,
    normalization,
    nothing,
    optimizer,
    pooling,
    quantized,
    recurrent,
    reduction,
    signal,
    text,
    transformers,
)
from isomorph.ir.errors import InvalidGraphError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isomorph.exporters.runtimes.divergences.entry import Divergence
    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.opdef import Key

FAMILIES = (
    elementwise,
    casts,
    reduction,
    normalization,
    attention,
    transformers,
    recurrent,
    quantized,
    signal,
    image,
    pooling,
    text,
    ml,
    nothing,
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


def _warned(entries: Iterable[Divergence]) -> dict[Key, list[Divergence]]:
    found: dict[Key, list[Divergence]] = {}
    for entry in entries:
        for key in entry.ops if entry.when is not None else ():
            found.setdefault(key, []).append(entry)
    return found


DIVERGENCES: dict[str, Divergence] = _by_name()
_WARNED = _warned(DIVERGENCES.values())


def words(name: str) -> str:
    """What a verdict says of a divergence."""
    return DIVERGENCES[name].words


def warnings_of(op: Op, graph: Graph, runtime: str, release: str) -> list[Divergence]:
    """The divergences that a use of an operator shows for some values, as far as it tells."""
    return [e for e in _WARNED.get(op.key, ()) if e.concerns(op, graph, runtime, release)]
