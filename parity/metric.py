"""A deliberate loss (float16, int8) judged by the user's own metric on the user's own data.

The figures of `verify` stay what they are; this stands beside them.
"""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.errors import IsomorphError
from isomorph.ir.source import place_of
from isomorph.ir.types import TensorType
from isomorph.parity.arrays import is_tensor
from isomorph.parity.recorded import arrays_of, typed
from isomorph.parity.sources import GraphReference
from isomorph.parity.verdict import Measured
from isomorph.parity.worker import WorkerDiedError
from isomorph.runtime.errors import RunError, RuntimeLoadError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.parity.candidate import Candidate
    from isomorph.parity.sources import Reference

    Data = Mapping[str, np.ndarray]
    Metric = Callable[[Data, Data], Any]

ROWS = 64
"""Samples that are run at once, where the model takes any number."""


class MetricError(IsomorphError):
    """A metric, or data for it, that says nothing about this model."""


@dataclass(frozen=True, slots=True)
class Question:
    """The user's metric, checked.

    Attributes:
        metric: called with the outputs and the data, arrays by name; gives a number.
        data: arrays by name; those of the model's inputs are fed, axis 0 counts samples.
        max_loss: as in `Measured`.
        higher: whether more is better.
    """

    metric: Metric
    data: Data
    max_loss: float | None
    higher: bool

    @classmethod
    def of(cls, metric: Any, data: Any, max_loss: Any, *, higher: bool) -> Question | None:
        """Raises MetricError when one is there without the other, or is none."""
        if metric is None:
            given = {"data": data, "max_loss": max_loss}
            alone = [name for name, value in given.items() if value is not None]
            if alone:
                raise MetricError(f"{' and '.join(alone)} without a metric: name one")
            return None
        name = _name(metric)
        if not callable(metric):
            raise MetricError(
                f"the metric is {metric!r}: a function of (outputs, data) is expected"
            )
        if data is None:
            raise MetricError(f"metric {name}: it needs data, arrays by name in a .npz file")
        _check_parameters(metric)
        if max_loss is not None and (
            isinstance(max_loss, bool)
            or not isinstance(max_loss, int | float)
            or not 0 <= max_loss < math.inf
        ):
            raise MetricError(f"max_loss {max_loss!r}: a number of 0 or more is expected")
        most = None if max_loss is None else float(max_loss)
        return cls(cast("Any", metric), _data(data), most, higher)

    def ask(self, source: Reference, model: Candidate) -> Measured:
        """The metric of both models.

        Raises:
            MetricError: when the data does not fit the model, or the metric fails.
        """
        rows = self._rows(model)
        names = [v.name for v in model.graph.outputs]
        theirs = _outputs(_runner(source, model), rows, names, f"the reference {source.name}")
        ours = _outputs(
            lambda inputs: model.run(inputs, optimize=True), rows, names, "the candidate"
        )
        values = [self._value(outputs) for outputs in (theirs, ours)]
        loss = values[0] - values[1] if self.higher else values[1] - values[0]
        met = None if self.max_loss is None else loss <= self.max_loss
        samples = sum(len(chunk[0]) for chunk in rows)
        name = _name(self.metric)
        return Measured(name, values[0], values[1], samples, loss, self.max_loss, met)

    def _value(self, outputs: dict[str, np.ndarray]) -> float:
        name = _name(self.metric)
        try:
            found = self.metric(outputs, dict(self.data))
        except (Exception, SystemExit) as error:
            raise MetricError(
                f"metric {name} fails at {place_of(error)}: {type(error).__name__}: {error}"
            ) from error
        value: Any = found.item() if is_tensor(found) and found.size == 1 else found
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            what = f"an array of shape {found.shape}" if is_tensor(found) else repr(found)
            raise MetricError(f"metric {name} gives {what}: one number is expected")
        if not math.isfinite(value):
            raise MetricError(f"metric {name} gives {float(value)}: a finite number is expected")
        return float(value)

    def _rows(self, model: Candidate) -> list[list[np.ndarray]]:
        """The inputs, cut along axis 0 into as many rows as the model takes at once."""
        values = model.graph.inputs
        missing = [v.name for v in values if v.name not in self.data]
        if missing or not values:
            raise MetricError(
                f"the data has no array for input {', '.join(map(repr, missing))}; there are "
                f"{', '.join(map(repr, self.data)) or 'none'}"
            )
        arrays = [typed(self.data[v.name], v) for v in values]
        sizes = {v.name: a.shape[0] if a.ndim else -1 for v, a in zip(values, arrays, strict=True)}
        total = sizes[values[0].name]
        if total < 1 or set(sizes.values()) != {total}:
            told = ", ".join(f"{n} {s if s >= 0 else 'none'}" for n, s in sizes.items())
            raise MetricError(f"axis 0 of every input counts samples, the same number: {told}")
        fixed = {
            v.type.shape[0]
            for v in values
            if isinstance(v.type, TensorType) and v.type.shape and isinstance(v.type.shape[0], int)
        }
        at_once = min(fixed, default=ROWS)
        if len(fixed) > 1 or (fixed and (not at_once or total % at_once)):
            raise MetricError(
                f"the model takes {' and '.join(map(str, sorted(fixed)))} samples at once; "
                f"{total} is no multiple of that"
            )
        return [[a[s : s + at_once] for a in arrays] for s in range(0, total, at_once)]


def _runner(source: Reference, model: Candidate) -> Callable[[Sequence[Any]], list[Any]]:
    """The reference in its own precision: by the run time where it is a model for one."""
    instead = source.model() if type(source) is GraphReference else None
    if instead is None:
        return source.narrow
    beside = model.beside(instead)
    return lambda inputs: beside.run(inputs, optimize=True)


def _outputs(
    run: Callable[[Sequence[Any]], list[Any]],
    rows: list[list[np.ndarray]],
    names: list[str],
    who: str,
) -> dict[str, np.ndarray]:
    found: list[list[np.ndarray]] = [[] for _ in names]
    for chunk in rows:
        try:
            results = run(chunk)
        except (RunError, RuntimeLoadError, WorkerDiedError, IsomorphError) as error:
            raise MetricError(f"{who} does not take the data: {error}") from error
        if len(results) != len(names):
            raise MetricError(f"{who} returns {len(results)} outputs, the candidate {len(names)}")
        for parts, name, result in zip(found, names, results, strict=True):
            if not is_tensor(result) or result.shape[:1] != (len(chunk[0]),):
                raise MetricError(
                    f"{who}: axis 0 of output {name!r} does not count samples, so that there is "
                    "nothing to give a metric"
                )
            parts.append(np.asarray(result))
    return {name: np.concatenate(parts) for name, parts in zip(names, found, strict=True)}


def _data(data: Any) -> Data:
    if isinstance(data, str | Path):
        return arrays_of(Path(data), "the data in")
    if not isinstance(data, Mapping):
        raise MetricError(f"data is {type(data).__name__}: arrays by name, or a .npz file")
    return {str(n): np.asarray(a) for n, a in cast("Mapping[Any, Any]", data).items()}


def _check_parameters(metric: Any) -> None:
    try:
        signature = inspect.signature(metric)
    except (TypeError, ValueError):
        return  # built in: what it takes shows when it is called
    try:
        signature.bind({}, {})
    except TypeError:
        raise MetricError(
            f"metric {_name(metric)}{signature}: it is called with (outputs, data), arrays by name"
        ) from None


def _name(metric: Any) -> str:
    return getattr(metric, "__name__", type(metric).__name__)
