"""Symbolic integers with arithmetic, interned.

An `Expr` is a polynomial with integer coefficients over atoms, kept in a normal form, so that
equal polynomials are the same object. An atom is a symbol, a floor division, or a maximum.
"""

from __future__ import annotations

import operator
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING, ClassVar, Literal, Self, SupportsIndex, cast, overload
from weakref import WeakValueDictionary

from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from collections.abc import Iterator


class ComplexDimError(IsomorphError):
    """A dim that is too long to calculate with; nothing is known of it then."""


Atom = tuple[Literal["sym"], str] | tuple[Literal["div", "max"], "int | Expr", "int | Expr"]
"""("sym", name), ("div", dividend, divisor) or ("max", a, b)."""
Monomial = tuple[Atom, ...]
"""A product of atoms, sorted; () is the constant term."""
Terms = tuple[tuple[Monomial, int], ...]


class Expr:
    """A symbolic integer; build with `symbol`, `+`, `-`, `*`, `//`, `%` and `maximum`."""

    __slots__ = ("__weakref__", "_order", "_text", "terms")
    _interned: ClassVar[WeakValueDictionary[Terms, Expr]] = WeakValueDictionary()
    terms: Terms
    _order: str | None
    _text: str | None

    def __new__(cls, terms: dict[Monomial, int]) -> Self:
        return cls.of(tuple(sorted(((m, c) for m, c in terms.items() if c), key=_term_key)))

    @classmethod
    def of(cls, key: Terms) -> Self:
        """The expression of terms that are in order already."""
        found = cls._interned.get(key)
        if found is None:
            found = super().__new__(cls)
            found.terms = key
            found._order = found._text = None
            cls._interned[key] = found
        return cast("Self", found)

    def __add__(self, other: int | Expr) -> int | Expr:
        added = _terms(other)
        if added is None:
            return NotImplemented
        if len(added) <= _FEW:
            return _with(self.terms, added)
        if len(self.terms) <= _FEW:
            return _with(added, self.terms)
        total = dict(self.terms)
        for monomial, factor in added:
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
        factors = _terms(other)
        if factors is None:
            return NotImplemented
        _check_product(self.terms, factors)
        total: dict[Monomial, int] = {}
        for m1, c1 in self.terms:
            for m2, c2 in factors:
                m = tuple(sorted(m1 + m2, key=_atom_key))
                total[m] = total.get(m, 0) + c1 * c2
        return _simplest(total)

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Expr) -> int | Expr:
        return floor_div(self, other)

    def __rfloordiv__(self, other: int | Expr) -> int | Expr:
        return floor_div(other, self)

    def __mod__(self, other: int | Expr) -> int | Expr:
        return self - floor_div(self, other) * other

    def __rmod__(self, other: int | Expr) -> int | Expr:
        return other - floor_div(other, self) * self

    def __str__(self) -> str:
        if self._text is None:
            self._text = _expr_text(self)
        return self._text

    __repr__ = __str__

    @property
    def order(self) -> str:
        """What to sort by: the structure, written so that no two expressions share it."""
        if self._order is None:
            self._text = _expr_text(self)  # while what is nested has its text: no deep recursion
            self._order = "+".join(f"{c}*{'*'.join(map(_atom_key, m))}" for m, c in self.terms)
        return self._order

    def symbols(self) -> frozenset[str]:
        """Names of all symbols within."""
        return frozenset(_symbols(self))

    def evaluate(self, dims: Mapping[str, int]) -> int:
        """The number this is when every symbol is bound.

        Raises:
            KeyError: names the symbols that are not.
            ZeroDivisionError: when a divisor is 0 under these bindings.
        """
        value = substitute(self, dims)
        if isinstance(value, int):
            return value
        missing = sorted(value.symbols())
        if not missing:
            raise ZeroDivisionError(f"{self} divides by zero at {dict(dims)}")
        raise KeyError(", ".join(missing))

    def __reduce__(self) -> tuple[type[Expr], tuple[dict[Monomial, int]]]:
        return Expr, (dict(self.terms),)


Dim = int | Expr | None
Bindings = Mapping[str, int] | Mapping[str, int | Expr]


def symbol(name: str) -> Expr:
    """The symbolic dim called `name`."""
    return Expr({(("sym", name),): 1})


def floor_div(a: int | Expr, b: int | Expr) -> int | Expr:
    """`a // b`, rounded down as Python does; exact where the quotient is a polynomial."""
    a, b = _number(a), _number(b)
    if isinstance(b, Expr):
        exact = _exact_quotient(a, b)
        return exact if exact is not None else Expr({(_atom("div", a, b),): 1})
    if isinstance(a, int):
        return a // b
    whole: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in a.terms:
        whole[m], rest[m] = divmod(c, b)
    left = _simplest(rest)
    quotient = left // b if isinstance(left, int) else _divided(left, b)
    return _simplest(whole) + quotient


def _divided(a: Expr, b: int) -> int | Expr:
    """`a // b` in lowest terms, where no coefficient of `a` reaches `b`.

    (g·x + r) // (g·n) = (x + r // g) // n, and (x // m + r) // n = (x + r·m) // (m·n) for m, n > 0.
    """
    common = gcd(b, *(c for m, c in a.terms if m))
    if common > 1:
        return floor_div(_simplest({m: c // common for m, c in a.terms}), b // common)
    inner = [m[0] for m, c in a.terms if c == 1 and len(m) == 1 and m[0][0] == "div"]
    if len(inner) == 1 and b > 0:
        (atom,) = inner
        if atom[0] == "div" and isinstance(atom[2], int) and atom[2] > 0:
            others = a - Expr({(atom,): 1})
            return floor_div(atom[1] + others * atom[2], atom[2] * b)
    return Expr({(_atom("div", a, b),): 1})


def maximum(a: int | Expr, b: int | Expr) -> int | Expr:
    """The larger of two dims, decided at once when their difference is a number."""
    a, b = _number(a), _number(b)
    difference = a - b
    if isinstance(difference, int):
        return a if difference >= 0 else b
    first, second = sorted((a, b), key=_order)
    return Expr({(_atom("max", first, second),): 1})


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


def _term_key(term: tuple[Monomial, int]) -> tuple[int, tuple[str, ...]]:
    return _monomial_key(term[0])


@lru_cache(maxsize=1 << 14)
def _monomial_key(monomial: Monomial) -> tuple[int, tuple[str, ...]]:
    """Higher degrees first, then by atoms: an order that multiplication preserves."""
    return -len(monomial), tuple(map(_atom_key, monomial))


def _atom_key(atom: Atom) -> str:
    if atom[0] == "sym":
        return f"sym {atom[1]!r}"
    return f"{atom[0]} ({_order(atom[1])}, {_order(atom[2])})"


def _order(value: int | Expr) -> str:
    return value.order if isinstance(value, Expr) else str(value)


def _number(value: int | SupportsIndex | Expr) -> int | Expr:
    """Python's own int for whatever kind of integer."""
    return value if isinstance(value, Expr) else operator.index(value)


def _terms(value: int | SupportsIndex | Expr) -> Terms | None:
    """The terms of a dim; `None` for what is no integer, for operators to pass on."""
    if isinstance(value, Expr):
        return value.terms
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return (((), number),) if number else ()


_FEW = 4


def _with(terms: Terms, few: Terms) -> int | Expr:
    """A long sum and a few terms more: nothing is sorted again."""
    total = list(terms)
    for monomial, factor in few:
        at = bisect_left(total, _monomial_key(monomial), key=_term_key)
        if at == len(total) or total[at][0] != monomial:
            total.insert(at, (monomial, factor))
        elif total[at][1] + factor:
            total[at] = (monomial, total[at][1] + factor)
        else:
            del total[at]
    if not total:
        return 0
    return total[0][1] if total[0][0] == () else Expr.of(tuple(total))


def _simplest(terms: dict[Monomial, int]) -> int | Expr:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if len(kept) == 1 and () in kept:
        return kept[()]
    return Expr(kept)


_MOST_TERMS = 1 << 12
"""Of a product: divisions that would need more are left as they are."""

_HIGHEST, _LONGEST, _WIDEST = 64, 1 << 20, 256
"""Degree of a product, characters of a nested dim, bits of a factor: no model that is meant has
more, and each can be doubled by one more operator of a file."""


def _check_product(terms: Terms, factors: Terms) -> None:
    if len(factors) * len(terms) > _MOST_TERMS:
        raise ComplexDimError(f"a product of dims has more than {_MOST_TERMS} terms")
    degree = sum(max((len(m) for m, _ in part), default=0) for part in (terms, factors))
    width = sum(max((abs(c).bit_length() for _, c in part), default=0) for part in (terms, factors))
    if degree > _HIGHEST or width > _WIDEST:
        raise ComplexDimError(f"a product of dims has a degree of {degree}, or {width} bits")


def _atom(kind: Literal["div", "max"], a: int | Expr, b: int | Expr) -> Atom:
    if len(_order(a)) + len(_order(b)) > _LONGEST:
        raise ComplexDimError(f"a dim takes more than {_LONGEST} characters to write")
    return kind, a, b


def _exact_quotient(a: int | Expr, b: Expr) -> int | Expr | None:
    """The polynomial q with a = q·b, by long division; `None` where there is none."""
    left = dict(_terms(a) or ())
    if len(left) * len(b.terms) > _MOST_TERMS:
        return None
    leading, factor = b.terms[0]
    quotient: dict[Monomial, int] = {}
    while left:
        top, c = min(left.items(), key=_term_key)
        shared = _without(top, leading)
        if shared is None or c % factor:
            return None
        quotient[shared] = c // factor
        for m, k in b.terms:
            product = tuple(sorted(shared + m, key=_atom_key))
            left[product] = left.get(product, 0) - k * quotient[shared]
            if not left[product]:
                del left[product]
    return _simplest(quotient)


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    kept = list(monomial)
    for atom in divisor:
        if atom not in kept:
            return None
        kept.remove(atom)
    return tuple(kept)


def _substitute_atom(atom: Atom, dims: Bindings) -> int | Expr:
    if atom[0] == "sym":
        return _number(dims.get(atom[1], symbol(atom[1])))
    a, b = substitute(atom[1], dims), substitute(atom[2], dims)
    if atom[0] == "max":
        return maximum(a, b)
    return floor_div(a, b) if b != 0 else Expr({(("div", a, 0),): 1})


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
        if len(names) > 1 or factor != 1:
            names = [f"({n})" if a[0] == "div" else n for a, n in zip(monomial, names, strict=True)]
        if abs(factor) != 1 or not names:
            names.insert(0, str(abs(factor)))
        text = "*".join(names)
        sign = "-" if factor < 0 else "+"
        parts.append(f" {sign} {text}" if parts else f"-{text}" if factor < 0 else text)
    return "".join(parts)
