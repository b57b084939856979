"""Building, reading and copying graphs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.graph import EmptyList, Graph, Op
from isomorph.ir.indexed import IndexedList
from isomorph.ir.patch import Patch
from isomorph.ir.verify import verify
from tests.ir.graphs import VECTOR, branch, build, conditional, contents, dataflows, vector

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random


class TestBuilding:
    def test_edges_carry_values(self):
        graph, v = build("a, b = Split(x)\nc = Add(a, b)\nd = Mul(a, a)\ne = Sum(b, c, d)")
        split, add = v["a"].producer, v["c"].producer
        assert set(graph.nx.edges[split, add]["values"]) == {v["a"], v["b"]}
        assert nx.is_directed_acyclic_graph(graph.nx)
        assert graph.consumers(v["a"]) == [add, v["d"].producer]
        assert graph.consumers(v["b"]) == [add, v["e"].producer]
        assert graph.consumers(v["x"]) == [split]
        assert graph.consumers(v["e"]) == []
        assert graph.is_used(v["e"])
        assert len(graph) == 4

    def test_a_value_may_be_read_twice(self):
        graph, v = build("a = Add(x, x)")
        assert graph.consumers(v["x"]) == [v["a"].producer]
        assert v["a"].producer.operands == (v["x"], v["x"])
        verify(graph)

    def test_absent_operands_and_results(self):
        graph = Graph()
        x, low = graph.add_input("x", VECTOR), graph.add_weight(vector(1))
        clip = graph.add_op("Clip", [x, None, low])
        assert clip.operands == (x, low)
        assert (clip.input(1), clip.input(2), clip.input(3)) == (None, low, None)
        drop = graph.add_op("Dropout", [x], outputs=["y", None])
        assert drop.results == (drop.output,)
        assert str(drop) == "%y, _ = Dropout-22(%x)"
        verify(graph)

    def test_an_operand_of_another_graph_changes_nothing(self):
        graph, other = build("a = Relu(x)")[0], build("b = Relu(x)")[0]
        before = contents(graph)
        with pytest.raises(InvalidGraphError, match=r"Add.*operand %b is not of this graph"):
            graph.add_op("Add", [graph.outputs[0], other.outputs[0]])
        with pytest.raises(InvalidGraphError, match="%b is not of this graph"):
            graph.consumers(other.outputs[0])
        assert contents(graph) == before
        assert len(graph.nx) == 2
        verify(graph)

    def test_versions_are_those_of_the_schema(self):
        graph = Graph()
        x = graph.add_input("x", VECTOR)
        assert [graph.add_op("Relu", [x], version=v).version for v in (28, 15, 13, 7)] == [
            14,
            14,
            13,
            6,
        ]
        assert graph.add_op("Own", [x], domain="my", version=3).version == 3
        with pytest.raises(InvalidGraphError, match=r"no operator ai\.onnx\.Own is known"):
            graph.add_op("Own", [x])

    def test_attributes(self):
        graph = Graph()
        op = graph.add_op("Softmax", [graph.add_input("x", VECTOR)], {"axis": None})
        assert op.attributes == {}
        assert op.attr("axis") == -1
        assert op.attr("none", 7) == 7
        assert EmptyList("INTS") == ()
        assert EmptyList("INTS").kind == "INTS"

    def test_where_it_came_from(self):
        op = build("a = Relu(x)")[0].ops()[0]
        assert op.where == "a"
        op.name = "node_7"
        assert op.where == "node_7"


class TestNames:
    @given(st.lists(st.sampled_from(["a", "a_1", "a_2", "", "b"]), max_size=12))
    def test_are_unique_and_kept_where_free(self, wanted: list[str]):
        graph = Graph()
        found = [graph.unique_name(name) for name in wanted]
        assert len(set(found)) == len(found)
        assert all(found)
        for index, name in enumerate(wanted):
            if name and name not in found[:index]:
                assert found[index] == name

    def test_renaming_moves_whoever_holds_the_name(self):
        graph, v = build("a = Relu(x)\nb = Neg(a)")
        graph.rename(v["b"], "a")
        assert (v["b"].name, v["a"].name) == ("a", "a_1")
        graph.rename(v["b"], "a")
        graph.rename(v["x"], "free")
        assert graph.unique_name("free") == "free_1"
        verify(graph)

    def test_equal_wishes_are_linear(self):
        graph = Graph()
        assert calls(lambda: [graph.unique_name("x") for _ in range(2_000)]) < 2_000 * 10


class TestOrder:
    def test_is_that_of_adding_where_possible(self):
        graph, v = build("a = Relu(x)\nb = Neg(x)\nc = Add(a, b)\nd = Abs(x)\ne = Sum(c, d)")
        names = [op.output.name for op in graph.sorted_ops()]
        assert names == ["a", "b", "c", "d", "e"]
        patch = Patch(graph)
        late = patch.op("Exp", [v["x"]], outputs=["late"])
        patch.set_inputs(v["b"].producer, [late.output])
        assert [op.output.name for op in graph.sorted_ops()] == ["a", "late", "b", "c", "d", "e"]

    @given(dataflows(), st.randoms())
    def test_each_op_stands_after_its_operands(self, graph: Graph, random: Random):
        nodes = list(graph.nx)
        random.shuffle(nodes)
        shuffled = nx.DiGraph()
        shuffled.add_nodes_from(nodes)
        shuffled.add_edges_from(graph.nx.edges(data=True))
        graph.nx = shuffled
        place = {op: index for index, op in enumerate(graph.sorted_ops())}
        assert len(place) == len(graph)
        for op, at in place.items():
            assert all(v.producer is None or place[v.producer] < at for v in op.operands)

    def test_a_cycle_names_its_ops_alone(self):
        graph, v = build("a = Relu(x)\nb = Neg(a)\nc = Abs(b)\nd = Exp(c)")
        Patch(graph).set_inputs(v["b"].producer, [v["c"]])
        with pytest.raises(InvalidGraphError) as error:
            graph.sorted_ops()
        text = str(error.value)
        assert "%b = Neg-13(%c)" in text
        assert "%c = Abs-13(%b)" in text
        assert "Relu" not in text
        assert "Exp" not in text
        with pytest.raises(InvalidGraphError, match="cycle"):
            verify(graph)

    def test_an_op_on_itself_is_a_cycle(self):
        graph, v = build("a = Relu(x)")
        Patch(graph).set_inputs(v["a"].producer, [v["a"]])
        with pytest.raises(InvalidGraphError, match="cycle: %a = Relu"):
            graph.sorted_ops()

    def test_a_long_chain_needs_no_recursion(self):
        graph = chain(20_000)
        graph.nx = reversed_nodes(graph)
        assert [op.output.name for op in graph.sorted_ops()][:2] == ["relu", "relu_1"]


class TestCopies:
    @given(dataflows())
    def test_are_equal_and_independent(self, graph: Graph):
        before = contents(graph)
        copied, new = copy_graph(graph)
        verify(copied)
        assert contents(copied) == before
        assert not set(copied.nx) & set(graph.nx)
        assert all(new[v].name == v.name and new[v].weight is v.weight for v in graph.values())
        for op in copied.ops():
            op.attributes["axis"] = 9
            op.output.name += "_changed"
        copied.add_input("another")
        copied.outputs.clear()
        assert contents(graph) == before

    def test_reach_into_subgraphs(self):
        graph = conditional()
        graph.opsets, graph.metadata["k"], graph.domains["x"] = {"": 21}, "v", (0.0, 1.0)
        copied, _ = copy_graph(graph)
        assert contents(copied) == contents(graph)
        assert (copied.metadata, copied.domains) == (graph.metadata, graph.domains)
        (op,), (old,) = copied.ops(), graph.ops()
        assert op.captures == (copied.inputs[1], copied.inputs[2])
        for (name, inner), (_, outer) in zip(op.subgraphs(), old.subgraphs(), strict=True):
            assert inner is not outer, name
            inner.add_op("Relu", [inner.captures[0]])
            assert len(outer) == 1

    def test_lists_of_subgraphs(self):
        graph = Graph()
        x = graph.add_input("x", VECTOR)
        parts = (branch("one", "Add"), branch("two", "Mul"))
        graph.add_op("Switch", [], {"cases": parts}, domain="my", version=1, captures=[x, x])
        copied, _ = copy_graph(graph)
        assert [name for name, _ in copied.ops()[0].subgraphs()] == ["cases", "cases"]
        assert copied.ops()[0].attributes["cases"][1] is not parts[1]
        assert len(list(graph.walk())) == 3


class TestIndexedList:
    @given(st.data())
    def test_answers_as_a_list_does(self, data: st.DataObject):
        mine, plain = IndexedList("abca"), list("abca")
        for _ in range(data.draw(st.integers(0, 6))):
            change = data.draw(st.sampled_from(CHANGES))
            change(mine)
            change(plain)
            assert mine == plain
            assert [mine.holds(c) for c in "abcxyz"] == [c in plain for c in "abcxyz"]
            mine.replace("a", "b")
            plain = ["b" if c == "a" else c for c in plain]
            assert mine == plain
            assert [mine.holds(c) for c in "abcxyz"] == [c in plain for c in "abcxyz"]


CHANGES: tuple[Callable[[list[str]], object], ...] = (
    lambda xs: xs.append("x"),
    lambda xs: xs.extend("ya"),
    lambda xs: xs.insert(0, "a"),
    lambda xs: xs and xs.pop(),
    lambda xs: "b" in xs and xs.remove("b"),
    lambda xs: xs.reverse(),
    lambda xs: xs.sort(),
    lambda xs: xs and xs.__setitem__(0, "z"),
    lambda xs: xs.__setitem__(slice(0, 1), ["a", "x"]),
    lambda xs: xs.__delitem__(slice(0, 1)),
    lambda xs: xs.__imul__(2),
    lambda xs: xs.clear(),
    lambda xs: xs.__iadd__(["a", "b"]),
)


def chain(length: int) -> Graph:
    """Relu after Relu."""
    graph = Graph()
    value = graph.add_input("x", VECTOR)
    for _ in range(length):
        value = graph.add_op("Relu", [value]).output
    graph.outputs = [value]
    return graph


def reversed_nodes(graph: Graph):
    turned = nx.DiGraph()
    turned.add_nodes_from(reversed(list(graph.nx)))
    turned.add_edges_from(graph.nx.edges(data=True))
    return turned


def calls(work: Callable[[], object]) -> int:
    """How many Python functions were called: a clock that no other process disturbs."""
    count = 0

    def seen(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(seen)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(lambda graph: chain(len(graph)), id="build"),
        pytest.param(lambda graph: graph.sorted_ops(), id="sort"),
        pytest.param(verify, id="verify"),
        pytest.param(copy_graph, id="copy"),
        pytest.param(lambda graph: [graph.is_used(v) for v in graph.values()], id="use"),
        pytest.param(lambda graph: [take_out(graph, op) for op in graph.ops()], id="replace"),
    ],
)
def test_work_grows_with_the_graph(work: Callable[[Graph], object]):
    """Every value is an output, so that a scan of the outputs would show."""
    counted: list[int] = []
    for length in (100, 800):
        graph = chain(length)
        graph.outputs = [op.output for op in graph.ops()]
        counted.append(calls(lambda graph=graph: work(graph)))
    assert counted[1] <= 8.5 * counted[0]


def take_out(graph: Graph, op: Op) -> None:
    patch = Patch(graph, op)
    patch.replace_op(op, patch.op("Neg", op.inputs))
    patch.apply()
