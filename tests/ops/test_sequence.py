"""sequence: what is special about it: precise types, values that are not touched, older forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.parser
import pytest

import isomorph
from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.exporters.onnx.writer import to_proto
from isomorph.exporters.target import make_target
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.infer import infer
from isomorph.ir.interpret import interpret
from isomorph.ir.text import parse
from isomorph.ir.verify import verify
from isomorph.runtime.ort import Session
from tests.ops import harness, whole

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.graph import Graph

HEADER = '<ir_version: {}, opset_import: ["" : {}]>\n'
A, B, C = np.float32([[1, 2]]), np.float32([[3, 4], [5, 6]]), np.float32([[7, 8]])


def graph(text: str) -> Graph:
    return parse(HEADER.format(14, 28) + text)


def typed(text: str) -> dict[str, str]:
    """The types of every value that are inferred, by name."""
    made = graph(text)
    infer(made)
    return {v.name: str(v.type) for v in made.values()}


# -- types --------------------------------------------------------------------------------------


def test_an_element_at_a_constant_position_has_its_own_type():
    found = typed("""g (float[n, 2] a, float[3] b) => (float[] y) <int64 at = {-1}> {
        s = SequenceConstruct(a, b)
        x = SequenceAt(s, at)
        y = Neg(x)
    }""")
    assert found["s"] == "seq(float32[...])"
    assert found["y"] == "float32[3]"


def test_what_is_inserted_into_nothing_keeps_its_shape():
    found = typed("""g (int64[2, n] a, int64[2, m] b) => (seq(int64[]) t) {
        e = SequenceEmpty<dtype = 7>()
        s = SequenceInsert(e, a)
        t = SequenceInsert(s, b)
    }""")
    assert (found["s"], found["t"]) == ("seq(int64[2, n])", "seq(int64[2, ?])")


def test_lengths_are_known_contents():
    found = typed(
        """g (float[n, 4] x) => (float[] y, float[] z) <int64[1] last = {-1}> {
        s = SplitToSequence<axis = 1>(x)
        e = SequenceErase(s)
        l = SequenceLength(e)
        one = Unsqueeze(l, axes)
        shape = Concat<axis = 0>(one, last)
        y = Reshape(x, shape)
        z = ConcatFromSequence<axis = 1>(e)
    }""".replace("<int64[1] last", "<int64[1] axes = {0}, int64[1] last")
    )
    assert found["y"].startswith("float32[3, ")
    assert found["z"] == "float32[n, 3]"


def test_a_split_by_symbolic_size_has_as_many_parts_as_the_dim():
    found = typed("""g (float[n, 3] x) => (float[] y) {
        s = SplitToSequence<keepdims = 0>(x)
        y = ConcatFromSequence<axis = 0, new_axis = 1>(s)
    }""")
    assert (found["s"], found["y"]) == ("seq(float32[3])", "float32[n, 3]")


@pytest.mark.parametrize(
    ("split", "type_"),
    [("int64 p = {2}", "seq(float32[2, 2])"), ("int64 p = {4}", "seq(float32[?, 2])")],
)
def test_chunks_are_of_one_size_only_where_they_divide_the_dim(split: str, type_: str):
    found = typed(
        f"g (float[6, 2] x) => (seq(float[]) s) <{split}> {{ s = SplitToSequence(x, p) }}"
    )
    assert found["s"] == type_


def test_a_mapped_body_is_typed_by_its_elements():
    found = typed(
        """g (seq(float[n, 2]) s, float[m, 2] t) => (seq(float[]) y) {
        y = SequenceMap(s, t) <body = b (float[] x, float[] z) => (float[] r) {
            r = MatMul(x, zt)
        }>
    }""".replace("r = MatMul", "zt = Transpose(z)\n r = MatMul")
    )
    assert found["y"] == "seq(float32[n, m])"


def test_optionals_wrap_and_unwrap():
    found = typed("""g (seq(float[n]) s) => (seq(float[]) y, bool b) {
        o = Optional(s)
        y = OptionalGetElement(o)
        b = OptionalHasElement(o)
    }""")
    assert (found["o"], found["y"]) == ("optional(seq(float32[n]))", "seq(float32[n])")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y = SequenceLength(x)", "float32[2], a sequence was expected"),
        ("y = SequenceConstruct(x, i)", "differ in kind or element type"),
        ("s = SequenceConstruct(x, x)\n y = SequenceAt(s, five)", "position 5 of"),
        ("y = SplitToSequence<axis = 1>(x)", "axis 1 is out of range for rank 1"),
        (
            "s = SequenceConstruct(x)\n y = ConcatFromSequence<axis = 3>(s)",
            "axis 3 is out of range",
        ),
    ],
)
def test_operands_that_do_not_fit_are_told(text: str, words: str):
    made = graph(f"g (float[2] x, int64[2] i) => (float[] y) <int64 five = {{5}}> {{ {text} }}")
    made.outputs[0].type = None
    with pytest.raises(TypeInferenceError, match=words.replace("[", r"\[").replace("]", r"\]")):
        infer(made)


# -- values -------------------------------------------------------------------------------------


def computed(op: str, inputs: str, *feeds: Any, attributes: str = "") -> list[Any]:
    names = ", ".join(p.split()[-1] for p in inputs.split(", "))
    made = graph(f"g ({inputs}) => (y) {{ y = {op}{attributes}({names}) }}")
    return interpret(made, feeds)


@pytest.mark.parametrize(
    ("op", "inputs", "feeds", "words"),
    [
        (
            "SequenceAt",
            "seq(float) s, int64 i",
            ([A], np.array(1)),
            "position 1 in a sequence of 1",
        ),
        ("SequenceErase", "seq(float) s", ([],), "position -1 in a sequence of 0"),
        (
            "SequenceInsert",
            "seq(float) s, float x, int64 i",
            ([A], B, np.array(-2)),
            "position -2 in a sequence of 1",
        ),
        ("SplitToSequence", "float x, int64 i", (B, np.array([1, 2])), "do not add up to dim 2"),
        ("SplitToSequence", "float x, int64 i", (B, np.array(0)), "split is 0, at least 1"),
        ("OptionalGetElement", "optional(float) x", (None,), "the optional is absent"),
    ],
)
def test_values_that_do_not_fit_are_told(op: str, inputs: str, feeds: tuple[Any, ...], words: str):
    with pytest.raises(TypeInferenceError, match=words):
        computed(op, inputs, *feeds)


@pytest.mark.parametrize(("items", "words"), [([], "sequence is empty"), ([A, B[0]], "of shapes")])
def test_what_cannot_be_joined_is_told(items: list[Any], words: str):
    with pytest.raises(TypeInferenceError, match=words):
        computed("ConcatFromSequence", "seq(float) s", items, attributes="<axis = 0>")


def test_a_sequence_is_not_changed_by_what_reads_it():
    made = graph("""g (seq(float[]) s, float[] x) => (seq(float[]) y, seq(float[]) z, int64 l) {
        y = SequenceInsert(s, x)
        z = SequenceErase(s)
        l = SequenceLength(s)
    }""")
    given = [A, B]
    longer, shorter, length = interpret(made, [given, C])
    assert (len(longer), len(shorter), length, len(given)) == (3, 1, 2, 2)


def test_a_map_over_sequences_of_other_lengths_is_told():
    made = graph("""g (seq(float[]) s, seq(float[]) t) => (seq(float[]) y) {
        y = SequenceMap(s, t) <body = b (float[] x, float[] z) => (float[] r) {
            r = Add(x, z)
        }>
    }""")
    with pytest.raises(TypeInferenceError, match="sequences of 2 and of 1 elements"):
        interpret(made, [[A, A], [A]])


# -- older opsets -------------------------------------------------------------------------------

NESTED = """g (seq(float[r, 2]) s, float[1, 2] t) => (seq(float[]) y, seq(float[]) same) {
    y, same = SequenceMap(s, t) <body = outer
            (float[r, 2] x, float[1, 2] z) => (float[] w, float[] x1) {
        parts = SplitToSequence(x)
        doubled = SequenceMap(parts) <body = inner (float[1, 2] p) => (float[] q) {
            q = Add(p, z)
        }>
        w = ConcatFromSequence<axis = 0>(doubled)
        x1 = Identity(x)
    }>
}"""


@pytest.mark.parametrize("opset", [16, 13])
def test_maps_within_maps_are_loops_within_loops(opset: int):
    made = graph(NESTED)
    infer(made)
    feeds = [[A, B], C]
    wanted = interpret(made, feeds)
    np.testing.assert_array_equal(wanted[0][1], B + C)
    assert downgrade(made, opset) == []
    verify(made, "downgrade")
    assert not any(op.type == "SequenceMap" for _, op in made.walk())
    model = to_proto(made, make_target(opset))
    onnx.checker.check_model(model, full_check=True)
    ran = Session(model.SerializeToString(), optimize=False).run({"s": feeds[0], "t": C})
    for found in (interpret(made, feeds), ran):
        assert [harness.difference(f, w) for f, w in zip(found, wanted, strict=True)] == ["", ""]


def test_maps_end_where_loops_carry_tensors_alone():
    made = graph(NESTED)
    infer(made)
    (stuck, *_) = downgrade(made, 12)
    assert "Loop-11 does not allow seq(tensor(float))" in stuck.reason


@pytest.mark.parametrize("opset", [11, 14])
def test_optionals_end_at_15(opset: int):
    made = graph("""g (optional(float[n]) x) => (float[n] y, bool b) {
        y = OptionalGetElement(x)
        b = OptionalHasElement(x)
    }""")
    infer(made)
    stuck = downgrade(made, opset)
    assert [s.lowest for s in stuck] == [15, 15]


def test_what_is_no_optional_needs_none():
    made = graph("""g (float[n] x) => (float[n] y, bool b, bool c) {
        y = OptionalGetElement(x)
        b = OptionalHasElement(x)
        c = OptionalHasElement()
    }""")
    infer(made)
    for opset in (11, 17):
        moved, _ = copy_graph(made)
        assert downgrade(moved, opset) == []
        assert not any(op.type.startswith("Optional") for op in moved.ops())
        (y, b, c) = interpret(moved, [A[0]])
        assert (y.tolist(), bool(b), bool(c)) == ([1, 2], True, False)


@pytest.mark.parametrize("opset", [15, 17, 18])
def test_models_of_older_optionals_are_read(tmp_path: Path, opset: int):
    text = """
    g (optional(float[n]) x) => (float[n] y, bool b) {
        b = OptionalHasElement(x)
        y = OptionalGetElement(x)
    }"""
    made = isomorph.load(whole.saved(tmp_path / "model.onnx", HEADER.format(8, opset) + text))
    assert upgrade(made) == []
    verify(made, "upgrade")
    y, b = interpret(made, [A[0]])
    assert (y.tolist(), bool(b)) == ([1, 2], True)


# -- in loops and branches ------------------------------------------------------------------------

LOOPS = {
    "grown by a loop": """g (float[n] x) => (seq(float[]) y) <bool go = {1}> {
        trips = Size(x)
        e = SequenceEmpty<dtype = 1>()
        y = Loop(trips, go, e) <body = b
                (int64 i, bool c, seq(float[]) s) => (bool d, seq(float[]) t) {
            d = Identity(c)
            f = Cast<to = 1>(i)
            z = Add(x, f)
            t = SequenceInsert(s, z)
        }>
    }""",
    "read by a loop": """g (seq(float[n]) s) => (float[n] y) <bool go = {1}, int64 first = {0}> {
        trips = SequenceLength(s)
        start = SequenceAt(s, first)
        y = Loop(trips, go, start) <body = b (int64 i, bool c, float[n] v) => (bool d, float[n] w) {
            d = Identity(c)
            z = SequenceAt(s, i)
            w = Add(v, z)
        }>
    }""",
    "chosen by a branch": """g (bool c, float[n] x) => (seq(float[]) y, float[] z)
            <int64 first = {0}> {
        y = If(c) <then_branch = t () => (seq(float[]) a) { a = SequenceConstruct(x, x) },
                   else_branch = e () => (seq(float[]) b) {
                       m = Neg(x)
                       b = SequenceConstruct(m)
                   }>
        z = SequenceAt(y, first)
    }""",
    "absent by a branch": """g (bool c, float[n] x) => (optional(float[n]) y, bool h) {
        y = If(c) <then_branch = t () => (optional(float[n]) a) { a = Optional(x) },
                   else_branch = e () => (optional(float[n]) b) {
                       b = Optional<type = float[n]>()
                   }>
        h = OptionalHasElement(y)
    }""",
    "looked into by a branch": """g (optional(float[n]) o, float[n] x) => (float[n] y) {
        h = OptionalHasElement(o)
        y = If(h) <then_branch = t () => (float[n] a) { a = OptionalGetElement(o) },
                   else_branch = e () => (float[n] b) { b = Neg(x) }>
    }""",
    "mapped": """g (seq(float[n]) s, float[m] t) => (seq(float[]) y, int64 l) {
        y = SequenceMap(s) <body = b (float[n] x) => (float[] r) {
            r = Concat<axis = 0>(x, t)
        }>
        l = SequenceLength(y)
    }""",
}


@pytest.mark.parametrize(
    ("name", "opset"), [*((name, 21) for name in LOOPS), ("mapped", 16), ("grown by a loop", 13)]
)
def test_models_go_all_the_way(tmp_path: Path, name: str, opset: int):
    text = HEADER.format(10, 18) + LOOPS[name]
    whole.goes_all_the_way(tmp_path, text, opset=opset, cases=40)


FAULTS = {
    "position": ("first = {0}", "first = {1}", "chosen by a branch"),
    "order": ("b = SequenceConstruct(m)", "b = SequenceConstruct(m, m)", "chosen by a branch"),
    "element": ("z = Add(x, f)", "z = Sub(x, f)", "grown by a loop"),
    "presence": (
        "h = OptionalHasElement(y)",
        "o = OptionalHasElement(y)\n h = Not(o)",
        "absent by a branch",
    ),
    "branch": ("b = Neg(x)", "b = Abs(x)", "looked into by a branch"),
    "map": ("Concat<axis = 0>(x, t)", "Concat<axis = 0>(t, x)", "mapped"),
    "count": ("l = SequenceLength(y)", "e0 = SequenceErase(y)\n l = SequenceLength(e0)", "mapped"),
}


@pytest.mark.parametrize("fault", list(FAULTS))
def test_planted_faults_are_found(tmp_path: Path, fault: str):
    right, wrong, name = FAULTS[fault]
    text = HEADER.format(10, 18) + LOOPS[name]
    whole.fault_is_found(tmp_path, text, right, wrong, cases=60)
