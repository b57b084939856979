"""What follows from constraints on dims: only what holds, and what people write is decided."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isomorph.frontends.array.decide import Facts
from isomorph.ir.dims import RELATIONS, Constraint, parse_dim, substitute

NAMES = ("a", "b", "c")
DIMS = [
    "0", "1", "3", "a", "b", "c", "2*a", "a + b", "a - b", "a + 1", "a - 1", "b // 2", "a % 3",
    "max(a, b)", "max(a, 2)", "a*b", "-a + 4", "(a + b) // 3", "2*a - b - 1",
]  # fmt: skip
relations = st.sampled_from(sorted(RELATIONS))
dims = st.sampled_from(DIMS)
constraints = st.lists(
    st.builds(lambda a, r, b: Constraint(parse_dim(a), r, parse_dim(b)), dims, relations, dims),
    max_size=4,
)
BINDINGS = [dict(zip(NAMES, v, strict=True)) for v in itertools.product(range(6), repeat=3)]


@settings(max_examples=400, deadline=None)
@given(known=constraints, left=dims, relation=relations, right=dims)
def test_nothing_is_decided_that_some_binding_contradicts(
    known: list[Constraint], left: str, relation: str, right: str
):
    decided = Facts(known).decide(parse_dim(left), relation, parse_dim(right))
    if decided is None:
        return
    asked = Constraint(parse_dim(left), relation, parse_dim(right))
    for binding in BINDINGS:
        if all(c.holds(binding) for c in known):
            assert asked.holds(binding) is decided, binding


@settings(max_examples=200, deadline=None)
@given(known=constraints, dim=dims)
def test_ranges_and_normal_forms_hold_under_every_binding(known: list[Constraint], dim: str):
    facts, whole = Facts(known), parse_dim(dim)
    low, high = facts.range(whole)
    for binding in BINDINGS:
        if all(c.holds(binding) for c in known):
            value = substitute(whole, binding)
            assert isinstance(value, int)
            assert low <= value <= high
            assert substitute(facts.normal(whole), binding) == value


@pytest.mark.parametrize(
    ("known", "asked", "wanted"),
    [
        ([], "a >= 0", True),
        ([], "a > 0", None),
        ([], "a + 1 > 0", True),
        ([], "a == a + 1", False),
        ([], "2*a + 1 == 0", False),
        (["a >= 4"], "a > 3", True),
        (["a >= 4"], "a < 4", False),
        (["a >= 4"], "a == 3", False),
        (["a >= 4"], "a // 2 >= 2", True),
        (["a >= 4", "a <= 4"], "a == 4", True),
        (["a > b"], "a >= b + 1", True),
        (["a > b"], "a == b", False),
        (["a == 2*b"], "a // 2 == b", True),
        (["a == b", "b == c"], "a == c", True),
        (["a != 1"], "a == 1", False),
        (["a >= b", "b >= 3"], "a >= b - 1", True),
        (["2*a >= 7"], "a >= 4", True),
        (["a - a // 8 * 8 == 0"], "a // 8 * 8 == a", True),
    ],
)
def test_what_people_write_is_decided(known: list[str], asked: str, wanted: bool | None):
    facts = Facts([Constraint.parse(text) for text in known])
    question = Constraint.parse(asked)
    assert facts.decide(question.left, question.relation, question.right) is wanted
