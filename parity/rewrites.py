"""What onnxruntime's optimizer makes of quantizers that is another function, played through.

Each rewrite is played through in the float64 evaluation, op by op, so that it explains just what it
does. The formulas are those of the optimizer, in float32 where it computes in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.runtimes.divergences import words
from isomorph.ir.constants import numbers
from isomorph.ir.semantics import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Graph, Op, Value
    from isomorph.ir.interpret import Watch

    Change = Callable[[Op, Sequence[Any], list[Any], dict[Op, Any]], list[Any]]

QUANTIZE, DEQUANTIZE = ("", "QuantizeLinear"), ("", "DequantizeLinear")
WEIGHTED = (("", "Conv"), ("", "ConvTranspose"), ("", "Gemm"))
CUT = words("softmax-cut")
MERGED = words("double-quantizers-merged")
WEIGHTS = words("weights-quantized")


@dataclass(frozen=True, slots=True)
class Grid:
    """A scalar scale and zero point, and the limits of the integers."""

    scale: np.float32
    zero: int
    low: int
    high: int

    def rounded(self, x: np.ndarray) -> np.ndarray:
        """Numbers as they are after a pair of quantizers."""
        scale = float(self.scale)
        steps = np.clip(np.rint(x / scale) + self.zero, self.low, self.high)
        return (steps - self.zero) * scale

    def merged(self, other: Grid) -> Grid:
        """The one grid over what both can hold."""
        low = max(np.float32(g.low - g.zero) * g.scale for g in (self, other))
        high = min(np.float32(g.high - g.zero) * g.scale for g in (self, other))
        scale = np.float32((high - low) / np.float32(self.high - self.low))
        place = np.float32(self.low) - low / scale
        return Grid(scale, int(np.floor(place + np.float32(0.5))), self.low, self.high)


class Rewrites:
    """Those that apply to a graph.

    Attributes:
        words: what they are, each once.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._changes: dict[Op, Change] = {}
        self._sources: dict[Op, Op] = {}
        self._grids: dict[Op, Grid] = {}
        self.words: dict[str, None] = {}
        for op in graph.sorted_ops():
            self._softmax(op)
            self._weights(op)
            self._pairs(op)

    def __bool__(self) -> bool:
        return bool(self._changes)

    def watch(self) -> Watch:
        """A hook for one evaluation, which plays all of them through."""
        seen: dict[Op, Any] = {}
        sources = set(self._sources.values())

        def watch(op: Op, operands: list[Any], results: list[Any]) -> list[Any] | None:
            if op in sources:
                seen[op] = operands[0]
            change = self._changes.get(op)
            return None if change is None else change(op, operands, results, seen)

        return watch

    def _softmax(self, op: Op) -> None:
        if op.key != ("", "Softmax") or _producer(op, 0) != DEQUANTIZE:
            return
        after = self._only_reader(op)
        grid = None if after is None or after.key != QUANTIZE else grid_of(after)
        if grid is None:
            return
        factor = float(np.floor(np.float32(1) / grid.scale)) * float(grid.scale)
        if abs(1 - factor) > 2.0**-20:
            self._changes[op] = lambda _op, _operands, results, _seen: [results[0] * factor]
            self.words[CUT] = None

    def _weights(self, op: Op) -> None:
        before = op.inputs[0].producer if op.key in WEIGHTED and op.inputs[0] else None
        grid = None if before is None or before.key != DEQUANTIZE else grid_of(before)
        after = self._only_reader(op)
        while after is not None and after.key in (("", "Relu"), ("", "Clip")):
            after = self._only_reader(after)
        if grid is None or after is None or after.key != QUANTIZE:
            return
        if _producer(op, 1) == DEQUANTIZE and (op.input(2) is None or _producer(op, 2) is not None):
            return
        scale = grid.scale

        def change(op: Op, operands: Sequence[Any], _: list[Any], _seen: object) -> list[Any]:
            return evaluate(op, _requantized(op, operands, scale), wide=True)

        self._changes[op] = change
        self.words[WEIGHTS] = None

    def _pairs(self, op: Op) -> None:
        """A chain is merged pair by pair, each with what came of those before it."""
        if op.key != DEQUANTIZE or op.inputs[0] is None:
            return
        first = self._sources.get(op) or op.inputs[0].producer
        second = self._only_reader(op)
        last = None if second is None else self._only_reader(second)
        if first is None or second is None or last is None:
            return
        if (first.key, second.key, last.key) != (QUANTIZE, QUANTIZE, DEQUANTIZE):
            return
        if op not in self._sources and not self._is_pair(first, op):
            return
        one, two = self._grids.get(first) or grid_of(first), grid_of(second)
        if one is None or two is None or (one.low, one.high) != (two.low, two.high):
            return
        if grid_of(last) != two:
            return
        grid = one if one == two else one.merged(two)
        self._sources[last], self._grids[first] = first, grid

        def change(_op: Op, _: Sequence[Any], results: list[Any], seen: dict[Op, Any]) -> list[Any]:
            found = grid.rounded(np.asarray(seen[first], np.float64))
            return [found.astype(results[0].dtype)]

        self._changes[last] = change
        self.words[MERGED] = None

    def _is_pair(self, first: Op, second: Op) -> bool:
        return self._only_reader(first) is second and grid_of(first) == grid_of(second)

    def _only_reader(self, op: Op) -> Op | None:
        if len(op.results) != 1 or self._graph.is_output(op.results[0]):
            return None
        readers = list(self._graph.consumers(op.results[0]))
        return readers[0] if len(readers) == 1 else None


def grid_of(op: Op) -> Grid | None:
    """The grid of a quantizer of 8 bits with constant scalars, its zero point stated."""
    scale, zero = numbers(op.input(1)), numbers(op.input(2))
    if scale is None or zero is None or scale.size != 1 or zero.size != 1:
        return None
    low = {"uint8": 0, "int8": -128}.get(zero.dtype.name)
    if scale.dtype != np.float32 or low is None:
        return None
    return Grid(np.float32(scale.reshape(-1)[0]), int(zero.reshape(-1)[0]), low, low + 255)


def _producer(op: Op, index: int) -> tuple[str, str] | None:
    value: Value | None = op.input(index)
    return None if value is None or value.producer is None else value.producer.key


def _requantized(op: Op, operands: Sequence[Any], scale: np.float32) -> list[Any]:
    """Operands of a convolution or product as they are once the optimizer has quantized them."""
    changed = [*operands]
    weights = np.asarray(operands[1], np.float64)
    if _producer(op, 1) == DEQUANTIZE:
        before = op.inputs[1].producer if op.inputs[1] is not None else None
        known = None if before is None else numbers(before.input(1))
        step = None if known is None else known.astype(np.float64) * float(scale)
    else:
        low = np.float32(min(weights.min(initial=0), 0))
        high = np.float32(max(weights.max(initial=0), 0))
        own = np.float32(1) if high == low else (high - low) / np.float32(255)
        place = np.clip(np.float32(-128) - low / own, -128, 127)
        changed[1] = Grid(own, int(np.rint(place)), -128, 127).rounded(weights)
        step = np.asarray(float(own) * float(scale))
    if len(operands) > 2 and operands[2] is not None and step is not None:
        changed[2] = np.rint(np.asarray(operands[2]) / step) * step
    return changed
