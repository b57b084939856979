"""The rooms of the engine, each by itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.ir.dims import Constraint, symbol
from isomorph.ir.graph import Graph
from isomorph.ir.interpret import Program
from isomorph.ir.opdef import OPS, Tolerance
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.parity import ParityFailure, Status, Verdict, assert_parity, verify
from isomorph.parity.constants import Rewritten
from isomorph.parity.noise import Perturbation, is_short
from isomorph.parity.strategies import HOSTILE, batches, draw, inputs, specs_of
from isomorph.parity.structure import Port, declared
from isomorph.parity.tolerance import bound
from isomorph.parity.verdict import Judged
from isomorph.parity.well import judge
from isomorph.parity.wide import Wide, evaluate
from isomorph.parity.worker import Worker, WorkerDiedError
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.graph import Op

FLOAT = DType.FLOAT32


def op_of(kind: str, *arrays: Any, **attributes: Any) -> Op:
    graph = Graph()
    values = [
        graph.add_input("x", TensorType(DType.of(np.asarray(a).dtype), np.shape(a))) for a in arrays
    ]
    return graph.add_op(kind, values, attributes)


class TestWide:
    def test_casts_to_narrow_floats_do_not_round(self):
        found, _ = evaluate(lambda x: (x / 3).astype(np.float32) * np.float32(0.5), [np.ones(2)])
        assert isinstance(found, Wide)
        assert np.array_equal(found, np.full(2, 1 / 3) * 0.5)

    def test_casts_to_integers_stay_casts(self):
        found, _ = evaluate(lambda x: x.astype(np.int32), [np.array([1.5])])
        assert found.dtype == np.int32

    def test_reductions_in_float32_are_wide(self):
        x = np.full(1000, 0.1, np.float32)
        found, _ = evaluate(lambda x: np.mean(x, dtype=np.float32), [x])
        assert float(found) == pytest.approx(float(np.float32(0.1)), rel=1e-15)

    def test_constants_are_noted(self):
        weight = np.ones((2, 2), np.float32)
        _, trace = evaluate(lambda x: np.where(x > 0, x @ weight, 0.25) * 0.1, [np.ones((1, 2))])
        assert any(c is weight for c in trace.constants)
        assert 0.1 in [c for c in trace.constants if isinstance(c, float)]


class TestNoise:
    def test_numbers_that_no_rounding_made_are_left_alone(self):
        exact = np.array([0.0, -0.0, 1.0, 0.5, 3e9, 2.0**80, np.inf, -0.75])
        assert is_short(exact).all()
        assert np.array_equal(Perturbation(0)(exact), exact)

    def test_others_move_by_a_rounding_at_most(self):
        x = np.random.default_rng(0).standard_normal(1000)
        moved = Perturbation(0)(x)
        assert not is_short(x).any()
        assert (np.abs(moved / x - 1) <= 3 * 2.0**-52).all()
        assert (moved != x).mean() > 0.4


class TestBounds:
    @pytest.mark.parametrize("scale", [1.0, 1e-4])
    def test_a_product_is_bounded_and_a_fault_is_not(self, scale: float):
        rng = np.random.default_rng(0)
        a = rng.standard_normal((4, 4096)).astype("f4")
        b = (rng.standard_normal((4096, 4)) * scale).astype("f4")
        op = op_of("MatMul", a, b)
        truth = a.astype("f8") @ b.astype("f8")
        limits = bound(op, [a.astype("f8"), b.astype("f8")], truth, 0, FLOAT)
        error = np.abs((a @ b) - truth)
        assert (error <= limits.soft).all()
        assert (limits.soft < limits.hard).all()
        off = truth + 2 * limits.soft
        (found,) = judge(op, [a, b], [off.astype("f4")])
        assert found.status is Status.SUSPECT
        (found,) = judge(op, [a, b], [(truth + 2 * limits.hard).astype("f4")])
        assert found.status is Status.FAIL

    def test_every_class_has_a_rule_or_is_exact(self):
        from isomorph.parity.tolerance import RULES

        exact = {
            Tolerance.EXACT,
            Tolerance.DISCONTINUOUS,
            Tolerance.RANDOM,
            Tolerance.CONTROL,
        }
        assert set(Tolerance) == set(RULES) | exact

    def test_every_known_op_has_a_class(self):
        assert {d.tolerance for d in OPS.rows().values()} <= set(Tolerance)

    def test_the_sign_of_zero_counts_where_the_op_is_exact(self):
        x = np.array([0.0, -0.0], np.float32)
        op = op_of("Neg", x)
        (found,) = judge(op, [x], [np.array([0.0, 0.0], "f4")])
        assert found.status is Status.FAIL
        assert "sign of zero" in found.reason
        (found,) = judge(op, [x], [np.array([-0.0, 0.0], "f4")])
        assert found.status is Status.PASS

    def test_an_add_that_is_two_units_off_fails(self):
        a, b = np.array([1.5], "f4"), np.array([0.3], "f4")
        right = a + b
        off = right + 8 * np.spacing(right)
        (found,) = judge(op_of("Add", a, b), [a, b], [off])
        assert found.status is Status.FAIL

    def test_integer_overflow_is_left_open(self):
        a = np.array([2**31 - 1], np.int32)
        (found,) = judge(op_of("Add", a, a), [a, a], [np.array([2**31 - 1], np.int32)])
        assert found.status is Status.UNSPECIFIED

    def test_a_float_beyond_an_integer_is_left_open(self):
        x = np.array([3e10, np.nan, 2.5], "f4")
        (found,) = judge(op_of("Cast", x, to=6), [x], [np.array([-1, 7, 2], np.int32)])
        assert found.status is Status.UNSPECIFIED
        (found,) = judge(op_of("Cast", x, to=6), [x], [np.array([-1, 7, 3], np.int32)])
        assert found.status is Status.FAIL

    def test_a_known_divergence_does_not_fail(self):
        x = np.array([-17.9], "f4")
        op = op_of("Sigmoid", x)
        (found,) = judge(op, [x], [np.array([2.98e-8], "f4")])
        assert found.status is Status.RUNTIME
        assert "logistic.cpp" in found.reason
        (found,) = judge(op, [x], [np.array([1e-4], "f4")])
        assert found.status is Status.FAIL

    def test_an_overflow_of_a_partial_sum_is_excused(self):
        a = np.array([[3e38, 3e38, -3e38]], "f4")
        ones = np.ones((3, 1), "f4")
        (found,) = judge(op_of("MatMul", a, ones), [a, ones], [np.array([[np.inf]], "f4")])
        assert found.status is Status.PASS
        (found,) = judge(
            op_of("MatMul", a / 1e9, ones), [a / 1e9, ones], [np.array([[np.inf]], "f4")]
        )
        assert found.status is Status.FAIL


class TestInputs:
    @staticmethod
    def graph() -> Graph:
        graph = Graph("embed")
        batch = symbol("batch")
        graph.constraints = [Constraint(batch, ">=", 4), Constraint(batch % 2, "==", 0)]
        tokens = graph.add_input("tokens", TensorType(DType.INT64, (batch, 3)))
        table = graph.add_weight(Weight.of(np.zeros((7, 2), np.float32)), "table")
        graph.outputs = [graph.add_op("Gather", [table, tokens]).output]
        return graph

    def test_indices_lie_in_their_table(self):
        graph = self.graph()
        for batch in draw(batches(graph, count=8), 20, 0):
            for (tokens,) in batch.cases(specs_of(graph)):
                assert tokens.min(initial=0) >= -7
                assert tokens.max(initial=0) <= 6

    def test_constraints_hold(self):
        for batch in draw(batches(self.graph()), 20, 0):
            size = dict(batch.dims)["batch"]
            assert size >= 4
            assert size % 2 == 0

    def test_a_seed_gives_the_same_cases(self):
        graph = self.graph()
        first, again = (draw(batches(graph, count=2), 10, 7) for _ in range(2))
        assert first == again
        assert first != draw(batches(graph, count=2), 10, 8)
        for a, b in zip(first, again, strict=True):
            for one, other in zip(a.cases(specs_of(graph)), b.cases(specs_of(graph)), strict=True):
                assert all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))

    def test_every_kind_and_special_value_is_reached(self):
        graph = Graph()
        graph.add_input("x", TensorType(DType.FLOAT32, (symbol("n"), 9)))
        found = draw(batches(graph, count=4), 200, 0)
        assert {b.kinds[0] for b in found} >= set(HOSTILE)
        values = np.concatenate([c[0].reshape(-1) for b in found for c in b.cases(specs_of(graph))])
        assert np.isnan(values).any()
        assert np.isposinf(values).any()
        assert np.isneginf(values).any()
        assert ((values == 0) & np.signbit(values)).any()
        assert ((values != 0) & (np.abs(values) < 2.0**-126)).any()
        assert {dict(b.dims)["n"] for b in found} >= {0, 1, 2, 3, 5, 7}

    def test_the_ordinary_profile_is_finite(self):
        graph = Graph()
        graph.add_input("x", TensorType(DType.FLOAT32, (4,)))
        for batch in draw(batches(graph, profile="ordinary", count=4), 40, 0):
            assert not batch.hostile
            assert all(np.isfinite(c[0]).all() for c in batch.cases(specs_of(graph)))

    def test_a_domain_is_kept(self):
        graph = Graph()
        graph.add_input("x", TensorType(DType.FLOAT32, (50,)))
        graph.domains["x"] = (0.0, 1.0)
        for batch in draw(batches(graph, count=2), 40, 0):
            for (x,) in batch.cases(specs_of(graph)):
                assert x.min() >= 0
                assert x.max() <= 1

    def test_the_public_strategy_gives_arrays_by_name(self):
        import hypothesis

        @hypothesis.settings(max_examples=10, database=None, deadline=None)
        @hypothesis.given(inputs(self.graph()))
        def check(given: dict[str, Any]) -> None:
            assert given["tokens"].dtype == np.int64
            assert given["tokens"].shape[1] == 3

        check()

    def test_an_input_that_is_compared_is_drawn_from_what_it_is_compared_with(self):
        graph = Graph()
        rate = graph.add_input("rate", TensorType(DType.INT64, ()))
        known = graph.add_weight(Weight.of(np.array(16000)), "known")
        graph.outputs = [graph.add_op("Equal", [rate, known]).output]
        drawn = [
            int(c[0])
            for b in draw(batches(graph, count=4), 20, 0)
            for c in b.cases(specs_of(graph))
        ]
        assert 0.3 < np.mean(np.array(drawn) == 16000) < 0.95


class TestStructure:
    X = Port("x", TensorType(FLOAT, (symbol("n"), 3)))

    @pytest.mark.parametrize(
        ("found", "words"),
        [
            ((), "has 1 outputs"),
            ((Port("y", X.type),), "named y instead of x"),
            ((Port("x", TensorType(DType.FLOAT64, (symbol("n"), 3))),), "float64"),
            ((Port("x", TensorType(FLOAT, (3,))),), "rank 1"),
            ((Port("x", TensorType(FLOAT, (symbol("n"), 4))),), "axis 1 is 4"),
        ],
    )
    def test_differences(self, found: tuple[Port, ...], words: str):
        assert words in " ".join(declared("output", [self.X], found))

    def test_a_fixed_dim_counts_for_inputs(self):
        fixed = Port("x", TensorType(FLOAT, (2, 3)))
        assert "fixed to 2" in " ".join(declared("input", [self.X], [fixed]))
        assert not declared("output", [self.X], [fixed])

    def test_the_name_of_a_symbol_does_not_count(self):
        assert not declared("input", [self.X], [Port("x", TensorType(FLOAT, (symbol("m"), 3)))])


class TestVerdict:
    def test_json_holds_no_number_that_json_lacks(self):
        verdict = Verdict(
            Status.PASS, "", outputs=(Judged("y", max_ulp=float("inf"), max_abs=float("nan")),)
        )
        found = json.loads(json.dumps(verdict.to_json(), allow_nan=False))
        assert found["schema_version"] == 1
        assert found["outputs"][0]["max_ulp"] == "inf"

    @pytest.mark.parametrize(
        ("status", "code"),
        [("PASS", 0), ("RUNTIME", 0), ("INSUFFICIENT", 2), ("FAIL", 3), ("SUSPECT", 4)],
    )
    def test_exit_codes(self, status: str, code: int):
        assert Verdict(Status(status), "").exit_code == code

    def test_assert_parity_raises_with_the_verdict(self, tmp_path: Path):
        made = model([node("Relu", "x", "y")], ["x: float32[n]"], ["y: float32[n]"])
        path = save(made, tmp_path / "m.onnx")
        options: dict[str, Any] = {"inputs": ["x: float32[n]"], "cases": 10}
        assert_parity(lambda x: np.maximum(x, 0), path, **options)
        with pytest.raises(ParityFailure, match="parity FAIL") as caught:
            assert_parity(lambda x: x, path, replay_folder=tmp_path / "replay", **options)
        assert caught.value.verdict.exit_code == 3

    def test_too_few_usable_inputs_are_no_pass(self, tmp_path: Path):
        nodes = [node("Reshape", "x shape", "y")]
        made = model(
            nodes,
            ["x: float32[n]"],
            ["y: float32[13, 997]"],
            {"shape": np.array([13, 997])},
        )
        path = save(made, tmp_path / "m.onnx")
        verdict = verify(path, path, cases=10, budget=5.0)
        assert verdict.status is Status.INSUFFICIENT
        assert verdict.exit_code == 2
        assert "--input" in verdict.reason

    def test_a_reference_that_rounds_by_itself_is_weaker(self, tmp_path: Path):
        def rounding(x: Any) -> Any:
            plain = np.array(np.asarray(x), np.float32, subok=False)
            return np.tanh(plain)

        made = model([node("Tanh", "x", "y")], ["x: float32[n]"], ["y: float32[n]"])
        path = save(made, tmp_path / "m.onnx")
        verdict = verify(rounding, path, inputs=["x: float32[n]"], cases=20)
        assert verdict.status is Status.PASS, verdict
        assert "own precision" in verdict.weaker


class TestWorker:
    def test_it_starts_again_after_it_died(self, tmp_path: Path):
        made = model([node("Div", "a b", "y")], ["a: int32[n]", "b: int32[n]"], ["y: int32[n]"])
        path = save(made, tmp_path / "div.onnx")
        worker = Worker()
        try:
            session = worker.load(path, optimize=False)
            with pytest.raises(WorkerDiedError, match="SIGFPE"):
                worker.run(session, {"a": np.array([-(2**31)], "i4"), "b": np.array([-1], "i4")})
            (found,) = worker.run(session, {"a": np.array([7], "i4"), "b": np.array([2], "i4")})
            assert found.tolist() == [3]
        finally:
            worker.close()


def test_a_budget_is_kept_and_told(tmp_path: Path):
    made = model([node("Relu", "x", "y")], ["x: float32[n, 4]"], ["y: float32[n, 4]"])
    path = save(made, tmp_path / "m.onnx")
    verdict = verify(path, path, cases=100_000, budget=1.0)
    assert verdict.status is Status.PASS
    assert 0 < verdict.cases < 100_000
    assert any("stopped after 1 seconds" in n for n in verdict.notes)
    assert f"{verdict.cases} cases of 100000 asked for" in str(verdict)
    assert verdict.dims["n"]


def test_a_branch_is_judged_inside(tmp_path: Path):
    from onnx import TensorProto, helper

    def branch(kind: str) -> Any:
        out = helper.make_tensor_value_info("b", TensorProto.FLOAT, None)
        return helper.make_graph([node(kind, "x", "t"), node("Neg", "t", "b")], kind, [], [out])

    nodes = [
        node("ReduceSum", "x", "s", keepdims=0),
        node("Greater", "s zero", "c"),
        node("If", "c", "y", then_branch=branch("Exp"), else_branch=branch("Sin")),
    ]
    made = model(nodes, ["x: float32[4]"], ["y: float32[4]"], {"zero": np.array(0, "f4")})
    verdict = verify(save(made, tmp_path / "m.onnx"), tmp_path / "m.onnx", cases=30)
    assert verdict.status is Status.PASS, verdict
    assert {n.op for n in verdict.nodes} >= {"If", "Exp", "Sin", "Neg"}


def test_every_probe_of_a_rewritten_attribute_moves_the_result():
    graph = Graph("norm")
    x = graph.add_input("x", TensorType(DType.FLOAT32, (4, 8)))
    scale = graph.add_weight(Weight.of(np.ones(8, np.float32)), "scale")
    made = graph.add_op("LayerNormalization", [x, scale], {"epsilon": 1e-3})
    graph.outputs = [made.output]
    rewritten = Rewritten(graph, np.zeros(0), frozenset())
    program = Program(graph, wide=True)
    feeds = [np.random.default_rng(0).uniform(-1, 1, (4, 8)).astype(np.float32)]
    plain = program.run(feeds)[0]
    for seed in range(6):
        moved = rewritten.run(program, feeds, seed)[0]
        assert 0 < np.abs(moved - plain).max() < 1e-8, seed
