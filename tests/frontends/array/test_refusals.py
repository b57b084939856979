"""What a trace refuses, in which words, and what it only lists."""

# ruff: noqa: ARG005, PLW0108, RUF034 - the line that is named is the lambda's

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest

import isomorph as iso
from isomorph import array as xp
from isomorph.frontends.array import TraceError
from isomorph.ir.errors import SpecError, UnsupportedError
from isomorph.ir.interpret import interpret
from tests.frontends.array.tracing import agree, line_of, refused, traced


def place(fn: Any, offset: int) -> str:
    return line_of(fn, offset).rpartition(":")[2]


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
            assert "test_refusals.py:" in str(caught.value)

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
        with pytest.raises(AttributeError, match=r"has no 'sofmax'"):
            _ = xp.sofmax
        with pytest.raises(AttributeError, match="did you mean 'mean'"):
            _ = xp.meen

    def test_what_is_returned_must_be_arrays(self):
        assert "returns None" in str(refused(lambda x: None, "x: float32[3]"))
        assert "returns no array" in str(refused(lambda x: (), "x: float32[3]"))
        objects = np.array([[object()]])
        assert "array of Python objects" in str(refused(lambda x: x + objects, "x: float32[3]"))

    def test_what_is_returned_is_named_at_the_function_itself(self):
        async def waiting(x: Any) -> Any:
            return x

        def yielding(x: Any) -> Any:
            yield x

        def text(x: Any) -> Any:
            return x, "z" * 1000

        def nothing(x: Any) -> Any:
            pass

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for fn, what, instead in (
                (waiting, "waiting returns a coroutine", "instead of `async def`"),
                (yielding, "yielding returns a generator", "instead of yields"),
                (text, "text returns a str 'zzz", "return x"),
                (nothing, "nothing returns None", "return x"),
                (functools.partial(nothing), "returns None", "return x"),
            ):
                error = refused(fn, "x: float32[3]")
                assert what in str(error)
                assert len(str(error)) < 400
                assert instead in error.instead
                inner = getattr(fn, "func", fn)
                assert f"{line_of(inner, 0)}: " in str(error)

    def test_what_numpy_refuses_is_told_with_its_line(self):
        for fn, spec, what in (
            (lambda x: x * 2, "x: string[2]", "np.multiply(string[2], 2): TypeError"),
            (lambda x: x * 1000, "x: int8[n]", "np.multiply(int8[n], 1000): OverflowError"),
        ):
            error = str(refused(fn, spec))
            assert what in error
            assert "test_refusals.py:" in error

    def test_large_values_are_not_printed_whole(self):
        many = list(range(5000))
        for fn in (
            lambda x: x[set(many)],
            lambda x: np.pad(x, [many]),
            lambda x: x * [object()] * 99,
        ):
            assert len(str(refused(fn, "x: float32[3]"))) < 500

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


class TestInterface:
    def test_inputs_may_be_one_text(self):
        def fn(x: Any, y: Any) -> Any:
            return x * y

        graph = iso.trace(fn, "x: float32[n]; y: float32[n]")
        verdict = iso.verify(fn, graph, inputs="x: float32[n]; y: float32[n]", cases=20)
        assert [v.name for v in graph.inputs] == ["x", "y"]
        assert verdict.exit_code == 0, str(verdict)

    def test_what_is_no_function_is_told_in_a_few_words(self):
        with pytest.raises(UnsupportedError, match=r"ndarray of float64, shape \(90, 90\)"):
            iso.trace(np.ones((90, 90)), ["x: float32[n]"])

    def test_inputs_of_another_kind_are_refused(self):
        for call in (iso.trace, lambda fn, inputs: iso.verify(fn, "none.onnx", inputs=inputs)):
            with pytest.raises(SpecError, match="a list of specifications is expected"):
                call(lambda x: x, None)


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
            ("real", str(first + 3)),
            ("i0", str(first + 3)),
            ("gcd", str(first + 3)),
        ]
        assert {op.domain for op in graph.ops() if op.domain} == {"isomorph.unsupported"}
        assert [str(v.type) for v in graph.outputs][1:] == ["float64[4, 4]", "int64[4, 4]"]

    def test_several_results_open_dims_and_refused_arguments_are_all_listed(self):
        def fn(x: Any) -> Any:
            u, s, vh = np.linalg.svd(x)
            t = np.linalg.svd(x).S
            z = np.fft.fft(x)
            m = np.median(x)
            return u, s, vh, t, z, m, x.argpartition(1)

        graph = traced(fn, "x: float32[n, 4]")
        ops = [op for op in graph.ops() if op.domain]
        first = fn.__code__.co_firstlineno
        assert [(op.type, int(op.where.rpartition(":")[2]) - first) for op in ops] == [
            ("linalg.svd", 1),
            ("linalg.svd", 2),
            ("fft.fft", 3),
            ("median", 4),
            ("ndarray.argpartition", 5),
        ]
        assert "open axis" in ops[3].attributes["reason"]
        assert [str(v.type) for v in graph.outputs[4:]] == [
            "complex64[n, 4]",
            "float32[]",
            "int64[n, 4]",
        ]

    def test_an_error_that_ends_the_trace_lists_those_before_it(self):
        def fn(x: Any) -> Any:
            s = np.linalg.svd(x, compute_uv=False)
            close = np.allclose(s[:1], np.fft.fft(x).real)
            return x if close else -x

        error = refused(fn, "x: float32[n, 4]")
        assert f"{line_of(fn, 3)}: `if`" in str(error)
        before = [str(line).partition(";")[0] for line in error.earlier]
        for offset, name in ((1, "linalg.svd"), (2, "fft.fft"), (2, "real")):
            assert any(line_of(fn, offset) in b and f"numpy.{name}" in b for b in before)
        assert all(str(line) in str(error) for line in error.earlier)

    @pytest.mark.parametrize(
        "decides",
        [lambda x: x.sum() > 0, lambda x: x.shape[0] > 3, lambda x: float(x[0, 0]) > 0],
        ids=["numbers", "a size", "float()"],
    )
    def test_what_comes_after_a_decision_is_listed_too(self, decides: Any):
        def fn(x: Any) -> Any:
            y = np.linalg.svd(x)[1]
            if decides(x):
                return np.fft.fft(x).real
            y = np.i0(x)
            return y, np.linalg.inv(x[:2, :2])

        error = refused(fn, "x: float32[n, 4]")
        assert "test_refusals.py:" in str(error).split("\n", maxsplit=1)[0]
        assert [str(o.source).rpartition(":")[2] for o in error.earlier] == [place(fn, 1)]
        assert {(str(o.source).rpartition(":")[2], o.name) for o in error.later} >= {
            (place(fn, 3), "fft.fft"),
            (place(fn, 4), "i0"),
            (place(fn, 5), "linalg.inv"),
        }
        assert "there may be more" in str(error)

    @pytest.mark.parametrize(
        "loop",
        [
            lambda x: [x := x / 2 for _ in iter(lambda: bool(x.sum() > 1), False)],
            lambda x: [x for _ in range(int(x.sum()))],
        ],
        ids=["while", "range"],
    )
    def test_looking_on_ends(self, loop: Any):
        assert refused(loop, "x: float32[3]").passable

    def test_a_function_that_fails_on_stand_ins_is_refused_as_before(self):
        def fn(x: Any) -> Any:
            if x.min() < 0:
                raise ValueError("negative")
            return np.linalg.inv(x)

        error = refused(fn, "x: float32[4, 4]")
        assert error.passable
        assert [o.name or o.reason.partition(" ")[0] for o in error.later] == ["linalg.inv"]

    def test_complex_numbers_are_named_as_the_reason(self):
        graph = traced(lambda x, z: (x * 1j, z + 1), "x: float32[n]", "z: complex128[n]")
        one, other = (op for op in graph.ops() if op.domain)
        assert one.attributes["reason"] == "numpy.multiply: complex64 is not supported for it"
        assert other.attributes["reason"] == "numpy.add: complex128 is not supported for it"
        assert "xp.multiply" not in one.attributes["remedy"]

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
