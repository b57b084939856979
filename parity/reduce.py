"""The smallest failing case: the one to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.parity.case import Case


def smallest(failing: Sequence[tuple[Case, str]]) -> tuple[Case, str]:
    """The case with ordinary values where there is one, then with the fewest elements."""
    return min(failing, key=lambda f: (f[0].hostile, f[0].size))
