"""The graph under construction: operators at the user's line, sizes as data, numbers from sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isomorph.frontends.array.scope import Scope, Trace
from isomorph.frontends.torch.errors import LoweringError, NotLowered
from isomorph.ir.dims import Expr, symbol
from isomorph.ir.infer import Content
from isomorph.ir.source import Source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from isomorph.ir.graph import Graph, Op, Value


class TorchScope(Scope):
    """A graph under construction whose operators carry the place of the node being lowered.

    Attributes:
        place: of the node.
        reached: what each torch operator of the program became, by its name.
    """

    def __init__(self, graph: Graph) -> None:
        super().__init__(Trace(_NoRules()), graph)
        self.place: Source | None = Source()
        self.reached: dict[str, dict[str, None]] = {}
        self._reaches: dict[str, None] = {}
        self.numbers: dict[str, Value] = {}
        self._vectors: dict[int | Expr, Value] = {}
        self._shapes: dict[tuple[int | Expr, ...], Value] = {}

    def emit(self, type: str, inputs: Sequence[Value | None], *args: Any, **kwargs: Any) -> Op:  # noqa: A002
        """As `Scope.emit`, at the place of the node."""
        self._reaches.setdefault(type)
        if kwargs.get("source") is None:
            kwargs["source"] = self.place
        return super().emit(type, inputs, *args, **kwargs)

    def lowering(self, name: str) -> None:
        """What is built from here on is what a torch operator becomes."""
        self._reaches = self.reached.setdefault(name, {})

    def dim(self, size: int | Expr) -> Value:
        """A dim as an int64 scalar."""
        if isinstance(size, int):
            return self.constant(np.array(size, np.int64), "size")
        found = self._dims.get(size)
        if found is None:
            zero = self.constant(np.array([0], np.int64), "axes")
            found = self.emit("Squeeze", [self._vector(size), zero]).output
            self._dims[size] = found
            self.contents[found] = Content((size,), scalar=True)
        return found

    def dims(self, shape: Sequence[int | Expr]) -> Value:
        """Dims as an int64 vector; the same dims are the same value."""
        key = tuple(shape)
        if all(isinstance(d, int) for d in key):
            return self.constant(np.array(key, np.int64), "shape")
        found = self._shapes.get(key)
        if found is None:
            parts = [self._vector(d) for d in _grouped(key)]
            found = parts[0] if len(parts) == 1 else self.emit("Concat", parts, {"axis": 0}).output
            self._shapes[key] = found
            self.contents[found] = Content(key)
        return found

    def _vector(self, size: int | Expr | tuple[int, ...]) -> Value:
        """A dim as a vector of one element (or several numbers as one vector)."""
        if isinstance(size, tuple):
            return self.constant(np.array(size, np.int64), "sizes")
        if isinstance(size, int):
            return self.constant(np.array([size], np.int64), "sizes")
        found = self._vectors.get(size)
        if found is None:
            found = self._computed(size)
            self._vectors[size] = found
            self.contents[found] = Content((size,))
        return found

    def _computed(self, size: Expr) -> Value:
        total: Value | None = None
        for monomial, factor in sorted(size.terms, key=lambda t: t[1] < 0):
            made: Value | None = None
            step = factor if total is None else abs(factor)
            for atom in monomial:
                part = self._atom_vector(atom)
                made = part if made is None else self.emit("Mul", [made, part]).output
            if made is None:
                made = self._vector(step)
            elif step != 1:
                made = self.emit("Mul", [made, self._vector(step)]).output
            if total is None:
                total = made
            else:
                total = self.emit("Add" if factor > 0 else "Sub", [total, made]).output
        if total is None:
            raise LoweringError(f"{size} has no terms")
        return total

    def _atom_vector(self, atom: tuple[Any, ...]) -> Value:
        if atom[0] == "sym":
            lone = symbol(atom[1])
            if lone not in self._vectors:
                self._vectors[lone] = self._size(atom[1])
                self.contents[self._vectors[lone]] = Content((lone,))
            return self._vectors[lone]
        a, b = self._vector(atom[1]), self._vector(atom[2])
        if atom[0] == "max":
            return self.emit("Max", [a, b]).output
        # ONNX divides integers towards zero; Mod takes the divisor's sign.
        rest = self.emit("Mod", [a, b]).output
        return self.emit("Div", [self.emit("Sub", [a, rest]).output, b]).output

    def _size(self, name: str) -> Value:
        if name in self.numbers:
            zero = self.constant(np.array([0], np.int64), "axes")
            return self.emit("Unsqueeze", [self.numbers[name], zero]).output
        known = self.trace.symbols.get(name)
        if known is None:
            raise NotLowered(f"the size `{name}` is known only to torch")
        _, value, axis = known
        return self.emit("Shape", [value], {"start": axis, "end": axis + 1}).output


class Param(NamedTuple):
    """A parameter, buffer or constant that no operator has asked for yet."""

    tensor: torch.Tensor
    name: str


class Number(NamedTuple):
    """A number that torch computes from sizes, as a sympy expression that is no dim."""

    expr: Any


class _NoRules:
    """Nothing is traced through arrays here."""

    def operator(self, name: str, *args: Any) -> Any:
        raise NotImplementedError(name)

    def function(self, path: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        raise NotImplementedError(path)

    def method(self, name: str, array: Any) -> Any:
        raise NotImplementedError(name)

    def ufunc(self, ufunc: Any, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        raise NotImplementedError(method)

    def array_function(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        raise NotImplementedError(str(function))


def _grouped(shape: tuple[int | Expr, ...]) -> list[Any]:
    """Neighbouring numbers together, so that they are one constant."""
    found: list[Any] = []
    for dim in shape:
        if isinstance(dim, int) and found and isinstance(found[-1], tuple):
            found[-1] = (*found[-1], dim)
        else:
            found.append((dim,) if isinstance(dim, int) else dim)
    return found
