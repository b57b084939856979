"""Which value of one graph is which of another: by name where names hold, else by what it holds.

Passes, other exporters and other front ends change names and structure, but a right value is still
the reference's value. See docs/parity.md.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import Program
from isomorph.parity.arrays import is_tensor
from isomorph.parity.noise import EVALUATION_ERRORS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.ir.graph import Graph, Op, Value

NEAR = 2.0**-20
"""Relative to the largest element, what two values of the same meaning may differ by."""
SAMPLED = 16
"""Elements that are compared before all are."""

Key = tuple[tuple[str, ...], str, int]


@dataclass(frozen=True, slots=True)
class Mate:
    """A value of the reference, as it was computed; `op` is `None` for inputs and weights."""

    value: Value
    op: Op | None
    array: Any


class Record:
    """Every value of one float64 evaluation of a graph, those of subgraphs each time they run.

    Attributes:
        mates: in order of evaluation.
        outputs: of the graph; empty where it could not be evaluated to the end.
    """

    def __init__(self, graph: Graph, inputs: Sequence[Any]) -> None:
        self.mates: list[Mate] = []
        self.outputs: list[Any] = []
        self._named: dict[Key, Mate] = {}
        self._alone: dict[str, Mate | None] = {}
        self._shaped: dict[tuple[Any, ...], list[Mate]] = {}
        places = Places(graph)

        def watch(op: Op, operands: list[Any], results: list[Any]) -> None:
            for value, key, result in places.of(op, results):
                self._add(Mate(value, op, result), key)

        try:
            self.outputs = Program(graph, wide=True).run(inputs, watch=watch)
        except EVALUATION_ERRORS:  # what was computed until then is what there is to compare
            return

    def named(self, key: Key) -> Mate | None:
        """The value of that name in that subgraph, in that turn; else the only one of that name."""
        found = self._named.get(key)
        return found if found is not None else self._alone.get(key[1])

    def held(self, array: Any) -> Mate | None:
        """A value that holds nearly the same tensor."""
        if not is_tensor(array):
            return None
        near = (m for m in self._shaped.get(_kind(array), ()) if is_near(m.array, array))
        return next(near, None)

    def _add(self, mate: Mate, key: Key) -> None:
        self.mates.append(mate)
        self._named[key] = mate
        self._alone[key[1]] = None if key[1] in self._alone else mate
        if is_tensor(mate.array):
            self._shaped.setdefault(_kind(mate.array), []).append(mate)


class Places:
    """Keys of the results of a graph's ops: subgraph, name, and how often the op has run."""

    def __init__(self, graph: Graph) -> None:
        self._paths: dict[Op, tuple[str, ...]] = {}
        self._turns: Counter[Op] = Counter()
        stack: list[tuple[Graph, tuple[str, ...]]] = [(graph, ())]
        while stack:
            current, path = stack.pop()
            for op in current.ops():
                self._paths[op] = path
                owner = next((v.name for v in op.results), op.name)
                stack.extend((g, (*path, owner, name)) for name, g in op.subgraphs())

    def of(self, op: Op, results: Sequence[Any]) -> Iterator[tuple[Value, Key, Any]]:
        """(value, key, array) of every result that is present."""
        turn = self._turns[op]
        self._turns[op] += 1
        for value, result in zip(op.outputs, results, strict=False):
            if value is not None:
                yield value, (self._paths[op], value.name, turn), result


def structural(candidate: Graph, reference: Graph, mates: dict[Value, Value]) -> dict[Value, Value]:
    """Further mates: operands of equal ops that lead to the outputs, back to where ops differ."""
    found = dict(mates)
    taken = set(mates.values())
    stack = list(zip(candidate.outputs, reference.outputs, strict=False))
    while stack:
        mine, theirs = stack.pop()
        if mine in found or theirs in taken:
            continue
        found[mine] = theirs
        taken.add(theirs)
        one, other = mine.producer, theirs.producer
        if one is None or other is None or (one.key, len(one.inputs)) != (
            other.key, len(other.inputs)
        ):  # fmt: skip
            continue
        pairs = zip(one.inputs, other.inputs, strict=True)
        stack += [(a, b) for a, b in pairs if a is not None and b is not None]
    return found


def is_near(one: Any, other: Any) -> bool:
    """Whether two tensors of one shape are equal, or floats that differ very little."""
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind != "f" or b.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    with np.errstate(all="ignore"):
        step = max(a.size // SAMPLED, 1)
        for part in (slice(None, None, step), slice(None)):
            p, q = a.reshape(-1)[part], b.reshape(-1)[part]
            top = float(np.abs(p[np.isfinite(p)]).max(initial=0.0))
            if part.step is not None and step > 1:
                top = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
            if not ((p == q) | (np.isnan(p) & np.isnan(q)) | (np.abs(p - q) <= NEAR * top)).all():
                return False
    return True


def _kind(array: Any) -> tuple[Any, ...]:
    found = np.asarray(array)
    return found.shape, found.dtype.kind
