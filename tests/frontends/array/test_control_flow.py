"""`xp.cond`, and `xp.op` with any ONNX operator."""

# ruff: noqa: ARG005 - a function of a trace need not use its input

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import isomorph
from isomorph import array as xp
from tests.frontends.array.tracing import agree, compare, refused, traced

if TYPE_CHECKING:
    from pathlib import Path

W = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)


class TestCond:
    def test_branches_with_closures_operands_and_weights(self):
        def fn(x: Any, y: Any) -> Any:
            scaled = x * 2

            def yes(v: Any) -> Any:
                return {"a": v @ W + scaled, "b": v.shape[0]}

            def no(v: Any) -> Any:
                return {"a": v - y, "b": 7}

            return xp.cond(xp.sum(x) > 0, yes, no, x)

        graph = traced(fn, "x: float32[n, 40]", "y: float32[n, 40]")
        x = np.random.default_rng(1).standard_normal((3, 40)).astype(np.float32)

        def plain(x: Any, y: Any) -> Any:
            return {"a": x @ W + x * 2, "b": len(x)} if x.sum() > 0 else {"a": x - y, "b": 7}

        compare(graph, plain, x + 10, x, ulps=2048)
        compare(graph, plain, x - 10, x, ulps=2048)
        compare(graph, plain, (x - 10)[:1], x[:1], ulps=2048)
        assert fn(x + 10, x)["b"] == 3

    def test_nested_and_on_dims(self):
        def fn(x: Any) -> Any:
            def inner(v: Any) -> Any:
                return xp.cond(xp.any(v > 0), lambda u: u + x, lambda u: u - x, v)

            return xp.cond(x.shape[0] > 2, inner, lambda v: v * 3, x)

        graph = traced(fn, "x: float32[n]")
        for values in ([1.0, 2.0, 3.0], [-1.0, -2.0, -3.0], [5.0]):
            compare(graph, fn, np.array(values, np.float32))

    def test_branches_of_different_sizes_give_an_open_dim(self):
        def fn(x: Any) -> Any:
            y = xp.cond(xp.all(x > 0), lambda v: v[:2], lambda v: v, x)
            return y * xp.arange(y.shape[0])

        graph = traced(fn, "x: float32[5]")
        for sign in (1, -1):
            compare(graph, fn, sign * np.ones(5, np.float32))

    def test_dtypes_of_branches_promote(self):
        graph = traced(lambda x: xp.cond(x[0] > 0, lambda: x[1], lambda: 1), "x: float16[2]")
        assert str(graph.outputs[0].type) == "float16[]"

    def test_a_plain_bool_picks(self):
        graph = traced(lambda x: xp.cond(True, lambda v: v + 1, lambda v: v, x), "x: float32[2]")
        assert len(graph) == 1

    def test_branches_must_match(self):
        error = refused(lambda x: xp.cond(x[0] > 0, lambda: (x, x), lambda: x), "x: float32[2]")
        assert "(array, array) and array" in str(error)
        error = refused(lambda x: xp.cond(x[0] > 0, lambda: x, lambda: x[None]), "x: float32[2]")
        assert "float32[2] and float32[1, 2]" in str(error)
        error = refused(lambda x: xp.cond(x > 0, lambda: x, lambda: x), "x: float32[2]")
        assert "one element" in str(error)

    def test_an_array_does_not_outlive_its_branch(self):
        def fn(x: Any) -> Any:
            leaked: list[Any] = []
            y = xp.cond(x[0] > 0, lambda: leaked.append(x + 1) or x, lambda: x)
            return y + leaked[0]

        assert "belongs to a branch of xp.cond" in str(refused(fn, "x: float32[2]"))


class TestOperators:
    def test_any_onnx_operator(self):
        def fn(x: Any) -> Any:
            y = xp.op("LeakyRelu", x, alpha=0.2)
            return xp.op("Split", y, [1, 2], axis=0, outputs=2)

        agree(fn, np.array([-1.0, 0.5, -3.0], np.float32))

    def test_numbers_take_the_dtype_of_their_variable(self):
        graph = agree(lambda x: xp.op("Max", x, 0), np.array([-1.0, 2.0], np.float32))
        assert str(graph.outputs[0].type) == "float32[2]"

    def test_eager_evaluation_keeps_float64_and_subclasses(self):
        class Sub(np.ndarray):
            pass

        x = np.linspace(-1, 1, 5).view(Sub)
        y = xp.nn.batch_norm(x[None, :, None], *np.ones((4, 5), np.float32))
        assert type(y) is Sub
        assert y.dtype == np.float64
        assert type(xp.asarray(x)) is Sub
        assert type(xp.exp(x)) is Sub
        np.testing.assert_allclose(y[0, :, 0], (x - 1) / np.sqrt(1 + 1e-5) + 1, rtol=0, atol=1e-12)

    def test_an_operator_of_ones_own(self):
        graph = traced(
            lambda x: xp.op("Fancy", x, domain="mine", types=["float32[n, 3]"], level=2),
            "x: float32[n, 4]",
        )
        assert str(graph.outputs[0].type) == "float32[n, 3]"
        assert graph.ops()[0].domain == "mine"

    @pytest.mark.parametrize(
        ("fn", "text"),
        [
            (lambda x: xp.op("Sofmax", x), "xp.op('Softmax', …)"),
            (lambda x: xp.op("Softmax", x, axes=1), "no attribute 'axes'"),
            (lambda x: xp.op("Softmax"), "takes (input)"),
            (lambda x: xp.op("Softmax", x, x), "2 operands were given"),
            (lambda x: xp.op("Softmax", x, outputs=2), "at most 1 outputs"),
            (lambda x: xp.op("Cast", x), "needs the attribute 'to'"),
            (lambda x: xp.op("Not", x), "Not does not take float32[3]"),
            (lambda x: xp.op("Fancy", x, domain="mine"), "needs the types of its results"),
        ],
    )
    def test_checked_against_the_definition(self, fn: Any, text: str):
        assert text in str(refused(fn, "x: float32[3]"))


def test_sequences_are_lists_when_numpy_computes():
    x, y = np.float32([[1, 2]]), np.float32([[3, 4], [5, 6]])
    pair = xp.op("SequenceConstruct", x, y)
    assert [v.shape for v in pair] == [(1, 2), (2, 2)]
    np.testing.assert_array_equal(xp.op("SequenceAt", pair, -1), y)
    np.testing.assert_array_equal(xp.op("ConcatFromSequence", pair, axis=0), np.concatenate([x, y]))
    assert int(xp.op("SequenceLength", xp.op("SequenceErase", pair))) == 1


def test_sequences_are_traced_as_numpy_computes_them(tmp_path: Path):
    def ends(x: Any, y: Any) -> Any:
        pair = xp.op("SequenceInsert", xp.op("SequenceConstruct", x, y), x)
        return xp.op("ConcatFromSequence", pair, axis=0), xp.op("SequenceAt", pair, 1)

    graph = isomorph.trace(ends, inputs=["x: float32[n, 3]", "y: float32[m, 3]"])
    result = isomorph.export(graph, tmp_path / "ends.onnx", cases=30)
    assert result.verdict.status == "PASS", result.verdict
