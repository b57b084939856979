"""Running graphs: lifetimes, hooks, wide arithmetic, subgraphs; and single ops by the reference."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from isomorph.ir import interpret as module
from isomorph.ir.errors import InvalidGraphError, UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.interpret import Program, interpret, widen
from isomorph.ir.reference import evaluate_by_reference
from isomorph.ir.types import DType
from tests.ir.graphs import VECTOR, build, conditional, tensor, vector

X = np.array([1, -2, 3, -4], np.float32)


class TestValuesAreFreed:
    def test_after_their_last_reader(self, monkeypatch: pytest.MonkeyPatch):
        graph, _ = build("a = Neg(x)\nb = Abs(a)\nc = Add(a, b)\nd = Neg(c)\ne = Neg(d)")
        alive: list[list[str]] = []
        made: dict[str, weakref.ref[np.ndarray]] = {}
        real = module.evaluate

        def watched(op, operands, **options):  # noqa: ANN003, ANN202
            alive.append([name for name, array in made.items() if array() is not None])
            results = real(op, operands, **options)
            made[op.output.name] = weakref.ref(results[0])
            return results

        monkeypatch.setattr(module, "evaluate", watched)
        interpret(graph, [X])
        gc.collect()
        assert alive == [[], ["a"], ["a", "b"], ["c"], ["d"]]

    def test_but_not_outputs_captures_or_what_is_read_later(self):
        graph, v = build("a = Neg(x)\nb = Abs(a)\nc = Add(a, b)")
        graph.outputs = [v["a"], v["c"], v["a"], v["x"]]
        a, c, again, x = interpret(graph, [X])
        np.testing.assert_array_equal(c, a + abs(a))
        assert again is a
        assert x is X

    def test_a_program_runs_again(self):
        graph, v = build("a = Neg(x)\nb = Add(a, a)")
        weight = graph.add_weight(vector(1, 1, 1, 1))
        graph.outputs = [graph.add_op("Add", [v["b"], weight]).output]
        program = Program(graph)
        for _ in range(2):
            np.testing.assert_array_equal(program.run([X])[0], 1 - 2 * X)


class TestHooks:
    def test_watch_sees_every_op_and_may_replace_results(self):
        graph, _ = build("a = Neg(x)\nb = Abs(a)")
        seen: list[tuple[str, float, float]] = []

        def watch(op, operands, results):  # noqa: ANN202
            seen.append((op.type, operands[0][0], results[0][0]))
            return [results[0] * 10] if op.type == "Neg" else None

        (found,) = interpret(graph, [X], watch=watch)
        assert seen == [("Neg", 1, -1), ("Abs", -10, 10)]
        np.testing.assert_array_equal(found, abs(X) * 10)

    def test_change_sees_every_value_once(self):
        graph = conditional()
        seen: list[str] = []

        def change(value, array):  # noqa: ANN202
            seen.append(value.name)
            return array + 1 if value.name == "then_out" else array

        (found,) = Program(graph).run([np.array(True), X, X], change=change)
        assert sorted(seen) == ["c", "picked", "then_out", "x", "y"]
        np.testing.assert_array_equal(found, X + X + 1)

    def test_hooks_reach_into_subgraphs(self):
        seen: list[str] = []
        interpret(
            conditional(),
            [np.array(False), X, X],
            watch=lambda op, *_: seen.append(op.type),
        )
        assert seen == ["Mul", "If"]


class TestWide:
    def test_everything_is_float64(self):
        graph, v = build("a = Exp(x)")
        third = graph.add_weight(vector(1 / 3, 1, 1, 1))
        half = graph.add_op("Cast", [v["a"]], {"to": DType.FLOAT16.value}).output
        graph.outputs = [graph.add_op("Mul", [v["a"], third]).output, half]
        wide, cast = interpret(graph, [X], wide=True)
        assert (wide.dtype, cast.dtype) == (np.float64, np.float64)
        exact = np.exp(X.astype(np.float64))
        np.testing.assert_array_equal(wide, exact * widen(np.array([1 / 3, 1, 1, 1], np.float32)))
        np.testing.assert_array_equal(cast, exact)
        narrow, rounded = interpret(graph, [X])
        assert (narrow.dtype, rounded.dtype) == (np.float32, np.float16)

    def test_only_floats_are_widened(self):
        for array in (
            np.arange(3),
            np.array([True]),
            np.array(["a"], object),
            np.zeros(2, complex),
        ):
            assert widen(array) is array
        kinds = [d.numpy for d in DType if d.is_float]
        assert all(widen(np.ones(2, kind)).dtype == np.float64 for kind in kinds)
        assert [a.dtype for a in widen([X, np.arange(2)])] == [np.float64, np.int64]

    def test_wide_reaches_subgraphs(self):
        (found,) = interpret(conditional(), [np.array(True), X, X], wide=True)
        assert found.dtype == np.float64


class TestErrors:
    def test_the_number_of_inputs(self):
        with pytest.raises(InvalidGraphError, match="made: 2 inputs were given, 1 are wanted"):
            interpret(build("a = Neg(x)")[0], [X, X])
        with pytest.raises(InvalidGraphError, match="made: 1 captures were given, 0 are wanted"):
            interpret(build("a = Neg(x)")[0], [X], [X])

    def test_missing_results(self, monkeypatch: pytest.MonkeyPatch):
        graph, _ = build("a = Neg(x)")
        monkeypatch.setattr(module, "evaluate", lambda *_, **__: [])
        with pytest.raises(InvalidGraphError, match=r"%a = Neg-13\(%x\): 0 results were computed"):
            interpret(graph, [X])

    def test_operators_that_nobody_can_run(self):
        graph = Graph()
        op = graph.add_op("Own", [graph.add_input("x", VECTOR)], domain="my", version=1)
        graph.outputs = [op.output]
        with pytest.raises(UnsupportedError, match=r"my\.Own-1"):
            interpret(graph, [X])


class TestReference:
    def test_absent_operands_and_results(self):
        graph = Graph()
        x = graph.add_input("x", VECTOR)
        clip = graph.add_op("Clip", [x, None, graph.add_weight(vector(0))])
        (found,) = evaluate_by_reference(clip, [X, None, np.float32(0)])
        np.testing.assert_array_equal(found, np.minimum(X, 0))

    def test_types_in_attributes_widen(self):
        graph = Graph()
        cast = graph.add_op("Cast", [graph.add_input("x", VECTOR)], {"to": DType.FLOAT16.value})
        (found,) = evaluate_by_reference(cast, [X.astype(np.float64) / 3], wide=True)
        np.testing.assert_array_equal(found, X.astype(np.float64) / 3)

    def test_an_output_type_of_0_means_none(self):
        graph = Graph()
        scale = graph.add_weight(vector(0.5))
        op = graph.add_op(
            "QuantizeLinear", [graph.add_input("x", VECTOR), scale], {"output_dtype": 0}
        )
        (found,) = evaluate_by_reference(op, [X, np.float32(0.5)], wide=True)
        assert found.dtype == np.uint8

    def test_subgraphs_are_not_for_it(self):
        (op,) = conditional().ops()
        with pytest.raises(UnsupportedError, match="subgraphs"):
            evaluate_by_reference(op, [np.array(True)])

    def test_its_complaints_are_passed_on(self):
        graph = Graph()
        op = graph.add_op("MatMul", [graph.add_input(n, tensor("float32", 2)) for n in "ab"])
        with pytest.raises(UnsupportedError, match="cannot evaluate it: TypeError: Issues"):
            evaluate_by_reference(op, [np.ones((2, 3)), np.ones((2, 3))])
