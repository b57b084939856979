"""Options of `isomorph verify`: profiles, references, waivers, limits, metrics, sessions."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from rich.console import Console

from isomorph.cli.report import show
from isomorph.parity.verdict import ULP_EDGES, Judged, Measured, Status, Verdict
from tests.cli.conftest import MLP

if TYPE_CHECKING:
    from pathlib import Path

X = np.random.default_rng(0).standard_normal((6, 4)).astype(np.float32)


@pytest.fixture
def off(model) -> Path:
    """The MLP with one weight that is off by 0.1 %."""
    return model(MLP.replace("0.5,", "0.5005,"), "off.onnx")


def output(path: Path) -> np.ndarray:
    """What the MLP gives for X."""
    held = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    return np.maximum(X @ held["w"] + held["b"], 0)


def test_profile_seed_and_budget(isomorph, mlp):
    found = [
        isomorph("verify", mlp, mlp, "--cases", 30, "--profile", profile, "--seed", 4, "--json")
        for profile in ("ordinary", "hostile", "ordinary")
    ]
    assert [f.document["profile"] for f in found] == ["ordinary", "hostile", "ordinary"]
    figures = [[o["max_abs"], o["histogram"]] for f in found for o in f.document["outputs"]]
    assert figures[0] == figures[2]
    assert figures[0] != figures[1]
    assert found[0].document["ulp_edges"] == list(ULP_EDGES)
    short = isomorph("verify", mlp, mlp, "--cases", 100000, "--budget", 0.5, "--json").document
    assert 0 < short["cases"] < short["wanted"] == 100000
    assert any("stopped after 0.5 seconds" in note for note in short["notes"])


def test_export_has_the_profile_too(isomorph, mlp, tmp_path):
    done = isomorph(
        "export", mlp, "-o", tmp_path / "m.onnx", "--cases", 10, "--profile", "ordinary", "--json"
    )
    assert done.document["verdict"]["profile"] == "ordinary"


def test_saved_arrays_are_a_reference(isomorph, mlp, off, tmp_path):
    np.savez(tmp_path / "saved.npz", x=X, y=output(mlp))
    done = isomorph("verify", tmp_path / "saved.npz", mlp, "--json")
    assert (done.code, done.document["cases"]) == (0, 1)
    assert "saved arrays of 1 case" in done.document["weaker"]
    assert isomorph("verify", tmp_path / "saved.npz", off).code == 3
    folder = tmp_path / "data"
    folder.mkdir()
    for name, array in (("input_0.pb", X), ("output_0.pb", output(mlp))):
        (folder / name).write_bytes(numpy_helper.from_array(array).SerializeToString())
    assert isomorph("verify", folder, mlp).code == 0


def test_a_sample_is_tried_first(isomorph, mlp, tmp_path):
    np.savez(tmp_path / "x.npz", x=X)
    done = isomorph("verify", mlp, mlp, "--sample", tmp_path / "x.npz", "--cases", 1, "--json")
    assert done.document["dims"] == {"batch": [6]}


def test_waivers_and_limits(isomorph, model, mlp):
    two = MLP.replace("=> (float[batch, 3] y)", "=> (float[batch, 3] y, float[batch, 3] u)")
    first, other = model(two, "a.onnx"), model(two.replace("Relu(u)", "Abs(u)"), "b.onnx")
    assert isomorph("verify", first, other, "--cases", 40).code == 3
    done = isomorph(
        "verify", first, other, "--cases", 40, "--waive", "y: the vendor: absolute values", "--json"
    )
    assert done.code == 0
    assert done.document["outputs"][0]["waived"] == "the vendor: absolute values"
    assert isomorph("verify", mlp, mlp, "--cases", 20, "--max-ulp", 0.01).code == 3
    assert isomorph("verify", mlp, mlp, "--cases", 20, "--max-abs", "y=1e-3").code == 0


def test_a_metric_judges_a_deliberate_loss(isomorph, mlp, off, tmp_path):
    (tmp_path / "mine.py").write_text(
        "def accuracy(outputs, data):\n"
        "    return (outputs['y'].argmax(1) == data['label']).mean()\n",
        encoding="utf-8",
    )
    np.savez(tmp_path / "data.npz", x=X, label=output(mlp).argmax(1))
    given = ("--metric", f"{tmp_path / 'mine.py'}:accuracy", "--data", tmp_path / "data.npz")
    told = isomorph("verify", mlp, off, "--cases", 20, *given)
    assert told.code == 3
    assert "metric accuracy 1, the reference 1, on 6 samples" in told.out
    met = isomorph("verify", mlp, off, "--cases", 20, *given, "--max-loss", 0.01, "--json")
    assert met.code == 0
    assert met.document["metric"]["met"] is True
    assert met.document["outputs"][0]["status"] == "FAIL"


def test_options_of_the_session(isomorph, mlp):
    options = ("--session-option", "intra_op_num_threads=2")
    options += ("--session-option", "session.disable_prepacking=1")
    options += ("--execution-provider", "CPUExecutionProvider")
    assert isomorph("verify", mlp, mlp, "--cases", 10, *options).code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--profile", "evil"], "profile 'evil': expected one of ordinary, hostile, all"),
        (["--waive", "y"], "--waive 'y': NAME: REASON was expected"),
        (["--waive", "q: why"], "waive 'q': there is no such output; there are 'y'"),
        (["--waive", "y: why"], "there is nothing left to verify"),
        (["--max-ulp", "few"], "--max-ulp 'few': a number was expected"),
        (["--max-abs", "y=1", "--max-abs", "y=2"], "--max-abs 'y' is given twice"),
        (["--max-loss", "0.1"], "max_loss without a metric"),
        (["--metric", "mine"], "'mine' names no object"),
        (["--metric", "{mlp}"], "FILE.py:NAME of a function was expected"),
        (["--session-option", "threads"], "--session-option 'threads': NAME=VALUE was expected"),
        (["--session-option", "threads=2"], "session option 'threads': expected one of"),
        (["--execution-provider", "Nope"], "provider 'Nope': the installed onnxruntime has"),
        (["--custom-ops", "no.so"], "custom operators 'no.so': there is no such file"),
        (["--sample", "no.npz"], "the sample no.npz cannot be read"),
        (["--device", "sim:sm_90", "--custom-ops", "{mlp}"], "session options are for onnxruntime"),
    ],
)
def test_misuse_is_one_sentence(isomorph, mlp, arguments: list[str], words: str):
    given = [a.replace("{mlp}", str(mlp)) for a in arguments]
    done = isomorph("verify", mlp, mlp, *given)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1
    told = isomorph("verify", mlp, mlp, *given, "--json")
    assert (told.code, words in told.document["message"]) == (2, True)


class TestReport:
    """What a terminal shows."""

    @staticmethod
    def shown(verdict: Verdict) -> str:
        screen = io.StringIO()
        show(verdict, Console(file=screen, width=110, color_system=None))
        return screen.getvalue()

    @staticmethod
    def verdict(**changes: Any) -> Verdict:
        counts = (5, 40, 10, 0, 0, 0, 0, 0, 0, 0, 2)
        outputs = (
            Judged("fine", max_ulp=0.5, histogram=counts),
            Judged("bad", Status.FAIL, "another function", 3e6, 0.25, "reference"),
        )
        nodes = tuple(Judged(f"n{i}", max_ulp=i, op="Exp", where=f"net.py:{i}") for i in range(12))
        made: dict[str, Any] = {
            "outputs": outputs,
            "nodes": nodes,
            "cases": 57,
            "wanted": 200,
            "metric": Measured("accuracy", 0.9, 0.875, 100, 0.025, 0.05, met=True),
            "notes": ("a note",),
        }
        return Verdict(Status.FAIL, "output bad: another function", **(made | changes))

    def test_the_reason_the_worst_first_and_a_histogram(self):
        text = self.shown(self.verdict())
        assert text.startswith("parity FAIL: output bad: another function")
        assert "57 cases of 200 asked for" in text
        assert "metric accuracy 0.875, the reference 0.9, on 100 samples" in text
        assert "note: a note" in text
        assert text.index("│ bad") < text.index("│ fine")
        assert "nodes, the worst 8 of 12" in text
        assert text.index("│ n11") < text.index("│ n4")
        assert "│ n3 " not in text
        bars = {line.split("│")[1].strip(): line for line in text.splitlines() if "█" in line}
        assert list(bars) == ["0", "≤ 0.5", "≤ 1", "> 65536"]
        assert bars["≤ 0.5"].count("█") == 40
        assert bars["≤ 1"].count("█") == 10
        assert "40" in bars["≤ 0.5"]

    def test_what_was_not_measured_has_no_histogram(self):
        text = self.shown(self.verdict(outputs=(Judged("y"),), nodes=()))
        assert "distance" not in text
        assert "nodes, the worst" not in text

    def test_what_a_file_names_is_escaped(self):
        text = self.shown(self.verdict(outputs=(Judged("\x1b[31my[bold]", reason="\x07"),)))
        assert "\x1b" not in text
        assert "\x07" not in text
        assert "[bold]" in text
