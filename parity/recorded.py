"""Inputs and outputs that somebody saved, as the reference: arrays in a .npz file or .pb files.

A .npz file has one array per input and output of the model, by its name; `0/x`, `0/y`, `1/x`, …
where it has several cases. A folder is one of onnx's test data sets, `input_0.pb`, …,
`output_0.pb`, …, in the model's order, or has such folders `test_data_set_0`, … in it.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import numpy_helper

from isomorph.ir.errors import IsomorphError
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, OptionalType, SequenceType, TensorType
from isomorph.parity.arrays import is_tensor
from isomorph.parity.sources import RefusedError
from isomorph.parity.structure import ports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isomorph.ir.graph import Value
    from isomorph.parity.finding import Finding
    from isomorph.parity.structure import Port

_NUMBERED = re.compile(r"(\d+)/(.+)", re.DOTALL)
_PART = re.compile(r"(input|output)_(\d+)\.pb")


class RecordingError(IsomorphError):
    """Saved arrays that are not those of a model; the text names what is missing."""


@dataclass(frozen=True, slots=True)
class Recording:
    """Sets of inputs and outputs, in a model's order.

    Attributes:
        name: for reports.
        cases: (inputs, outputs) of each.
        unused: names that are neither an input nor an output.
    """

    name: str
    cases: tuple[tuple[list[Any], list[Any]], ...]
    unused: tuple[str, ...] = ()


class RecordedReference:
    """Saved outputs; nothing can be evaluated, so there are no other cases."""

    named = False

    def __init__(self, recording: Recording, model: Graph) -> None:
        self.name = recording.name
        self.cases = recording.cases
        self.unused = recording.unused
        self.graph = Graph("recorded")
        for value in model.inputs:
            self.graph.add_input(value.name, value.type)
        self.inputs: tuple[Port, ...] = ports(self.graph.inputs)
        count = len(self.cases)
        self.weaker = (
            f"{self.name} holds the saved arrays of {count} {'case' if count == 1 else 'cases'}: "
            "they are compared in their own precision, and no others could be generated"
        )

    @property
    def samples(self) -> list[list[Any]]:
        """The inputs of every case."""
        return [inputs for inputs, _ in self.cases]

    @property
    def outputs(self) -> tuple[Port, ...] | None:
        return None

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        for known, outputs in self.cases:
            if all(a is b for a, b in zip(known, inputs, strict=True)):
                return [*outputs]
        raise RefusedError(f"{self.name} holds no outputs for these inputs")

    def narrow(self, inputs: Sequence[Any]) -> list[Any]:
        return self.wide(inputs)

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        raise RefusedError(f"{self.name} cannot be evaluated")

    def numbers(self) -> tuple[np.ndarray, frozenset[bytes]]:
        return np.empty(0), frozenset()

    def model(self) -> Graph | Path | None:
        return None

    def disputes(self, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[Finding]:
        return []

    def shown(self, inputs: Sequence[Any]) -> list[Any]:
        return self.wide(inputs)


def is_recording(source: Any) -> bool:
    """Whether a reference is saved arrays: a .npz file or a folder."""
    if isinstance(source, Recording):
        return True
    return isinstance(source, str | Path) and (
        Path(source).suffix.lower() == ".npz" or Path(source).is_dir()
    )


def recording_of(source: Recording | str | Path, model: Graph) -> Recording:
    """What was saved, in the order of a model's inputs and outputs.

    Raises:
        RecordingError: when it cannot be read, or lacks an array of the model.
    """
    if isinstance(source, Recording):
        found = source
    else:
        path = Path(source)
        found = _of_folder(path, model) if path.is_dir() else _of_npz(path, model)
    for number, (inputs, _) in enumerate(found.cases):
        _check(f"{found.name}, case {number}", model, inputs)
    return found


def _check(where: str, model: Graph, inputs: Sequence[Any]) -> None:
    if len(inputs) != len(model.inputs):
        raise RecordingError(f"{where}: {len(inputs)} inputs, the model takes {len(model.inputs)}")
    for value, array in zip(model.inputs, inputs, strict=True):
        problem = _misfit(value, array)
        if problem:
            raise RecordingError(f"{where}: input {value.name!r} {problem}")


def _misfit(value: Value, array: Any) -> str:
    """Why an array cannot be fed to an input; what it must be like."""
    kind = value.type
    if not isinstance(kind, TensorType) or not is_tensor(array):
        return ""
    dtype = DType.of(array.dtype)
    if dtype is not kind.dtype:
        return f"is {dtype}, the model takes {kind}"
    shape = kind.shape
    if shape is not None and (
        len(shape) != array.ndim
        or any(isinstance(d, int) and d != n for d, n in zip(shape, array.shape, strict=True))
    ):
        return f"has shape {list(array.shape)}, the model takes {kind}"
    return ""


def samples_of(path: Path, model: Graph) -> list[list[Any]]:
    """Sets of inputs alone, in a .npz file of the same form.

    Raises:
        RecordingError: when it cannot be read, or lacks an input of the model.
    """
    every = _cases(arrays_of(path, "the sample"), {v.name for v in model.inputs})
    found = [
        _named(case, model.inputs, "input", f"{path}, case {number}")
        for number, case in every.items()
    ]
    for number, inputs in zip(every, found, strict=True):
        _check(f"{path}, case {number}", model, inputs)
    return found


def arrays_of(path: Path, what: str) -> dict[str, np.ndarray]:
    """The arrays of a .npz file.

    Raises:
        RecordingError: when it is none.
    """
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise RecordingError(f"{what} {path} {_other(path)}")
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except OSError as error:
        words = (error.strerror or str(error)).lower()
        raise RecordingError(f"{what} {path} cannot be read: {words}") from None
    except Exception as error:  # noqa: BLE001 - those of zip, zlib and numpy share no base
        words = "it holds Python objects" if "pickle" in str(error) else str(error)
        raise RecordingError(f"{what} {path} cannot be read as .npz: {words}") from None


def _other(path: Path) -> str:
    """What a path is that is no .npz file."""
    if path.is_dir():
        return "is a folder, an .npz file is expected"
    if not path.exists():
        return "cannot be read: there is no such file"
    return "cannot be read as .npz: it is another kind of file; numpy.savez writes one"


def typed(array: np.ndarray, value: Value) -> np.ndarray:
    """An array as the model has it: texts as objects, formats that numpy lacks from their bytes."""
    if array.dtype.kind in "US":
        return array.astype(str).astype(object)
    kind = value.type
    if array.dtype.kind == "V" and isinstance(kind, TensorType):
        wanted = kind.dtype.numpy
        return array.view(wanted) if wanted.itemsize == array.dtype.itemsize else array
    return array


def _of_npz(path: Path, model: Graph) -> Recording:
    known = {v.name for v in (*model.inputs, *model.outputs)}
    numbered = _cases(arrays_of(path, "the saved arrays in"), known)
    cases = tuple(
        (
            _named(case, model.inputs, "input", f"{path}, case {number}"),
            _named(case, model.outputs, "output", f"{path}, case {number}"),
        )
        for number, case in numbered.items()
    )
    every = dict.fromkeys(name for case in numbered.values() for name in case)
    return Recording(str(path), cases, tuple(name for name in every if name not in known))


def _cases(arrays: dict[str, np.ndarray], known: set[str]) -> dict[int, dict[str, np.ndarray]]:
    """Arrays by number of the case and name; one case where the names have no numbers."""
    numbered: dict[int, dict[str, np.ndarray]] = {}
    for name, array in arrays.items():
        if match := _NUMBERED.fullmatch(name):
            numbered.setdefault(int(match[1]), {})[match[2]] = array
    if not numbered or known <= arrays.keys():
        return {0: arrays}
    return dict(sorted(numbered.items()))


def _named(
    arrays: Mapping[str, np.ndarray], values: Sequence[Value], kind: str, where: str
) -> list[Any]:
    missing = [v.name for v in values if v.name not in arrays]
    if missing:
        raise RecordingError(
            f"{where}: no array for {kind} {', '.join(map(repr, missing))} of the model; "
            f"there are {', '.join(map(repr, arrays)) or 'none'}"
        )
    return [typed(arrays[v.name], v) for v in values]


def _of_folder(path: Path, model: Graph) -> Recording:
    parts = sorted(
        (p for p in path.iterdir() if p.is_dir() and p.name.startswith("test_data_set")),
        key=lambda p: (len(p.name), p.name),
    )
    cases = tuple(
        (_positional(part, "input", model.inputs), _positional(part, "output", model.outputs))
        for part in parts or [path]
    )
    return Recording(str(path), cases)


def _positional(folder: Path, kind: str, values: Sequence[Value]) -> list[Any]:
    files = {
        int(match[2]): file
        for file in folder.iterdir()
        if (match := _PART.fullmatch(file.name)) and match[1] == kind
    }
    if sorted(files) != list(range(len(values))):
        have = ", ".join(files[n].name for n in sorted(files)) or "none"
        raise RecordingError(
            f"{folder}: the model has {len(values)} {kind}s, so {kind}_0.pb to "
            f"{kind}_{len(values) - 1}.pb are expected; there are {have}"
        )
    return [_read(files[number], value) for number, value in enumerate(values)]


def _read(path: Path, value: Value) -> Any:
    data = path.read_bytes()
    try:
        if isinstance(value.type, SequenceType):
            return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
        if isinstance(value.type, OptionalType):
            return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
        return numpy_helper.to_array(onnx.TensorProto.FromString(data))
    except Exception as error:  # protobuf's and numpy's errors share no base
        raise RecordingError(
            f"{path} does not hold {value.name!r}, {value.type}: {type(error).__name__}: {error}"
        ) from error
