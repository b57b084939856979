"""What a lowering rule works with: the graph being built, and the node that is being lowered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isomorph.frontends.array.structure import is_many
from isomorph.frontends.torch import numbers
from isomorph.frontends.torch.errors import LoweringError, NotLowered, TraceError
from isomorph.frontends.torch.scope import Number, Param, TorchScope
from isomorph.frontends.torch.symbols import Symbols, Whole, dtype_of
from isomorph.frontends.torch.weights import Weights
from isomorph.ir.dims import Expr
from isomorph.ir.graph import Value
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph

FARTHEST = (1 << 63) - 1
"""What torch writes for "to the end"."""


class Context:
    """The first argument of every rule.

    Attributes:
        node: the torch.fx node; `node.meta["val"]` says what torch makes of it.
        symbols: torch's symbols by our names.
        weights: the graph's weights.
        scope: builds and types operators.
    """

    def __init__(self, graph: Graph, symbols: Symbols) -> None:
        self.scope = TorchScope(graph)
        self.symbols = symbols
        self.weights = Weights(graph, self.scope.emit)
        self.node: Any = None

    @property
    def graph(self) -> Graph:
        """The graph under construction."""
        return self.scope.graph

    # -- building -----------------------------------------------------------------------------

    def __call__(self, op: str, *inputs: Value | None, **attributes: Any) -> Value:
        """The result of an operator."""
        return self.ops(op, *inputs, **attributes)[0]

    def ops(
        self, op: str, *inputs: Value | None, outputs: int = 1, **attributes: Any
    ) -> tuple[Value, ...]:
        """The results of an operator with several."""
        given = list(inputs)
        while given and given[-1] is None:
            given.pop()
        try:
            return self.scope.emit(op, given, attributes, outputs=outputs).results
        except TraceError as error:
            raise NotLowered(str(error).split(": ", 1)[-1].split("\n")[0], error.instead) from None

    def const(self, number: Any, dtype: DType) -> Value:
        """A constant, rounded once to the element type."""
        return self.scope.constant(np.asarray(number).astype(dtype.numpy), "constant")

    def ints(self, *sizes: Whole) -> Value:
        """Numbers or dims as an int64 vector."""
        return self.scope.dims(sizes)

    def size(self, dim: Whole) -> Value:
        """A number or dim as an int64 scalar."""
        return self.scope.dim(dim)

    def cast(self, x: Value, dtype: DType) -> Value:
        """The value in another element type; itself when it has that."""
        return x if self.dtype(x) is dtype else self("Cast", x, to=dtype.value)

    def tensor(self, x: Any, dtype: DType | None = None) -> Value:
        """A tensor, a Python number, a dim or a symbolic number as a value of an element type."""
        match x:
            case Value():
                made = x
            case Expr():
                made = self.size(x)
            case Number():
                made = numbers.lowered(self.scope, self.symbols, x.expr)
            case bool():
                return self.const(x, dtype or DType.BOOL)
            case int():
                return self.const(x, dtype or DType.INT64)
            case float():
                return self.const(x, dtype or DType.FLOAT32)
            case _:
                raise NotLowered(f"{type(x).__name__} {x!r:.60} is no tensor and no number")
        return made if dtype is None else self.cast(made, dtype)

    def stored(self, x: Value | Param) -> Value:
        """The value of a weight that nobody has asked for yet; any other value as it is."""
        return self.weights.value(x.tensor, x.name) if isinstance(x, Param) else x

    # -- reading ------------------------------------------------------------------------------

    def type(self, x: Value) -> TensorType:
        """The type of a value, whose rank is known here always."""
        if not isinstance(x.type, TensorType) or x.type.shape is None:
            raise LoweringError(f"{self.node}: the type of %{x.name} is {x.type}")
        return x.type

    def dtype(self, x: Value) -> DType:
        return self.type(x).dtype

    def shape(self, x: Value) -> tuple[Whole, ...]:
        """The dims of a value; NotLowered where one of them is unknown."""
        dims = self.type(x).shape or ()
        if any(d is None for d in dims):
            raise NotLowered(f"the shape {self.type(x)} is not known")
        return tuple(d for d in dims if d is not None)

    def rank(self, x: Value) -> int:
        return len(self.type(x).shape or ())

    def fixed(self, x: Value, axis: int, what: str) -> int:
        """A dim that has to be a number."""
        dim = self.shape(x)[axis]
        if not isinstance(dim, int):
            raise NotLowered(
                f"{what} needs a fixed size on axis {axis} of {self.type(x)}",
                "a number in the input's specification",
            )
        return dim

    def axis(self, axis: int, rank: int) -> int:
        """A non-negative axis."""
        return axis % rank if rank else 0

    @property
    def result(self) -> Any:
        """What torch makes of the node: a fake tensor, or a tuple of them."""
        return self.node.meta.get("val")

    @property
    def result_dtype(self) -> DType:
        """The element type of the node's (first) result."""
        found = self.result
        if is_many(found):
            found = found[0]
        return dtype_of(found.dtype)

    @property
    def result_shape(self) -> tuple[Whole, ...]:
        """The dims of the node's (first) result; NotLowered where one cannot be written."""
        found = self.result
        if is_many(found):
            found = found[0]
        dims = [self.symbols.dim_or_none(d) for d in found.shape]
        if any(d is None for d in dims):
            raise NotLowered(
                f"the result's shape {tuple(found.shape)} is arithmetic of torch's own"
            )
        return tuple(d for d in dims if d is not None)

    def promoted(self, *raw: Any) -> DType:
        """`torch.result_type` of arguments as the node has them."""
        kinds = [_value(a) for a in raw]
        first, *rest = kinds
        if not rest:
            return dtype_of(first.dtype) if hasattr(first, "dtype") else DType.INT64
        return dtype_of(torch.result_type(first, rest[0]))

    def same(self, a: Whole, b: Whole) -> bool:
        """Whether two dims are known to be equal."""
        return self.scope.same(a, b)

    def positive(self, dim: Whole) -> bool:
        """Whether a dim is known to be at least 1."""
        return self.scope.trace.facts.decide(dim, ">=", 1) is True

    # -- what many rules need -------------------------------------------------------------------

    def reshape(self, x: Value, shape: Sequence[Whole]) -> Value:
        """The same elements in another shape; the shape is a constant wherever that is exact."""
        own = self.shape(x)
        if len(own) == len(shape) and all(self.same(a, b) for a, b in zip(own, shape, strict=True)):
            return x
        free = [i for i, d in enumerate(shape) if not isinstance(d, int)]
        if not free:
            return self("Reshape", x, self.ints(*shape), allowzero=int(0 in shape) or None)
        copied = [i for i in free if i < len(own) and self.same(own[i], shape[i])]
        left = [i for i in free if i not in copied]
        if 0 not in shape and len(left) <= 1:
            # 0 copies a size; -1 is the rest, which is not told where a copied size may be 0.
            lone = len(free) == 1
            if not left or lone or all(self.positive(shape[i]) for i in copied):
                marks = [0 if i in copied else -1 if i in left else d for i, d in enumerate(shape)]
                return self("Reshape", x, self.ints(*marks))
        return self("Reshape", x, self.ints(*shape), allowzero=1)

    def expand(self, x: Value, shape: Sequence[Whole]) -> Value:
        """Broadcast to a shape; axes that stay as they are do not compute their size."""
        own = (1,) * (len(shape) - self.rank(x)) + self.shape(x)
        if len(own) == self.rank(x) and all(
            self.same(a, b) for a, b in zip(own, shape, strict=True)
        ):
            return x
        wanted = [1 if self.same(a, b) else b for a, b in zip(own, shape, strict=True)]
        return self("Expand", x, self.ints(*wanted))

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """Axes in another order."""
        order = tuple(self.axis(p, self.rank(x)) for p in perm)
        return x if order == tuple(range(self.rank(x))) else self("Transpose", x, perm=order)

    def swapped(self, x: Value | Param) -> Value:
        """The last two axes exchanged; a weight is read the other way round at no cost."""
        if isinstance(x, Param):
            return self.weights.value(x.tensor, x.name, transposed=True)
        rank = self.rank(x)
        return self.transpose(x, (*range(rank - 2), rank - 1, rank - 2))

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        return self("Unsqueeze", x, self.ints(*axes))

    def squeeze(self, x: Value, *axes: int) -> Value:
        return self("Squeeze", x, self.ints(*axes)) if axes else x

    def slice(self, x: Value, axis: int, start: Whole, end: Whole, step: int = 1) -> Value:
        """x[start:end:step] along an axis."""
        return self("Slice", x, self.ints(start), self.ints(end), self.ints(axis), self.ints(step))

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        return self("Where", condition, x, y)

    def full(self, shape: Sequence[Whole], number: Any, dtype: DType) -> Value:
        """A tensor of one number."""
        scalar = self.tensor(number, dtype)
        return self.expand(scalar, shape) if shape else scalar


def _value(argument: Any) -> Any:
    """What torch knows of a node's argument."""
    if isinstance(argument, torch.fx.Node):
        found = argument.meta.get("val")
        if isinstance(found, torch.SymInt):
            return 1
        return 1.0 if isinstance(found, torch.SymFloat) else found
    return argument
