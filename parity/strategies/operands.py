"""Operands for a use: values that the graph has, new inputs, weights.

The sizes that a use states are names rather than numbers: where a value with another size stands in
for one of its operands, every other size that was the same number becomes that size too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir import schema
from isomorph.ir.instances import array_of, resolve, type_of, value_of
from isomorph.ir.types import DType, TensorType, schema_name
from isomorph.parity.strategies.choices import chance, numbers, one_of
from isomorph.parity.strategies.growing import Fresh, Held, Use
from isomorph.parity.strategies.kinds import HOSTILE, ORDINARY
from isomorph.parity.strategies.specs import Spec
from isomorph.parity.strategies.uses import attributes_of
from isomorph.parity.strategies.values import fill

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim, Expr
    from isomorph.ir.instances import Arg
    from isomorph.parity.strategies.choices import Choices
    from isomorph.parity.strategies.growing import Growing
    from isomorph.parity.strategies.uses import Seed

SHARED, WEIGHTS, SYMBOLIC = 75, 25, 55
"""How often, in percent, an operand is a value that there is, else a weight; a new dim a symbol."""
MOST_SYMBOLS = 6
SIZES = (2, 3, 1, 4, 5, 7)


@dataclass(frozen=True, slots=True)
class _Size:
    """What a number of the use became."""

    dim: int | Expr
    size: int


class Operands:
    """Chooses them, in order; what was chosen decides what fits next.

    Args:
        plain: everything is new, and as the use states it.
    """

    def __init__(self, choices: Choices, growing: Growing, seed: Seed, *, plain: bool) -> None:
        self.choices, self.growing, self.seed, self.plain = choices, growing, seed, plain
        self._sizes: dict[int, _Size] = {}

    def use(self) -> Use:
        """The op with all of its operands."""
        seed, instance = self.seed, self.seed.instance
        operands = [
            None if a is None else self._operand(n, a) for n, a in enumerate(instance.inputs)
        ]
        captures = [self._operand(-1, a) for a in instance.captures]
        attributes = attributes_of(self.choices, seed, as_given=self.plain)
        return Use(seed.key, tuple(operands), attributes, instance.outputs, tuple(captures))

    def _operand(self, index: int, arg: Arg) -> Held | Fresh:
        instance, main = self.seed.instance, self.seed.main
        if arg.form:
            return self._container(arg)
        dtype = self._dtype(index, arg, resolve(arg, instance, main))
        rng = numbers(self.choices)
        if arg.const:
            return Fresh(TensorType(dtype, arg.shape), array_of(arg, dtype, rng), constant=True)
        found = None if self.plain else self._there(arg, dtype)
        return self._new(arg, dtype, rng) if found is None else found

    def _container(self, arg: Arg) -> Held | Fresh:
        """A sequence, an optional or a map."""
        kind = type_of(arg, self.seed.instance, self.seed.main)
        same = [h for h in self.growing.held if h.type and schema_name(h.type) == schema_name(kind)]
        if same and not self.plain and chance(self.choices, SHARED):
            return one_of(self.choices, same)
        rng = numbers(self.choices)
        return Fresh(kind, value_of(arg, self.seed.instance, self.seed.main, rng))

    def _dtype(self, index: int, arg: Arg, dtype: DType) -> DType:
        """The element type: int32 for int64 or the reverse, now and then, where both may stand."""
        known = schema.canonical(*self.seed.key)
        formal = known.input(index) if known is not None and index >= 0 else None
        if self.plain or formal is None or arg.dtype not in {"int64", "int32"}:
            return dtype
        other = DType.INT32 if dtype is DType.INT64 else DType.INT64
        swap = other.schema_name in formal.dtypes and chance(self.choices, 20)
        return other if swap else dtype

    def _there(self, arg: Arg, dtype: DType) -> Held | None:
        """A value of the graph: one whose sizes fit what was chosen before, if there is one."""
        often = 15 if arg.values is not None else SHARED
        if not chance(self.choices, often):
            return None
        typed = [h for h in self.growing.held if h.tensor is not None and h.tensor.dtype is dtype]
        ranked = [h for h in typed if np.ndim(h.array) == len(arg.shape)]
        fitting = [h for h in ranked if self._fits(arg, h)]
        unused = [h for h in fitting if not self.growing.graph.is_used(h.value)]
        for some, often in ((unused, 60), (fitting, 80), (ranked, 80), (typed, 50)):
            if some and chance(self.choices, often):
                found = one_of(self.choices, some)
                self._learn(arg, found)
                return found
        return None

    def _fits(self, arg: Arg, held: Held) -> bool:
        for number, size in zip(arg.shape, np.shape(held.array), strict=True):
            known = self._sizes.get(number)
            if known is not None and known.size != size:
                return False
            if number == 1 and size != 1:
                return False
        return True

    def _learn(self, arg: Arg, held: Held) -> None:
        kind = held.tensor
        if kind is None or kind.shape is None or len(kind.shape) != len(arg.shape):
            return
        shape: tuple[int, ...] = np.shape(held.array)
        for number, dim, size in zip(arg.shape, kind.shape, shape, strict=True):
            if number != 1:
                self._sizes.setdefault(number, _Size(size if dim is None else dim, size))

    def _new(self, arg: Arg, dtype: DType, rng: np.random.Generator) -> Fresh:
        sizes = [self._size(number) for number in arg.shape]
        shape = tuple(s.size for s in sizes)
        fixed = all(isinstance(s.dim, int) for s in sizes)
        values = arg.values if shape == arg.shape else None
        given = type(arg)(shape, arg.dtype, values, arg.low, arg.high)
        array = array_of(given, dtype, rng)
        constant = self.growing.closed or (fixed and chance(self.choices, WEIGHTS))
        if constant:
            if values is None and dtype.is_float and arg.low < 0 and chance(self.choices, 40):
                array = _drawn(self.choices, dtype, shape, rng)
            return Fresh(TensorType(dtype, shape), array, constant=True)
        dims: tuple[Dim, ...] = tuple(s.dim for s in sizes)
        return Fresh(TensorType(dtype, dims), array)

    def _size(self, number: int) -> _Size:
        known = self._sizes.get(number)
        if known is not None:
            return known
        size = number
        if not self.plain and number > 1 and chance(self.choices, 25):
            size = one_of(self.choices, SIZES)
        elif not self.plain and chance(self.choices, 1):
            size = 0
        found = _Size(self._dim(size), size)
        if number != 1:
            self._sizes[number] = found
        return found

    def _dim(self, size: int) -> int | Expr:
        """A number, or a symbol of that size: one that there is, if it may be."""
        if self.growing.closed or not chance(self.choices, 10 if size < 2 else SYMBOLIC):
            return size
        known = [n for n, s in self.growing.sizes.items() if s == size]
        count = len(self.growing.sizes)
        if known and (count >= MOST_SYMBOLS or chance(self.choices, 70)):
            return self.growing.dim(one_of(self.choices, known), size)
        return size if count >= MOST_SYMBOLS else self.growing.dim("nmkhst"[count], size)


def _drawn(choices: Choices, dtype: DType, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
    """Numbers of one kind, ordinary or not, for a weight."""
    kinds = [k for k in (*ORDINARY, *HOSTILE) if k != "constants"]
    return fill(Spec("w", dtype, shape), one_of(choices, kinds), {}, rng)
