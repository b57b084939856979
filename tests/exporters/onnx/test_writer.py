"""Files out: what is in them, for which target, and that the same graph gives the same bytes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx.checker
import pytest
from onnx import TensorProto, helper, numpy_helper

from isomorph.exporters.onnx.atomic import WriteError
from isomorph.exporters.onnx.writer import ExportBlocked, prepare, stage, to_proto, write
from isomorph.exporters.target import Target, limits_of, make_target
from isomorph.frontends.onnx.reader import read
from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.graph import Graph
from isomorph.ir.text import parse
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.runtime.ort import Session
from tests.frontends.onnx.suite import LIGHT, normal, suite_models

if TYPE_CHECKING:
    from pathlib import Path

F2 = TensorType(DType.FLOAT32, (2,))


def target(opset: int, ir_version: int = 13) -> Target:
    return Target(opset, ir_version)


def chain(count: int = 3, size: int = 512) -> Graph:
    """Adds of weights with distinct numbers, of 4 × size bytes each."""
    graph = Graph("chain")
    value = graph.add_input("x", TensorType(DType.FLOAT32, (size,)))
    for index in range(count):
        weight = Weight.of(np.full(size, index, np.float32))
        value = graph.add_op("Add", [value, graph.add_weight(weight, f"w{index}")]).output
        value.type = TensorType(DType.FLOAT32, (size,))
    graph.outputs = [value]
    return graph


def runs(path: Path, size: int = 512) -> np.ndarray:
    """What onnxruntime makes of zeros."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": np.zeros(size, np.float32)})[0]


class TestUntouched:
    """A graph at its own opset is written as it was read, below opset 11 too."""

    @pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
    def test_old_models(self, path: Path, tmp_path: Path):
        result = write(read(path), tmp_path / "m.onnx", value_infos=False)
        before, after = onnx.load(path), onnx.load(tmp_path / "m.onnx")
        assert (result.opset, result.nodes) == (9, len(before.graph.node))
        assert list(normal(after.graph).node) == list(normal(before.graph).node)
        read_by_nodes = {i for n in before.graph.node for i in n.input}
        assert list(normal(after.graph).initializer) == [
            t for t in normal(before.graph).initializer if t.name in read_by_nodes
        ]
        onnx.checker.check_model(after)

    def test_every_model_of_the_standard(self):
        for name, model in suite_models().items():
            made = to_proto(read(model))
            assert list(normal(made.graph).node) == list(normal(model.graph).node), name
            imported = {o.domain: o.version for o in model.opset_import}
            assert {o.domain: o.version for o in made.opset_import}.items() <= imported.items()

    def test_nodes_that_nothing_reads_stay(self):
        graph = parse("""
        <ir_version: 8, opset_import: ["": 13]>
        g (float[2] x) => (float[2] y, float[2] x) { dead = Neg(x)  y = Abs(x) }
        """)
        made = to_proto(graph)
        assert [n.op_type for n in made.graph.node] == ["Neg", "Abs"]
        assert [o.name for o in made.graph.output] == ["y", "x"]
        assert (made.ir_version, made.opset_import[0].version) == (8, 13)


class TestFinalize:
    """What other tools need, for graphs that are not written as they were read."""

    def test_outputs_that_no_op_computes(self, tmp_path: Path):
        graph = Graph()
        x = graph.add_input("x", F2)
        w = graph.add_weight(Weight.of(np.array([1, 2], np.float32)), "w")
        y = graph.add_op("Neg", [x], outputs=["y"]).output
        y.type = F2
        graph.outputs = [y, x, w, y]
        write(graph, tmp_path / "m.onnx", target(21))
        found = onnx.load(tmp_path / "m.onnx")
        onnx.checker.check_model(found, full_check=True)
        assert [o.name for o in found.graph.output] == ["y", "x", "w", "y"]
        assert [n.op_type for n in found.graph.node] == ["Neg"]
        Session(tmp_path / "m.onnx", optimize=True)
        assert graph.outputs == [y, x, w, y], "the graph itself is not changed"

    def test_equal_weights_are_stored_once_and_unread_ones_not_at_all(self):
        graph = Graph()
        x = graph.add_input("x", F2)
        one = Weight.of(np.array([1, 1], np.float32))
        same = Weight.of(np.array([1, 1], np.float32))
        other = Weight.of(np.array([1, 1], np.int32))
        names = [graph.add_weight(w, f"w{i}") for i, w in enumerate((one, one, same, other))]
        total = x
        for value in names[:3]:
            total = graph.add_op("Add", [total, value]).output
        graph.outputs = [total]
        made = to_proto(graph, target(21))
        assert [t.name for t in made.graph.initializer] == ["w0"]

    def test_names_are_unique_and_not_empty(self):
        graph = chain()
        for op in graph.ops():
            op.name = "same"
        made = to_proto(graph, target(21))
        names = [n.name for n in made.graph.node]
        assert len(set(names)) == 3
        assert all(names)

    def test_a_branch_that_returns_an_outer_value(self, tmp_path: Path):
        import onnxruntime

        graph = parse("""
        <ir_version: 10, opset_import: ["": 21]>
        g (float[2] x, bool c) => (float[2] y) {
            n = Neg(x)
            y = If (c) <then_branch = t () => (float[2] n) { },
                        else_branch = e () => (float[2] q) { q = Identity(n) }>
        }
        """)
        write(graph, tmp_path / "m.onnx", target(20))
        onnx.checker.check_model(onnx.load(tmp_path / "m.onnx"), full_check=True)
        session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
        feeds = {"x": np.array([1, 2], np.float32), "c": np.array(True)}
        assert session.run(None, feeds)[0].tolist() == [-1, -2]


class TestTargets:
    def test_the_lowest_format_that_defines_the_opset(self):
        graph = chain()
        versions = {o: to_proto(graph, target(o)).ir_version for o in (14, 15, 18, 21, 23, 24)}
        assert versions == {14: 7, 15: 8, 18: 8, 21: 10, 23: 11, 24: 12}

    def test_never_newer_than_the_run_time_loads(self):
        assert to_proto(chain(), target(21, ir_version=9)).ir_version == 9

    def test_element_types_need_their_format(self):
        model = parse("""
        <ir_version: 14, opset_import: ["": 21]>
        g (int4[2] x) => (int4[2] y) { y = Identity(x) }
        """)
        with pytest.raises(UnsupportedError, match=r"need IR version 10.*loads up to 9"):
            to_proto(model, target(21, ir_version=9))

    def test_every_inexpressible_op_is_listed(self):
        graph = parse("""
        <ir_version: 14, opset_import: ["": 28]>
        g (string[2] x) => (string[2] y) { y = Identity(x) }
        """)
        for _ in range(2):
            made = graph.add_op(
                "RegexFullMatch", [graph.inputs[0]], {"pattern": "a"}, name="attend"
            )
            graph.outputs.append(made.output)
        with pytest.raises(ExportBlocked, match=r"2 ops.*opset 11") as caught:
            prepare(graph, target(11))
        assert [p.op.name for p in caught.value.problems] == ["attend", "attend"]

    def test_opsets_below_the_lowest(self):
        with pytest.raises(UnsupportedError, match=r"opset 9.*11 and newer"):
            prepare(chain(), target(9))

    def test_unknown_domains_keep_their_version(self):
        graph = parse("""
        <ir_version: 10, opset_import: ["": 21, "my.ops": 3, "unused": 7]>
        g (float[2] x) => (float[2] y) { y = my.ops.Thing <k = 1> (x) }
        """)
        made = to_proto(graph, target(18))
        assert {o.domain: o.version for o in made.opset_import} == {"": 18, "my.ops": 3}

    def test_make_target(self):
        assert make_target(17, "onnxruntime==1.31.1") == Target(17, 13, release="1.31.1")
        assert make_target(runtime="onnxruntime==1.31.1").opset == 26
        assert make_target().release
        assert make_target(runtime="onnxruntime==1.31").release == "1.31.1"
        for arguments, text in (
            ((27, "onnxruntime==1.31.1"), "opset 27.*loads opsets 1 to 26"),
            ((0,), "opset 0"),
            ((None, "tensorrt"), "'tensorrt' is not known"),
            ((None, "onnxruntime==new"), "'new' cannot be read"),
            ((None, "onnxruntime==1.2"), r"1\.2 is not known here: releases 1\.19 to 1\.\d+ are"),
            ((None, "onnxruntime==9.9"), r"9\.9 is not known here: releases 1\.19 to 1\.\d+ are"),
            ((None, "onnxruntime", "cuda"), "provider 'cuda'"),
        ):
            with pytest.raises(UnsupportedError, match=text):
                make_target(*arguments)

    def test_a_newer_release_that_is_installed_can_be_asked(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("isomorph.exporters.target.installed", lambda _: "1.99.0")
        assert not make_target().observed
        assert make_target(runtime="onnxruntime==1.99.0") == make_target()

    def test_the_installed_release_loads_what_the_table_says(self, tmp_path: Path):
        import onnxruntime

        limits, observed = limits_of("onnxruntime", onnxruntime.__version__)
        assert observed, "probe this release and add it to LIMITS"
        for opset, ir_version, loads in (
            (limits.opset, limits.ir_version, True),
            (limits.opset + 1, limits.ir_version, False),
            (limits.opset, limits.ir_version + 1, False),
        ):
            model = to_proto(chain(), target(min(limits.opset, 26)))
            model.opset_import[0].version, model.ir_version = opset, ir_version
            (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
            program = "import sys, onnxruntime; onnxruntime.InferenceSession(sys.argv[1])"
            done = subprocess.run(
                [sys.executable, "-c", program, tmp_path / "m.onnx"],
                capture_output=True,
                check=False,
            )
            assert (done.returncode == 0) == loads, (opset, ir_version, done.stderr)


class TestBytes:
    def test_the_same_graph_gives_the_same_file(self, tmp_path: Path):
        for external in (False, True):
            graph = chain()
            graph.metadata = {"b": "2", "a": "1"}
            first = write(graph, tmp_path / "m.onnx", target(21), external=external)
            before = [p.read_bytes() for p in first.paths]
            again, _ = copy_graph(graph)
            again.metadata = {"a": "1", "b": "2"}
            second = write(again, tmp_path / "m.onnx", target(21), external=external)
            assert (first.paths, before) == (second.paths, [p.read_bytes() for p in second.paths])
            assert first.bytes == sum(map(len, before))

    def test_in_another_process_too(self, tmp_path: Path):
        write(chain(), tmp_path / "m.onnx", target(21))
        program = (
            "import sys; from isomorph.frontends.onnx.reader import read;"
            "from isomorph.exporters.onnx.writer import write;"
            "write(read(sys.argv[1]), sys.argv[2])"
        )
        made = set()
        for seed in ("0", "1", "2"):
            out = tmp_path / f"{seed}.onnx"
            command = [sys.executable, "-c", program, tmp_path / "m.onnx", out]
            subprocess.run(command, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
            made.add(out.read_bytes())
        assert len(made) == 1

    def test_the_streamed_message_is_the_message(self, tmp_path: Path):
        graph = chain()
        write(graph, tmp_path / "m.onnx", target(21))
        assert onnx.load(tmp_path / "m.onnx") == to_proto(graph, target(21))

    def test_permissions_are_those_of_any_new_file(self, tmp_path: Path):
        old = os.umask(0o027)
        try:
            result = write(chain(), tmp_path / "m.onnx", external=True)
        finally:
            os.umask(old)
        assert [stat.S_IMODE(p.stat().st_mode) for p in result.paths] == [0o640, 0o640]


class TestExternal:
    def test_layout(self, tmp_path: Path):
        graph = chain(4)
        big = Weight.of(np.arange(1 << 18, dtype=np.float32))
        twin = Weight.of(np.full((8, 64), 1, np.float32))  # the bytes of w1 in another shape
        tiny = Weight.of(np.arange(4, dtype=np.int64))
        for name, weight in (("big", big), ("twin", twin), ("tiny", tiny)):
            graph.add_op("Identity", [graph.add_weight(weight, name)], outputs=[f"o_{name}"])
            output = graph.ops()[-1].output
            output.type = weight.type
            graph.outputs = [*graph.outputs, output]
        result = write(graph, tmp_path / "m.onnx", target(21), external=True)
        model = onnx.load(result.paths[0], load_external_data=False)
        places = {
            t.name: {e.key: e.value for e in t.external_data} for t in model.graph.initializer
        }
        assert places["tiny"] == {}
        assert places["twin"] == places["w1"]
        assert {p["location"] for p in places.values() if p} == {result.paths[1].name}
        assert int(places["big"]["offset"]) % (1 << 16) == 0
        assert all(int(p["offset"]) % 4096 == 0 for p in places.values() if p)
        onnx.checker.check_model(str(result.paths[0]))
        for tensor in onnx.load(result.paths[0]).graph.initializer:
            expected = next(v for v in graph.weights() if v.name == tensor.name).weight.numpy()
            np.testing.assert_array_equal(numpy_helper.to_array(tensor), expected)

    def test_valid_while_staged_and_when_committed(self, tmp_path: Path):
        with stage(chain(), tmp_path / "m.onnx", target(21), external=True) as staged:
            assert runs(staged.path)[0] == 3
            assert not (tmp_path / "m.onnx").exists()
            result = staged.commit()
        assert runs(result.paths[0])[0] == 3
        assert sorted(tmp_path.iterdir()) == sorted(result.paths)

    def test_what_is_superseded_goes(self, tmp_path: Path):
        path = tmp_path / "m.onnx"
        (tmp_path / "weights.data").write_bytes(b"somebody's own")
        (tmp_path / f"other.onnx.{'0' * 32}.data").write_bytes(b"another model's")
        first = write(chain(3), path, target(21), external=True)
        second = write(chain(4), path, target(21), external=True)
        assert first.paths[1] != second.paths[1]
        kept = {"weights.data", f"other.onnx.{'0' * 32}.data"}
        assert {p.name for p in tmp_path.iterdir()} == {*kept, *(p.name for p in second.paths)}
        third = write(chain(3), path, target(21))
        assert {p.name for p in tmp_path.iterdir()} == {*kept, third.paths[0].name}

    def test_discarded_without_a_trace(self, tmp_path: Path):
        kept = write(chain(3), tmp_path / "m.onnx", target(21), external=True)
        stage(chain(4), tmp_path / "m.onnx", target(21), external=True).discard()
        stage(chain(3), tmp_path / "m.onnx", target(21), external=True).discard()
        assert sorted(tmp_path.iterdir()) == sorted(kept.paths)
        assert runs(kept.paths[0])[0] == 3

    def test_a_model_over_itself(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        from isomorph.frontends.onnx import reader

        monkeypatch.setattr(reader, "MAPPED_FROM", 1)
        path = tmp_path / "m.onnx"
        size = 1 << 15  # large enough to stay in the file
        write(chain(3, size), path, target(21), external=True)
        for external in (True, False, False, True):
            graph = read(path)
            write(graph, path, target(21), external=external)
            assert runs(path, size)[0] == 3
            assert [v.weight.numpy()[0] for v in graph.weights()] == [0, 1, 2]


class TestPlaces:
    def test_that_cannot_be_written(self, tmp_path: Path):
        (tmp_path / "file").touch()
        for place, text in (
            (tmp_path / "no" / "m.onnx", "no folder"),
            (tmp_path, "it is a folder"),
            (tmp_path / "file" / "m.onnx", "no folder"),
        ):
            with pytest.raises(WriteError, match=text):
                write(chain(), place)
        assert [p.name for p in tmp_path.iterdir()] == ["file"]

    def test_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        write(chain(3), tmp_path / "m.onnx", target(21))
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(WriteError, match=r"m\.onnx: it cannot be written: No space left"):
            write(chain(4), tmp_path / "m.onnx", target(21), external=True)
        monkeypatch.undo()
        assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]
        assert runs(tmp_path / "m.onnx")[0] == 3

    def test_more_than_a_message_holds(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        from isomorph.exporters.onnx import layout, writer

        monkeypatch.setattr(layout, "LARGEST_MESSAGE", 1 << 12)
        with pytest.raises(WriteError, match="external=True"):
            write(chain(), tmp_path / "m.onnx", target(21))
        monkeypatch.setattr(writer, "EXTERNAL_ABOVE", 1 << 12)
        assert len(write(chain(), tmp_path / "m.onnx", target(21)).paths) == 2


def test_large_files_are_mapped_and_streamed(tmp_path: Path):
    """A file that is one hole: loading it costs nothing, writing it one piece at a time."""
    size = 1 << 28
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(size)
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[size // 4])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    info = helper.make_tensor_value_info("y", TensorProto.FLOAT, [size // 4])
    graph = helper.make_graph([helper.make_node("Neg", ["w"], ["y"])], "g", [], [info], [tensor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    program = """
import resource, sys
from isomorph.frontends.onnx.reader import read
from isomorph.exporters.onnx.writer import write
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
start = peak()
graph = read(sys.argv[1])
loaded = peak()
result = write(graph, sys.argv[2], external=sys.argv[3] == "True")
print(loaded - start, peak() - loaded, result.bytes)
"""
    for external in (True, False):
        out = tmp_path / f"{external}.onnx"
        command = [sys.executable, "-c", program, tmp_path / "m.onnx", out, str(external)]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        load, written, total = map(int, done.stdout.split())
        assert load < 32, f"loading took {load} MiB"
        assert written < 64, f"writing {size >> 20} MiB took {written} MiB"
        assert total > size
