"""Sizes for symbolic dims: the ones that find bugs, within the constraints."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

    from isomorph.ir.dims import Constraint
    from isomorph.parity.strategies.specs import Spec

SMALL = (2, 3, 1, 5, 7, 0)
LADDER = (4, 5, 8, 12, 16, 24, 32, 64, 96, 128, 160, 224, 256, 320, 512, 576, 640, 1024, 2048, 4096)
"""What is tried when nothing small is accepted: a convolution's or a window's least extent."""
MOST_ELEMENTS = 1 << 21
"""Elements of one input; no larger input is generated while looking for sizes."""


def symbols_of(specs: Sequence[Spec]) -> list[str]:
    """Every symbol, in order of appearance."""
    found: dict[str, None] = {}
    for spec in specs:
        for dim in spec.extents:
            if not isinstance(dim, int):
                found.update(dict.fromkeys(sorted(dim.symbols())))
    return list(found)


def fits(specs: Sequence[Spec], constraints: Sequence[Constraint], dims: Mapping[str, int]) -> bool:
    """Whether bindings break no constraint, make no size negative, and are not too large."""
    if any(c.holds(dims) is False for c in constraints):
        return False
    return all(
        min(spec.sizes(dims), default=0) >= 0 and spec.elements(dims) <= MOST_ELEMENTS
        for spec in specs
    )


def bounds_of(name: str, constraints: Sequence[Constraint]) -> list[int]:
    """Numbers that constraints compare a lone symbol with."""
    found: list[int] = []
    for constraint in constraints:
        for one, other in (
            (constraint.left, constraint.right),
            (constraint.right, constraint.left),
        ):
            if str(one) == name and isinstance(other, int):
                found.append(other)
    return found


def interesting(name: str, constraints: Sequence[Constraint], base: int = 0) -> list[int]:
    """Sizes worth trying for one symbol: small ones, bounds, and around a known one."""
    found = [*SMALL]
    for bound in bounds_of(name, constraints):
        found += [bound, bound + 1, bound - 1]
    if base > 7:
        found += [base + 1, base - 1, 2 * base, 4 * base + 1, base + 7]
    return [v for v in dict.fromkeys(found) if v >= 0]


def bindings(
    specs: Sequence[Spec], constraints: Sequence[Constraint]
) -> SearchStrategy[dict[str, int]]:
    """Bindings of every symbol that break no constraint."""
    from hypothesis import strategies as st

    names = symbols_of(specs)
    choices = {n: st.sampled_from(interesting(n, constraints)) for n in names}
    return st.fixed_dictionaries(choices).filter(lambda d: fits(specs, constraints, d))


def least(name: str, constraints: Sequence[Constraint]) -> int | None:
    """The least size that the constraints on one symbol alone allow; `None` for none."""
    alone = [c for c in constraints if c.symbols() == frozenset((name,))]
    around = {b + d for b in bounds_of(name, constraints) for d in range(-1, 2)}
    tried = sorted({*range(8), *(v for v in around if v >= 0)})
    return next((v for v in tried if all(c.holds({name: v}) for c in alone)), None)


def unfit(specs: Sequence[Spec], constraints: Sequence[Constraint]) -> str:
    """Why no sizes can be generated, and what to do about it."""
    sizes: dict[str, int] = {}
    for name in symbols_of(specs):
        size = least(name, constraints)
        if size is None:
            stated = ", ".join(str(c) for c in constraints if c.symbols() == frozenset((name,)))
            return f"no size of 0 or more satisfies {stated}. State a range such as {name} in 1..64"
        sizes[name] = size
    for spec in specs:
        total = spec.elements(sizes)
        if total > MOST_ELEMENTS:
            free = min(spec.symbols(), default="")
            what = f"the least {spec.name} that is declared has"
            remedy = (
                f"declare smaller sizes, such as --input '{spec.with_range(free, '1..64')}', "
                if free and spec.kind is None
                else "declare a symbol for the large dim, "
            )
            return (
                f"{what} {total:,} elements, and inputs of at most {MOST_ELEMENTS:,} are "
                f"generated. For a verdict {remedy}or give a sample of your own"
            )
    stated = ", ".join(str(c) for c in constraints) or "the declared shapes"
    return f"no sizes that were tried fit {stated}. State narrower ranges, such as n in 1..64"


def starting_points(
    specs: Sequence[Spec], constraints: Sequence[Constraint]
) -> Iterator[dict[str, int]]:
    """Bindings to try in turn until a model accepts one: small, then one or more symbols larger."""
    names = symbols_of(specs)
    seen: set[tuple[int, ...]] = set()

    def fresh(dims: dict[str, int]) -> bool:
        key = tuple(dims.values())
        if key in seen or not fits(specs, constraints, dims):
            return False
        seen.add(key)
        return True

    floors = {n: max([2, *(b for b in bounds_of(n, constraints) if b < 1 << 16)]) for n in names}
    lowest = {n: max(2, least(n, constraints) or 0) for n in names}
    for start in (
        dict.fromkeys(names, 2),
        floors,
        lowest,
        dict.fromkeys(names, 1),
        dict.fromkeys(names, 3),
    ):
        if fresh(start):
            yield start
    groups = [
        set(group)
        for count in range(1, min(len(names), 3) + 1)
        for group in combinations(names, count)
    ]
    groups = [*groups[:24], set(names)]
    for small in (2, 1):
        for size, group in product(LADDER, groups):
            if len(names) > 1 or small == 2:
                dims = {n: max(size, floors[n]) if n in group else small for n in names}
                if fresh(dims):
                    yield dims
