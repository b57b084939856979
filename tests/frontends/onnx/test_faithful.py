"""A model that is read and written as it was read is the same model, field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper

from isomorph.exporters.onnx.atomic import WriteError
from isomorph.exporters.onnx.faithful import write_as_read
from isomorph.exporters.onnx.writer import ExportBlocked, to_proto
from isomorph.frontends.onnx import reader
from isomorph.frontends.onnx.reader import read
from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType
from tests import realmodels
from tests.frontends.onnx.constructs import CONSTRUCTS, FUNCTIONS, SUBGRAPHS, parsed
from tests.frontends.onnx.suite import LIGHT, suite_models

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from google.protobuf.message import Message


def differences(before: Message, after: Message, path: str = "model") -> Iterator[str]:
    """Where two messages are not equal: fields that are set among them, and their order."""
    for field in before.DESCRIPTOR.fields:
        if field.is_repeated:
            one, two = getattr(before, field.name), getattr(after, field.name)
            if len(one) != len(two):
                yield f"{path}.{field.name}: {len(one)} entries became {len(two)}"
        elif before.HasField(field.name) != after.HasField(field.name):
            yield f"{path}.{field.name}: set {before.HasField(field.name)} before"
            continue
        else:
            one, two = [getattr(before, field.name)], [getattr(after, field.name)]
        for left, right in zip(one, two, strict=False):
            if left != right and field.message_type is not None:
                yield from differences(left, right, f"{path}.{field.name}")
            elif left != right:
                yield f"{path}.{field.name}: {left!r:.60} became {right!r:.60}"


def again(model: onnx.ModelProto, folder: Path) -> onnx.ModelProto:
    """What is written of a model, from a file and into one."""
    folder.joinpath("in.onnx").write_bytes(model.SerializeToString())
    graph = read(folder / "in.onnx", keep_functions=True)
    write_as_read(copy_graph(graph)[0], folder / "out.onnx")
    return onnx.load(folder / "out.onnx", load_external_data=False)


def assert_same(before: onnx.ModelProto, after: onnx.ModelProto):
    if before != after:
        pytest.fail("\n".join(list(differences(before, after))[:20]))
    assert before.SerializeToString(deterministic=True) == after.SerializeToString(
        deterministic=True
    )


@pytest.fixture(params=["read", "mapped"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param == "mapped":
        monkeypatch.setattr(reader, "MAPPED_FROM", 1)
    return tmp_path


@pytest.mark.parametrize("name", CONSTRUCTS)
def test_constructs(name: str, folder: Path):
    model = CONSTRUCTS[name]()
    assert_same(model, again(model, folder))


def test_every_model_of_the_standard(tmp_path: Path):
    models = suite_models()
    assert len(models) > 2000
    assert [n for n, m in models.items() if m != again(m, tmp_path)] == []


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_light_models(path: Path, tmp_path: Path):
    model = onnx.load(path)
    assert_same(model, again(model, tmp_path))


@pytest.mark.parametrize("name", realmodels.HOMES)
def test_real_models(name: str, tmp_path: Path):
    model = onnx.load(realmodels.real_model(name))
    assert_same(model, again(model, tmp_path))


def in_files() -> tuple[onnx.ModelProto, dict[str, bytes]]:
    """A model with data in two files, of initializers, of a subgraph and of attributes."""
    model = parsed(SUBGRAPHS)
    rng = np.random.default_rng(0)
    files = {"w.bin": rng.bytes(9000), "sub/dir/v.data": rng.bytes(64)}
    inner = model.graph.node[1].attribute[0].g.node[1].attribute[1].g.initializer[0]
    attribute = model.graph.node[3].attribute[0].t
    more = model.graph.initializer.add(name="more", data_type=TensorProto.INT4, dims=[16])
    alike = model.graph.initializer.add(name="alike", data_type=TensorProto.FLOAT, dims=[2])
    nothing = model.graph.initializer.add(name="nothing", data_type=TensorProto.FLOAT, dims=[0])
    for tensor, entries in (
        (model.graph.initializer[0], {"location": "w.bin", "offset": "8192", "length": "8"}),
        (alike, {"length": "8", "offset": "8192", "location": "./w.bin", "checksum": "abc"}),
        (more, {"location": "sub/dir/v.data", "offset": "3", "note": "é"}),
        (inner, {"location": "w.bin"}),
        (attribute, {"location": "sub/dir/v.data", "offset": "32"}),
        (nothing, {"location": "empty"}),
    ):
        for field in ("float_data", "int64_data", "raw_data"):
            tensor.ClearField(field)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
    return model, {**files, "empty": b""}


def put(folder: Path, model: onnx.ModelProto, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    folder.joinpath("model.onnx").write_bytes(model.SerializeToString())
    return folder / "model.onnx"


class TestDataInFiles:
    def test_its_layout(self, folder: Path):
        model, files = in_files()
        graph = read(put(folder / "a", model, files))
        (folder / "b").mkdir()
        result = write_as_read(graph, folder / "b" / "m.onnx")
        assert_same(model, onnx.load(result.paths[0], load_external_data=False))
        assert {p.relative_to(folder / "b").as_posix() for p in result.paths} == {"m.onnx", *files}
        assert result.bytes == sum(p.stat().st_size for p in result.paths)
        before, after = (
            [v.weight.digest() for g in m.graphs() for v in g.weights()]
            for m in (graph, read(folder / "b" / "m.onnx"))
        )
        assert before == after
        left = (folder / "b" / "w.bin").read_bytes()
        assert len(left) == 8200
        assert left[8:8192] == bytes(8184), "what no tensor has is not copied"

    def test_over_itself(self, folder: Path):
        model, files = in_files()
        path = put(folder, model, files)
        write_as_read(read(path), path)
        assert_same(model, onnx.load(path, load_external_data=False))
        found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
        assert found == {"model.onnx", *files}
        assert all((folder / name).read_bytes() == data for name, data in files.items())

    def test_of_a_model_of_ours(self, folder: Path):
        from isomorph.exporters.onnx.writer import write

        model, files = in_files()
        place = folder / "ours.onnx"
        first = write(read(put(folder, model, files)), place, external=True)
        again = write_as_read(read(place), place)
        assert set(again.paths) == set(first.paths)
        assert all(p.exists() for p in again.paths)

    def test_beside_files_of_others(self, folder: Path):
        model, files = in_files()
        graph = read(put(folder / "a", model, files))
        other = put(folder / "b", model, {**files, "w.bin": bytes(9000)})
        before = {p: p.read_bytes() for p in (folder / "b").rglob("*") if p.is_file()}
        with pytest.raises(
            WriteError, match=r"w\.bin: another file lies there, whose bytes 0 to 8"
        ):
            write_as_read(graph, other)
        (folder / "b" / "w.bin").write_bytes(b"short")
        before[folder / "b" / "w.bin"] = b"short"
        with pytest.raises(WriteError, match=r"w\.bin: another file lies there"):
            write_as_read(graph, folder / "b" / "new.onnx")
        assert before == {p: p.read_bytes() for p in (folder / "b").rglob("*") if p.is_file()}

    def test_discarded_without_a_trace(self, folder: Path):
        from isomorph.exporters.onnx.faithful import stage_as_read

        model, files = in_files()
        graph = read(put(folder / "a", model, files))
        (folder / "b").mkdir()
        with stage_as_read(graph, folder / "b" / "m.onnx") as staged:
            assert_same(model, onnx.load(staged.path, load_external_data=False))
        assert [p for p in (folder / "b").rglob("*") if p.is_file()] == []

    def test_places_that_are_not_written_to(self, folder: Path):
        model, files = in_files()
        graph = read(put(folder / "a", model, files))
        (folder / "b").mkdir()
        with pytest.raises(WriteError, match="in the model's own file"):
            write_as_read(graph, folder / "b" / "w.bin")
        (folder / "b" / "sub").symlink_to("..")
        with pytest.raises(WriteError, match="lies outside of"):
            write_as_read(graph, folder / "b" / "m.onnx")
        assert [p.name for p in (folder / "b").iterdir()] == ["sub"]


class TestAfterEdits:
    """What was edited is written as the graph has it, and all else as it was."""

    def test_only_what_was_edited(self, tmp_path: Path):
        model = CONSTRUCTS["remarks"]()
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        graph = read(tmp_path / "m.onnx")
        graph.ops()[0].name = "renamed"
        graph.inputs[0].doc = "other pixels"
        graph.inputs[0].type = TensorType(DType.FLOAT32, (2,))
        graph.metadata["z"] = "changed"
        write_as_read(graph, tmp_path / "out.onnx")
        found = list(differences(model, onnx.load(tmp_path / "out.onnx")))
        assert {line.split(":")[0] for line in found} == {
            "model.graph.node.name",
            "model.graph.input.doc_string",
            "model.metadata_props.value",
        }

    def test_renamed_retyped_and_reordered_values(self, tmp_path: Path):
        model = parsed(SUBGRAPHS)
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        graph = read(tmp_path / "m.onnx")
        graph.rename(graph.inputs[0], "pixels")
        graph.inputs[1].type = TensorType(DType.BOOL, ())
        graph.inputs.reverse()
        graph.outputs = [graph.outputs[1]]
        write_as_read(graph, tmp_path / "out.onnx")
        made = onnx.load(tmp_path / "out.onnx")
        onnx.checker.check_model(made)
        assert [i.name for i in made.graph.input] == ["n", "c", "pixels"]
        assert [o.name for o in made.graph.output] == ["sum"]
        assert made.graph.node[0].input == ["pixels", "w"]

    def test_ops_that_the_file_could_not_mean(self, tmp_path: Path):
        (tmp_path / "m.onnx").write_bytes(parsed(SUBGRAPHS).SerializeToString())
        graph = read(tmp_path / "m.onnx")
        graph.ops()[0].version = 7
        with pytest.raises(ExportBlocked, match="Add-7 is needed"):
            write_as_read(graph, tmp_path / "out.onnx")


def test_defaults_can_still_be_overridden(tmp_path: Path):
    model = CONSTRUCTS["defaults"]()
    del model.graph.node[1:], model.graph.output[:]
    model.graph.output.add().CopyFrom(onnx.helper.make_tensor_value_info("a", 1, [2]))
    session = onnxruntime.InferenceSession(again(model, tmp_path).SerializeToString())
    feeds = {"x": np.zeros(2, np.float32), "c": np.array(True), "n": np.array(1)}
    assert session.run(None, feeds)[0].tolist() == [1, 2]
    given = {**feeds, "w": np.array([5, 6], np.float32)}
    assert session.run(None, given)[0].tolist() == [5, 6]


def test_what_is_not_used_is_said():
    notes = {name: read(make()).extra.get("notes", ()) for name, make in CONSTRUCTS.items()}
    assert {n: len(found) for n, found in notes.items() if found} == {
        "defaults": 1,
        "devices": 1,
        "training": 1,
    }
    assert "1 inputs have a default value ('w')" in notes["defaults"][0]


class TestUnknownFields:
    def test_are_told_and_not_kept(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        model = parsed(SUBGRAPHS)
        plain = model.SerializeToString()
        node = model.graph.node[0].SerializeToString()
        extended = node + b"\xfa\x7f\x03abc"
        graph = model.graph.SerializeToString().replace(
            bytes([len(node)]) + node, bytes([len(extended)]) + extended
        )
        model.ClearField("graph")
        size = len(graph)
        data = model.SerializeToString() + b"\x3a" + bytes([size & 127 | 128, size >> 7]) + graph
        (tmp_path / "m.onnx").write_bytes(data)
        for mapped_from in (1, 1 << 24):
            monkeypatch.setattr(reader, "MAPPED_FROM", mapped_from)
            found = read(tmp_path / "m.onnx")
            assert "the model.graph.node has a field 2047" in found.extra["notes"][0]
            with pytest.raises(UnsupportedError, match="field 2047"):
                write_as_read(found, tmp_path / "out.onnx")
        assert to_proto(found) == to_proto(read(plain))


class TestFunctions:
    def test_are_inlined_unless_they_are_to_be_kept(self, tmp_path: Path):
        model = parsed(FUNCTIONS)
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(ExportBlocked, match="Constant-13 is needed"):
            write_as_read(read(tmp_path / "m.onnx"), tmp_path / "out.onnx")
        model.functions[0].opset_import[0].version = 23
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        inlined = read(tmp_path / "m.onnx")
        assert not inlined.functions
        write_as_read(inlined, tmp_path / "out.onnx")
        made = onnx.load(tmp_path / "out.onnx")
        onnx.checker.check_model(made)
        assert not made.functions
        assert {n.domain for n in made.graph.node} == {""}

    def test_that_are_kept_are_written_by_every_writer(self, tmp_path: Path):
        model = CONSTRUCTS["overloads"]()
        for owner in (model, *model.functions):
            owner.opset_import[0].version = 13
        model.functions[-1].attribute_proto[0].f = 5
        model.functions[-1].ClearField("value_info")
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        graph = read(tmp_path / "m.onnx", keep_functions=True)
        made = to_proto(graph)
        assert list(made.functions) == list(model.functions)
        feeds = {"x": np.array([1, -2], np.float32), "c": np.array(False)}
        one, two = (
            onnxruntime.InferenceSession(m.SerializeToString()).run(None, feeds)
            for m in (model, made)
        )
        np.testing.assert_array_equal(one, two)

    def test_with_the_name_of_an_operator(self):
        model = parsed(FUNCTIONS)
        model.functions[-1].domain, model.functions[-1].name = "", "Relu"
        assert len(read(model)) > 0
        with pytest.raises(
            UnsupportedError, match=r"function ai\.onnx\.Relu has the name of an op"
        ):
            read(model, keep_functions=True)

    def test_their_data_in_other_files_is_taken_in(self, folder: Path):
        model = parsed(FUNCTIONS)
        tensor = model.functions[1].node[0].attribute[0].t
        tensor.ClearField("float_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="one.bin")
        path = put(folder, model, {"one.bin": np.float32(1).tobytes()})
        write_as_read(read(path, keep_functions=True), folder / "out.onnx")
        found = onnx.load(folder / "out.onnx", load_external_data=False)
        kept = found.functions[1].node[0].attribute[0].t
        assert not kept.external_data
        assert numpy_helper.to_array(kept) == 1


def test_graphs_of_no_file():
    with pytest.raises(UnsupportedError, match="was not read from a model file"):
        write_as_read(Graph(), "m.onnx")
