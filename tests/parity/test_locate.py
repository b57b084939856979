"""The first node that computes something else is named, whatever became of names and structure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isomorph.parity import Status, locate, verify
from isomorph.parity.sources import read
from tests.parity.localisation import outcomes
from tests.parity.models import model, node, save
from tests.parity.test_quiet import convolutional
from tests.realmodels import real_model

if TYPE_CHECKING:
    from pathlib import Path

    import onnx

    from isomorph.parity.place import Place

SAMPLED = ("silero_vad_op18_ifless", "silero_vad", "ch_ppocr_cls", "brainmaze_modelB")
COUNT = 12
X = np.random.default_rng(0).standard_normal((3, 4)).astype("f4")


@pytest.fixture(scope="module")
def models() -> None:
    for name in SAMPLED:
        real_model(name)  # which skips where it is out of reach


@pytest.mark.usefixtures("models")
def test_mutations_of_real_models_are_named():
    found = list(outcomes((*SAMPLED, "logreg_iris"), COUNT, seed=1))
    assert [o for o in found if not o.right] == []


def chain(prefix: str = "", last: str = "Exp", factor: float = 2.0, **more: Any) -> onnx.ModelProto:
    """Five nodes; the names of values are as given."""
    a, b, c, d = (f"{prefix}{i}" for i in range(4))
    nodes = [
        node("MatMul", "x w", a),
        node("Mul", f"{a} f", b),
        node("Tanh", b, c),
        node("Softmax", c, d, **more),
        node(last, d, "y"),
    ]
    weight = np.random.default_rng(1).standard_normal((4, 4)).astype("f4")
    weights = {"w": weight, "f": np.array(factor, "f4")}
    return model(nodes, ["x: float32[n, 4]"], ["y: float32[n, 4]"], weights)


def place(tmp_path: Path, good: onnx.ModelProto, bad: onnx.ModelProto) -> Place | None:
    graphs = [read(save(m, tmp_path / f"{n}.onnx")) for n, m in (("good", good), ("bad", bad))]
    return locate.first_place(graphs[0], graphs[1], [X])


@pytest.mark.parametrize("prefix", ["", "other_"])
@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"factor": 2.01}, "Mul"),
        ({"factor": 2 * (1 + 2.0**-20)}, "Mul"),
        ({"axis": 0}, "Softmax"),
        ({"last": "Log"}, "Log"),
    ],
)
def test_by_name_and_by_content(tmp_path: Path, prefix: str, change: Any, wanted: str):
    found = place(tmp_path, chain(), chain(prefix, **change))
    assert found is not None
    assert found.op.type == wanted


@pytest.mark.parametrize("prefix", ["", "other_"])
def test_the_same_has_no_place(tmp_path: Path, prefix: str):
    assert place(tmp_path, chain(), chain(prefix)) is None


def test_names_that_mean_something_else_are_not_trusted(tmp_path: Path):
    """Exporters number their values: one more in front, and all names are one off."""
    good, bad = chain("v"), chain("v", factor=2.5)
    for n in bad.graph.node:
        n.input[:] = [f"v{int(i[1:]) + 1}" if i[0] == "v" else i for i in n.input]
        n.output[:] = [f"v{int(o[1:]) + 1}" if o[0] == "v" else o for o in n.output]
    bad.graph.node[0].input[0] = "v0"
    bad.graph.node.insert(0, node("Identity", "x", "v0"))
    found = place(tmp_path, good, bad)
    assert found is not None
    assert found.op.type == "Mul"


def test_constants_that_a_pass_rewrote_are_no_place(tmp_path: Path):
    plain = read(save(convolutional(folded=False), tmp_path / "plain.onnx"))
    folded = read(save(convolutional(folded=True), tmp_path / "folded.onnx"))
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = rng.standard_normal((2, 1, 8, 8)).astype("f4")
        assert locate.first_place(plain, folded, [x]) is None


def test_a_node_that_cannot_be_evaluated_is_named(tmp_path: Path):
    bad = chain()
    bad.graph.node[2].op_type = "Transpose"
    bad.graph.node[3].CopyFrom(node("MatMul", "2 1", "3"))
    bad.graph.node[3].CopyFrom(node("Add", "2 1", "3"))
    found = place(tmp_path, chain(), bad)
    assert found is not None
    assert found.op.type == "Transpose"
    bad = chain()
    bad.graph.node[3].CopyFrom(node("MatMul", "2 2", "3"))
    found = place(tmp_path, chain(), bad)
    assert found is not None
    assert found.op.type == "MatMul"
    assert "cannot be evaluated" in found.problem


def test_a_verdict_names_it_with_both_values(tmp_path: Path):
    good = save(chain(), tmp_path / "good.onnx")
    bad = save(chain("other_", axis=0), tmp_path / "bad.onnx")
    verdict = verify(good, bad, cases=5, replay_folder=tmp_path / "replay")
    assert verdict.status is Status.FAIL
    assert verdict.first_divergence is not None
    assert verdict.first_divergence.op == "Softmax"
    assert verdict.blame is not None
    assert verdict.blame.node == "Softmax 'other_3'"
