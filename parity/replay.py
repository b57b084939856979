"""A folder that shows a failure again: the model, one case, and a test of its own."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import widen
from isomorph.parity.well import is_float

if TYPE_CHECKING:
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.court import Case
    from isomorph.parity.sources import Reference
    from isomorph.parity.verdict import Verdict

TEST = '''"""Shows a failed parity case again: run it with pytest, onnxruntime and numpy."""

import json
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).parent
REASON = {reason!r}


def test_replay():
    """The model's outputs lie within rounding of what the reference gives in float64."""
    case = np.load(HERE / "case.npz", allow_pickle=False)
    names = json.loads((HERE / "case.json").read_text("utf-8"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(
        str(HERE / names["model"]), options, providers=["CPUExecutionProvider"]
    )
    given = {{name: case[f"input_{{i}}"] for i, name in enumerate(names["inputs"])}}
    results = session.run(None, given)
    assert len(results) == names["outputs"], f"{{len(results)}} outputs. {{REASON}}"
    for i, got in enumerate(results):
        if f"wanted_{{i}}" not in case:
            continue
        wanted, allowed = case[f"wanted_{{i}}"], case[f"allowed_{{i}}"]
        assert got.shape == wanted.shape, f"output {{i}}: shape {{got.shape}}. {{REASON}}"
        assert str(got.dtype) == names["dtypes"][i], f"output {{i}}: {{got.dtype}}. {{REASON}}"
        if got.dtype.kind not in "fV":
            assert np.array_equal(got, wanted), f"output {{i}} differs. {{REASON}}"
            continue
        got = got.astype(np.float64)
        with np.errstate(all="ignore"):
            same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
            same &= (got != 0) | (wanted != 0) | (np.signbit(got) == np.signbit(wanted))
            good = same | (np.abs(got - wanted) <= allowed)
        assert good.all(), f"output {{i}}: {{int((~good).sum())}} elements are off. {{REASON}}"
'''


def write(
    source: Reference,
    model: Candidate,
    case: Case,
    verdict: Verdict,
    reason: str,
    folder: str | Path | None,
) -> Path:
    """Write the folder; `allowed` holds what the run time's own rounding may be, per element."""
    if folder is None:
        path = Path(tempfile.mkdtemp(prefix="isomorph-replay-"))
    else:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
    name = "model.onnx"
    _copy_model(model.path, path / name)
    arrays: dict[str, Any] = {}
    for index, array in enumerate(case.inputs):
        arrays[f"input_{index}"] = np.asarray(array)
    dtypes: list[str] = []
    try:
        wanted = source.wide(case.inputs)
        dtypes = [str(np.asarray(v).dtype) for v in source.narrow(case.inputs)]
        own = model.wide(case.inputs)
        given = model.run(case.inputs, optimize=False)
    except Exception:  # noqa: BLE001 - a case that refuses or kills the run time has no outputs
        wanted, own, given = [], [], []
    for index, value in enumerate(wanted):
        if isinstance(value, list):
            continue
        arrays[f"wanted_{index}"] = np.asarray(value)
        arrays[f"allowed_{index}"] = _allowed(value, index, own, given)
    storable = {k: v for k, v in arrays.items() if v.dtype.kind != "O"}
    np.savez(path / "case.npz", **storable)
    names = {
        "model": name,
        "inputs": [v.name for v in model.graph.inputs],
        "outputs": len(source.outputs) if source.outputs is not None else len(wanted),
        "dtypes": dtypes,
        "reason": reason,
    }
    (path / "case.json").write_text(json.dumps(names, indent=2), "utf-8")
    (path / "test_replay.py").write_text(TEST.format(reason=reason), "utf-8")
    (path / "verdict.txt").write_text(str(verdict) + "\n", "utf-8")
    return path


def _allowed(wanted: Any, index: int, own: list[Any], given: list[Any]) -> np.ndarray:
    """Twice the distance between the candidate in float64 and as the run time computes it."""
    wanted = np.asarray(wanted)
    if index >= len(own) or index >= len(given) or not is_float(given[index]):
        return np.zeros(wanted.shape)
    exact, got = np.asarray(own[index]), np.asarray(widen(given[index]))
    if exact.shape != wanted.shape or got.shape != wanted.shape:
        return np.zeros(wanted.shape)
    with np.errstate(all="ignore"):
        off = np.abs(exact - got)
    return np.where(np.isfinite(off), 1.5 * off, 0.0)


def _copy_model(source: Path, target: Path) -> None:
    """The file, and its external data under the names that it refers to."""
    import onnx
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    shutil.copyfile(source, target)
    model = onnx.load(source, load_external_data=False)
    for tensor in model.graph.initializer:
        if uses_external_data(tensor):
            location = ExternalDataInfo(tensor).location
            if not (target.parent / location).exists():
                shutil.copyfile(source.parent / location, target.parent / location)
