"""Edits: what moves, what stays, what is refused; and random rewrites that keep the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.patch import Patch, remove_unused, remove_unused_weights
from isomorph.ir.verify import verify
from tests.ir.graphs import VECTOR, build, conditional, contents, dataflows, outcome, vector

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op


def names(graph: Graph) -> list[str]:
    return [v.name for v in graph.outputs]


class TestReplacing:
    def test_moves_readers(self):
        graph, v = build("a = Relu(x)\nb = Add(a, a)\nc = Mul(a, b)")
        patch = Patch(graph, v["a"].producer)
        patch.replace_op(v["a"].producer, patch.op("Abs", [v["x"]]))
        patch.apply()
        verify(graph)
        assert [op.type for op in graph.sorted_ops()] == ["Abs", "Add", "Mul"]
        (made,) = patch.made
        assert v["b"].producer.inputs == (made.output, made.output)
        assert made.output.type == VECTOR

    def test_an_output_keeps_its_name(self):
        graph, v = build("y = Relu(x)")
        patch = Patch(graph, v["y"].producer)
        made = patch.op("Abs", [v["x"]])
        assert made.output.name != "y"
        patch.replace_op(v["y"].producer, made)
        patch.apply()
        verify(graph)
        assert (names(graph), graph.outputs) == (["y"], [made.output])

    @pytest.mark.parametrize("stand_in", ["input", "weight", "output"])
    def test_an_output_that_cannot_take_the_name_gets_an_identity(self, stand_in: str):
        graph, v = build("a = Relu(x)\nb = Abs(x)")
        graph.outputs = [v["a"], v["b"], v["a"]]
        other = {"input": v["x"], "weight": graph.add_weight(vector(1, 2, 3, 4)), "output": v["b"]}
        patch = Patch(graph, v["a"].producer)
        patch.replace(v["a"], other[stand_in])
        patch.remove(v["a"].producer)
        patch.apply()
        verify(graph)
        assert names(graph) == ["a", "b", "a"]
        (identity,) = (op for op in graph.ops() if op.type == "Identity")
        assert identity.inputs == (other[stand_in],)
        assert identity.output.type == VECTOR

    def test_an_input_keeps_its_name(self):
        graph, v = build("a = Relu(x)")
        graph.outputs = [v["x"], v["a"]]
        patch = Patch(graph)
        patch.replace(v["x"], patch.op("Neg", [v["x"]], outputs=["negated"]).output)
        patch.apply()
        verify(graph)
        assert [v.name for v in graph.inputs] == ["x"]
        assert names(graph) == ["negated", "a"]

    def test_a_new_op_goes_on_reading_the_old_value(self):
        graph, v = build("a = Relu(x)\nb = Neg(a)")
        patch = Patch(graph)
        doubled = patch.op("Add", [v["a"], v["a"]])
        patch.replace(v["a"], doubled.output)
        patch.apply()
        verify(graph)
        assert doubled.inputs == (v["a"], v["a"])
        assert v["b"].producer.inputs == (doubled.output,)

    def test_an_op_goes_on_reading_what_its_result_replaces(self):
        graph, v = build("a = Relu(x)\nb = Neg(a)\nc = Abs(a)")
        patch = Patch(graph)
        patch.replace(v["a"], v["b"])
        patch.apply()
        verify(graph)
        assert v["b"].producer.inputs == (v["a"],)
        assert v["c"].producer.inputs == (v["b"],)

    def test_chains_are_followed_in_order(self):
        graph, v = build("a = Relu(x)\nb = Neg(x)\nc = Abs(x)\nd = Exp(a)")
        patch = Patch(graph)
        patch.replace(v["a"], v["b"])
        patch.replace(v["b"], v["c"])
        patch.remove(v["a"].producer)
        patch.remove(v["b"].producer)
        patch.apply()
        verify(graph)
        assert v["d"].producer.inputs == (v["c"],)

    def test_captures_move_too(self):
        graph = conditional()
        x, (op,) = graph.inputs[1], graph.ops()
        patch = Patch(graph)
        patch.replace(x, patch.op("Neg", [x]).output)
        patch.apply()
        verify(graph)
        assert op.captures == (patch.made[0].output, graph.inputs[2])

    def test_new_ops_come_from_where_the_old_one_did(self):
        graph, v = build("a = Relu(x)")
        op = v["a"].producer
        op.name, op.metadata, op.doc = "n", {"k": "v"}, "why"
        made = Patch(graph, op).op("Abs", [v["x"]])
        assert (made.name, made.metadata, made.doc) == ("n", {"k": "v"}, "why")


class TestRefusing:
    """Each refusal leaves the graph as it was."""

    @pytest.mark.parametrize(
        ("edit", "message"),
        [
            (lambda p, v: p.remove(v["a"].producer), r"%a is still read by %b = Neg-13\(%a\)"),
            (lambda p, v: p.remove(v["c"].producer), "%c is still read by a graph output"),
            (
                lambda p, v: (p.replace(v["b"], v["a"]), p.remove(v["a"].producer)),
                "%a is still read by",
            ),
            (
                lambda p, v: (p.replace(v["c"], v["d"]), p.remove(v["d"].producer)),
                "%d is still read by a graph output",
            ),
            (lambda p, v: p.replace(v["c"], build("q = Relu(x)")[1]["q"]), "%q .* of no graph"),
            (lambda p, v: p.replace(build("q = Relu(x)")[1]["q"], v["c"]), "%q is not of this"),
            (lambda p, _: p.remove(build("q = Relu(x)")[1]["q"].producer), "not of this graph"),
        ],
    )
    def test_leaves_the_graph_alone(self, edit, message: str):
        graph, v = build("a = Relu(x)\nb = Neg(a)\nd = Exp(x)\nc = Abs(b)")
        before = contents(graph)
        patch = Patch(graph)
        edit(patch, v)
        with pytest.raises(InvalidGraphError, match=message):
            patch.apply()
        assert contents(graph) == before
        verify(graph)

    def test_what_a_new_op_reads_cannot_go(self):
        graph, v = build("a = Relu(x)\nb = Neg(a)")
        patch = Patch(graph)
        patch.replace(v["a"], patch.op("Abs", [v["a"]], outputs=["n"]).output)
        patch.remove(v["a"].producer)
        with pytest.raises(InvalidGraphError, match="%a is still read by %n"):
            patch.apply()

    def test_rewiring_to_another_graph_is_undone(self):
        graph, v = build("a = Relu(x)")
        with pytest.raises(InvalidGraphError, match="%q is not of this graph"):
            Patch(graph).set_inputs(v["a"].producer, [build("q = Relu(x)")[1]["q"]])
        verify(graph)
        assert v["a"].producer.inputs == (v["x"],)

    def test_a_discarded_patch_leaves_nothing(self):
        graph, v = build("a = Relu(x)")
        before = contents(graph)
        patch = Patch(graph, v["a"].producer)
        first = patch.op("Add", [v["x"], patch.weight([1.0], "w")])
        patch.replace_op(v["a"].producer, patch.op("Neg", [first.output]))
        patch.discard()
        patch.apply()
        assert contents(graph) == before
        assert len(graph.nx) == 2

    def test_order_and_repetition_of_removals_do_not_matter(self):
        graph, v = build("a = Relu(x)\nb = Neg(a)\nc = Abs(x)")
        patch = Patch(graph)
        for name in ("a", "b", "a"):
            patch.remove(v[name].producer)
        patch.apply()
        verify(graph)
        assert [op.type for op in graph.ops()] == ["Abs"]


class TestSweeping:
    def test_what_no_output_needs_goes(self):
        graph, v = build("a, b = Split(x)\nc = Relu(a)\nd = Neg(x)", inputs="x y")
        graph.add_weight(vector(1))
        graph.outputs = [v["c"]]
        assert remove_unused(graph) == 2
        verify(graph)
        assert [op.type for op in graph.sorted_ops()] == ["Split", "Relu"]
        assert [i.name for i in graph.inputs] == ["x", "y"]
        assert remove_unused(graph) == 0

    def test_weights_that_are_outputs_stay(self):
        graph, v = build("a = Relu(x)")
        kept, _ = graph.add_weight(vector(1)), graph.add_weight(vector(2))
        graph.outputs = [v["a"], kept]
        assert remove_unused_weights(graph) == 1
        assert graph.weights() == [kept]


def pass_on(graph: Graph, op: Op) -> Patch:
    """Identity(x) = x."""
    patch = Patch(graph, op)
    patch.replace(op.output, op.inputs[0])
    patch.remove(op)
    return patch


def twice_negated(graph: Graph, op: Op) -> Patch:
    """f(x) = -(-f(x)), where the new ops read the old value."""
    patch = Patch(graph, op)
    inner = patch.op("Neg", [op.output], types=[VECTOR])
    patch.replace(op.output, patch.op("Neg", [inner.output], types=[VECTOR]).output)
    return patch


def restated(graph: Graph, op: Op) -> Patch:
    """The same op anew, with its operands through an Identity each."""
    patch = Patch(graph, op)
    through = [patch.op("Identity", [v], types=[v.type]).output for v in op.inputs]
    patch.replace_op(op, patch.op(op.type, through, op.attributes, outputs=len(op.outputs)))
    return patch


def folded(graph: Graph, op: Op) -> Patch | None:
    """An op on constants is a constant."""
    if any(v.weight is None for v in op.operands) or len(op.outputs) > 1:
        return None
    alone, new = copy_graph(graph)
    alone.outputs = [new[op.output]]
    patch = Patch(graph, op)
    patch.replace(op.output, patch.weight(outcome(alone)[0]))
    patch.remove(op)
    return patch


def merged(graph: Graph, op: Op) -> Patch | None:
    """An equal op that is there already."""
    for other in graph.sorted_ops():
        if other is op:
            return None
        if (other.key, other.inputs, other.attributes) == (op.key, op.inputs, op.attributes):
            patch = Patch(graph, op)
            patch.replace_op(op, other)
            return patch
    return None


REWRITES = (pass_on, twice_negated, restated, folded, merged)


@settings(max_examples=150)
@given(dataflows(), st.data())
def test_random_edits_keep_the_graph_valid_and_its_function(graph: Graph, data: st.DataObject):
    wanted, shown = outcome(graph), names(graph)
    ends = [id(v) for v in graph.inputs]
    for _ in range(data.draw(st.integers(1, 8))):
        op = data.draw(st.sampled_from(graph.sorted_ops() or [None]))
        if op is None:
            break
        fitting = [r for r in REWRITES if r is not pass_on or op.type == "Identity"]
        fitting = [r for r in fitting if r is not twice_negated or len(op.outputs) == 1]
        patch = data.draw(st.sampled_from(fitting))(graph, op)
        if patch is not None:
            patch.apply()
            verify(graph)
        if data.draw(st.booleans()):
            remove_unused(graph)
            verify(graph)
    assert [id(v) for v in graph.inputs] == ends
    assert names(graph) == shown
    for found, right in zip(outcome(graph), wanted, strict=True):
        np.testing.assert_array_equal(found, right)
