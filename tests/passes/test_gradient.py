"""Gradient is what central differences say: in every rule, broadcast, and at other values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest

from isomorph.frontends.canonical import canonical
from isomorph.frontends.onnx.reader import read
from isomorph.ir.interpret import Program
from isomorph.passes.canonical.gradient import RULES

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph

DRAWN = np.random.default_rng(7)
A, B, SQUARE = (DRAWN.uniform(0.5, 2, shape) for shape in ((2, 3), (3,), (3, 3)))
SUM = "t = Mul(a, b)  u = Sub(b, a)  v = Div(a, b)  w = Add(t, u)  y = Add(w, v)"
CASES = {
    "broadcast": (SUM, A, B),
    "of one element": (SUM, A, B[:1]),
    "a scalar": (SUM, A, B[0]),
    "read thrice": ("t = Mul(a, a)  u = Mul(t, a)  y = Mul(u, b)", A, B),
    "functions": (
        "t = Sqrt(a)  u = Log(b)  v = Mul(t, u)  w = Neg(v)  x = Exp(w)  y = Tanh(x)",
        A,
        B,
    ),
    "a product": ("t = Identity(b)  u = MatMul(a, t)  y = Sigmoid(u)", A, SQUARE),
    "without effect": ("y = Sqrt(a)", A, B),
}


def model(body: str, a: np.ndarray, b: np.ndarray, last: str, outputs: str) -> Graph:
    kinds = [f"double[{', '.join(map(str, v.shape))}]" if v.shape else "double" for v in (a, b)]
    inputs = ", ".join(f"{k} {n}" for n, k in zip("abpq", kinds * 2, strict=True))
    text = "\n".join([*body.split("  "), last])
    opsets = '"": 17, "ai.onnx.preview.training": 1'
    head = f"<ir_version: 8, opset_import: [{opsets}]> g ({inputs}) => ({outputs})"
    return canonical(read(onnx.parser.parse_model(f"{head} {{{text}}}")))


def evaluated(graph: Graph, *values: np.ndarray) -> list[np.ndarray]:
    return Program(graph).run([np.asarray(v) for v in values])


def differences(body: str, a: np.ndarray, b: np.ndarray, step: float = 1e-5) -> list[np.ndarray]:
    """Slopes of the sum of `y`, from its values on both sides."""
    graph = model(body, a, b, "", "double[] y")
    slopes = [np.empty(v.shape) for v in (a, b)]
    for which, slope in enumerate(slopes):
        for at in np.ndindex(slope.shape):
            sums: list[float] = []
            for way in (step, -step):
                there = [np.array(v) for v in (a, b)]
                there[which][at] += way
                sums.append(float(np.sum(evaluated(graph, *there, *there)[0])))
            slope[at] = (sums[0] - sums[1]) / (2 * step)
    return slopes


def gradient(operands: str = "a, b", xs: str = '"a", "b"', y: str = "y") -> str:
    return (
        f'da, db = ai.onnx.preview.training.Gradient<xs: strings = [{xs}], y = "{y}">({operands})'
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["at a and b", "at other values"])
def test_slopes(name: str, elsewhere: bool) -> None:
    body, a, b = CASES[name]
    graph = model(body, a, b, gradient("p, q" if elsewhere else "a, b"), "double[] da, double[] db")
    assert "Gradient" not in {op.type for op in graph.ops()}
    p, q = DRAWN.uniform(0.5, 2, a.shape), DRAWN.uniform(0.5, 2, np.shape(b))
    found = evaluated(graph, a, b, p, q)
    expected = differences(body, *((p, q) if elsewhere else (a, b)))
    for got, right in zip(found, expected, strict=True):
        assert got.shape == right.shape
        np.testing.assert_allclose(got, right, rtol=1e-7, atol=1e-8)


def test_every_rule_is_tried() -> None:
    assert {kind for _, kind in RULES} == {
        line.split("= ")[1].split("(")[0]
        for body, _, _ in CASES.values()
        for line in body.split("  ")
    }


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("y = Erf(a)", gradient()),
        ("y = Mul(a, b)", gradient(y="z")),
        ("y = Mul(a, b)", gradient(xs='"a", "c"')),
        ("t = Mul(a, b)  u = Less(t, t)  y = Not(u)", gradient()),
    ],
    ids=["an op without a rule", "no such tensor", "no such operand", "not a number"],
)
def test_what_cannot_be_derived_stays_to_be_reported(body: str, asked: str) -> None:
    graph = model(body, A, B, asked, "double[] da, double[] db")
    assert [op for op in graph.ops() if op.type == "Gradient"]
