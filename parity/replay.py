"""A folder that shows a failure again: the model, one case, and a test of its own."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import IsomorphError
from isomorph.ir.interpret import widen
from isomorph.parity.arrays import is_float, is_list, is_map
from isomorph.parity.leaves import leaves, stacked

if TYPE_CHECKING:
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.case import Case
    from isomorph.parity.sources import Reference
    from isomorph.parity.verdict import Verdict

TEST = '''"""Shows a failed parity case again: run it with pytest, {needs} and numpy."""

import json
from pathlib import Path

import numpy as np
import {needs}

HERE = Path(__file__).parent
REASON = {reason!r}


def value(how, case):
    """An input: an array by name, or a sequence, a map (keys and values), or nothing."""
    if isinstance(how, str):
        array = case[how]
        return array.astype(object) if array.dtype.kind == "U" else array
    if isinstance(how, list):
        return [value(item, case) for item in how]
    if how is None:
        return None
    return dict(zip(how["keys"], value(how["values"], case).tolist()))


def tensors(got):
    """The arrays and maps that an output holds, in order."""
    if isinstance(got, list):
        return [array for item in got for array in tensors(item)]
    return [] if got is None else [got]


def test_replay():
    """The model's outputs lie within rounding of what the reference gives in float64."""
    case = np.load(HERE / "case.npz", allow_pickle=False)
    names = json.loads((HERE / "case.json").read_text("utf-8"))
    given = {{name: value(how, case) for name, how in names["inputs"].items()}}
    results = run(str(HERE / names["model"]), given)
    assert len(results) == names["outputs"], f"{{len(results)}} outputs. {{REASON}}"
    for i, result in enumerate(results):
        count = names["tensors"][i]
        if count is None:
            continue
        found = tensors(result)
        assert len(found) == count, f"output {{i}} holds {{len(found)}} tensors. {{REASON}}"
        for n, got in enumerate(found):
            compare(f"{{i}}_{{n}}" if isinstance(result, list) else str(i), got, case, names)


def compare(place, got, case, names):
    """One tensor of an output, or the values of a map by key, against the reference's."""
    wanted, allowed = case[f"wanted_{{place}}"], case[f"allowed_{{place}}"]
    dtype = names["dtypes"][place]
    if isinstance(got, dict):
        got = np.array([got[key] for key in sorted(got)], dtype)
    assert got.shape == wanted.shape, f"output {{place}}: shape {{got.shape}}. {{REASON}}"
    assert str(got.dtype) == dtype, f"output {{place}}: {{got.dtype}}. {{REASON}}"
    if got.dtype.kind not in "fV":
        assert np.array_equal(got, wanted), f"output {{place}} differs. {{REASON}}"
        return
    got = got.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        same &= (got != 0) | (wanted != 0) | (np.signbit(got) == np.signbit(wanted))
        good = same | (np.abs(got - wanted) <= allowed)
    assert good.all(), f"output {{place}}: {{int((~good).sum())}} elements are off. {{REASON}}"


{runs}'''

ONNXRUNTIME = '''def run(model, given):
    """What onnxruntime gives, without its optimizer."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, given)
'''

KERNELS = '''def run(model, given):
    """What the kernels give, once each of them is within its bounds on its own operands."""
    compiled = isomorph.compile(model, device={device!r})
    verdict = isomorph.verify(model, compiled, samples=[list(given.values())], cases=1)
    assert verdict.exit_code == 0, f"{{verdict}}. {{REASON}}"
    return [*compiled(**given)]
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
    model.save(path / name)
    arrays: dict[str, np.ndarray] = {}
    given = {
        v.name: _stored(a, f"input_{i}", arrays)
        for i, (v, a) in enumerate(zip(model.graph.inputs, case.inputs, strict=True))
    }
    counts: list[int | None] = [None] * len(source.outputs or ())
    dtypes: dict[str, str] = {}
    try:
        wanted = source.shown(case.inputs)
        narrow = source.narrow(case.inputs)
        own = model.wide(case.inputs)
        results = model.run(case.inputs, optimize=False) if runs else []
    except IsomorphError:  # a case that is refused, or kills the run time, has no outputs
        wanted, narrow, own, results = [], [], [], []
    if wanted:
        counts = [sum(1 for _ in leaves(v)) for v in wanted]
    for index, value in enumerate(wanted):
        stored, exact, got = (
            dict(leaves(v[index])) if index < len(v) else {} for v in (narrow, own, results)
        )
        for number, (place, tensor) in enumerate(leaves(value)):
            key = f"{index}_{number}" if is_list(value) else f"{index}"
            arrays[f"wanted_{key}"] = _storable(tensor)
            arrays[f"allowed_{key}"] = _allowed(tensor, exact.get(place), got.get(place))
            dtypes[key] = str(np.asarray(stored.get(place, tensor)).dtype)
    np.savez(path / "case.npz", allow_pickle=False, **arrays)
    names = {
        "model": name,
        "inputs": given,
        "outputs": len(source.outputs) if source.outputs is not None else len(wanted),
        "tensors": counts,
        "dtypes": dtypes,
        "reason": reason,
    }
    (path / "case.json").write_text(json.dumps(names, indent=2), "utf-8")
    needs, runs_it = (
        ("onnxruntime", ONNXRUNTIME)
        if model.device is None
        else ("isomorph", KERNELS.format(device=model.device))
    )
    text = TEST.format(reason=reason, needs=needs, runs=runs_it)
    (path / "test_replay.py").write_text(text, "utf-8")
    (path / "verdict.txt").write_text(str(verdict) + "\n", "utf-8")
    return path


def _stored(value: Any, name: str, arrays: dict[str, np.ndarray]) -> Any:
    """How a value is put together again from what is added to the arrays."""
    if is_list(value):
        return [_stored(v, f"{name}_{i}", arrays) for i, v in enumerate(value)]
    if is_map(value):
        keys = sorted(value)
        return {"keys": keys, "values": _stored(stacked(value), name, arrays)}
    if value is None:
        return None
    arrays[name] = _storable(value)
    return name


def _storable(value: Any) -> np.ndarray:
    array = np.asarray(value)
    return array.astype(str) if array.dtype.kind == "O" else array


def _allowed(wanted: Any, exact: Any, got: Any) -> np.ndarray:
    """1.5 × the distance from the candidate in float64 to what the run time computes."""
    nothing: np.ndarray = np.zeros(np.shape(wanted))
    if exact is None or not is_float(got):
        return nothing
    exact, got = np.asarray(exact, np.float64), np.asarray(widen(got), np.float64)
    if exact.shape != nothing.shape or got.shape != nothing.shape:
        return nothing
    with np.errstate(all="ignore"):
        off: np.ndarray = np.abs(exact - got)
        return np.where(np.isfinite(off), 1.5 * off, 0.0)
