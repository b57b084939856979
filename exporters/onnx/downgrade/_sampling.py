"""GridSample by Gather and arithmetic, for versions that lack it or its number of axes."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade._fourier import size_of
from isomorph.exporters.onnx.downgrade._older import NARROW, refuse
from isomorph.ir.build import Build
from isomorph.ir.ops.image import MODES
from isomorph.ir.semantics._sampling import FARTHEST
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch

    Tap = tuple[Value, Value | None, Value | None]

_A = -0.75
"""The constant of cubic convolution (Keys)."""


def grid_sample(op: Op, patch: Patch) -> None:
    """Each element that a place is made of is gathered, weighted and added."""
    _Sampler(op, patch).run()


class _Sampler:
    """One GridSample, written out."""

    def __init__(self, op: Op, patch: Patch) -> None:
        self.op = op
        self.build = Build(op, patch)
        self.rank = self.build.rank() - 2
        self.mode = MODES.get(str(op.attr("mode", "linear")), "")
        self.padding = str(op.attr("padding_mode", "zeros"))
        self.corners = bool(op.attr("align_corners", 0))
        self.dtype = self._dtype()

    def _dtype(self) -> DType:
        """In which places and weighted elements are computed."""
        own, grid = self.build.dtype(), self.build.dtype(1)
        if self.mode == "nearest":
            return DType.FLOAT32 if grid in NARROW else grid
        if own.is_integer or own is DType.BOOL:
            return DType.FLOAT64
        if not own.is_float:
            refuse(self.op, f"GridSample of {own} by interpolation is not written as simpler ones")
        return DType.FLOAT64 if DType.FLOAT64 in (own, grid) else DType.FLOAT32

    def run(self) -> None:
        """Channels go last, so that one gather reads all of them; and back."""
        build, rank = self.build, self.rank
        data = (
            build.operand() if self.mode == "nearest" else build.cast(build.operand(), self.dtype)
        )
        rows = build("Transpose", data, perm=(0, *range(2, rank + 2), 1))
        grid = build.cast(build.operand(1), self.dtype)
        total: Value | None = None
        for combination in product(*(self._taps(grid, axis) for axis in range(rank))):
            read = self._read(rows, combination)
            total = read if total is None else build("Add", total, read)
        if total is None:
            refuse(self.op)
        found = build("Transpose", total, perm=(0, rank + 1, *range(1, rank + 1)))
        build.done(build.cast(found, build.dtype()))

    def _size(self, axis: int) -> Value:
        """The number of elements along an axis."""
        return size_of(self.build, self.build.operand(), axis + 2)

    def _float(self, number: float) -> Value:
        return self.build.const(number, self.dtype)

    def _int(self, number: int) -> Value:
        return self.build.const(number, DType.INT64)

    def _taps(self, grid: Value, axis: int) -> list[Tap]:
        """Per element that a place along an axis is made of: index, whether it is there, weight."""
        build, one = self.build, self._float(1.0)
        size = build.cast(self._size(axis), self.dtype)
        column = build("Gather", grid, self._int(self.rank - 1 - axis), axis=-1)
        unit, half = build("Add", column, one), self._float(0.5)
        if self.corners:
            place = build("Mul", build("Mul", unit, half), build("Sub", size, one))
        else:
            place = build("Mul", build("Sub", build("Mul", unit, size), one), half)
        place = self._limited(place)
        if self.mode == "nearest":
            return [(*self._inside(build("Round", place), axis), None)]
        first = build("Floor", place)
        past = build("Sub", place, first)
        rest = build("Sub", one, past)
        if self.mode == "linear":
            offsets, weights = (0, 1), [rest, past]
        else:
            offsets = (-1, 0, 1, 2)
            weights = [
                self._outer(past, rest),
                self._inner(past),
                self._inner(rest),
                self._outer(rest, past),
            ]
        found: list[Tap] = []
        for offset, weight in zip(offsets, weights, strict=True):
            at = first if not offset else build("Add", first, self._float(float(offset)))
            found.append((*self._inside(at, axis), weight))
        return found

    def _limited(self, place: Value) -> Value:
        """A place that an integer can hold; NaN is outside."""
        build, low, high = self.build, self._float(-FARTHEST), self._float(FARTHEST)
        place = build("Where", build("IsNaN", place), low, place)
        return build("Max", build("Min", place, high), low)

    def _outer(self, t: Value, s: Value) -> Value:
        """The weight a·t·s² of an outer element."""
        build = self.build
        return build("Mul", build("Mul", build("Mul", t, s), s), self._float(_A))

    def _inner(self, t: Value) -> Value:
        """The weight ((a + 2) t - (a + 3)) t² + 1 of an inner one."""
        build = self.build
        slope = build("Sub", build("Mul", t, self._float(_A + 2)), self._float(_A + 3))
        return build("Add", build("Mul", build("Mul", slope, t), t), self._float(1.0))

    def _inside(self, place: Value, axis: int) -> tuple[Value, Value | None]:
        """An index with padding applied, and, for zeros, whether there is such an element."""
        build, size = self.build, self._size(axis)
        index = build.cast(place, DType.INT64)
        zero, one, two = (self._int(v) for v in (0, 1, 2))
        if self.padding == "reflection":
            last = build("Sub", size, one)
            period = build("Mul", last if self.corners else size, two)
            period = build("Max", period, one)
            ahead = build("Mod", index, period)
            end = period if self.corners else build("Sub", period, one)
            return build("Min", ahead, build("Sub", end, ahead)), None
        held = build("Max", build("Min", index, build("Sub", size, one)), zero)
        return held, None if self.padding == "border" else build("Equal", held, index)

    def _read(self, rows: Value, combination: tuple[Tap, ...]) -> Value:
        """Weighted elements (N, places…, C) of one combination of indices."""
        build, last = self.build, self.build.ints(-1)
        _, there, weight = combination[0]
        for _, held, part in combination[1:]:
            if there is not None and held is not None:
                there = build("And", there, held)
            if weight is not None and part is not None:
                weight = build("Mul", weight, part)
        indices = [build("Unsqueeze", index, last) for index, _, _ in combination]
        index = indices[0] if len(indices) == 1 else build("Concat", *indices, axis=-1)
        read = build("GatherND", rows, index, batch_dims=1)
        if there is not None:
            read = self._or_nothing(build("Unsqueeze", there, last), read)
        return read if weight is None else build("Mul", read, build("Unsqueeze", weight, last))

    def _or_nothing(self, there: Value, read: Value) -> Value:
        """What was read where it is there, else what pads."""
        kind = read.type.dtype if isinstance(read.type, TensorType) else self.dtype
        if kind is DType.BOOL:
            return self.build("And", there, read)
        if kind is DType.STRING:
            nothing = self.build.patch.weight(Weight.of(np.array("", object), kind))
        else:
            nothing = self.build.const(0, kind)
        return self.build("Where", there, read, nothing)
