"""Elementwise expressions as a device functor: `struct Epilogue`, called on float32 values.

Operands beside the value itself are read where element i of the result finds them:

    full      at i
    scalar    at 0
    row       at i % modulus, which is a multiple of 8: a bias of aligned rows, read as vectors
    channel   at (i / divisor) % modulus, the divisor a multiple of 8: one element serves a vector
    ring      the same for any divisor and modulus
    strided   wherever strides over the result's collapsed axes say
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.codegen.spec import COMPUTED_AS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Value


LONGEST = 8
"""Elements that a thread computes at most; what is a multiple of it suits every kernel."""

WORDS: dict[str, tuple[str, ...]] = {
    "full": (),
    "scalar": (),
    "row": ("  uint32_t modulus{n};",),
    "channel": ("  uint32_t divisor{n}, modulus{n};",),
    "ring": ("  uint32_t divisor{n}, modulus{n};",),
    "strided": ("  strided<{rank}> view{n};",),
}
"""Parameters of each kind of access."""

EACH = {
    "ring": "(i + j) / divisor{n} % modulus{n}",
    "strided": "view{n}.at(i + j)",
}
"""Where each element of a vector lies, for what is not read as one."""


@dataclass(frozen=True, slots=True)
class Access:
    """How an operand is read.

    Attributes:
        kind: one of the above.
        words: divisor and modulus; sizes, then strides of a strided view.
    """

    kind: str
    words: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that an expression reads, its element type in the dialect, and how it is read."""

    value: Value
    ctype: str
    access: Access


@dataclass(frozen=True, slots=True)
class Line:
    """A step of an expression: the type, the name and the text of a constant."""

    name: str
    kind: str
    text: str


def access(shape: Sequence[int], strides: Sequence[int]) -> Access:
    """The cheapest way to read a tensor along a row-major result of this shape."""
    dims = collapse(shape, (strides,))
    if not dims:
        return Access("scalar")
    sizes = [size for size, _ in dims]
    steps = [step for _, (step,) in dims]
    if all(s == 0 for s in steps):
        return Access("scalar")
    if len(dims) == 1 and steps == [1]:
        return Access("full")
    inner = 1
    while steps and steps[-1] == 0:
        inner *= sizes.pop()
        steps.pop()
    if steps in ([1], [0, 1]):
        modulus = sizes[-1]
        if inner == 1 and modulus % LONGEST == 0:
            return Access("row", (modulus,))
        return Access("ring" if inner % LONGEST else "channel", (inner, modulus))
    return Access("strided", (*(s for s, _ in dims), *(s for _, (s,) in dims)))


def collapse(
    shape: Sequence[int], strides: Sequence[Sequence[int]]
) -> list[tuple[int, tuple[int, ...]]]:
    """Axes of size 1 dropped and neighbours joined, where every tensor's strides allow it."""
    dims: list[tuple[int, tuple[int, ...]]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        steps = tuple(s[axis] for s in strides)
        if dims and all(a == b * size for a, b in zip(dims[-1][1], steps, strict=True)):
            dims[-1] = (dims[-1][0] * size, steps)
        else:
            dims.append((size, steps))
    return dims


def computed_as(ctype: str) -> str:
    """The type that expressions have for elements of a type."""
    return COMPUTED_AS.get(ctype, ctype)


def render(
    operands: Sequence[Operand], lines: Sequence[Line], result: str, kind: str = "float"
) -> str:
    """The struct.

    Args:
        operands: they are `a0`, `a1`, … in expressions.
        lines: in order; expressions are over operands, earlier lines, and `x`, the value.
        result: the expression that replaces the value.
        kind: the type of the value.
    """
    pointers = [f"  const {o.ctype}* p{n};" for n, o in enumerate(operands)]
    words: list[str] = []
    loads: list[str] = []
    for n, operand in enumerate(operands):
        own, form = computed_as(operand.ctype), operand.access.kind
        words += [text.format(n=n, rank=len(operand.access.words) // 2) for text in WORDS[form]]
        if form in {"scalar", "channel"}:
            index = "0" if form == "scalar" else f"i / divisor{n} % modulus{n}"
            loads.append(f"    const {own} s{n} = value(p{n}[{index}]);")
            continue
        loads.append(f"    {own} e{n}[N];")
        if form in {"full", "row"}:
            start = "i" if form == "full" else f"i % modulus{n}"
            loads.append(f"    load<true>(p{n} + {start}, e{n});")
        else:
            index = EACH[form].format(n=n)
            loads += [
                "    UNROLL",
                f"    for (int j = 0; j < N; j++) e{n}[j] = value(p{n}[{index}]);",
            ]
    body = ["    UNROLL", "    for (int j = 0; j < N; j++) {", f"      const {kind} x = v[j];"]
    for n, operand in enumerate(operands):
        source = f"s{n}" if operand.access.kind in {"scalar", "channel"} else f"e{n}[j]"
        body.append(f"      const {computed_as(operand.ctype)} a{n} = {source};")
    body += [f"      const {line.kind} {line.name} = {line.text};" for line in lines]
    body += [f"      v[j] = {result};", "    }"]
    call = f"  template <int N> DEV void operator()({kind} (&v)[N], uint32_t i) const {{"
    return "\n".join(
        ["struct Epilogue {", *pointers, *words, call, *loads, *body, "  }", "};"]
        if lines or operands
        else ["struct Epilogue {", call, "  }", "};"]
    )
