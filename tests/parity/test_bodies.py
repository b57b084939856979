"""Question 2 inside bodies: `If`, `Loop`, `Scan`, `SequenceMap`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx.parser
import pytest

from isomorph.parity import Status, verify
from isomorph.parity.candidate import Candidate
from tests.parity.models import save

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'

MODELS: dict[str, tuple[str, set[str]]] = {
    "Loop": (
        """g (float[n, 3] x, int64 trips) => (float[n, 3] y, float[k, n, 3] all) {
            on = Constant<value_int = 1>()
            yes = Cast<to = 9>(on)
            y, all = Loop(trips, yes, x) <body = b (int64 i, bool c, float[n, 3] s)
                => (bool d, float[n, 3] t, float[n, 3] u) {
                d = Identity(c)
                e = Mul(s, x)
                t = Sin(e)
                u = Exp(t)
            }>
        }""",
        {"Loop", "Mul", "Sin", "Exp"},
    ),
    "Scan": (
        """g (float[3] s, float[n, 3] x) => (float[3] last, float[n, 3] all) {
            last, all = Scan <num_scan_inputs = 1, scan_input_directions = [1],
                body = b (float[3] before, float[3] row) => (float[3] after, float[3] out) {
                sum = Add(before, row)
                after = Tanh(sum)
                out = Sigmoid(after)
            }>(s, x)
        }""",
        {"Scan", "Add", "Tanh", "Sigmoid"},
    ),
    "a Loop in a Loop": (
        """g (float[2] x) => (float[2] y) {
            n = Constant<value_int = 3>()
            y = Loop(n, , x) <body = outer (int64 i, bool c, float[2] s) => (bool d, float[2] t) {
                d = Identity(c)
                m = Add(i, n)
                t = Loop(m, , s) <body = inner (int64 j, bool e, float[2] u)
                    => (bool f, float[2] v) {
                    f = Identity(e)
                    w = Mul(u, s)
                    v = Cos(w)
                }>
            }>
        }""",
        {"Loop", "Mul", "Cos", "Add"},
    ),
}


def _model(text: str) -> Any:
    return onnx.parser.parse_model(HEAD + text)


@pytest.mark.parametrize("name", MODELS)
def test_every_node_of_a_body_is_judged(name: str, tmp_path: Path):
    text, kinds = MODELS[name]
    path = save(_model(text), tmp_path / "m.onnx")
    specs = ["trips: int64[] in 0..9"] if "trips" in text else []
    verdict = verify(path, path, cases=30, inputs=specs)
    assert verdict.status is Status.PASS, verdict
    assert {n.op for n in verdict.nodes} >= kinds, verdict
    assert not [n for n in verdict.notes if "not judged" in n], verdict


def test_a_body_that_never_runs_leaves_sizes_open(tmp_path: Path):
    path = save(_model(MODELS["Loop"][0]), tmp_path / "m.onnx")
    verdict = verify(
        path, path, cases=8, inputs=["trips: int64[] in 0..0", "x: float32[n in 2..4, 3]"]
    )
    assert verdict.status is Status.PASS, verdict
    assert {n.op for n in verdict.nodes if n.status is Status.RUNTIME} == {"Loop"}


@pytest.mark.parametrize("name", MODELS)
def test_a_node_of_a_body_that_is_computed_badly_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The run time's own values of one body are spoilt as they come: by a fortieth of a percent."""
    text, _ = MODELS[name]
    wrong = {"Loop": "Sin", "Scan": "Tanh", "a Loop in a Loop": "Cos"}[name]
    path = save(_model(text), tmp_path / "m.onnx")
    observe = Candidate.observe_body

    def spoilt(self: Candidate, op: Any, body: Any, inputs: Any, captures: Any) -> Any:
        found = observe(self, op, body, inputs, captures)
        for value in found:
            if value.producer is not None and value.producer.type == wrong:
                found[value] = found[value] * np.float32(1.00025)
        return found

    monkeypatch.setattr(Candidate, "observe_body", spoilt)
    specs = ["trips: int64[] in 0..9"] if "trips" in text else []
    verdict = verify(path, path, cases=30, inputs=specs)
    assert verdict.exit_code in (3, 4), verdict
    assert wrong in {n.op for n in verdict.nodes if n.status in (Status.FAIL, Status.SUSPECT)}
    assert f"({wrong})" in verdict.reason, verdict
