"""Dimensions with arithmetic: interned expressions over symbols, and constraints on them.

An `Expr` is a polynomial with integer coefficients over atoms, kept in a normal form, so that
equal expressions are the same object. An atom is a symbol, a floor division, or a maximum.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, overload
from weakref import WeakValueDictionary

from isomorph.ir.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Atom = tuple[Any, ...]
"""("sym", name), ("div", dividend, divisor) or ("max", a, b)."""
Monomial = tuple[Atom, ...]
"""A product of atoms, sorted; () is the constant term."""
Terms = tuple[tuple[Monomial, int], ...]


class Expr:
    """A symbolic integer; build with `symbol`, `+`, `-`, `*`, `//`, `%` and `maximum`."""

    __slots__ = ("__weakref__", "_text", "terms")
    _interned: ClassVar[WeakValueDictionary[Terms, Expr]] = WeakValueDictionary()
    terms: Terms
    _text: str | None

    def __new__(cls, terms: dict[Monomial, int]) -> Self:
        key = tuple(sorted(((m, c) for m, c in terms.items() if c), key=_term_key))
        found = cls._interned.get(key)
        if found is None:
            found = super().__new__(cls)
            found.terms = key
            found._text = None
            cls._interned[key] = found
        return cast("Self", found)

    def __add__(self, other: int | Expr) -> int | Expr:
        total = dict(self.terms)
        for monomial, factor in _terms(other):
            total[monomial] = total.get(monomial, 0) + factor
        return _simplest(total)

    __radd__ = __add__

    def __neg__(self) -> int | Expr:
        return _simplest({m: -c for m, c in self.terms})

    def __sub__(self, other: int | Expr) -> int | Expr:
        return self + (-other)

    def __rsub__(self, other: int | Expr) -> int | Expr:
        return -self + other

    def __mul__(self, other: int | Expr) -> int | Expr:
        total: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in _terms(other):
                m = tuple(sorted(m1 + m2, key=str))
                total[m] = total.get(m, 0) + c1 * c2
        return _simplest(total)

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Expr) -> int | Expr:
        return floor_div(self, other)

    def __rfloordiv__(self, other: int | Expr) -> int | Expr:
        return floor_div(other, self)

    def __mod__(self, other: int | Expr) -> int | Expr:
        return self - floor_div(self, other) * other

    def __str__(self) -> str:
        if self._text is None:
            self._text = _expr_text(self)
        return self._text

    __repr__ = __str__

    def symbols(self) -> frozenset[str]:
        """Names of all symbols within."""
        return frozenset(_symbols(self))

    def evaluate(self, dims: Mapping[str, int]) -> int:
        """The number this is when every symbol is bound; KeyError names a missing one."""
        value = substitute(self, dims)
        if isinstance(value, int):
            return value
        raise KeyError(", ".join(sorted(value.symbols())))

    def __reduce__(self) -> tuple[type[Expr], tuple[dict[Monomial, int]]]:
        return Expr, (dict(self.terms),)


Dim = int | Expr | None
Bindings = Mapping[str, int] | Mapping[str, int | Expr]


def symbol(name: str) -> Expr:
    """The symbolic dim called `name`."""
    return Expr({(("sym", name),): 1})


def floor_div(a: int | Expr, b: int | Expr) -> int | Expr:
    """`a // b`, exact where the quotient is a polynomial."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if isinstance(b, int):
        if b == 1:
            return a
        whole: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        for m, c in _terms(a):
            whole[m], rest[m] = divmod(c, b)
        left = _simplest(rest)
        if isinstance(left, int):
            return _simplest(whole) + left // b
        shared = gcd(b, *(c for _, c in left.terms))
        if shared > 1:
            left, b = _simplest({m: c // shared for m, c in left.terms}), b // shared
        return _simplest(whole) + Expr({(("div", left, b),): 1})
    exact = _exact_quotient(a, b)
    return exact if exact is not None else Expr({(("div", a, b),): 1})


def maximum(a: int | Expr, b: int | Expr) -> int | Expr:
    """The larger of two dims, decided at once when their difference is a number."""
    difference = a - b
    if isinstance(difference, int):
        return a if difference >= 0 else b
    return Expr({(("max", *sorted((a, b), key=str)),): 1})


def minimum(a: int | Expr, b: int | Expr) -> int | Expr:
    """The smaller of two dims."""
    return -maximum(-a, -b)


@overload
def substitute(dim: int | Expr, dims: Bindings) -> int | Expr: ...
@overload
def substitute(dim: None, dims: Bindings) -> None: ...
def substitute(dim: Dim, dims: Bindings) -> Dim:
    """`dim` with symbols replaced where `dims` knows them."""
    if not isinstance(dim, Expr):
        return dim
    total: int | Expr = 0
    for monomial, factor in dim.terms:
        product: int | Expr = factor
        for atom in monomial:
            product = product * _substitute_atom(atom, dims)
        total = total + product
    return total


def dim_text(dim: Dim) -> str:
    """How a dim is written; `?` when unknown."""
    return "?" if dim is None else str(dim)


def parse_dim(text: str) -> int | Expr:
    """Read what `str(dim)` writes: names, integers, `+ - * // %`, `max(a, b)`.

    Raises:
        SpecError: if the text is none of these.
    """
    try:
        return _build(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise SpecError(f"cannot read dim {text!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class Constraint:
    """A relation that must hold between dims, such as `batch >= 4` or `h % 8 == 0`."""

    left: int | Expr
    relation: str
    right: int | Expr
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.left} {self.relation} {self.right}"

    def holds(self, dims: Mapping[str, int]) -> bool | None:
        """Whether it holds under these bindings; `None` when they do not decide it."""
        left, right = substitute(self.left, dims), substitute(self.right, dims)
        if isinstance(left, int) and isinstance(right, int):
            return RELATIONS[self.relation](left, right)
        if left is right:
            return self.relation in ("==", ">=", "<=")
        return None

    def symbols(self) -> frozenset[str]:
        """Names of all symbols within."""
        return frozenset(s for side in (self.left, self.right) for s in _symbols(side))

    @staticmethod
    def parse(text: str, reason: str = "") -> Constraint:
        """Read `a >= b` and the like; raises SpecError."""
        match = re.fullmatch(r"(.+?)\s*(==|!=|>=|<=|>|<)\s*(.+)", text.strip())
        if not match:
            raise SpecError(f"cannot read constraint {text!r}: expected `dim >= dim` or the like")
        left, relation, right = match.groups()
        return Constraint(parse_dim(left), relation, parse_dim(right), reason)


RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _term_key(term: tuple[Monomial, int]) -> tuple[int, str]:
    monomial, _ = term
    return (-len(monomial), str(monomial))


def _terms(value: int | Expr) -> Terms:
    return value.terms if isinstance(value, Expr) else (((), value),) if value else ()


def _simplest(terms: dict[Monomial, int]) -> int | Expr:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Expr(kept)


def _exact_quotient(a: int | Expr, b: Expr) -> int | Expr | None:
    """`a / b` when `b` is one term that divides every term of `a`."""
    if a is b:
        return 1
    if len(b.terms) != 1:
        return None
    ((divisor, factor),) = b.terms
    result: dict[Monomial, int] = {}
    for monomial, c in _terms(a):
        left = list(monomial)
        for atom in divisor:
            if atom not in left:
                return None
            left.remove(atom)
        if c % factor:
            return None
        result[tuple(left)] = c // factor
    return _simplest(result)


def _substitute_atom(atom: Atom, dims: Bindings) -> int | Expr:
    kind = atom[0]
    if kind == "sym":
        return dims.get(atom[1], symbol(atom[1]))
    if kind == "div":
        divisor = substitute(atom[2], dims)
        if divisor == 0:
            return Expr({(("div", substitute(atom[1], dims), 0),): 1})
        return floor_div(substitute(atom[1], dims), divisor)
    return maximum(substitute(atom[1], dims), substitute(atom[2], dims))


def _symbols(value: int | Expr) -> Iterator[str]:
    if isinstance(value, int):
        return
    for monomial, _ in value.terms:
        for atom in monomial:
            if atom[0] == "sym":
                yield atom[1]
            else:
                yield from _symbols(atom[1])
                yield from _symbols(atom[2])


def _atom_text(atom: Atom) -> str:
    if atom[0] == "sym":
        return atom[1]
    if atom[0] == "div":
        below = f"({atom[2]})" if isinstance(atom[2], Expr) else str(atom[2])
        return f"({atom[1]}) // {below}"
    return f"max({atom[1]}, {atom[2]})"


def _expr_text(expr: Expr) -> str:
    parts: list[str] = []
    for monomial, factor in expr.terms:
        names = [_atom_text(a) for a in monomial]
        if len(names) > 1 or abs(factor) != 1:
            names = [f"({n})" if "//" in n else n for n in names]
        if abs(factor) != 1 or not names:
            names.insert(0, str(abs(factor)))
        text = "*".join(names)
        sign = "-" if factor < 0 else "+"
        parts.append(f" {sign} {text}" if parts else f"-{text}" if factor < 0 else text)
    return "".join(parts)


_BINARY: dict[type[ast.operator], Callable[[int | Expr, int | Expr], int | Expr]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: floor_div,
    ast.Mod: lambda a, b: a - floor_div(a, b) * b,
}


def _build(node: ast.expr) -> int | Expr:
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_build(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_build(left), _build(right))
        case ast.Call(func=ast.Name(id="max"), args=[a, b], keywords=[]):
            return maximum(_build(a), _build(b))
        case _:
            raise ValueError(f"`{ast.unparse(node)}` is not dim arithmetic")
