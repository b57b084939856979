"""Einsum in older operators: Transpose, Unsqueeze, MatMul, Mul and ReduceSum."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.build import Build
from isomorph.ir.ops._einsum import read_equation
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch

NARROW = (DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)
"""Integers that MatMul, Mul and ReduceSum lack; their sums wrap alike when computed in int32."""


@dataclass(frozen=True)
class Term:
    """A tensor and the label of each of its axes."""

    value: Value
    labels: tuple[str, ...]


class Decomposition:
    """One Einsum on its way into a patch."""

    def __init__(self, op: Op, patch: Patch) -> None:
        self.op = op
        self.build = Build(op, patch)
        types = [v.type if v is not None else None for v in op.inputs]
        ranks = [t.rank if isinstance(t, TensorType) else None for t in types]
        equation = read_equation(op.attr("equation"), ranks, self.problem)
        first = types[0] if types else None
        if equation is None or not isinstance(first, TensorType):
            raise self.problem("the rank of an operand is not known")
        self.equation = equation
        self.dtype = first.dtype
        self.dims: dict[str, Dim] = {}
        self.equal: set[str] = set()
        """Labels whose dims are known to be the same wherever they stand (none is a lone 1)."""
        self._read_dims([t.shape or () for t in types if isinstance(t, TensorType)])

    def problem(self, reason: str) -> InexpressibleError:
        """Why it cannot be done."""
        return InexpressibleError(
            f"{reason}, so {self.op.attr('equation')!r} cannot be written without Einsum",
            "export at opset 12 or newer",
            12,
        )

    def _read_dims(self, shapes: list[tuple[Dim, ...]]) -> None:
        found: dict[str, list[Dim]] = {}
        for labels, shape in zip(self.equation.terms, shapes, strict=True):
            for label, dim in zip(labels, shape, strict=True):
                found.setdefault(label, []).append(dim)
        for label, dims in found.items():
            others = [d for d in dims if d != 1] or [1]
            self.dims[label] = (
                others[0] if all(d is others[0] or d == others[0] for d in others) else None
            )
            if self.dims[label] is not None and len(others) == len(dims):
                self.equal.add(label)

    def run(self) -> Value:
        """The result."""
        operands = [v for v in self.op.inputs if v is not None]
        wide = DType.INT32 if self.dtype in NARROW else self.dtype
        terms: list[Term] = []
        for value, labels in zip(operands, self.equation.terms, strict=True):
            terms.append(self._distinct(Term(self.build.cast(value, wide), labels), wide))
        while len(terms) > 1:
            first, second, *rest = terms
            needed = {*self.equation.result, *(s for t in rest for s in t.labels)}
            first = self._sum(first, needed | set(second.labels))
            second = self._sum(second, needed | set(first.labels))
            pair = self._matmul(first, second, needed) or self._multiply(first, second)
            terms = [pair, *rest]
        found = self._sum(terms[0], set(self.equation.result))
        return self.build.cast(self._arrange(found, self.equation.result).value, self.dtype)

    def _distinct(self, term: Term, dtype: DType) -> Term:
        """Keep the diagonal of a repeated label: others become zero, then one axis is summed."""
        for label in dict.fromkeys(term.labels):
            while term.labels.count(label) > 1:
                size = self.dims[label]
                if not isinstance(size, int):
                    raise self.problem(f"the diagonal's length ({size}) is symbolic")
                first = term.labels.index(label)
                second = term.labels.index(label, first + 1)
                shape = [1] * len(term.labels)
                shape[first] = shape[second] = size
                mask = self.build.const(np.eye(size).reshape(shape), DType.BOOL)
                kept = self.build("Where", mask, term.value, self.build.const(0, dtype))
                labels = (*term.labels[:second], *term.labels[second + 1 :])
                term = Term(self._reduce(kept, second), labels)
        return term

    def _reduce(self, value: Value, *axes: int) -> Value:
        return self.build("ReduceSum", value, self.build.ints(*axes), keepdims=0)

    def _sum(self, term: Term, needed: set[str]) -> Term:
        """Sum the axes that nothing reads any more."""
        axes = [n for n, label in enumerate(term.labels) if label not in needed]
        if not axes:
            return term
        labels = tuple(label for label in term.labels if label in needed)
        return Term(self._reduce(term.value, *axes), labels)

    def _arrange(self, term: Term, labels: Sequence[str]) -> Term:
        """Axes in the order of `labels`; those that the term lacks are added with size 1."""
        present = [label for label in labels if label in term.labels]
        order = tuple(term.labels.index(label) for label in present)
        value = term.value
        if order != tuple(range(len(order))):
            value = self.build("Transpose", value, perm=order)
        missing = [n for n, label in enumerate(labels) if label not in term.labels]
        if missing:
            value = self.build("Unsqueeze", value, self.build.ints(*missing))
        return Term(value, tuple(labels))

    def _multiply(self, a: Term, b: Term) -> Term:
        labels = tuple(dict.fromkeys((*a.labels, *b.labels)))
        left, right = self._arrange(a, labels).value, self._arrange(b, labels).value
        return Term(self.build("Mul", left, right), labels)

    def _matmul(self, a: Term, b: Term, needed: set[str]) -> Term | None:
        """One MatMul, where axes to be merged have known sizes; `None` where it does not apply."""
        both = [label for label in a.labels if label in b.labels]
        batch = [label for label in both if label in needed]
        inner = [label for label in both if label not in needed]
        left = [label for label in a.labels if label not in both]
        right = [label for label in b.labels if label not in both]
        if not inner or not set(both) <= self.equal:
            return None
        groups = (inner, left, right)
        merged = any(len(group) != 1 for group in groups)
        sizes = [self.dims[label] for group in groups for label in group]
        if merged and not all(isinstance(size, int) and size > 0 for size in sizes):
            return None
        rows = self._matrix(a, batch, left, inner)
        columns = self._matrix(b, batch, inner, right)
        product = self.build("MatMul", rows, columns)
        labels = (*batch, *left, *right)
        if len(left) == 1 and len(right) == 1:
            return Term(product, labels)
        shape = self.build.ints(*[0] * len(batch), *self._sizes([*left, *right]))
        return Term(self.build("Reshape", product, shape), labels)

    def _matrix(self, term: Term, batch: list[str], rows: list[str], columns: list[str]) -> Value:
        """The term as [batch…, rows, columns], groups of axes merged by a Reshape."""
        found = self._arrange(term, (*batch, *rows, *columns))
        if len(rows) == 1 and len(columns) == 1:
            return found.value
        shape = [0] * len(batch) + [prod(self._sizes(group)) for group in (rows, columns)]
        return self.build("Reshape", found.value, self.build.ints(*shape))

    def _sizes(self, labels: Sequence[str]) -> list[int]:
        return [size for size in (self.dims[label] for label in labels) if isinstance(size, int)]


def decompose_einsum(op: Op, patch: Patch) -> None:
    """Put older ops in the place of an Einsum.

    Raises:
        InexpressibleError: for the diagonal of an axis of symbolic size, and unknown ranks.
    """
    work = Decomposition(op, patch)
    work.build.done(work.run())
