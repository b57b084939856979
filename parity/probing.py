"""Whether the known divergences are what the installed run time still does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import onnx.parser

from isomorph.exporters.runtimes.divergences.entry import Dies, Gives, Off, Stale
from isomorph.ir.errors import InvalidModelError
from isomorph.ir.scratch import scratch
from isomorph.parity import exact
from isomorph.parity.worker import Worker, WorkerDiedError
from isomorph.runtime.errors import RunError, RuntimeLoadError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from isomorph.exporters.runtimes.divergences.entry import Divergence, Outcome, Probe

GONE = "it gives what is defined"


@dataclass(frozen=True, slots=True)
class Shown:
    """One probe at one opset.

    Attributes:
        divergence, probe, opset: what was asked.
        problem: how what happened is not what the entry says; empty when it is.
    """

    divergence: Divergence
    probe: Probe
    opset: int
    problem: str

    def __str__(self) -> str:
        said = self.problem or "as described"
        return f"{self.divergence.name}, opset {self.opset}, {self.probe.body}: {said}"


def probe_all(divergences: Iterable[Divergence], worker: Worker | None = None) -> Iterator[Shown]:
    """Run every probe of these, one after another, in a process that may die."""
    own = Worker() if worker is None else worker
    with scratch() as folder:
        try:
            for divergence in divergences:
                for probe in divergence.probes:
                    for opset in probe.opsets:
                        yield show(divergence, probe, opset, own, folder)
        finally:
            if worker is None:
                own.close()


def show(divergence: Divergence, probe: Probe, opset: int, worker: Worker, folder: Path) -> Shown:
    """Run one probe."""
    path = write(probe, opset, folder)
    name = divergence.optimizer
    found = _run(worker, path, probe, optimize=bool(name))
    problem = differs(probe.gives, found, probe.wanted)
    if name and not problem:
        plain = _run(worker, path, probe, optimize=False)
        spared = _run(worker, path, probe, optimize=True, disabled=(name,))
        if not _are(plain, probe.wanted, None if not isinstance(probe.gives, Gives) else 5):
            problem = f"it is not {name} alone: without optimizers it gives {_told(plain)}"
        elif not _are(spared, plain, 5):
            problem = f"it is not {name} alone: without that one it gives {_told(spared)}"
    return Shown(divergence, probe, opset, problem)


def write(probe: Probe, opset: int, folder: Path) -> Path:
    """The model of a probe as a file; raises InvalidModelError."""
    path = folder / "probe.onnx"
    try:
        model = onnx.parser.parse_model(probe.text(opset))
    except onnx.parser.ParseError as error:
        raise InvalidModelError(f"cannot read the probe {probe.body!r}: {error}") from None
    path.write_bytes(model.SerializeToString())
    return path


def feeds_of(model: onnx.ModelProto, probe: Probe) -> dict[str, Any]:
    """The inputs of a probe by name."""
    return dict(zip((value.name for value in model.graph.input), probe.feeds, strict=True))


def _run(
    worker: Worker, path: Path, probe: Probe, *, optimize: bool, disabled: tuple[str, ...] = ()
) -> list[Any] | str:
    """The outputs, or the words for there being none."""
    try:
        session = worker.load(path, optimize=optimize, disabled=disabled)
    except (RuntimeLoadError, WorkerDiedError) as error:
        return str(error)
    try:
        return worker.run(session, feeds_of(onnx.ModelProto.FromString(path.read_bytes()), probe))
    except (RunError, WorkerDiedError) as error:
        return str(error)
    finally:
        worker.unload(session)


def differs(outcome: Outcome, found: list[Any] | str, wanted: tuple[Any, ...]) -> str:
    """How what happened is not the outcome that a probe states; empty when it is."""
    if isinstance(outcome, Dies):
        if isinstance(found, str) and f"({outcome.signal})" in found:
            return ""
        gone = bool(wanted) and _are(found, wanted, None)
        return GONE if gone else f"the process does not die of {outcome.signal}: {_told(found)}"
    if isinstance(found, str):
        return found
    match outcome:
        case Gives(values, digits):
            if _are(found, values, digits):
                return ""
            return GONE if wanted and _are(found, wanted, digits) else _told(found)
        case Stale(surely):
            return GONE if surely and _are(found, wanted, None) else ""
        case Off(low, high, of_largest):
            worst = _units_off(np.asarray(found[0]), np.asarray(wanted[0]), of_largest)
            if low <= worst <= high:
                return ""
            return f"it is off by {worst:.3g} units in the last place, not {low:g} to {high:g}"


def _units_off(found: np.ndarray, truth: np.ndarray, of_largest: bool) -> float:
    """Units in the last place of the largest error."""
    size = np.abs(truth).max(initial=0.0) if of_largest else np.abs(truth)
    unit = np.spacing(np.asarray(size).astype(found.dtype)).astype(np.float64)
    return float((np.abs(found.astype(np.float64) - truth) / unit).max(initial=0.0))


def _are(found: Any, values: Any, digits: int | None) -> bool:
    if isinstance(found, str) or isinstance(values, str):
        return found == values
    if len(found) != len(values):
        return False
    return all(alike(f, v, digits) for f, v in zip(found, values, strict=True))


def alike(found: Any, value: Any, digits: int | None) -> bool:
    """Whether two results are the same bit by bit, or floats to so many digits."""
    if digits is None or not _is_float(found) or not _is_float(value):
        return not exact.differs(found, value)
    one, other = (np.asarray(v).astype(np.float64) for v in (found, value))
    if one.shape != other.shape or np.asarray(found).dtype != np.asarray(value).dtype:
        return False
    with np.errstate(all="ignore"):
        near = np.abs(one - other) <= 0.5 * 10.0 ** (1 - digits) * np.abs(other)
        near &= np.isfinite(one) & np.isfinite(other)
    return bool((near | (one == other) | (np.isnan(one) & np.isnan(other))).all())


def _is_float(value: Any) -> bool:
    if not isinstance(value, np.ndarray | np.generic):
        return False
    return np.asarray(cast("Any", value)).dtype.kind == "f"


def _told(found: list[Any] | str) -> str:
    if isinstance(found, str):
        return found
    return "it gives " + ", ".join(" ".join(str(v).split()) for v in found)[:200]
