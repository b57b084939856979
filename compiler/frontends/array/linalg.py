"""`xp.linalg`: the array API's linear algebra, and numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from isomorph.frontends.array.functions import function


def __getattr__(name: str) -> Any:
    found = None if name.startswith("_") else function(f"linalg.{name}")
    if found is None:
        raise AttributeError(f"isomorph.array.linalg has no {name!r}")
    return found


def __dir__() -> list[str]:
    return [n for n in dir(np.linalg) if not n.startswith("_")]
