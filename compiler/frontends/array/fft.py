"""`xp.fft`: numpy's Fourier transforms; on traced arrays they are reported as not captured."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.frontends.array.functions import function


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else function(f"fft.{name}")
    if found is None:
        raise AttributeError(f"isomorph.array.fft has no {name!r}")
    return found


def __dir__() -> list[str]:
    return [n for n in dir(np.fft) if not n.startswith("_")]
