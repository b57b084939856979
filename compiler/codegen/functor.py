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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Value


LONGEST = 8
"""Elements that a thread computes at most; what is a multiple of it suits every kernel."""

INTEGERS = frozenset({"int32_t", "int64_t"})
"""Types that are read as they are: float32 does not hold all of them."""


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
    "full": "i + j",
    "row": "i % modulus{n} + j",
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


def render(operands: Sequence[Operand], lines: Sequence[tuple[str, str]], result: str) -> str:
    """The struct; lines are (name, expression) over `x`, the value, and `a0`, `a1`, …, operands."""
    pointers = [f"  const {o.ctype}* p{n};" for n, o in enumerate(operands)]
    words: list[str] = []
    loads: list[str] = []
    for n, operand in enumerate(operands):
        kind, convert = ("float", "to_f") if operand.ctype not in INTEGERS else (operand.ctype, "")
        form = operand.access.kind
        words += [text.format(n=n, rank=len(operand.access.words) // 2) for text in WORDS[form]]
        if form in {"scalar", "channel"}:
            index = "0" if form == "scalar" else f"i / divisor{n} % modulus{n}"
            loads.append(f"    const {kind} s{n} = {convert}(p{n}[{index}]);")
        elif form in {"full", "row"} and operand.ctype not in INTEGERS:
            start = "i" if form == "full" else f"i % modulus{n}"
            loads += [f"    float e{n}[N];", f"    load<true>(p{n} + {start}, e{n});"]
        else:
            index = EACH[form].format(n=n)
            loads += [
                f"    {kind} e{n}[N];",
                "    UNROLL",
                f"    for (int j = 0; j < N; j++) e{n}[j] = {convert}(p{n}[{index}]);",
            ]
    body = ["    UNROLL", "    for (int j = 0; j < N; j++) {", "      const float x = v[j];"]
    for n, operand in enumerate(operands):
        source = f"s{n}" if operand.access.kind in {"scalar", "channel"} else f"e{n}[j]"
        kind = operand.ctype if operand.ctype in INTEGERS else "float"
        body.append(f"      const {kind} a{n} = {source};")
    body += [f"      const float {name} = {text};" for name, text in lines]
    body += [f"      v[j] = {result};", "    }"]
    call = "  template <int N> DEV void operator()(float (&v)[N], uint32_t i) const {"
    return "\n".join(
        ["struct Epilogue {", *pointers, *words, call, *loads, *body, "  }", "};"]
        if lines or operands
        else ["struct Epilogue {", call, "  }", "};"]
    )
