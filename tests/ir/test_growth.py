"""A few operators make dims and contents grow without end; inference stays short all the same."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from isomorph.ir.context import HUGE
from isomorph.ir.dims import ComplexDimError, floor_div, maximum, parse_dim, symbol
from isomorph.ir.errors import SpecError, TypeInferenceError
from isomorph.ir.infer import infer
from isomorph.ir.text import parse

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph


def chain(
    inputs: str, weights: str, step: str, *, first: str = "x", start: str = "", rounds: int = 60
) -> Graph:
    """A graph whose every step makes `a{n}` of what the step before made, `{a}`."""
    lines = [step.format(n=n, a=first if n == 0 else f"a{n - 1}") for n in range(rounds)]
    body = "\n".join([start, *lines, f"y = Identity(a{rounds - 1})"])
    head = f'<ir_version: 10, opset_import: ["": 28]> g ({inputs}) => (y)'
    return parse(f"{head} <{weights}> {{ {body} }}")


ONE = "int64[1] one = {1}"
OUTER = (
    "r{n} = Flatten <axis = 0> ({a})\nt{n} = MatMul({a}, r{n})\na{n} = Flatten <axis = 2> (t{n})"
)
THREE, TERA = "int64[1] w = {3}", "int64[1] r = {1099511627776}"
SHAPE = "x = Shape(z)"
GROWING = {
    "numbers, squared": chain("", THREE, "a{n} = Mul({a}, {a})", first="w"),
    "a dim, squared": chain("float[n] z", ONE, "a{n} = Mul({a}, {a})", start=SHAPE),
    "a sum of dims, squared": chain(
        "float[n] z", ONE, "b{n} = Add({a}, one)\na{n} = Mul(b{n}, b{n})", start=SHAPE
    ),
    "quotients of quotients": chain(
        "float[n] z",
        ONE,
        "c{n} = Add({a}, one)\nd{n} = Div(c{n}, {a})\na{n} = Mul(d{n}, c{n})",
        start=SHAPE,
    ),
    "a tensor, joined to itself": chain("float[n, 2] x", "", "a{n} = Concat <axis = 0> ({a}, {a})"),
    "a vector, joined to itself": chain("float[2] x", "", "a{n} = Concat <axis = 0> ({a}, {a})"),
    "outer products of a free size": chain("float[n, 1] x", "", OUTER),
    "a number, repeated": chain("", f"{THREE}, {TERA}", "a{n} = Tile(w, r)", rounds=1),
    "a number, expanded": chain("", f"{THREE}, {TERA}", "a{n} = Expand(w, r)", rounds=1),
    "a shape of 2^40 dims": chain(
        "float[n] x, int64[1099511627776] s", "", "a{n} = Reshape({a}, s)", rounds=1
    ),
}


@pytest.mark.parametrize("graph", GROWING.values(), ids=GROWING)
def test_inference_ends(graph):
    started = time.monotonic()
    infer(graph)
    assert time.monotonic() - started < 5


def test_a_dim_that_no_file_can_state_is_an_error():
    with pytest.raises(TypeInferenceError, match="larger than any tensor can be"):
        infer(chain("float[3, 1] x", "", OUTER))


N, M = symbol("n"), symbol("m")
LONGER = {
    "powers": lambda d: d * d,
    "products of sums": lambda d: (d + M) * (d + 1),
    "quotients": lambda d: floor_div(d, d + 1) + M * floor_div(d, M),
    "maxima": lambda d: maximum(d * 2, M) + maximum(d, M),
    "factors": lambda d: d * HUGE,
}


@pytest.mark.parametrize("step", LONGER.values(), ids=LONGER)
def test_dims_that_are_too_long_are_refused_by_the_arithmetic(step):
    def grow() -> None:
        found = N
        for _ in range(200):
            found = step(found)

    started = time.monotonic()
    with pytest.raises(ComplexDimError):
        grow()
    assert time.monotonic() - started < 5


def test_a_text_of_such_a_dim_is_refused():
    with pytest.raises(SpecError, match="degree"):
        parse_dim("*".join(["n"] * 1000))


def test_what_models_do_with_dims_is_not_too_long():
    found = N
    for _ in range(100):
        found = floor_div(found + 2 - 3, 2) + 1
    assert isinstance(found.evaluate({"n": 1000}), int)
    product = N
    for name in "abcdefgh":
        product = product * (symbol(name) + 1)
    assert len(product.terms) == 256
