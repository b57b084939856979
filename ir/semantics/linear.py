"""linear: what each operator computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.ops._einsum import read_equation
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics._accumulate import accumulate, in_accumulator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]


def _matmul(call: Call, a: Array, b: Array) -> Array:
    return in_accumulator(np.matmul, a, b)


def gemm(call: Call, a: Array, b: Array, c: Array | None = None) -> Array:
    """A product of matrices, either of them turned, and what is added to it."""
    left = a.T if call.attr("transA", 0) else a
    right = b.T if call.attr("transB", 0) else b
    product = _scaled(np.matmul(accumulate(left), accumulate(right)), call.attr("alpha", 1.0))
    beta = call.attr("beta", 1.0)
    if c is not None and beta != 0:
        alike = c.shape == product.shape or bool(call.attr("broadcast", 0))
        if call.op.key == ("", "Gemm") and call.op.version < 7 and not alike:
            raise TypeInferenceError(
                f"{call.op}: operand 2 has shape {c.shape}, {product.shape} was expected: "
                "broadcast is 0"
            )
        product = call.fitting(product + _scaled(accumulate(c), beta), product.shape)
    return product.astype(a.dtype, copy=False)


def _scaled(array: Array, factor: float) -> Array:
    """Integers stay exact (and wrap) for a whole factor, and are truncated for another."""
    if factor == 1:
        return array
    if array.dtype.kind in "iu":
        if float(factor).is_integer():
            return array * np.array(int(factor)).astype(array.dtype)
        return (array * factor).astype(array.dtype)
    return array * array.dtype.type(factor)


def _einsum(call: Call, *operands: Array) -> Array:
    def error(message: str) -> Exception:
        return TypeInferenceError(f"{call.op}: {message}")

    equation = read_equation(call.attr("equation"), [o.ndim for o in operands], error)
    if equation is None:
        raise error("an operand has no rank")
    _check_labels(equation.terms, operands, error)
    number = {
        label: n for n, label in enumerate(dict.fromkeys(s for t in equation.terms for s in t))
    }
    arguments: list[Any] = []
    for operand, term in zip(operands, equation.terms, strict=True):
        arguments += [accumulate(operand), [number[label] for label in term]]
    result = [number[label] for label in equation.result]
    found = np.einsum(*arguments, result, optimize=len(operands) > 1)
    return np.asarray(found).astype(operands[0].dtype, copy=False)


def _check_labels(
    terms: Sequence[Sequence[str]], operands: Sequence[Array], error: Callable[[str], Exception]
) -> None:
    """Raise unless every label has one size, or 1."""
    sizes: dict[str, int] = {}
    for term, operand in zip(terms, operands, strict=True):
        for label, size in zip(term, operand.shape, strict=True):
            if size != 1 and sizes.setdefault(label, size) != size:
                raise error(f"label {label!r} stands for {sizes[label]} and for {size}")


def _det(call: Call, a: Array) -> Array:
    return in_accumulator(np.linalg.det, a)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "MatMul"): (Impl(_matmul),),
    ("", "Gemm"): (Impl(gemm),),
    ("", "Einsum"): (Impl(_einsum),),
    ("", "Det"): (Impl(_det),),
}
