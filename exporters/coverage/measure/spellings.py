"""Which functions of the array front end use an operator, as its tables say."""

from __future__ import annotations

from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from isomorph.ir import schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.opdef import Key

MOST = 4
"""How many functions a cell names."""


def spellings(key: Key) -> tuple[str, ...]:
    """The functions, shortest names first; empty when only `xp.op` reaches the operator."""
    if key[0]:
        return ()
    return tuple(sorted(_users().get(key[1], ()), key=lambda n: (len(n), n))[:MOST])


@cache
def _users() -> dict[str, set[str]]:
    from isomorph.frontends.array import nn
    from isomorph.frontends.array.tables import FUNCTIONS
    from isomorph.frontends.array.ufuncs import UFUNCS

    found: dict[str, set[str]] = {}
    known = set(schema.operators())
    named = [
        *UFUNCS.items(),
        *FUNCTIONS.items(),
        *((f"nn.{n}", getattr(nn, n)) for n in nn.__all__),
    ]
    for name, rule in named:
        if name.startswith("__"):
            continue
        used = {rule} if isinstance(rule, str) else _strings(rule)
        for op in used & known:
            found.setdefault(op, set()).add(name)
    return found


def _strings(rule: Any) -> set[str]:
    """The strings in a rule's own code and in what it closes over."""
    while hasattr(rule, "__wrapped__"):
        rule = rule.__wrapped__
    if not isinstance(rule, FunctionType):
        return set()
    closed = {c.cell_contents for c in rule.__closure__ or () if isinstance(c.cell_contents, str)}
    return set(_constants(rule.__code__)) | closed


def _constants(code: CodeType) -> Iterator[str]:
    for constant in code.co_consts:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, CodeType):
            yield from _constants(constant)
