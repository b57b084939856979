"""What a file is compared with: saved arrays, black boxes, torch; files of other exporters."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

from isomorph.ir.errors import SpecError
from isomorph.parity import Status, verify
from isomorph.parity.recorded import RecordingError, samples_of
from isomorph.parity.sources import read
from tests.parity.models import model, node, save

if TYPE_CHECKING:
    from pathlib import Path

RNG = np.random.default_rng(0)
W = RNG.standard_normal((8, 4)).astype(np.float32)
X = RNG.standard_normal((5, 8)).astype(np.float32)
CASES: dict[str, Any] = {"x": X, "y": np.maximum(X @ W, 0)}


def net(x: Any) -> Any:
    return np.maximum(x @ W, 0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    nodes = [node("MatMul", "x w", "t"), node("Relu", "t", "y")]
    return save(model(nodes, ["x: float32[n, 8]"], ["y: float32[n, 4]"], {"w": W}), tmp_path / "m")


class TestSavedArrays:
    def test_one_case_and_what_is_left_out(self, path: Path, tmp_path: Path):
        np.savez(tmp_path / "one.npz", labels=np.arange(5), **CASES)
        verdict = verify(tmp_path / "one.npz", path)
        assert verdict.status is Status.PASS
        assert (verdict.cases, verdict.wanted) == (1, 1)
        assert "no others could be generated" in verdict.weaker
        assert "no input or output, left out: labels" in verdict.notes
        assert verdict.judged == 1

    def test_several_cases_one_of_which_is_off(self, path: Path, tmp_path: Path):
        off = {"1/x": X[:2], "1/y": net(X[:2]) * np.float32(1.001)}
        np.savez(tmp_path / "two.npz", **{"0/x": X, "0/y": net(X)}, **off)
        verdict = verify(tmp_path / "two.npz", path, replay_folder=tmp_path / "replay")
        assert verdict.status is Status.FAIL
        assert verdict.cases == 2
        assert "elements differ beyond rounding" in verdict.reason
        assert verdict.weaker
        assert (tmp_path / "replay" / "test_replay.py").is_file()

    def test_test_data_sets_of_onnx(self, path: Path, tmp_path: Path):
        for number, rows in enumerate((5, 2)):
            folder = tmp_path / "data" / f"test_data_set_{number}"
            folder.mkdir(parents=True)
            for kind, array in (("input", X[:rows]), ("output", net(X[:rows]))):
                data = numpy_helper.from_array(array).SerializeToString()
                (folder / f"{kind}_0.pb").write_bytes(data)
        assert verify(tmp_path / "data", path).cases == 2
        assert verify(tmp_path / "data" / "test_data_set_1", path).dims == {"n": [2]}
        (tmp_path / "data" / "test_data_set_1" / "output_0.pb").unlink()
        with pytest.raises(RecordingError, match=r"1 outputs, so output_0\.pb .*there are none"):
            verify(tmp_path / "data", path)
        broken = tmp_path / "data" / "test_data_set_0" / "input_0.pb"
        broken.write_bytes(b"\xff" * 20)
        with pytest.raises(RecordingError, match=r"input_0\.pb does not hold 'x'"):
            verify(tmp_path / "data" / "test_data_set_0", path)

    def test_outputs_of_another_dtype_or_shape_are_not_the_same(self, path: Path, tmp_path: Path):
        for changed, words in (
            (CASES["y"].astype(np.float64), "its dtype is float32, the reference's float64"),
            (CASES["y"][:, :3], "shape"),
        ):
            np.savez(tmp_path / "y.npz", x=X, y=changed)
            verdict = verify(tmp_path / "y.npz", path, replay_folder=tmp_path / "replay")
            assert verdict.status is Status.FAIL
            assert words in verdict.reason

    @pytest.mark.parametrize(
        ("arrays", "words"),
        [
            ({"x": X}, "no array for output 'y' of the model; there are 'x'"),
            ({"z": X, "y": X}, "no array for input 'x' of the model; there are 'z', 'y'"),
            (CASES | {"x": X.astype(np.float64)}, "input 'x' is float64, the model takes float32"),
            (CASES | {"x": X[:, :4]}, r"input 'x' has shape \[5, 4\], the model takes"),
            (CASES | {"x": X[0]}, r"input 'x' has shape \[8\], the model takes"),
        ],
    )
    def test_arrays_of_another_model(
        self, path: Path, tmp_path: Path, arrays: dict[str, Any], words: str
    ):
        np.savez(tmp_path / "bad.npz", **arrays)
        with pytest.raises(RecordingError, match=words):
            verify(tmp_path / "bad.npz", path)

    def test_what_is_no_archive(self, path: Path, tmp_path: Path):
        (tmp_path / "bad.npz").write_bytes(b"no")
        with pytest.raises(RecordingError, match=r"bad\.npz cannot be read as \.npz"):
            verify(tmp_path / "bad.npz", path)
        with pytest.raises(SpecError, match="saved arrays are compared as they are"):
            verify(tmp_path / "bad.npz", path, inputs=["x: float32[n, 8]"])

    def test_samples_are_inputs_alone(self, path: Path, tmp_path: Path):
        np.savez(tmp_path / "in.npz", **{"0/x": X, "1/x": X[:1]})
        found = samples_of(tmp_path / "in.npz", read(path))
        assert [len(x) for (x,) in found] == [5, 1]
        np.savez(tmp_path / "in.npz", y=X)
        with pytest.raises(RecordingError, match="no array for input 'x'"):
            samples_of(tmp_path / "in.npz", read(path))


class TestBlackBoxes:
    def test_a_session_is_compared_in_its_own_precision(self, path: Path, tmp_path: Path):
        session = onnxruntime.InferenceSession(str(path))

        def box(x: Any) -> Any:
            return session.run(None, {"x": x})[0]

        verdict = verify(box, path, cases=40)
        assert verdict.status is Status.PASS
        assert "box does not run in float64" in verdict.weaker
        wrong = verify(
            lambda x: box(x) * np.float32(1.001), path, cases=40, replay_folder=tmp_path / "replay"
        )
        assert wrong.status is Status.FAIL
        assert wrong.weaker

    def test_what_runs_in_float64_is_not_weaker(self, path: Path):
        assert verify(net, path, cases=20).weaker == ""


class TestOtherExporters:
    """Nothing ties `verify` to files of our own."""

    def test_torch(self, tmp_path: Path):
        torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
        torch.manual_seed(0)
        layers = torch.nn
        made = layers.Sequential(layers.Linear(8, 16), layers.GELU(), layers.Linear(16, 4)).eval()
        file, x, axes = str(tmp_path / "t.onnx"), torch.randn(3, 8), {"x": {0: "n"}, "y": {0: "n"}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch has much to say of its older exporter
            torch.onnx.export(
                made, (x,), file, dynamo=False, input_names=["x"], output_names=["y"],
                dynamic_axes=axes,
            )  # fmt: skip
        spec = ["x: float32[n, 8]"]
        verdict = verify(made, file, inputs=spec, cases=20)
        assert (verdict.status, verdict.weaker) == (Status.PASS, "")
        program = torch.export.export(made, (x,), dynamic_shapes=({0: torch.export.Dim("n")},))
        torch.export.save(program, tmp_path / "t.pt2")
        assert verify(program, file, cases=10).status is Status.PASS
        assert verify(tmp_path / "t.pt2", file, cases=10).status is Status.PASS
        with torch.no_grad():
            made[0].weight[0, 0] *= 1.001
        wrong = verify(made, file, inputs=spec, cases=10, replay_folder=tmp_path / "replay")
        assert wrong.status is Status.FAIL

    def test_onnxscript(self, tmp_path: Path):
        script = pytest.importorskip(
            "onnxscript", reason="onnxscript is not installed: pip install onnxscript"
        )
        op = script.opset18

        @script.script()
        def twice(x):  # noqa: ANN202 - onnxscript reads annotations as types of tensors
            return op.Mul(op.Exp(x), x)

        kind = script.FLOAT["n", 8]
        made = twice.to_model_proto(input_types=[kind], output_types=[kind])
        onnx.save(made, tmp_path / "s.onnx")
        verdict = verify(lambda x: np.exp(x) * x, tmp_path / "s.onnx", cases=20)
        assert verdict.status is Status.PASS
