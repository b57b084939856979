"""Shape rules with symbolic dims and contents, against execution for any sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isomorph.ir.dims import Constraint, parse_dim, substitute, symbol
from isomorph.ir.graph import Graph
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Value
    from isomorph.ir.types import Shape


def dims(*texts: str) -> Shape:
    return tuple(parse_dim(t) for t in texts)


UNTIMED = settings(deadline=None)
"""The first example loads every family."""
SIZES = st.integers(0, 6)
BOUNDS = st.one_of(st.integers(-8, 8), st.sampled_from([2**63 - 1, -(2**63) + 1, 2**31 - 1]))


class Model:
    """A graph of one float input `x` in the making."""

    def __init__(self, *dims: str | int) -> None:
        self.graph = Graph()
        shape = tuple(symbol(d) if isinstance(d, str) else d for d in dims)
        self.x = self.graph.add_input("x", TensorType(DType.FLOAT32, shape))

    def ints(self, *values: int) -> Value:
        return self.graph.add_weight(Weight.of(np.array(values, np.int64)))

    def __call__(self, op: str, *inputs: Value | None, **attributes: object) -> Value:
        return self.graph.add_op(op, inputs, attributes).output

    def shape(self, output: Value) -> Shape | None:
        self.graph.outputs = [output]
        infer(self.graph)
        assert isinstance(output.type, TensorType)
        return output.type.shape

    def check(self, output: Value, **sizes: int) -> None:
        """The inferred type, at these sizes, is what execution yields."""
        self.shape(output)
        known = output.type
        assert isinstance(known, TensorType)
        assert isinstance(self.x.type, TensorType)
        actual = [substitute(d, sizes) for d in self.x.type.shape or ()]
        result = interpret(self.graph, [np.zeros(actual, np.float32)])[0]
        if known.shape is not None:
            found = tuple(substitute(d, sizes) for d in known.shape)
            assert len(found) == result.ndim, f"{known} at {sizes}, found {result.shape}"
            pairs = zip(found, result.shape, strict=True)
            assert all(d is None or d == n for d, n in pairs), f"{known}, found {result.shape}"


@UNTIMED
@given(n=SIZES, start=BOUNDS, end=BOUNDS, step=st.sampled_from([1, 2, 3, -1, -2]))
def test_slice(n: int, start: int, end: int, step: int):
    model = Model("n", 3)
    bounds = (model.ints(v) for v in (start, end, 0, step))
    model.check(model("Slice", model.x, *bounds), n=n)


@UNTIMED
@given(n=SIZES, m=SIZES, cut=BOUNDS, end=BOUNDS)
def test_slice_with_computed_bounds(n: int, m: int, cut: int, end: int):
    model = Model("n", "m")
    shape = model("Shape", model.x)
    length = model("Slice", shape, model.ints(1), model.ints(2))
    ends = model("Concat", length, model.ints(end), axis=0)
    starts = model.ints(cut, cut)
    model.check(model("Slice", model.x, starts, ends), n=n, m=m)


@UNTIMED
@given(n=st.integers(1, 6), m=st.integers(1, 6), picks=st.lists(st.integers(0, 4), max_size=3))
def test_reshape(n: int, m: int, picks: list[int]):
    model = Model("n", "m", 4)
    shape = model("Shape", model.x)
    parts = {
        0: lambda: model.ints(0),
        1: lambda: model("Slice", shape, model.ints(0), model.ints(1)),
        2: lambda: model("Slice", shape, model.ints(1), model.ints(2)),
        3: lambda: model.ints(4),
        4: lambda: model.ints(2),
    }
    sizes = [{0: (n, m, 4)[i], 1: n, 2: m, 3: 4, 4: 2}[p] for i, p in enumerate(picks)]
    assume(n * m * 4 % int(np.prod(sizes, dtype=int)) == 0)
    pieces: list[Callable[[], Value]] = [parts[p] for p in picks]
    target = model("Concat", *(p() for p in pieces), model.ints(-1), axis=0)
    model.check(model("Reshape", model.x, target), n=n, m=m)


@UNTIMED
@given(n=SIZES, parts=st.integers(1, 4))
def test_split(n: int, parts: int):
    assume(-(-n // parts) * (parts - 1) <= n)
    model = Model("n", 2)
    attributes = {"num_outputs": parts}
    outputs = model.graph.add_op("Split", [model.x], attributes, outputs=parts).results
    for output in outputs:
        model.check(output, n=n)


@UNTIMED
@given(n=SIZES, first=st.integers(-3, 3), step=st.sampled_from([1, 2, 3, -1, -2]))
def test_range(n: int, first: int, step: int):
    model = Model("n")
    size = model("Squeeze", model("Shape", model.x), model.ints(0))
    start = model.graph.add_weight(Weight.of(np.array(first, np.int64)))
    delta = model.graph.add_weight(Weight.of(np.array(step, np.int64)))
    model.check(model("Range", start, size, delta), n=n)


def test_a_shape_made_of_pieces():
    model = Model("batch", 3, "width")
    shape = model("Shape", model.x)
    first = model("Slice", shape, model.ints(0), model.ints(1))
    target = model("Concat", first, model.ints(-1), axis=0)
    assert model.shape(model("Reshape", model.x, target)) == dims("batch", "3*width")


def test_heads_of_an_attention():
    model = Model("batch", "seq", 64)
    split = model("Reshape", model.x, model.ints(0, -1, 4, 16))
    turned = model("Transpose", split, perm=(0, 2, 1, 3))
    assert model.shape(turned) == dims("batch", "4", "seq", "16")


def test_a_copied_dim_needs_no_number():
    model = Model("batch", "seq", 8)
    assert model.shape(model("Reshape", model.x, model.ints(0, 0, 2, -1))) == dims(
        "batch", "seq", "2", "4"
    )


@pytest.mark.parametrize(
    ("start", "end", "step", "wanted"),
    [
        (0, 1, 1, ("-max(-n, -1)",)),
        (1, 2**63 - 1, 1, ("max(n - 1, 0)",)),
        (0, -1, 1, ("max(n - 1, 0)",)),
        (-1, 2**63 - 1, 1, ("-max(-n, -1)",)),
        (-1, -(2**63) + 1, -1, ("n",)),
        (0, 10**9, 1, ("n",)),
        (0, 2**63 - 1, 2, ("(n + 1) // 2",)),
    ],
)
def test_slices_are_written_simply(start: int, end: int, step: int, wanted: tuple[str, ...]):
    model = Model("n")
    bounds = (model.ints(v) for v in (start, end, 0, step))
    assert model.shape(model("Slice", model.x, *bounds)) == dims(*wanted)


def test_constraints_simplify():
    model = Model("n")
    model.graph.constraints = [Constraint.parse("n >= 4")]
    first = model("Slice", model.x, model.ints(0), model.ints(3))
    rest = model("Slice", model.x, model.ints(1), model.ints(-1))
    assert (model.shape(first), model.shape(rest)) == (dims("3"), dims("n - 2"))


@pytest.mark.parametrize(
    ("op", "inputs", "wanted"),
    [
        ("Gather", (1,), ("3",)),
        (
            "Tile",
            (2,),
            (
                "n",
                "3",
                "n",
                "3",
            ),
        ),
        (
            "Expand",
            (2,),
            (
                "n",
                "3",
            ),
        ),
    ],
)
def test_contents_survive(op: str, inputs: tuple[int, ...], wanted: tuple[str, ...]):
    model = Model("n", 3)
    contents = model(op, model("Shape", model.x), model.ints(*inputs))
    filled = model("ConstantOfShape", contents)
    assert model.shape(filled) == dims(*wanted)
