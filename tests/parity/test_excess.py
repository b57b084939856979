"""float16 between nodes that run in float32: what was never rounded is no fault, others are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.text import parse
from isomorph.parity.candidate import Candidate
from isomorph.parity.engine import verify
from isomorph.parity.excess import WORDS, Excess
from isomorph.parity.nodes import judge_nodes
from isomorph.parity.verdict import Status
from isomorph.parity.worker import shared

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Graph

SEEDS = 4
EPSILON = "e = Constant <value = float16 {5145}> ()"  # its bits: 0.001


def model(body: str, output: str, seed: int) -> Graph:
    """A graph on x (n, 8) with weights w (8, 8) and b (8) of float16, all of them normal."""
    rng = np.random.default_rng(seed)
    w, b = (
        ", ".join(map(str, rng.standard_normal(n).astype(np.float16).view(np.uint16)))
        for n in (64, 8)
    )
    return parse(
        f'<ir_version: 9, opset_import: ["": 17]> g (float16[n, 8] x) => ({output})'
        f"<float16[8, 8] w = {{{w}}}, float16[8] b = {{{b}}}> {{ t = MatMul(x, w) {body} }}"
    )


HALF = "float16[n, 8] y"
NORM = (
    "m = ReduceMean <axes = [-1], keepdims = 1> (t) d = Sub(t, m) q = Mul(d, d) "
    f"s = ReduceMean <axes = [-1], keepdims = 1> (q) {EPSILON} f = Add(s, e) r = Sqrt(f) "
    "y = Div(d, r)"
)
ATTENTION = (
    "k = Add(t, b) o = Transpose <perm = [1, 0]> (k) a = MatMul(t, o) "
    "s = Softmax <axis = -1> (a) y = MatMul(s, k)"
)
BODIES = {
    "Softmax": ("y = Softmax <axis = -1> (t)", HALF),
    "Add": ("y = Add(t, b)", HALF),
    "Relu of Add": ("u = Add(t, b) y = Relu(u)", HALF),
    "two layers": ("u = Add(t, b) v = Relu(u) p = MatMul(v, w) y = Add(p, u)", HALF),
    "casts of the model's own": (
        "u = Cast <to = 1> (t) v = Exp(u) z = Cast <to = 10> (v) y = Cast <to = 1> (z)",
        "float[n, 8] y",
    ),
    "a comparison": ("y = Greater(t, b)", "bool[n, 8] y"),
    "a choice": ("c = Greater(t, b) y = Where(c, t, b)", HALF),
    "a step": ("u = Add(t, b) y = Round(u)", HALF),
    "moved in between": (
        "u = Transpose <perm = [1, 0]> (t) v = Exp(u) y = Transpose <perm = [1, 0]> (v)",
        HALF,
    ),
    "a norm in pieces": (
        NORM,
        HALF,
    ),
    "attention": (
        ATTENTION,
        HALF,
    ),
}


@pytest.mark.parametrize(("body", "output"), BODIES.values(), ids=BODIES)
def test_a_model_equals_itself(body: str, output: str):
    for seed in range(SEEDS):
        graph = model(body, output, seed)
        verdict = verify(graph, graph, seed=seed, cases=60)
        assert verdict.status is Status.PASS, verdict


def test_it_is_told_with_its_cause():
    verdict = verify(model(*BODIES["Add"], 0), model(*BODIES["Add"], 0), cases=60)
    assert WORDS in {j.reason for j in verdict.nodes if j.op == "Add"}, verdict
    assert "insert_cast_transformer.cc" in str(verdict)


FAULTS: dict[str, Callable[[Any], Any]] = {
    "a factor": lambda a: (a.astype(np.float64) * 0.99).astype(a.dtype),
    "four units in one place": lambda a: _moved(a, 4),
    "rows in another order": lambda a: a[::-1].copy(),
    "one element of another": lambda a: np.where(
        np.arange(a.size).reshape(a.shape) == 3, a[0, 0], a
    ),
}


def _moved(array: Any, units: int) -> Any:
    moved = array.copy()
    bits = moved.reshape(-1).view(np.uint16)
    bits[int(np.abs(array.astype(np.float64)).argmax())] += units
    return moved


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("name", ["Add", "Relu of Add", "two layers"])
def test_a_node_that_is_wrong_is_found(name: str, fault: Callable[[Any], Any]):
    for seed in range(SEEDS):
        with Candidate(model(*BODIES[name], seed), shared()) as candidate:
            x = np.random.default_rng(seed).standard_normal((16, 8)).astype(np.float16)
            values = candidate.observe([x])
            assert not _wrong(candidate, values)
            for op in candidate.graph.sorted_ops():
                broken = {**values, op.output: fault(np.asarray(values[op.output]))}
                assert _wrong(candidate, broken), f"{op}, seed {seed}"


def _wrong(candidate: Candidate, values: dict[Any, Any]) -> bool:
    found: list[Status] = []
    judge_nodes(candidate, values, lambda _, finding: found.append(finding.status))
    return not {Status.FAIL, Status.SUSPECT}.isdisjoint(found)


def test_another_function_fails():
    scaled = "s = Add(t, b) h = Constant <value = float16 {15376}> () y = Mul(s, h)"  # 1 + 2⁻⁶
    for seed in range(SEEDS):
        one = model("y = Add(t, b)", HALF, seed)
        verdict = verify(one, model(scaled, HALF, seed), seed=seed, cases=20)
        assert verdict.status is Status.FAIL


def test_what_does_not_round_to_what_is_shown_was_not_there():
    graph = model("y = Add(t, b)", HALF, 0)
    add = graph.sorted_ops()[-1]
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float16)
    weights = {v.name: v.weight.numpy() for v in graph.weights()}
    exact = x.astype(np.float64) @ weights["w"].astype(np.float64)
    t, b = add.inputs
    values = {graph.inputs[0]: x, b: weights["b"], t: exact.astype(np.float16)}
    values.update({v: v.weight.numpy() for v in graph.weights()})
    unrounded = (exact + weights["b"]).astype(np.float16)
    assert Excess(values).judge(add, [unrounded]) is not None
    values[t] = (exact * 1.002).astype(np.float16)
    assert Excess(values).judge(add, [unrounded]) is None
