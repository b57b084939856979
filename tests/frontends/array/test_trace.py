"""What a trace keeps: names of inputs, outputs and weights, the user's lines, numpy's operators."""

# ruff: noqa: PLW0108, RUF005 - numpy's operators are what is tested

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from isomorph import array as xp
from isomorph.frontends.array.naming import weight_names
from isomorph.frontends.array.trace import trace_array
from isomorph.frontends.spec import parse_specs
from isomorph.ir.errors import SpecError
from tests.frontends.array.tracing import agree, refused, traced

W = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
PARAMETERS = {"first.weight": W.copy(), "first.bias": W[0].copy(), "deep": [W.T.copy()]}


class TestNames:
    def test_inputs_are_the_parameters(self):
        def fn(image: Any, mask: Any) -> Any:
            return image * mask

        graph = traced(fn, "mask: bool[n]", "image: float32[n]")
        assert [str(v) for v in graph.inputs] == ["%image: float32[n]", "%mask: bool[n]"]
        assert [v.name for v in graph.outputs] == ["output"]
        assert graph.name == "fn"
        assert graph.origin == "test_trace.py:fn"

    def test_positions_count_when_no_name_matches(self):
        graph = traced(lambda a, b: a - b, "x: float32[2]", "int64[2]")
        assert [str(v) for v in graph.inputs] == ["%a: float32[2]", "%b: int64[2]"]

    def test_variadic_parameters_are_named_by_their_specifications(self):
        graph = traced(lambda *many: sum(many), "p: float32[2]", "q: float32[2]", "float32[2]")
        assert [v.name for v in graph.inputs] == ["p", "q", "input_2"]

    def test_defaults_and_keyword_only_parameters(self):
        def fn(x: Any, scale: float = 2.0, *, y: Any, flag: bool = True) -> Any:
            return x * scale + y if flag else x

        graph = traced(fn, "x: float32[2]", "y: float32[2]")
        assert [v.name for v in graph.inputs] == ["x", "y"]

    def test_outputs_of_a_dict_are_its_keys(self):
        def fn(x: Any) -> Any:
            return {"logits": x + 1, "more": (x, [x * 2, {"z": x - 1}])}

        graph = traced(fn, "x: float32[2]")
        assert [v.name for v in graph.outputs] == ["logits", "more_0", "more_1_0", "more_1_1.z"]

    def test_outputs_of_a_tuple_are_numbered(self):
        graph = traced(lambda x: (x + 1, (x, 3.0)), "x: float32[2]")
        assert [str(v) for v in graph.outputs] == [
            "%output_0: float32[2]", "%output_1: float32[2]", "%output_2: float64[]",
        ]  # fmt: skip

    def test_given_names_win(self):
        graph = trace_array(
            lambda x: (x, x + 1),
            parse_specs(["x: float32[2]"]),
            input_names=["pixels"],
            output_names=["same", "pixels_plus"],
        )
        assert [v.name for v in graph.inputs] == ["pixels"]
        assert [v.name for v in graph.outputs] == ["same", "pixels_plus"]

    @pytest.mark.parametrize(
        ("specs", "text"),
        [
            (["x: float32[2]"], "no specification for 'y'"),
            (["x: float32[2]", "z: float32[2]"], "is called 'z'; its parameters are x, y"),
            (["p: float32[2]"], "takes 2 arrays (x, y), 1 specifications were given"),
            (["x: float32[2]", "y: float32[2*n]"], "n is in no other dim on its own"),
        ],
    )
    def test_specifications_that_do_not_match(self, specs: list[str], text: str):
        with pytest.raises(SpecError) as caught:
            traced(lambda x, y: x + y, *specs)
        assert text in str(caught.value)

    def test_names_given_twice(self):
        with pytest.raises(SpecError, match="given twice: a, a"):
            trace_array(lambda x: (x, x), parse_specs(["x: float32[2]"]), output_names=["a", "a"])

    def test_partial_methods_and_callables(self):
        class Model:
            def __init__(self) -> None:
                self.w = W.copy()

            def __call__(self, x: Any) -> Any:
                return x @ self.w

            def twice(self, x: Any) -> Any:
                return self(self(x))

        model = Model()
        for fn in (model, model.twice, functools.partial(lambda w, x: x @ w, model.w)):
            graph = traced(fn, "x: float32[n, 40]")
            assert [str(v) for v in graph.inputs] == ["%x: float32[n, 40]"]
        assert [v.name for v in traced(model, "x: float32[n, 40]").weights()] == ["w"]


class TestWeights:
    def test_named_as_the_user_names_them(self):
        def fn(x: Any) -> Any:
            y = x @ PARAMETERS["first.weight"] + PARAMETERS["first.bias"]
            return y @ W @ PARAMETERS["deep"][0] @ W

        graph = traced(fn, "x: float32[n, 40]")
        assert [v.name for v in graph.weights()] == ["first.weight", "first.bias", "W", "deep.0"]

    def test_memory_is_kept_and_one_object_is_one_weight(self):
        graph = traced(lambda x: x @ W + W[0] + (x @ W), "x: float32[n, 40]")
        big = [v for v in graph.weights() if v.weight is not None and v.weight.size == W.size]
        assert len(big) == 1
        assert np.shares_memory(big[0].weight.numpy(), W)

    def test_an_array_that_is_modified_afterwards_is_noticed(self):
        buffer = np.zeros((10, 10), np.float32)

        def fn(x: Any) -> Any:
            y = x @ buffer
            buffer[0] = 1
            return y

        assert "modified in place afterwards" in str(refused(fn, "x: float32[n, 10]"))

    def test_an_array_that_is_modified_between_uses_is_two_weights(self):
        def fn(x: Any) -> Any:
            total = x * 0
            for step in range(3):
                buffer = np.full((10, 10), step, np.float32)
                small = np.zeros(10, np.float32)
                small[:] = step
                total = total + x @ buffer + small
            return total

        agree(fn, np.ones((2, 10), np.float32))

    def test_nothing_is_in_reach_of_a_builtin(self):
        assert weight_names(math.sin) == {}
        assert len(traced(xp.exp, "x: float32[2]")) == 1
        assert len(traced(np.exp, "x: float32[2]")) == 1

    def test_read_only_arrays_are_not_copied(self):
        frozen = W.copy()
        frozen.flags.writeable = False
        graph = traced(lambda x: x @ frozen, "x: float32[n, 40]")
        (weight,) = graph.weights()
        assert np.shares_memory(weight.weight.numpy(), frozen)


def test_sources_are_the_users_lines():
    def fn(x: Any) -> Any:
        y = np.exp(x)
        return xp.concat(
            [y, y],
            axis=0,
        )

    graph = traced(fn, "x: float32[3]")
    first = fn.__code__.co_firstlineno
    assert [op.source.line for op in graph.sorted_ops()] == [first + 1, first + 2]


def test_namespace_of_the_standard():
    def fn(x: Any) -> Any:
        ns = x.__array_namespace__()
        assert isinstance(x, np.ndarray) or ns is xp
        return ns.astype(x, ns.float64) + ns.pi

    agree(fn, np.ones(2, np.float32))


def test_ufunc_methods():
    for fn in (
        lambda x: np.add.reduce(x),
        lambda x: np.multiply.reduce(x, axis=1),
        lambda x: np.maximum.reduce(x, axis=None),
        lambda x: np.logical_or.reduce(x, axis=0),
        lambda x: np.add.accumulate(x, axis=1),
        lambda x: np.subtract.outer(x, x[0]),
        lambda x: np.add(x, x, dtype=np.float64),
        lambda x: np.matmul(x, x.T, dtype=np.float64),
        lambda x: divmod(x, 2.0),
        lambda x: np.divmod(x, 2),
    ):
        agree(fn, np.arange(6, dtype=np.float32).reshape(2, 3))


def test_operators_of_python():
    def fn(x: Any, y: Any) -> Any:
        return (
            x + y, y - x, x * 2, 3 / y, x // y, x % 3, -x, +x, abs(x), x**3, 2.0**x,
            x < y, x <= 1, x > y, x >= 2, x == y, x != y, (x > 0) & (y > 0), (x > 0) | (y > 0),
            (x > 0) ^ (y > 0), ~(x > 0), [1.0, 2.0, 3.0] + x, np.ones(3) - x, np.float32(2) * x,
        )  # fmt: skip

    agree(fn, np.array([-1.0, 2.0, 3.0], np.float32), np.array([2.0, 2.0, -5.0], np.float32))
    agree(lambda i: (i << 2, i >> 1, i & 3, i | 1, i ^ 5, ~i, 7 >> i, 1 << i), np.array([1, 2, 5]))
