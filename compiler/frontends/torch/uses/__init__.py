"""Small uses of torch's operators, in the families of the tables in `aten`.

Tests and the coverage matrix are built from these, as they are from `ir.instances`: an operator
that has none is not known to work.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from isomorph.frontends.torch.aten import FAMILIES

if TYPE_CHECKING:
    from isomorph.frontends.torch.uses.use import Use


@cache
def uses() -> dict[str, Use]:
    """Every use by its name; two of one name are an error."""
    found: dict[str, Use] = {}
    for family in FAMILIES:
        name = f"{__name__}.{family}"
        for use in import_module(name).USES if find_spec(name) is not None else ():
            if use.name in found:
                raise ValueError(f"{name}: a second use named {use.name!r}")
            found[use.name] = use
    return found
