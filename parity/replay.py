"""A folder that shows a failure again: the model, one case, and a test of its own."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import IsomorphError
from isomorph.ir.interpret import widen
from isomorph.parity.arrays import is_float

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
    *,
    runs: bool,
) -> Path:
    """Write the folder; `allowed` holds what the run time's own rounding may be, per element.

    Args:
        source, model: what was compared.
        case, verdict, reason: what failed, and why.
        folder: where; a new temporary one when `None`.
        runs: whether the run time survives the case.
    """
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
        wanted = source.shown(case.inputs)
        dtypes = [str(np.asarray(v).dtype) for v in source.narrow(case.inputs)]
        own = model.wide(case.inputs)
        given = model.run(case.inputs, optimize=False) if runs else []
    except IsomorphError:  # a case that is refused, or kills the run time, has no outputs
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
    """1.5 × the distance from the candidate in float64 to what the run time computes."""
    nothing: np.ndarray = np.zeros(np.shape(wanted))
    if index >= len(own) or index >= len(given) or not is_float(given[index]):
        return nothing
    exact, got = np.asarray(own[index], np.float64), np.asarray(widen(given[index]), np.float64)
    if exact.shape != nothing.shape or got.shape != nothing.shape:
        return nothing
    with np.errstate(all="ignore"):
        off: np.ndarray = np.abs(exact - got)
        return np.where(np.isfinite(off), 1.5 * off, 0.0)


def _copy_model(source: Path, target: Path) -> None:
    """The file, and its external data under their own names, from inside its folder alone."""
    import onnx
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data

    shutil.copyfile(source, target)
    model = onnx.ModelProto.FromString(source.read_bytes())
    home = source.parent.resolve()
    for tensor in model.graph.initializer:
        if not uses_external_data(tensor):
            continue
        location = Path(ExternalDataInfo(tensor).location)
        data, copy = (home / location).resolve(), target.parent / location
        if data.is_relative_to(home) and ".." not in location.parts and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(data, copy)
