"""The user's own sessions of onnxruntime: options, providers, libraries of operators."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from isomorph.ir.text import parse
from isomorph.ir.types import DType, TensorType
from isomorph.parity import Status, verify
from isomorph.parity.candidate import Candidate
from isomorph.parity.custom import CustomOps, custom_ops
from isomorph.parity.replay_text import text_of
from isomorph.parity.sources import read
from isomorph.parity.worker import Worker
from isomorph.runtime.device import compile_graph
from isomorph.runtime.settings import ATTRIBUTES, Settings, SettingsError, known_config
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOMAIN = "ai.onnx.contrib"


@pytest.fixture
def relu(tmp_path: Path) -> Path:
    made = model([node("Relu", "x", "y")], ["x: float32[n, 3]"], ["y: float32[n, 3]"])
    return save(made, tmp_path / "relu.onnx")


@pytest.fixture
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.close()


class TestSettings:
    def test_texts_and_values(self):
        found = Settings.of(
            {
                "intra_op_num_threads": "2",
                "graph_optimization_level": "basic",
                "enable_mem_pattern": "false",
                "session.disable_prepacking": True,
                "ep.somebody.else": 3,
            },
            ["CPUExecutionProvider"],
        )
        assert dict(found.attributes) == {
            "intra_op_num_threads": 2,
            "graph_optimization_level": "ORT_ENABLE_BASIC",
            "enable_mem_pattern": False,
        }
        assert dict(found.config) == {"session.disable_prepacking": "1", "ep.somebody.else": "3"}
        assert found.providers == (("CPUExecutionProvider", ()),)
        assert not Settings.of()

    def test_session_options_are_read_back(self):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 3
        options.execution_mode = onnxruntime.ExecutionMode.ORT_PARALLEL
        options.add_session_config_entry("session.set_denormal_as_zero", "1")
        found = Settings.of(options)
        assert dict(found.attributes) == {
            "execution_mode": "ORT_PARALLEL",
            "intra_op_num_threads": 3,
        }
        assert found.config == (("session.set_denormal_as_zero", "1"),)

    def test_they_reach_a_session(self):
        given = {
            "intra_op_num_threads": 2,
            "graph_optimization_level": "ORT_ENABLE_BASIC",
            "session.disable_prepacking": "1",
        }
        settings = Settings.of(given, [("CPUExecutionProvider", {"arena_extend_strategy": "x"})])
        options = onnxruntime.SessionOptions()
        providers = settings.apply(onnxruntime, options, optimize=True)
        assert providers == [("CPUExecutionProvider", {"arena_extend_strategy": "x"})]
        level = onnxruntime.GraphOptimizationLevel
        assert options.graph_optimization_level == level.ORT_ENABLE_BASIC
        assert options.intra_op_num_threads == 2
        assert options.get_session_config_entry("session.disable_prepacking") == "1"
        plain = onnxruntime.SessionOptions()
        plain.graph_optimization_level = level.ORT_DISABLE_ALL
        settings.apply(onnxruntime, plain, optimize=False)
        assert plain.graph_optimization_level == level.ORT_DISABLE_ALL

    def test_every_attribute_exists(self):
        options = onnxruntime.SessionOptions()
        assert [name for name in ATTRIBUTES if not hasattr(options, name)] == []
        assert "session.disable_prepacking" in known_config()

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"options": {"intra_op_threads": 2}}, "did you mean intra_op_num_threads"),
            ({"options": {"nonsense": 2}}, "'nonsense': expected one of graph_optimization"),
            ({"options": {"session.disable_prepakcing": 1}}, "mean session.disable_prepacking"),
            ({"options": {"intra_op_num_threads": "two"}}, "'two': a whole number is expected"),
            ({"options": {"graph_optimization_level": "max"}}, "'max': one of ORT_DISABLE_ALL"),
            ({"options": {"enable_mem_reuse": "perhaps"}}, "true or false is expected"),
            ({"options": 5}, "session options are int 5: a mapping"),
            ({"providers": "CPUExecutionProvider"}, "a list of names is expected"),
            ({"providers": ["Nope"]}, "'Nope': the installed onnxruntime has "),
            ({"providers": [3]}, r"provider 3: a name, or \(name, options\)"),
            ({"custom_ops": ["nowhere.so"]}, "'nowhere.so': there is no such file"),
        ],
    )
    def test_misuse_is_one_sentence(self, given: dict[str, Any], words: str):
        with pytest.raises(SettingsError, match=words):
            Settings.of(**given)


class TestVerify:
    def test_a_model_is_verified_with_them(self, relu: Path):
        verdict = verify(
            relu,
            relu,
            cases=10,
            session_options={"intra_op_num_threads": 2, "session.disable_prepacking": "1"},
            providers=["CPUExecutionProvider"],
        )
        assert verdict.status is Status.PASS

    def test_a_level_is_that_of_the_session_that_ships(self, tmp_path: Path, worker: Worker):
        nodes = [node("Div", "one x", "r"), node("Mul", "r z", "y")]  # z / x, once optimized
        ports = ["x: float32[n]", "z: float32[n]"]
        made = model(nodes, ports, ["y: float32[n]"], {"one": np.float32(1)})
        path = save(made, tmp_path / "div.onnx")
        x, z = np.random.default_rng(0).uniform(1, 2, (2, 1000)).astype(np.float32)
        same = []
        for options in ({}, {"graph_optimization_level": "disable_all"}):
            with Candidate(path, worker, Settings.of(options)) as candidate:
                (plain,) = candidate.run([x, z], optimize=False)
                (optimized,) = candidate.run([x, z], optimize=True)
            same.append(np.array_equal(plain, optimized))
        assert same == [False, True]

    def test_a_provider_that_does_not_start_is_not_done_without(self, relu: Path):
        absent = [
            name
            for name in onnxruntime.get_available_providers()
            if name not in onnxruntime.InferenceSession(str(relu)).get_providers()
        ]
        if not absent:
            pytest.skip("every provider of this onnxruntime starts here")
        with pytest.raises(SettingsError, match="does not start on this machine"):
            verify(relu, relu, providers=[absent[-1]])

    def test_what_is_no_library(self, relu: Path):
        with pytest.raises(SettingsError, match="cannot be registered"):
            verify(relu, relu, custom_ops=[relu])

    def test_our_own_kernels_have_no_sessions(self, relu: Path):
        compiled = compile_graph(read(relu), "sim:sm_90")
        with pytest.raises(SettingsError, match="the candidate runs on 'sim:sm_90'"):
            verify(relu, compiled, session_options={"intra_op_num_threads": 2})

    def test_a_worker_that_died_takes_them_again(self, relu: Path, worker: Worker):
        settings = Settings.of({"intra_op_num_threads": 2})
        session = worker.load(relu, optimize=True, settings=settings)
        worker.close()
        (y,) = worker.run(session, {"x": np.full((1, 3), -1, np.float32)})
        assert (y == 0).all()


def contrib(path: Path, scale: float = 1.0) -> Path:
    """y = scale · Inverse(x), an operator that only a library knows."""
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [3, 3]) for n in "xy"]
    nodes = [
        helper.make_node("Inverse", ["x"], ["t"], domain=DOMAIN),
        helper.make_node("Mul", ["t", "s"], ["y"]),
    ]
    weight = helper.make_tensor("s", TensorProto.FLOAT, [1], [scale])
    graph = helper.make_graph(nodes, "g", *[[p] for p in ports], [weight])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


class _Session:
    """Stands in for a worker with a library that inverts matrices."""

    def __init__(self) -> None:
        self.fed: list[np.dtype[Any]] = []
        self.open = 0

    def load(self, path: Path, *, optimize: bool, settings: Settings) -> int:
        assert onnx.load(path).graph.node[0].op_type == "Inverse"
        self.open += 1
        return self.open

    def run(self, session: int, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
        self.fed += [array.dtype for array in feeds.values()]
        return [np.linalg.inv(array) for array in feeds.values()]

    def unload(self, session: int) -> None:
        self.open -= 1


class TestCustomOperators:
    def test_they_run_in_the_dtypes_of_the_file(self, tmp_path: Path):
        graph = read(contrib(tmp_path / "m.onnx"))
        assert custom_ops(graph) == [f"{DOMAIN}.Inverse"]
        session = _Session()
        run = CustomOps(session, Settings(), graph, tmp_path)  # type: ignore[arg-type] - stands in
        inverse, scaled = graph.sorted_ops()
        assert inverse.inputs[0].type == TensorType(DType.FLOAT32, (3, 3))
        for _ in range(2):
            (found,) = run(inverse, [np.diag([1.0, 2.0, 4.0])])
        assert found.dtype == np.float32
        assert session.fed == [np.float32, np.float32]
        assert session.open == 1  # one session for both
        assert run(scaled, [found, found]) is None
        run.close()
        assert session.open == 0

    def test_without_their_library_the_file_does_not_load(self, tmp_path: Path):
        path = contrib(tmp_path / "m.onnx")
        verdict = verify(path, path, cases=5)
        assert verdict.status is Status.FAIL
        assert "Inverse" in verdict.reason

    def test_with_it_models_are_compared_in_their_own_precision(self, tmp_path: Path):
        extensions = pytest.importorskip(
            "onnxruntime_extensions",
            reason="no library of custom operators: pip install onnxruntime-extensions",
        )
        given = {
            "custom_ops": [extensions.get_library_path()],
            "profile": "ordinary",
            "cases": 20,
            "replay_folder": tmp_path / "replay",
        }
        path = contrib(tmp_path / "m.onnx")
        verdict = verify(path, path, **given)
        assert verdict.status is Status.PASS
        assert f"{DOMAIN}.Inverse" in verdict.weaker
        assert any("not judged" in note for note in verdict.notes)
        other = verify(path, contrib(tmp_path / "o.onnx", 1.001), **given)
        assert other.status is Status.FAIL


APPROXIMATION = "optimization.enable_gelu_approximation"


def replayed(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_replay.py"]
    return subprocess.run(
        command, cwd=folder, check=False, capture_output=True, encoding="utf-8", timeout=120
    )


class TestReplays:
    def test_a_failure_that_takes_the_users_options_fails_again_by_itself(self, tmp_path: Path):
        made = parse(
            '<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]> '
            "g (float[n] x) => (float[n] y) { y = com.microsoft.Gelu(x) }"
        )
        given = {"cases": 20, "profile": "ordinary", "replay_folder": tmp_path / "replay"}
        assert verify(made, made, **given).status is Status.PASS
        verdict = verify(made, made, session_options={APPROXIMATION: "1"}, **given)
        assert verdict.status is Status.SUSPECT, verdict
        stated = json.loads((tmp_path / "replay" / "session.json").read_text("utf-8"))
        assert stated["config"] == {APPROXIMATION: "1"}
        done = replayed(tmp_path / "replay")
        assert done.returncode == 1, done.stdout
        assert "elements are off" in done.stdout
        stated["config"].clear()
        (tmp_path / "replay" / "session.json").write_text(json.dumps(stated), "utf-8")
        assert replayed(tmp_path / "replay").returncode == 0

    @pytest.mark.parametrize("dies", [True, False])
    @pytest.mark.parametrize("optimize", [True, False])
    def test_what_its_session_is_made_with(self, tmp_path: Path, dies: bool, optimize: bool):
        settings = Settings.of(
            {"graph_optimization_level": "basic", "execution_mode": "parallel"},
            ["CPUExecutionProvider"],
        )
        stated = {**settings.to_json(), "custom_ops": ["/nowhere/ops.so"]}
        text = text_of(
            "why",
            {"inputs": {}},
            device=None,
            dies=dies,
            optimize=optimize,
            interpret=False,
            settings=True,
        )
        (tmp_path / "replay_it.py").write_text(text, "utf-8")
        (tmp_path / "session.json").write_text(json.dumps(stated), "utf-8")
        show = (
            "import replay_it, onnxruntime\n"
            "onnxruntime.InferenceSession = lambda m, o, providers: print(\n"
            "    o.graph_optimization_level.name, o.execution_mode.name, providers)\n"
            "replay_it.session('m')\n"
        )
        first = [sys.executable, "-c", show]
        done = subprocess.run(
            first, cwd=tmp_path, check=False, capture_output=True, encoding="utf-8"
        )
        assert "/nowhere/ops.so: the library of custom operators is not there" in done.stderr
        stated["custom_ops"] = []
        (tmp_path / "session.json").write_text(json.dumps(stated), "utf-8")
        done = subprocess.run(
            first, cwd=tmp_path, check=False, capture_output=True, encoding="utf-8"
        )
        level = "ORT_ENABLE_BASIC" if optimize else "ORT_DISABLE_ALL"
        assert done.stdout.strip() == f"{level} ORT_PARALLEL ['CPUExecutionProvider']"
