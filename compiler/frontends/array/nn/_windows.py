"""Arguments that convolutions and pools share, in ONNX's form."""

from __future__ import annotations

import reprlib
from typing import Any

from isomorph.frontends.array.errors import TraceError

Sizes = int | tuple[int, ...] | list[int]


def per_axis(value: Sizes, rank: int, what: str) -> tuple[int, ...]:
    """One number for each spatial axis; a single one counts for all."""
    found = (value,) * rank if isinstance(value, int) else tuple(value)
    if len(found) != rank:
        raise TraceError(f"{what}={reprlib.repr(value)}: {rank} numbers, one for each spatial axis")
    return found


def padding(pads: Sizes | str, rank: int) -> dict[str, Any]:
    """`pads` or `auto_pad`: a number, one per axis, begins then ends, or `same` or `valid`."""
    if isinstance(pads, str):
        modes = {"same": "SAME_UPPER", "same_lower": "SAME_LOWER", "valid": "VALID"}
        if pads not in modes:
            raise TraceError(
                f"pads={reprlib.repr(pads)}: numbers, or one of {', '.join(map(repr, modes))}"
            )
        return {"auto_pad": modes[pads]}
    found = (pads,) * (2 * rank) if isinstance(pads, int) else tuple(pads)
    if len(found) == rank:
        found *= 2
    if len(found) != 2 * rank:
        raise TraceError(
            f"pads={reprlib.repr(pads)}: a number, {rank} of them, "
            f"or {2 * rank} (all begins, then all ends)"
        )
    return {"pads": found}
