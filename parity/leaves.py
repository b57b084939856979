"""Sequences, maps and optionals taken apart into the tensors that they hold, for comparison.

A map is one tensor of its values, in the order of its keys. An optional that is absent holds none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.types import DType, MapType, SequenceType, TensorType, Type
from isomorph.parity.arrays import is_list, is_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.parity.finding import Finding


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(place, tensor) of everything that a value holds."""
    if is_list(value):
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]")
    elif is_map(value):
        yield path, stacked(value)
    elif value is not None:
        yield path, value


def stacked(value: dict[Any, Any]) -> np.ndarray:
    """The values of a map in the order of its keys."""
    found = [value[k] for k in sorted(value)]
    texts = bool(found) and isinstance(found[0], str)
    return np.array(found, object if texts else None)


def form(value: Any) -> str:
    """What a value is apart from its tensors; equal forms have their tensors in equal places."""
    if is_list(value):
        return f"[{', '.join(form(v) for v in value)}]"
    if is_map(value):
        return f"{{{', '.join(repr(k) for k in sorted(value, key=_order))}}}"
    return "none" if value is None else "tensor"


def difference_of_form(wanted: Any, got: Any) -> str:
    """How a value's form differs from the reference's; empty when it does not."""
    if is_list(wanted) and is_list(got) and len(wanted) != len(got):
        return f"it is a sequence of {len(got)}, the reference's has {len(wanted)}"
    one, other = form(wanted), form(got)
    return "" if one == other else f"it is {_short(other)}, the reference gives {_short(one)}"


def formed_otherwise(one: Any, other: Any) -> bool:
    """Whether two values differ in form, or in the shape of a tensor within."""
    if form(one) != form(other):
        return True
    pairs = zip(leaves(one), leaves(other), strict=True)
    return any(np.shape(a) != np.shape(b) for (_, a), (_, b) in pairs)


def type_of(value: Any) -> Type | None:
    """The type that a value shows, dims free; `None` for what is absent or empty."""
    if is_list(value):
        inner = next((k for v in value if (k := type_of(v)) is not None), None)
        return None if inner is None else SequenceType(inner)
    if is_map(value):
        if not value:
            return None
        key = DType.STRING if isinstance(next(iter(value)), str) else DType.INT64
        return MapType(key, TensorType(DType.of(stacked(value).dtype), ()))
    if value is None:
        return None
    array = np.asarray(value)
    return TensorType(DType.of(array.dtype), (None,) * array.ndim)


class Leaves:
    """The tensors of several values, one after another.

    Attributes:
        places: (index of the value, place within it) of each.
        tensors: themselves.
    """

    def __init__(self, values: Sequence[Any], without: frozenset[int] = frozenset()) -> None:
        self._without = without
        self._forms = self._forms_of(values)
        found = list(self._of(values))
        self.places = [place for place, _ in found]
        self.tensors = [tensor for _, tensor in found]

    def like(self, values: Sequence[Any]) -> list[Any]:
        """The tensors of other values; raises ValueError when their forms differ."""
        if self._forms_of(values) != self._forms:
            raise ValueError("these values hold other tensors")
        return [tensor for _, tensor in self._of(values)]

    def gather(self, found: Sequence[Finding], whole: Sequence[Finding]) -> list[Finding]:
        """One finding per value, the worst of its tensors'.

        Args:
            found: one per tensor.
            whole: what is known of each value otherwise.
        """
        worst = list(whole)
        for (index, place), finding in zip(self.places, found, strict=True):
            if place and finding.reason:
                finding = replace(finding, reason=f"element {place}: {finding.reason}")  # noqa: PLW2901 - the same finding, placed
            known = worst[index]
            bigger = max(known, finding, key=lambda f: f.status.rank)
            worst[index] = replace(
                bigger,
                max_ulp=max(known.max_ulp, finding.max_ulp),
                max_abs=max(known.max_abs, finding.max_abs),
            )
        return worst

    def _of(self, values: Sequence[Any]) -> Iterator[tuple[tuple[int, str], Any]]:
        for index, value in enumerate(values):
            if index not in self._without:
                for place, tensor in leaves(value):
                    yield (index, place), tensor

    def _forms_of(self, values: Sequence[Any]) -> list[str]:
        return [form(v) for i, v in enumerate(values) if i not in self._without]


def _order(key: Any) -> tuple[bool, Any]:
    return isinstance(key, str), key


def _short(text: str) -> str:
    shown = {"none": "absent", "tensor": "a tensor"}.get(text, text)
    return shown if len(shown) <= 80 else f"{shown[:77]}..."
