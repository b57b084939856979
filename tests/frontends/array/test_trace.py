"""What a trace keeps: names, weights, lines, constraints; and what it refuses, in which words."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

from isomorph import array as xp
from isomorph.frontends.array import TraceError
from isomorph.frontends.array.naming import weight_names
from isomorph.frontends.array.trace import trace_array
from isomorph.frontends.spec import parse_specs
from isomorph.ir.errors import SpecError
from isomorph.ir.interpret import interpret
from tests.frontends.array.tracing import agree, compare, traced

W = np.random.default_rng(0).standard_normal((40, 40)).astype(np.float32)
PARAMETERS = {"first.weight": W.copy(), "first.bias": W[0].copy(), "deep": [W.T.copy()]}


def line_of(fn: Any, offset: int) -> str:
    return f"{__file__.rsplit('/', 1)[-1]}:{fn.__code__.co_firstlineno + offset}"


def refused(fn: Any, *specs: str) -> TraceError:
    with pytest.raises(TraceError) as caught:
        traced(fn, *specs)
    return caught.value


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
        graph = traced(lambda x: {"logits": x + 1, "more": (x, [x * 2, {"z": x - 1}])}, "x: float32[2]")
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
            (["x: float32[2]", "z: float32[2]"], "no parameter is called 'z'; its parameters are x, y"),
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

    def test_read_only_arrays_are_not_copied(self):
        frozen = W.copy()
        frozen.flags.writeable = False
        graph = traced(lambda x: x @ frozen, "x: float32[n, 40]")
        (weight,) = graph.weights()
        assert np.shares_memory(weight.weight.numpy(), frozen)


class TestDims:
    def test_constraints_and_domains_come_from_the_specification(self):
        graph = traced(lambda x: x + 1, "x: float32[batch in 1..64, h in 8..] in 0..1")
        assert [str(c) for c in graph.constraints] == ["batch >= 1", "batch <= 64", "h >= 8"]
        assert graph.domains == {"x": (0.0, 1.0)}

    def test_dims_are_integers_to_compute_with(self):
        def fn(x: Any) -> Any:
            n, m = x.shape
            y = x.reshape(n * m)
            z = xp.zeros((n + 1, 2 * m), dtype=x.dtype)
            return y, z, xp.arange(n), xp.full(m, n), n, (n * m - 1) // 2, n % 3, xp.ones(x.shape)

        graph = traced(fn, "x: float32[n, m]")
        assert [str(v.type) for v in graph.outputs][:4] == [
            "float32[m*n]", "float32[n + 1, 2*m]", "int64[n]", "int64[m]",
        ]  # fmt: skip
        for n, m in ((1, 1), (3, 4), (7, 2), (5, 5)):
            compare(graph, fn, np.ones((n, m), np.float32))

    def test_a_comparison_is_decided_by_what_is_declared(self):
        def fn(x: Any) -> Any:
            n = x.shape[0]
            assert n > 3
            assert not n < 2
            assert n != 3
            assert n + 1 >= 5
            return x if n >= 4 else x * 2

        assert len(traced(fn, "x: float32[n in 4..]")) == 1

    def test_a_comparison_that_is_open_is_refused(self):
        def fn(x: Any) -> Any:
            if x.shape[0] > 3:
                return x + 1
            return x

        error = refused(fn, "x: float32[batch, 2]")
        assert line_of(fn, 1) in str(error)
        assert "`batch > 3` decides what the function does" in str(error)
        assert "`batch in 4..` in the input's specification" in str(error)
        assert "xp.assume(batch > 3)" in str(error)

    def test_assume_records_what_it_decides(self):
        def fn(x: Any) -> Any:
            xp.assume(x.shape[0] > 3)
            return x + 1 if x.shape[0] > 3 else x

        graph = traced(fn, "x: float32[batch, 2]")
        assert [str(c) for c in graph.constraints] == ["batch > 3"]
        assert line_of(fn, 1) in graph.constraints[0].reason
        with pytest.raises(xp.AssumptionError):
            fn(np.ones((2, 2)))
        fn(np.ones((4, 2)))

    def test_an_assumption_that_contradicts_is_refused(self):
        def fn(x: Any) -> Any:
            xp.assume(x.shape[0] < 2)
            return x

        with pytest.raises(xp.AssumptionError, match="does not hold"):
            traced(fn, "x: float32[batch in 4..]")

    def test_equal_names_broadcast_and_different_ones_are_recorded(self):
        graph = traced(lambda x, y: x + y, "x: float32[n, 3]", "y: float32[m, 3]")
        assert [str(c) for c in graph.constraints] == ["m == n"]
        assert "test_trace.py:" in graph.constraints[0].reason

    @pytest.mark.parametrize("fn", [lambda x, y: x + y, lambda x, y: x.T @ y, lambda x, y: xp.where(x > 0, x, y)])
    def test_a_name_against_a_number_is_refused(self, fn: Any):
        error = refused(fn, "x: float32[n, 3]", "y: float32[5, 3]")
        assert "would be fixed to one number" in str(error)
        assert "n == 5" in str(error) or "5 == n" in str(error)

    def test_a_reshape_records_divisibility(self):
        graph = traced(lambda x: x.reshape(-1, 4), "x: float32[n]")
        assert str(graph.outputs[0].type) == "float32[(n) // 4, 4]"
        (constraint,) = graph.constraints
        assert constraint.holds({"n": 8})
        assert constraint.holds({"n": 9}) is False

    @pytest.mark.parametrize(
        ("fn", "text"),
        [
            (lambda x: np.zeros(x.shape), "is used where Python or numpy needs a number"),
            (lambda x: [x for _ in range(x.shape[0])], "is used where Python or numpy needs"),
            (lambda x: x * math.sqrt(x.shape[0]), "is turned into a float"),
            (lambda x: x * int(x.shape[0]), "is turned into an int"),
            (lambda x: len(x), "len() of float32[n, 2]"),
            (lambda x: list(x), "a loop over the first axis of float32[n, 2]"),
            (lambda x: x * max(x.shape[0], 3), "decides what the function does"),
            (lambda x: [0] * x.shape[0], "repeats a sequence"),
        ],
    )
    def test_a_dim_is_not_a_number(self, fn: Any, text: str):
        error = refused(fn, "x: float32[n, 2]")
        assert text in str(error)
        assert "test_trace.py:" in str(error)

    def test_loops_over_axes_of_fixed_size_unroll(self):
        agree(lambda x: [r * i for i, r in enumerate(x)] + [xp.asarray(len(x))], np.ones((3, 2)))


class TestRefusals:
    @pytest.mark.parametrize(
        ("fn", "what", "instead"),
        [
            (lambda x: x if x.sum() > 0 else -x, "`if`", "xp.where"),
            (lambda x: x if x[0, 0] else -x, "`if`", "xp.cond"),
            (lambda x: x and 1, "`and`", "&"),
            (lambda x: int(x[0, 0]), "int()", "xp.astype"),
            (lambda x: float(x[0, 0]), "float()", "xp.astype"),
            (lambda x: np.asarray(x), "numpy.asarray", "xp.asarray"),
            (lambda x: np.array([x, x]), "numpy.asarray", "xp.stack"),
            (lambda x: x.item(), ".item()", "the array itself"),
            (lambda x: x.tolist(), ".tolist()", "the array itself"),
            (lambda x: 1.0 in x, "`in`", "xp.any"),
            (lambda x: [0, 1, 2][x[0, 0].astype(int)], "an index or a size", "x[i]"),
            (lambda x: np.add(x, 1, out=np.zeros((3, 2))), "out=", "plain call"),
            (lambda x: np.sum(x, out=np.zeros(())), "out=", "y = np.sum(…)"),
            (lambda x: np.add(x, 1, where=np.ones(2, bool)), "where=", "xp.where"),
            (lambda x: x.sort(), "sort()", "xp.sort"),
            (lambda x: np.copyto(x, 0), "writes in place", "xp.where"),
            (lambda x: np.add.at(x, 0, 1), "writes in place", "xp.at"),
            (lambda x: "a" + x, "", ""),
        ],
    )
    def test_what_needs_numbers(self, fn: Any, what: str, instead: str):
        with pytest.raises(TypeError) as caught:
            traced(fn, "x: float32[3, 2]")
        if what:
            assert isinstance(caught.value, TraceError)
            assert what in str(caught.value)
            assert instead in caught.value.instead
            assert "test_trace.py:" in str(caught.value)

    def test_the_line_is_the_one_in_the_users_helper(self):
        def helper(x: Any) -> Any:
            y = np.exp(x)
            return y if y.mean() > 1 else x

        def fn(x: Any) -> Any:
            return helper(x) + 1

        assert line_of(helper, 2) in str(refused(fn, "x: float32[3]"))

    def test_attributes_that_do_not_exist(self):
        with pytest.raises(AttributeError, match="did you mean 'reshape'"):
            traced(lambda x: x.reshap(3), "x: float32[3]")
        with pytest.raises(AttributeError, match="did you mean 'softmax'|has no 'sofmax'"):
            _ = xp.sofmax
        with pytest.raises(AttributeError, match="did you mean 'mean'"):
            _ = xp.meen

    def test_what_is_returned_must_be_arrays(self):
        assert "returns None" in str(refused(lambda x: None, "x: float32[3]"))
        assert "returns no array" in str(refused(lambda x: (), "x: float32[3]"))
        assert "array of Python objects" in str(refused(lambda x: object(), "x: float32[3]"))

    def test_an_array_does_not_outlive_its_trace(self):
        kept: list[Any] = []
        traced(lambda x: kept.append(x) or x + 1, "x: float32[3]")
        with pytest.raises(TraceError, match="after its trace has ended"):
            kept[0] + 1

    def test_arguments_that_are_not_captured_are_named(self):
        assert "dtypo" in str(refused(lambda x: xp.sum(x, dtypo=1), "x: float32[3]"))

    def test_an_error_ends_the_trace_and_the_next_one_starts_afresh(self):
        refused(lambda x: x if x.any() else x, "x: float32[3]")
        assert len(traced(lambda x: x + 1, "x: float32[3]")) == 1


class TestInPlace:
    def test_augmented_assignment_rebinds_every_name(self):
        def fn(x: Any) -> Any:
            y = x * 1
            z = y
            y += 1
            y *= 2.0
            y **= 2
            return y, z

        agree(fn, np.arange(3, dtype=np.float32))

    def test_the_dtype_stays(self):
        agree(lambda x: (x * 1).__iadd__(np.float64(1)), np.ones(3, np.float32))
        assert "numpy refuses" in str(refused(lambda x: x.__iadd__(1.5), "x: int64[3]"))

    def test_the_shape_stays(self):
        assert "to an array of shape (3,)" in str(
            refused(lambda x: x.__iadd__(np.ones((2, 3))), "x: float64[3]")
        )

    def test_a_view_that_was_taken_before_is_refused(self):
        def fn(x: Any) -> Any:
            row = x[0]
            x += 1
            return row

        error = refused(fn, "x: float32[3, 2]")
        assert "shares memory" in str(error)
        assert line_of(fn, 2) in str(error)

    def test_a_copy_that_was_taken_before_is_not(self):
        def fn(x: Any) -> Any:
            row = x[0].copy()
            x += 1
            return row, x

        graph = traced(fn, "x: float32[3, 2]")
        found = interpret(graph, [np.zeros((3, 2), np.float32)])
        np.testing.assert_array_equal(found[0], np.zeros(2))

    def test_numpy_arrays_do_not_take_traced_values(self):
        def fn(x: Any) -> Any:
            w = np.zeros(3)
            w += x
            return w

        assert "out=" in str(refused(fn, "x: float64[3]"))


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
        assert len(traced(lambda x: xp.cond(True, lambda v: v + 1, lambda v: v, x), "x: float32[2]")) == 1

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


class TestUnsupported:
    def test_all_are_listed_with_their_lines(self):
        def fn(x: Any) -> Any:
            inverse = np.linalg.inv(x)
            values = np.linalg.eigvalsh(inverse)
            return np.fft.rfft(values).real, np.i0(x), np.gcd(x.astype(int), 2)

        graph = traced(fn, "x: float64[4, 4]")
        found = [(op.type, op.where.rpartition(":")[2]) for op in graph.ops() if op.domain]
        first = fn.__code__.co_firstlineno
        assert found == [
            ("linalg.inv", str(first + 1)),
            ("linalg.eigvalsh", str(first + 2)),
            ("fft.rfft", str(first + 3)),
            ("i0", str(first + 3)),
            ("gcd", str(first + 3)),
        ]
        assert {op.domain for op in graph.ops() if op.domain} == {"isomorph.unsupported"}
        assert [str(v.type) for v in graph.outputs][1:] == ["float64[4, 4]", "int64[4, 4]"]

    def test_open_dims_are_followed(self):
        graph = traced(lambda x: np.linalg.svd(x, compute_uv=False), "x: float64[b, n, 3]")
        assert str(graph.outputs[0].type) == "float64[b, 3]"

    def test_what_cannot_be_told_is_an_error_at_once(self):
        error = refused(lambda x: np.piecewise(x, [x > 0], [object()]), "x: float64[3]")
        assert "np.piecewise is not captured" in str(error)

    def test_the_closest_function_is_named(self):
        graph = traced(lambda x: np.nancumsum(x), "x: float64[3]")
        (op,) = graph.ops()
        assert "cumsum" in op.attributes["remedy"]


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
            lambda x: xp.op("Fancy", x, domain="mine", types=["float32[n, 3]"], level=2), "x: float32[n, 4]"
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
