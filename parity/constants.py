"""Which constants of a candidate are the reference's own, and which a pass rewrote.

A rewritten number (a folded product, a Python float stored as float32) was rounded once to its
stored dtype; question 1 grants exactly that, by perturbing those numbers and no others. A number is
rewritten when it occurs nowhere among the reference's constants and is not short (see `noise`), or
when it is what the reference computes of constants alone (see `folded`), rounded.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.copies import copy_graph
from isomorph.ir.interpret import Program
from isomorph.ir.types import DType
from isomorph.ir.weights import Weight
from isomorph.parity.folded import content
from isomorph.parity.noise import is_short
from isomorph.parity.tolerance.units import Unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.parity.folded import Folded

VERY_SHORT_BITS = 5
WHOLE_SINGLE = 2.0**24
"""From here on every float32 is an integer, whatever it stands for."""


def numbers(constants: Iterable[Any]) -> np.ndarray:
    """Every distinct float among arrays, weights and numbers, sorted, as float64."""
    found = [np.zeros(0)]
    for constant in constants:
        array = constant.numpy() if isinstance(constant, Weight) else np.asarray(constant)
        if array.dtype.kind not in "OUSTbiucM" and DType.of(array.dtype).is_float:
            found.append(np.asarray(array, np.float64).reshape(-1))
    return np.unique(np.concatenate(found))


def constants(graph: Graph) -> Iterator[Any]:
    """Weights, tensor attributes and float attributes, in subgraphs too."""
    yield from weights(graph)
    for _, op in graph.walk():
        for _, value in _float_attributes(op):
            yield np.asarray(value, np.float64)


def weights(graph: Graph) -> Iterator[Weight]:
    """Weights and tensor attributes, in subgraphs too."""
    for current in graph.graphs():
        yield from (v.weight for v in current.weights() if v.weight is not None)
        for op in current.ops():
            yield from (v for v in op.attributes.values() if isinstance(v, Weight))


def _float_attributes(op: Op) -> Iterator[tuple[str, Any]]:
    for name, value in op.attributes.items():
        if isinstance(value, float) or (
            isinstance(value, tuple) and value and isinstance(value[0], float)
        ):
            yield name, value


class Rewritten:
    """The rewritten constants of a candidate, ready to be perturbed.

    Args:
        graph: the candidate.
        known: the reference's numbers, sorted.
        digests: the reference's weights, by content; such weights are not looked into.
        folded: what the reference computes of constants, and how far that was rounded.
    """

    def __init__(
        self,
        graph: Graph,
        known: np.ndarray,
        digests: frozenset[bytes],
        folded: Folded | None = None,
    ) -> None:
        self._graph = graph
        self._known = known
        self._digests = digests
        self._folded: Folded = folded or {}
        self._roundings: dict[int, np.ndarray | None] = {}
        self._attributes = [
            (index, name)
            for index, (_, op) in enumerate(graph.walk())
            for name, value in _float_attributes(op)
            if self._mask(np.asarray(value, np.float64)).any()
        ]

    @cached_property
    def count(self) -> int:
        """How many weights and attributes have such numbers."""
        of_weights = sum(1 for w in weights(self._graph) if self._of(w) is not None)
        return of_weights + len(self._attributes)

    def run(self, program: Program, inputs: list[Any], seed: int) -> list[Any]:
        """The candidate's outputs with its rewritten constants perturbed by one rounding each."""
        rng = np.random.default_rng(seed)
        if self._attributes:
            program = Program(self._moved_attributes(rng), wide=True)
        return program.run(inputs, change=self._change(rng))

    def changing(self, seed: int) -> Callable[[Value, Any], Any]:
        """A hook of `Program.run` that perturbs rewritten weights by one rounding each."""
        return self._change(np.random.default_rng(seed))

    def moved(self, op: Op, seed: int) -> Op:
        """An op with its rewritten attributes at a neighbour each."""
        rng = np.random.default_rng(seed)
        found = {name: self._neighbours(value, rng) for name, value in _float_attributes(op)}
        return op.with_attributes({**op.attributes, **found}) if found else op

    def _change(self, rng: np.random.Generator) -> Callable[[Value, Any], Any]:
        def change(value: Value, array: Any) -> Any:
            weight = value.weight
            if weight is None and value.producer is not None and value.producer.type == "Constant":
                weight = value.producer.attributes.get("value")
            found = self._of(weight) if isinstance(weight, Weight) else None
            if found is None:
                return array
            return np.asarray(array) + rng.uniform(-1.0, 1.0, found.shape) * found

        return change

    def _of(self, weight: Weight) -> np.ndarray | None:
        """How far each element of a weight was rounded at most, if any was rewritten."""
        if id(weight) not in self._roundings:
            found = None
            if weight.dtype.is_float:
                found = self._folded.get(content(weight.numpy())) if self._folded else None
                found = None if found is None else found.reshape(weight.shape)
                if weight.digest() not in self._digests:
                    found = self._rounded(weight, found)
            self._roundings[id(weight)] = found
        return self._roundings[id(weight)]

    def _rounded(self, weight: Weight, found: np.ndarray | None) -> np.ndarray | None:
        """The same for a weight that the reference does not have."""
        array = np.asarray(weight.numpy(), np.float64)
        if not self._mask(array, weight.dtype.bits).any():
            return found
        with np.errstate(all="ignore"):
            size = np.where(np.isfinite(array), np.abs(array), 0.0) * Unit.of(weight.dtype).u
        mask = ~np.isin(array, self._known)  # what looks short may have been rounded too
        return np.maximum(0.0 if found is None else found, np.where(mask, size, 0.0))

    def _mask(self, array: np.ndarray, bits: int = 64) -> np.ndarray:
        whole = WHOLE_SINGLE if bits == 32 else 2.0**53
        short = is_short(array, whole) if bits > 16 else _is_very_short(array)
        return ~_is_among(array, self._known) & ~short

    def _moved_attributes(self, rng: np.random.Generator) -> Graph:
        moved, _ = copy_graph(self._graph)
        ops = [op for _, op in moved.walk()]
        for index, name in self._attributes:
            ops[index].attributes[name] = self._neighbours(ops[index].attributes[name], rng)
        return moved

    def _neighbours(self, attribute: Any, rng: np.random.Generator) -> Any:
        value = np.asarray(attribute, np.float64)
        array = np.where(self._mask(value), _neighbour(value, rng), value)
        return tuple(float(v) for v in array) if array.ndim else float(array)


def _is_among(array: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which elements are among numbers that are sorted: `np.isin` would sort these each time."""
    if not known.size:
        return np.zeros(array.shape, bool)
    at = np.minimum(np.searchsorted(known, array), known.size - 1)
    return np.asarray(known[at] == array)


def _is_very_short(array: np.ndarray) -> np.ndarray:
    """Numbers that look exact among those of 16 bits, of which every one is short for float32."""
    significand, _ = np.frexp(array)
    scaled = significand * (1 << VERY_SHORT_BITS)
    return (scaled == np.rint(scaled)) | (array == np.rint(array))


def _neighbour(value: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The next float32 above or below: attributes are rounded to that whenever they are read."""
    towards = np.where(rng.random(value.shape) < 0.5, -np.inf, np.inf)
    return np.nextafter(value.astype(np.float32), towards.astype(np.float32)).astype(np.float64)


def digests(graph: Graph) -> frozenset[bytes]:
    """Content hashes of every weight."""
    return frozenset(w.digest() for w in weights(graph))
