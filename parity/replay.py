"""A folder that shows a failure again: the model, one case, and a test of its own."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import IsomorphError
from isomorph.ir.interpret import widen
from isomorph.parity import replay_text
from isomorph.parity.arrays import is_float, is_list, is_map
from isomorph.parity.leaves import leaves, stacked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isomorph.parity.candidate import Candidate
    from isomorph.parity.case import Failure
    from isomorph.parity.sources import Reference
    from isomorph.parity.verdict import Verdict

DOUBLE = 2.0**-40
"""Of each element, what two evaluations in float64 may differ by."""


def write(
    source: Reference,
    model: Candidate,
    failure: Failure,
    verdict: Verdict,
    folder: str | Path | None,
    *,
    limits: Mapping[int, np.ndarray] | None = None,
    interpret: bool = False,
) -> Path:
    """Write the folder; `allowed` holds what the run time's own rounding may be, per element.

    Args:
        source, model: what was compared.
        failure: on which case, and how.
        verdict: to keep beside it.
        folder: where; a new temporary one when `None`.
        limits: what is allowed of an output instead.
        interpret: show it by onnx's reference interpreter; the model is in float64 throughout.
    """
    if folder is None:
        path = Path(tempfile.mkdtemp(prefix="isomorph-replay-"))
    else:
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
    model.save(path / "model.onnx")
    case, arrays = failure.case, dict[str, np.ndarray]()
    given = {
        v.name: _stored(a, f"input_{i}", arrays)
        for i, (v, a) in enumerate(zip(model.graph.inputs, case.inputs, strict=True))
    }
    counts: list[int | None] = [None] * len(source.outputs or ())
    dtypes: dict[str, str] = {}
    results: list[Any] = []
    try:
        wanted = source.shown(case.inputs)
        narrow = source.narrow(case.inputs)
    except IsomorphError:  # a case that is refused has no outputs
        wanted, narrow = [], []
    try:
        own = model.wide(case.inputs)
        if interpret:
            results = own
        elif failure.kind != "died":
            results = model.run(case.inputs, optimize=False)
    except IsomorphError:  # nor has one that the candidate refuses
        own = []
    if wanted:
        counts = [sum(1 for _ in leaves(v)) for v in wanted]
    for index, value in enumerate(wanted):
        stored, exact, got = (
            dict(leaves(v[index])) if index < len(v) else {} for v in (narrow, own, results)
        )
        for number, (place, tensor) in enumerate(leaves(value)):
            key = f"{index}_{number}" if is_list(value) else f"{index}"
            arrays[f"wanted_{key}"] = _storable(tensor)
            allowed = _allowed(tensor, exact.get(place), got.get(place))
            if limits is not None and index in limits:
                allowed = np.broadcast_to(limits[index], allowed.shape)
            if interpret:
                allowed = allowed + DOUBLE * np.abs(np.nan_to_num(np.asarray(tensor, np.float64)))
            arrays[f"allowed_{key}"] = allowed
            dtypes[key] = str(np.asarray(stored.get(place, tensor)).dtype)
    np.savez(path / "case.npz", allow_pickle=False, **arrays)
    names = {
        "inputs": given,
        "outputs": len(source.outputs) if source.outputs is not None else len(wanted),
        "tensors": counts,
        "dtypes": dtypes,
        "signs": failure.signs,
    }
    settings = None if interpret or model.device is not None else model.settings
    if settings is not None:
        stated = json.dumps(settings.to_json(), indent=2) + "\n"
        (path / replay_text.SESSION).write_text(stated, "utf-8")
    text = replay_text.text_of(
        failure.reason,
        names,
        device=model.device,
        dies=failure.kind == "died",
        optimize=failure.optimize,
        interpret=interpret,
        settings=settings is not None,
    )
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
