"""Einstein summation: checked here, computed by Einsum."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import broadcast, cast, emit, lift
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import result_type
from isomorph.frontends.array.scope import current

if TYPE_CHECKING:
    from isomorph.frontends.array.traced import Traced
    from isomorph.ir.dims import Expr

_INT32 = np.dtype(np.int32)


def einsum(
    *operands: Any,
    out: None = None,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
    optimize: Any = False,
) -> Traced:
    """In both of numpy's notations; an implicit result is spelt out."""
    text, given = _notation(operands)
    wanted = np.dtype(dtype) if dtype is not None else result_type(*given)
    arrays = [lift(v, wanted) for v in given]
    equation, shape = _resolved(text, arrays)
    if wanted.kind == "b":
        arrays = [cast(a, _INT32) for a in arrays]
    return cast(emit("Einsum", *arrays, equation=equation, shape=shape), wanted)


def _notation(operands: tuple[Any, ...]) -> tuple[str, list[Any]]:
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), list(operands[1:])
    pairs, last = list(operands), None
    if len(pairs) % 2:
        last = pairs.pop()
    inputs = [_letters(axes) for axes in pairs[1::2]]
    text = ",".join(inputs) + ("" if last is None else f"->{_letters(last)}")
    return text, pairs[::2]


def _letters(axes: Any) -> str:
    return "".join("..." if a is Ellipsis else string.ascii_letters[a] for a in axes)


def _resolved(text: str, arrays: list[Traced]) -> tuple[str, list[int | Expr | None]]:
    """The equation with its result spelt out, and the result's dims."""
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(arrays):
        raise TraceError(f"einsum {text!r} has {len(terms)} terms for {len(arrays)} operands")
    sizes: dict[str, int | Expr] = {}
    between: list[int | Expr] = []
    for term, array in zip(terms, arrays, strict=True):
        between = _bind(text, term, array, sizes, between)
    if not arrow:
        letters = left.replace(",", "").replace(".", "")
        right = "..." if "..." in left else ""
        right += "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    if not re.fullmatch(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*", right) or set(right) - set(sizes) - {"."}:
        raise TraceError(f"einsum {text!r}: the result {right!r} has letters that no operand has")
    shape: list[int | Expr | None] = []
    for piece in re.findall(r"\.\.\.|[A-Za-z]", right):
        shape += between if piece == "..." else [sizes[piece]]
    return f"{left}->{right}", shape


def _bind(
    text: str,
    term: str,
    array: Traced,
    sizes: dict[str, int | Expr],
    between: list[int | Expr],
) -> list[int | Expr]:
    if not re.fullmatch(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*", term):
        raise TraceError(f"einsum {text!r}: {term!r} is not a list of letters")
    letters = term.replace("...", "")
    hidden = array.ndim - len(letters)
    if hidden < 0 or (hidden and "..." not in term):
        raise TraceError(f"einsum {text!r}: {term!r} does not fit {array.type}")
    before = term.partition("...")[0] if "..." in term else term
    start = len(before)
    dims = [*array.dims[:start], *array.dims[start + hidden :]]
    for letter, dim in zip(letters, dims, strict=True):
        known = sizes.setdefault(letter, dim)
        if known == 1 != dim:
            sizes[letter] = dim
        elif dim != 1:
            current().require(dim, "==", known, f"index {letter!r} of einsum {text!r}")
    return list(broadcast(between, array.dims[start : start + hidden]))
