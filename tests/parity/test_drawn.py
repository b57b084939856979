"""Models that draw random numbers: one function of the same draws, and draws of the right kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import isomorph as iso
from isomorph.ir.dice import Dice, may_draw, rolling
from isomorph.ir.interpret import Program
from isomorph.ir.text import parse
from isomorph.parity import drawn
from isomorph.parity.engine import verify
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.graph import Graph

X = np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)


def model(body: str, outputs: str = "float[3, 4] y", opset: int = 21) -> Graph:
    head = f'<ir_version: 10, opset_import: ["": {opset}]> g (float[3, 4] x) => ({outputs})'
    return parse(f"{head} <bool on = {{1}}, float half = {{0.5}}> {{ {body} }}")


NOISE = "r = RandomNormalLike <seed = 1.0> (x) y = Add(x, r)"
ROUND = (
    "b (int64 i, bool c, float[3, 4] s) => (bool c, float[3, 4] t)"
    "{ u = RandomUniformLike(s) t = Add(s, u) }"
)
THEN = "then_branch = t () => (float[3, 4] a) { a = RandomNormalLike(x) }"
ELSE = "else_branch = e () => (float[3, 4] b) { b = Neg(x) }"
MODELS = {
    "seeded normal": model(NOISE),
    "normal": model("r = RandomNormal <shape = [3, 4], mean = 3.0, scale = 2.0> () y = Mul(x, r)"),
    "uniform": model("r = RandomUniform <shape = [3, 4], low = -1.0, high = 5.0> () y = Mul(x, r)"),
    "itself": model("y = RandomUniformLike <dtype = 1> (x)"),
    "twice": model("r = RandomNormalLike(x) s = RandomNormalLike(x) y = Sub(r, s)"),
    "coins": model("p = Sigmoid(x) b = Bernoulli(p) y = Mul(b, x)"),
    "choices": model(
        "c = Multinomial <sample_size = 5, seed = 3.0> (x) y = Cast <to = 1> (c)", "float[3, 5] y"
    ),
    "dropout while training": model("y, m = Dropout <seed = 1> (x, half, on)"),
    "beside what is not random": model(
        "r = RandomNormalLike(x) y = Add(x, r) z = Exp(x)", "float[3, 4] y, float[3, 4] z"
    ),
    "in a loop": model("k = Constant <value_int = 3> () y = Loop <body = " + ROUND + "> (k, , x)"),
    "in a branch": model(f"y = If(on) <{THEN}, {ELSE}>"),
    "that decides a shape": model(
        "r = RandomNormalLike(x) g = Greater(r, x) n = NonZero(g) y = Cast <to = 1> (n)",
        "float[2, k] y",
    ),
    "old": model("r = RandomNormalLike <seed = 1.0> (x) y = Add(x, r)", opset=11),
}


@pytest.mark.parametrize("graph", MODELS.values(), ids=MODELS)
def test_a_model_equals_itself(graph: Graph):
    verdict = verify(graph, graph, cases=20)
    assert verdict.status is Status.PASS, verdict
    assert verdict.cases == 20
    (note,) = [n for n in verdict.notes if "random numbers" in n]
    assert "'y' depends on random numbers" in note
    assert "form and range alone were compared" in note


@pytest.mark.parametrize("name", ["seeded normal", "coins", "in a loop", "twice", "old"])
def test_and_its_export(name: str, tmp_path: Path):
    result = iso.export(MODELS[name], tmp_path / "m.onnx", opset=21, cases=20)
    assert result.verdict is not None
    assert result.verdict.status is Status.PASS, result.verdict


PLANTED = {
    "another weight behind it": ("y = Mul(x, r)", "y = Mul(half, r)"),
    "another mean": ("mean = 3.0", "mean = 3.01"),
    "another scale": ("scale = 2.0", "scale = 2.02"),
    "another distribution": (
        "RandomNormal <shape = [3, 4], mean = 3.0, scale = 2.0> ()",
        "RandomUniform <shape = [3, 4], low = 1.0, high = 5.0> ()",
    ),
    "none at all": ("y = Mul(x, r)", "y = Mul(x, x)"),
    "another shape": ("shape = [3, 4]", "shape = [4]"),
}


@pytest.mark.parametrize(("here", "there"), PLANTED.values(), ids=PLANTED)
def test_another_function_of_the_same_draws_fails(here: str, there: str):
    text = "r = RandomNormal <shape = [3, 4], mean = 3.0, scale = 2.0> () y = Mul(x, r)"
    verdict = verify(model(text), model(text.replace(here, there)), cases=20)
    assert verdict.status is Status.FAIL, verdict


def test_another_probability_fails():
    one = model("p = Sigmoid(x) b = Bernoulli(p) y = Mul(b, x)")
    other = model("q = Sigmoid(x) p = Mul(q, half) b = Bernoulli(p) y = Mul(b, x)")
    assert verify(one, other, cases=20).status is Status.FAIL


def test_what_is_not_random_is_compared_as_ever():
    one = model("r = RandomNormalLike(x) y = Add(x, r) z = Exp(x)", "float[3, 4] y, float[3, 4] z")
    other = model(
        "r = RandomNormalLike(x) y = Add(x, r) z = Tan(x)", "float[3, 4] y, float[3, 4] z"
    )
    verdict = verify(one, other, cases=20)
    assert [j.status for j in verdict.outputs] == [Status.PASS, Status.FAIL]


class TestDice:
    def test_evaluations_draw_the_same_and_ops_do_not(self):
        graph = MODELS["twice"]
        program = Program(graph)
        with rolling(Dice(graph)):
            first, second = program.run([X])[0], program.run([X])[0]
        assert np.array_equal(first, second)
        assert (first != 0).all()

    def test_rounds_of_a_loop_draw_anew(self):
        with rolling(Dice(MODELS["in a loop"])):
            total = Program(MODELS["in a loop"], wide=True).run([X])[0] - X
        one = Program(model("r = RandomUniformLike(x) y = Add(x, r)"), wide=True)
        assert not np.allclose(total, 3 * total.mean())
        assert one.run([X])[0].shape == X.shape

    def test_renamed_ops_are_matched_by_their_place(self):
        one = model("r = RandomNormalLike(x) s = RandomUniformLike(x) y = Sub(r, s)")
        other = model("v = RandomUniformLike(x) u = RandomNormalLike(x) y = Sub(u, v)")
        assert verify(one, other, cases=10).status is Status.PASS

    def test_without_dice_a_seed_is_kept(self):
        program = Program(MODELS["seeded normal"])
        assert np.array_equal(program.run([X])[0], program.run([X])[0])


def test_draws_outside_their_range_fail():
    graph = model("y = RandomUniformLike <low = 1.0, high = 2.0> (x)")
    op = graph.sorted_ops()[0]
    assert may_draw(op)
    good = np.full((3, 4), 1.5, np.float32)
    (finding,) = drawn.judge(op, [X], [good])
    assert finding.status is Status.PASS
    (finding,) = drawn.judge(op, [X], [good + np.float32(1)])
    assert finding.status is Status.FAIL
    assert "from 1 to 2" in finding.reason
    (finding,) = drawn.judge(op, [X], [good.astype(np.float16)])
    assert "float16[3, 4], the reference gives float32[3, 4]" in finding.reason
