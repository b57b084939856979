"""Sequences, optionals and maps: drawn, fed, compared tensor by tensor, replayed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.helper
import pytest

from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, MapType, OptionalType, SequenceType, TensorType
from isomorph.parity import verify
from isomorph.parity.exact import differs
from isomorph.parity.leaves import Leaves, difference_of_form, leaves, type_of
from isomorph.parity.strategies import specs_of
from isomorph.parity.strategies.values import fill
from isomorph.parity.structure import Port, declared, observed
from isomorph.parity.verdict import Status
from isomorph.runtime.ort import Session

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.types import Type

X, Y = np.float32([1, 2]), np.float32([[3]])
FLOATS = TensorType(DType.FLOAT32)
SCORES = MapType(DType.INT64, TensorType(DType.FLOAT32, ()))


# -- taken apart ------------------------------------------------------------------------------


def test_values_are_taken_apart_into_tensors_and_their_places():
    value = [X, [Y, None], {2: np.float32(7), 1: np.float32(5)}]
    found = list(leaves(value))
    assert [place for place, _ in found] == ["[0]", "[1][0]", "[2]"]
    assert found[0][1] is X
    np.testing.assert_array_equal(found[2][1], np.float32([5, 7]))  # in the order of the keys


@pytest.mark.parametrize(
    ("wanted", "got", "words"),
    [
        ([X], [X, X], "a sequence of 2, the reference's has 1"),
        (None, X, "it is a tensor, the reference gives absent"),
        ({1: X[0]}, {2: X[0]}, "{2}, the reference gives {1}"),
        ([None], [X], "[tensor], the reference gives [none]"),
        ([X], [Y], ""),
    ],
)
def test_forms_are_compared_before_tensors(wanted: Any, got: Any, words: str):
    problem = difference_of_form(wanted, got)
    assert words in problem
    assert bool(words) is bool(problem)


def test_values_of_another_form_are_not_taken_for_the_same():
    base = Leaves([[X, X], None])
    assert len(base.tensors) == 2
    with pytest.raises(ValueError, match="other tensors"):
        base.like([[X], None])
    with pytest.raises(ValueError, match="other tensors"):
        base.like([[X, X], X])


@pytest.mark.parametrize(
    ("got", "wanted", "words"),
    [
        ([X, X], [X, X + 1], "element 1: 2 of 2 elements differ"),
        ([X], X, "a sequence of 1"),
        (None, [X], "it is absent"),
        ({"a": X[0]}, {"a": X[1]}, "1 of 1 elements differ"),
        ({"a": X[0]}, {"b": X[0]}, "is right"),
        ({"a": X[0]}, {"a": np.float64(1)}, "its dtype is float32"),
        ([{"a": X[0]}], [{"a": X[0]}], ""),
    ],
)
def test_bitwise_comparison_says_which_element(got: Any, wanted: Any, words: str):
    problem = differs(got, wanted)
    assert words in problem
    assert bool(words) is bool(problem)


def test_a_value_shows_its_type():
    assert str(type_of([Y])) == "seq(float32[?, ?])"
    assert str(type_of([{"a": X[0]}])) == "seq(map(string, float32[]))"
    assert type_of([]) is type_of(None) is None


# -- declarations -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("want", "have", "words"),
    [
        (SequenceType(FLOATS), SequenceType(TensorType(DType.INT64)), "declares int64"),
        (OptionalType(FLOATS), FLOATS, "declares float32[...], the reference optional"),
        (SCORES, MapType(DType.STRING, FLOATS), "keys of string"),
        (SCORES, MapType(DType.INT64, TensorType(DType.FLOAT64, ())), "declares float64"),
    ],
)
def test_declared_types_are_compared_to_the_innermost(want: Type, have: Type, words: str):
    assert words in " ".join(declared("output", [Port("x", want)], [Port("x", have)]))


def test_observed_values_are_held_against_declared_types():
    stated = SequenceType(TensorType(DType.FLOAT32, (2,)))
    assert observed(stated, stated, [X], [X]) == ""
    assert "dtype is int64" in observed(stated, stated, [X], [np.int64([1, 2])])
    assert "declares" in observed(stated, SequenceType(FLOATS), [Y], [Y])
    assert "element [0]: its shape" in observed(None, None, [X], [Y])
    assert observed(SCORES, SCORES, {1: 1.0}, {1: np.float32(1)}) == ""


# -- drawn ------------------------------------------------------------------------------------


def _drawn(kind: Type, times: int = 40, **sizes: int) -> list[Any]:
    graph = Graph()
    graph.add_input("x", kind)
    (spec,) = specs_of(graph)
    dims = {name: sizes.get(name, 2) for name in spec.symbols()}
    rng = np.random.default_rng(3)
    return [fill(spec, "normal", dims, rng) for _ in range(times)]


def test_lengths_are_sizes_like_any_other():
    graph = Graph()
    graph.add_input("x", SequenceType(TensorType(DType.INT64, (symbol("n"), 3))))
    (spec,) = specs_of(graph)
    assert spec.symbols() == {"n", "x.length"}
    value = fill(spec, "normal", {"n": 4, "x.length": 3}, np.random.default_rng(0))
    assert [v.shape for v in value] == [(4, 3)] * 3
    assert spec.bound(value) == {"n": 4, "x.length": 3}


def test_tensors_of_a_sequence_differ_where_their_shape_is_free():
    shapes = {tuple(v.shape for v in value) for value in _drawn(SequenceType(FLOATS))}
    assert ((2, 2), (2, 2)) in shapes
    assert any(one != other for one, other in shapes)


def test_optionals_are_absent_now_and_then():
    present = [v is not None for v in _drawn(OptionalType(SequenceType(FLOATS)))]
    assert 0 < sum(present) < len(present)


def test_maps_have_the_keys_that_the_graph_looks_up():
    graph = Graph()
    value = graph.add_input("m", MapType(DType.STRING, TensorType(DType.INT64, ())))
    attributes = {"string_vocabulary": ("red", "green")}
    op = graph.add_op("DictVectorizer", [value], attributes, domain="ai.onnx.ml", version=1)
    graph.outputs = [op.output]
    (spec,) = specs_of(graph)
    rng = np.random.default_rng(0)
    found = [fill(spec, "normal", {"m.length": 2}, rng) for _ in range(20)]
    assert all(len(m) == 2 and all(isinstance(v, np.int64) for v in m.values()) for m in found)
    assert {"red", "green"} <= {k for m in found for k in m}
    assert any(not m.keys() <= {"red", "green"} for m in found)


# -- through the run time ---------------------------------------------------------------------


def _info(name: str, kind: onnx.TypeProto) -> onnx.ValueInfoProto:
    return onnx.helper.make_value_info(name, kind)


def _tensor(shape: list[Any] | None = None) -> onnx.TypeProto:
    return onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, shape)


def _model(factor: float = 2.0, position: int = 0) -> onnx.ModelProto:
    """x, a sequence → it with its element at a position multiplied and put at the end."""
    node = onnx.helper.make_node
    nodes = [
        node("SequenceAt", ["x", "at"], ["element"]),
        node("Mul", ["element", "factor"], ["product"]),
        node("SequenceInsert", ["x", "product"], ["y"]),
    ]
    weights = [
        onnx.numpy_helper.from_array(np.int64(position), "at"),
        onnx.numpy_helper.from_array(np.float32(factor), "factor"),
    ]
    kind = onnx.helper.make_sequence_type_proto(_tensor(["n"]))
    graph = onnx.helper.make_graph(nodes, "g", [_info("x", kind)], [_info("y", kind)], weights)
    imports = [onnx.helper.make_opsetid("", 17)]
    return onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)


def _saved(folder: Path, name: str, **how: Any) -> Path:
    path = folder / name
    onnx.save(_model(**how), path)
    return path


def test_equal_models_on_sequences_pass(tmp_path: Path):
    verdict = verify(_saved(tmp_path, "a.onnx"), _saved(tmp_path, "b.onnx"), cases=60)
    assert verdict.status is Status.PASS, verdict
    assert len(verdict.dims["x.length"]) > 3
    assert verdict.outputs[0].max_ulp == 0


@pytest.mark.parametrize(
    ("fault", "words"),
    [({"factor": 2.0001}, "element [2]: another function"), ({"position": -1}, "element [")],
)
def test_a_fault_in_a_sequence_fails_and_replays(tmp_path: Path, fault: dict[str, Any], words: str):
    reference, candidate = _saved(tmp_path, "a.onnx"), _saved(tmp_path, "b.onnx", **fault)
    verdict = verify(reference, candidate, cases=60, replay_folder=tmp_path / "replay")
    assert verdict.status is Status.FAIL
    assert words in verdict.reason, verdict
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "replay")],
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1, done.stdout
    assert "AssertionError" in done.stdout


def test_tensors_of_other_shapes_in_one_sequence_are_no_obstacle(tmp_path: Path):
    kind = onnx.helper.make_sequence_type_proto(_tensor([None, 2]))
    nodes = [onnx.helper.make_node("ConcatFromSequence", ["z"], ["y"], axis=0)]
    nodes.insert(0, onnx.helper.make_node("SequenceInsert", ["x", "one"], ["z"]))
    weights = [onnx.numpy_helper.from_array(np.ones((1, 2), np.float32), "one")]
    outputs = [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, 2])]
    graph = onnx.helper.make_graph(nodes, "g", [_info("x", kind)], outputs, weights)
    imports = [onnx.helper.make_opsetid("", 17)]
    path = tmp_path / "a.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    verdict = verify(path, path, cases=60)
    assert verdict.status is Status.PASS, verdict
    assert verdict.refused == 0


def test_the_node_that_makes_the_wrong_element_is_named(tmp_path: Path):
    reference, candidate = _saved(tmp_path, "a.onnx"), _saved(tmp_path, "b.onnx", factor=3.0)
    verdict = verify(reference, candidate, cases=20)
    assert verdict.first_divergence is not None
    assert verdict.first_divergence.op == "Mul"


@pytest.mark.parametrize("wrong", [False, True])
def test_an_optional_input_is_tried_absent_and_present(tmp_path: Path, wrong: bool):
    """Whether it is there, against the same, or against what is right only where it is there."""
    paths = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for path, constant in zip(paths, (False, wrong), strict=True):
        node = onnx.helper.make_node("OptionalHasElement", ["x"], ["y"])
        if constant:
            value = onnx.helper.make_tensor("value", onnx.TensorProto.BOOL, [], [True])
            node = onnx.helper.make_node("Constant", [], ["y"], value=value)
        kind = onnx.helper.make_optional_type_proto(_tensor(["n"]))
        outputs = [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.BOOL, [])]
        graph = onnx.helper.make_graph([node], "g", [_info("x", kind)], outputs)
        imports = [onnx.helper.make_opsetid("", 17)]
        onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    verdict = verify(*paths, cases=40)
    assert verdict.status is (Status.FAIL if wrong else Status.PASS), verdict


@pytest.mark.parametrize(("keys", "first"), [([3, 5], 3), (["a", "b"], "a")])
def test_maps_come_from_the_run_time_in_their_own_dtype(keys: list[Any], first: Any):
    name = "classlabels_int64s" if isinstance(first, int) else "classlabels_strings"
    node = onnx.helper.make_node("ZipMap", ["x"], ["z"], domain="ai.onnx.ml", **{name: keys})
    inputs = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 2])]
    graph = onnx.helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="z")])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 1)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
    session = Session(model.SerializeToString(), optimize=False)
    (found,) = session.run({"x": np.float32([[0.1, 0.2], [0.3, 0.4]])})
    assert found[0][first] == np.float32(0.1)
    assert isinstance(found[0][first], np.float32)


def test_maps_go_into_the_run_time():
    kind = onnx.helper.make_map_type_proto(
        onnx.TensorProto.INT64, onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
    )
    node = onnx.helper.make_node("CastMap", ["x"], ["z"], domain="ai.onnx.ml")
    graph = onnx.helper.make_graph([node], "g", [_info("x", kind)], [onnx.ValueInfoProto(name="z")])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 1)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=8)
    session = Session(model.SerializeToString(), optimize=False)
    (found,) = session.run({"x": {np.int64(1): np.float32(0.5), 0: np.float32(2)}})
    np.testing.assert_array_equal(found, np.float32([[2, 0.5]]))
