"""Which operators of torch reach which operators of ONNX, as the measured uses have it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isomorph.exporters.coverage.entries import TorchUse
    from isomorph.ir.opdef import Key


class Row(NamedTuple):
    """An operator of torch.

    Attributes:
        name: without namespace and overload, as users call it.
        ops: how many ONNX operators it becomes together with the one that is asked for, where it
            takes fewest; 1 is that one alone.
        works: whether some use in which it becomes that operator was accepted.
        failures: name of a use that is about it → why that was not accepted.
    """

    name: str
    ops: int
    works: bool
    failures: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        """With a `*` where some use fails, and a `✗` where all do."""
        mark = "" if not self.failures and self.works else "*" if self.works else "✗"
        return f"`{self.name}`{mark}"


def rows_of(key: Key, uses: Mapping[str, TorchUse]) -> list[Row]:
    """The operators of torch that become an ONNX operator; those that are nearest to it first."""
    if key[0]:
        return []
    through: dict[str, list[tuple[int, bool]]] = {}
    overloads: dict[str, set[str]] = {}
    for use in uses.values():
        for aten, ops in use.reached.items():
            if key[1] in ops:
                through.setdefault(short_name(aten), []).append((len(ops), not use.failure))
                overloads.setdefault(short_name(aten), set()).add(aten)
    subjects = _subjects(uses)
    found: list[Row] = []
    for name, seen in through.items():
        about = sorted({u for aten in overloads[name] for u in subjects.get(aten, ())})
        failures = tuple((u, uses[u].failure) for u in about if uses[u].failure)
        works = any(good for _, good in seen)
        nearest = min(count for count, good in seen if good or not works)
        found.append(Row(name, nearest, works, failures))
    return sorted(found, key=lambda row: (row.ops, row.name))


def short_name(aten: str) -> str:
    """`gelu` for `aten.gelu.default`."""
    return aten.split(".")[1]


def _subjects(uses: Mapping[str, TorchUse]) -> dict[str, list[str]]:
    """The uses that are about each operator: a use is about the rarest operator in it."""
    often = Counter(aten for use in uses.values() for aten in use.reached)
    found: dict[str, list[str]] = {}
    for name, use in uses.items():
        if use.reached:
            rarest = min(use.reached, key=lambda aten: (often[aten], aten))
            found.setdefault(rarest, []).append(name)
    return found
