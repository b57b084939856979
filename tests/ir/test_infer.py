"""Types of values: what merges, what contradicts, what contents are known, inside subgraphs too."""

from __future__ import annotations

import numpy as np
import pytest

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.context import CONTENT_LIMIT, Content, Context, broadcast
from isomorph.ir.dims import Constraint, symbol
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.graph import Graph, Op, Value
from isomorph.ir.infer import infer, is_canonical
from isomorph.ir.merge import merge
from isomorph.ir.source import Source
from isomorph.ir.text import parse
from isomorph.ir.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseType,
    TensorType,
    Type,
)
from isomorph.ir.weights import Weight
from tests.ir.graphs import VECTOR, build, conditional, tensor

N, M = symbol("n"), symbol("m")
F = DType.FLOAT32


def tensors(*shapes: Shape | None) -> list[TensorType]:
    return [TensorType(F, shape) for shape in shapes]


class TestMerging:
    @pytest.mark.parametrize(
        ("stated", "inferred", "wanted"),
        [
            (None, (N,), (N,)),
            ((None,), (N,), (N,)),
            ((N,), (None,), (N,)),
            ((3,), (N,), (3,)),
            ((N,), (3,), (3,)),
            ((N,), (M,), (M,)),
            ((N, 4), None, (N, 4)),
            ((), (), ()),
        ],
    )
    def test_keeps_what_is_more_precise(self, stated: Shape, inferred: Shape, wanted: Shape):
        one, two, right = tensors(stated, inferred, wanted)
        assert merge(one, two) == right
        assert merge(None, two) == two
        wrappers = (SequenceType, OptionalType, lambda t: MapType(DType.INT64, t))
        for wrap in wrappers:
            assert merge(wrap(one), wrap(two)) == wrap(right)
        sparse = [SparseType(t.dtype, t.shape) for t in (one, two, right)]
        assert merge(sparse[0], sparse[1]) == sparse[2]

    @pytest.mark.parametrize(
        ("stated", "inferred", "message"),
        [
            (tensor("float32", 3), tensor("float32", 4), "inferred dim 4, but 3 is stated"),
            (tensor("float32", 3), tensor("float32", 3, 1), "inferred rank 2, but rank 1"),
            (tensor("float32"), tensor("int64"), r"inferred int64\[\], but float32\[\] is stated"),
            (SequenceType(VECTOR), VECTOR, "inferred float32"),
            (SparseType(F), SparseType(DType.INT8), "inferred sparse"),
            (MapType(DType.INT64, VECTOR), MapType(DType.STRING, VECTOR), "inferred map"),
        ],
    )
    def test_a_contradiction_shows_both(self, stated: Type, inferred: Type, message: str):
        with pytest.raises(ValueError, match=message):
            merge(stated, inferred)


class TestErrors:
    def test_name_op_place_and_operands(self):
        graph = Graph()
        x, y = (
            graph.add_input("x", tensor("float32", 3)),
            graph.add_input("y", tensor("float32", 4)),
        )
        graph.add_op("Add", [x, y], source=Source("model.py", 12))
        with pytest.raises(TypeInferenceError) as error:
            infer(graph)
        assert str(error.value) == (
            "model.py:12: Add-14(float32[3], float32[4]): dims 3, 4 do not broadcast"
        )

    def test_a_stated_type_that_cannot_be(self):
        graph, v = build("a = Relu(x)")
        v["a"].type = tensor("float32", 5)
        with pytest.raises(
            TypeInferenceError, match=r"a: Relu-14\(float32\[4\]\): output 0 \(%a\): inferred dim 4"
        ):
            infer(graph)

    def test_a_capture_that_cannot_be(self):
        graph = conditional()
        graph.ops()[0].attributes["then_branch"].captures[0].type = tensor("float32", 7)
        with pytest.raises(
            TypeInferenceError, match=r"picked: If-25.*%x enters then as %then_0: inferred dim 4"
        ):
            infer(graph)


class TestInference:
    def test_fills_in_and_then_rests(self):
        graph, v = build("a = Relu(x)\nb = Add(a, a)")
        for name in "ab":
            v[name].type = None
        assert infer(graph)
        assert v["b"].type == VECTOR
        assert not infer(graph)

    def test_leaves_other_versions_alone(self):
        graph = Graph()
        x = graph.add_input("x", VECTOR)
        old, unknown = (
            graph.add_op("Relu", [x], version=6),
            graph.add_op("F", [x], domain="my", version=1),
        )
        assert not infer(graph)
        assert (old.output.type, unknown.output.type) == (None, None)
        assert [is_canonical(op) for op in (old, unknown)] == [False, False]

    def test_reaches_subgraphs_through_their_captures(self):
        graph = conditional()
        (op,) = graph.ops()
        values = [v for _, sub in op.subgraphs() for v in (*sub.captures, *sub.outputs)]
        for value in (op.output, *values):
            value.type = None
        graph.inputs[1].type = graph.inputs[2].type = tensor("float16", "n", 3)
        assert infer(graph)
        assert {str(v.type) for v in (op.output, *values)} == {"float16[n, 3]"}

    def test_knows_contents_through_shape_arithmetic(self):
        graph = Graph()
        x = graph.add_input("x", tensor("float32", "n", 6))
        two = graph.add_weight(Weight.of(np.array([2])))
        shape = graph.add_op("Shape", [x]).output
        halved = graph.add_op("Div", [shape, two]).output
        joined = graph.add_op("Concat", [halved, two, two], {"axis": 0}).output
        shaped = graph.add_op("Reshape", [x, joined]).output
        contents: dict[Value, Content] = {}
        infer(graph, contents)
        assert contents[joined].elements == (N // 2, 3, 2, 2)
        assert shaped.type == TensorType(F, (N // 2, 3, 2, 2))

    def test_truth_values_are_contents_too(self):
        graph = Graph()
        c = graph.add_input("c", TensorType(DType.BOOL, ()))
        op = graph.add_op("Not", [c])
        known = Context(op, graph, {c: Content((1,), scalar=True)}, (), infer).array(0)
        assert known is not None
        assert known.dtype == bool
        assert known

    def test_passes_sequences_through(self):
        graph = Graph()
        kind = SequenceType(tensor("float32", "n"))
        x = graph.add_input("x", kind)
        y = graph.add_op("Identity", [x]).output
        infer(graph)
        assert y.type == kind


def context(graph: Graph, op: Op, *, constraints: tuple[Constraint, ...] = ()) -> Context:
    return Context(op, graph, {}, constraints, infer)


class TestContext:
    def test_contents_have_limits(self):
        graph = Graph()
        short = graph.add_weight(Weight.of(np.arange(CONTENT_LIMIT)))
        long = graph.add_weight(Weight.of(np.arange(CONTENT_LIMIT + 1)))
        flat = graph.add_weight(Weight.of(np.ones((2, 2), np.int64)))
        real, one = (
            graph.add_weight(Weight.of(np.ones(2))),
            graph.add_weight(Weight.of(np.array(5))),
        )
        asked = context(graph, graph.add_op("Sum", [short, long, flat, real, one]))
        known = [asked.dims(i) for i in range(5)]
        assert known == [tuple(range(CONTENT_LIMIT)), None, None, None, (5,)]
        assert asked.dims(9) is None
        assert asked.array(1).shape == (CONTENT_LIMIT + 1,)

    def test_what_a_rule_knows_is_kept_up_to_the_limit(self):
        graph = Graph()
        x = graph.add_input("x", tensor("int64", "n"))
        op = graph.add_op("Relu", [x])
        after = graph.add_op("Relu", [op.output])
        contents: dict[Value, Content] = {}
        asked = Context(op, graph, contents, (), infer)
        asked.know((N,) * (CONTENT_LIMIT + 1))
        asked.know((None, None))
        assert not contents
        asked.know((N, None, 3))
        reader = Context(after, graph, contents, (), infer)
        assert reader.dims(0) == (N, None, 3)
        assert reader.array(0) is None
        asked.know((1, 2))
        assert reader.array(0).tolist() == [1, 2]
        asked.know((7,), scalar=True)
        assert reader.array(0).shape == ()
        op.output.type = tensor("uint8", 1)
        asked.know((300,))
        assert reader.array(0) is None

    def test_axes(self):
        graph, v = build("a = Relu(x)")
        asked = context(graph, v["a"].producer)
        assert [asked.axis(a, 3) for a in (-3, -1, 0, 2)] == [0, 2, 0, 2]
        for axis, rank in ((3, 3), (-4, 3), (0, 0)):
            with pytest.raises(TypeInferenceError, match=f"axis {axis} is out of range"):
                asked.axis(axis, rank)

    def test_what_is_no_tensor_is_refused(self):
        graph = Graph()
        x = graph.add_input("x", SequenceType(VECTOR))
        asked = context(graph, graph.add_op("Relu", [x]))
        with pytest.raises(TypeInferenceError, match=r"operand 0 is seq\(float32\[4\]\), a tensor"):
            asked.shape(0)

    @pytest.mark.parametrize(
        ("shapes", "wanted"),
        [
            (((3, 1), (4,)), (3, 4)),
            (((N, 1), (1, M)), (N, M)),
            (((N,), (N,)), (N,)),
            (((N,), (M,)), (None,)),
            (((N,), (1,), (5,)), (5,)),
            (((None,), (1,)), (None,)),
            (((), (2,)), (2,)),
            (((), ()), ()),
            (((3,), None), None),
        ],
    )
    def test_broadcasting(self, shapes: tuple[Shape, ...], wanted: Shape):
        graph, v = build("a = Relu(x)")
        assert broadcast(context(graph, v["a"].producer), *shapes) == wanted


def test_a_branch_that_never_runs_may_have_sizes_below_zero():
    graph = parse(
        """
        <ir_version: 8, opset_import: ["": 18]>
        g (float[2] x, bool c) => (float[2] y) <int64[2] s = {5, -3}> {
            y = If (c) <
                then_branch = t () => (float["n"] b) { a, b = Split <axis: int = 0> (x, s) },
                else_branch = e () => (float[2] q) { q = Neg (x) }>
        }
        """
    )
    upgrade(graph)
    infer(graph)


def test_sizes_below_zero_are_errors_elsewhere():
    graph = parse(
        """
        <ir_version: 8, opset_import: ["": 18]>
        g (float[2] x) => (float["m"] a, float["n"] b) <int64[2] s = {5, -3}> {
            a, b = Split <axis: int = 0> (x, s)
        }
        """
    )
    with pytest.raises(TypeInferenceError, match="below 0"):
        upgrade(graph)
