"""The model that is judged: its own float64 evaluation, and sessions of the run time."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import onnx
from onnx.external_data_helper import ExternalDataInfo, uses_external_data

from isomorph.ir.copies import copy_graph
from isomorph.ir.graph import Graph, Op, Value
from isomorph.ir.interpret import Program
from isomorph.ir.proto.encode import encode_model
from isomorph.ir.proto.tensors import encode_tensor
from isomorph.ir.scratch import Scratch
from isomorph.ir.types import DType, OptionalType
from isomorph.parity.custom import CustomOps, custom_ops
from isomorph.parity.leaves import type_of
from isomorph.parity.noise import Perturbation
from isomorph.parity.sources import read, refusing
from isomorph.parity.structure import ports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isomorph.ir.weights import Weight
    from isomorph.parity.worker import Worker
    from isomorph.runtime.settings import Settings

EXTERNAL_FROM = 1 << 16
"""Weights of so many bytes are written once, beside all the models that are derived."""


class Candidate:
    """A file (or a graph, written to one) with everything that judging it needs.

    Attributes:
        path: of the file.
        graph: decoded from that file, as read.
        inputs, outputs: as declared.
        device: of our own kernels, where it runs on them.
        inexact: why its float64 evaluation is none; empty when it is one.
    """

    device: str | None = None
    inexact = ""

    def __init__(
        self, model: Graph | str | Path, worker: Worker, settings: Settings | None = None
    ) -> None:
        self._settings = settings
        self._scratch = Scratch()
        self._folder = self._scratch.path
        try:
            self.path = self._write(model) if isinstance(model, Graph) else Path(model)
            self.graph = read(self.path)
        except BaseException:
            self._scratch.remove()
            raise
        self.inputs, self.outputs = ports(self.graph.inputs), ports(self.graph.outputs)
        self.program = Program(self.graph, wide=True)
        self._worker = worker
        self._custom: list[CustomOps] = []
        self.inexact = self.lend(self.program, self.graph)
        self._sessions: dict[object, int] = {}
        self._bodies: dict[object, Instrumented] = {}
        self._constants: dict[Value, Weight] = {}
        self._data = _DataFile(self._folder / "weights.bin")
        self._instrumented: Instrumented | None = None

    @property
    def settings(self) -> Settings | None:
        """How the user's own sessions are made, where something is said of that."""
        return self._settings

    def wide(self, inputs: Sequence[Any]) -> list[Any]:
        """Outputs in float64; raises RefusedError."""
        return refusing(lambda: self.program.run(inputs))

    def noisy(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        """Outputs in float64 with every rounding perturbed."""
        return self.program.run(inputs, change=Perturbation(seed).change)

    def run(self, inputs: Sequence[Any], *, optimize: bool) -> list[Any]:
        """What the run time gives for the file.

        Raises:
            RunError: when it refuses the inputs.
            RuntimeLoadError: when it refuses the file.
            WorkerDiedError: when it dies.
        """
        session = self._session(optimize, self.path, optimize=optimize)
        return self._worker.run(session, self._feeds(self.graph.inputs, inputs))

    def run_without(self, inputs: Sequence[Any], passes: Sequence[str]) -> list[Any]:
        """What the run time gives with all of its optimizer but some passes; raises as `run`."""
        session = self._worker.load(
            self.path, optimize=True, settings=self._settings, disabled=tuple(passes)
        )
        try:
            return self._worker.run(session, self._feeds(self.graph.inputs, inputs))
        finally:
            self._worker.unload(session)

    def observe(self, inputs: Sequence[Any]) -> dict[Value, Any]:
        """Every value of the main graph as the run time computes it, optimizations off."""
        if self._instrumented is None:
            self._session(False, self.path, optimize=False)  # refusals are the file's own first
            self._instrumented = self._instrument(self.graph, "main")
        return self._observe(self._instrumented, inputs)

    def observe_body(
        self, op: Op, body: Graph, inputs: Sequence[Any], captures: Sequence[Any]
    ) -> dict[Value, Any]:
        """Every value of a subgraph, run as a model on its inputs and on captured values."""
        kinds = tuple(type_of(c) for c in (*inputs, *captures))
        weights = [self._constants.get(v, v.weight) for v in op.captures]
        key = (id(body), kinds)
        if key not in self._bodies:
            made, new = copy_graph(body)
            for value, kind in zip((*made.inputs, *made.captures), kinds, strict=True):
                if kind is not None and not isinstance(value.type, OptionalType):
                    value.type = kind
            free: list[Value] = []
            for outer, value, weight in zip(body.captures, made.captures, weights, strict=True):
                if weight is None:
                    free.append(value)
                else:  # as the run time has it: packed ahead, the same kernels
                    value.weight = weight
                    self._constants[outer] = weight
            made.inputs, made.captures = [*made.inputs, *free], []
            made.opsets, made.extra = self.graph.opsets, self.graph.extra
            label = f"body{len(self._bodies)}"
            self._bodies[key] = self._instrument(made, label, {b: a for a, b in new.items()})
        given = [c for c, w in zip(captures, weights, strict=True) if w is None]
        return self._observe(self._bodies[key], [*inputs, *given])

    def lend(self, program: Program, graph: Graph) -> str:
        """Let a program run the operators of the user's libraries; why it is inexact then."""
        found = custom_ops(graph)
        if self._settings is None or not self._settings.custom_ops or not found:
            return ""
        program.foreign = CustomOps(self._worker, self._settings, graph, self._folder)
        self._custom.append(program.foreign)
        return (
            f"what {', '.join(found)} compute is known to their library alone: models are compared "
            "in their own precision, and those nodes are not judged"
        )

    def save(self, path: Path) -> None:
        """Put a copy of the file there, and of its data beside it."""
        _copy_model(self.path, path)

    def beside(self, model: Graph | Path) -> Candidate:
        """Another model on the same worker."""
        return Candidate(model, self._worker, self._settings)

    def close(self) -> None:
        """Forget the sessions and remove what was written."""
        for session in self._sessions.values():
            self._worker.unload(session)
        self._sessions.clear()
        for custom in self._custom:
            custom.close()
        self._scratch.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, graph: Graph) -> Path:
        from isomorph.exporters.onnx.writer import write
        from isomorph.exporters.target import make_target

        newest = make_target()
        own = graph.opsets.get("")
        target = make_target(own) if own and own <= newest.opset else newest
        path = self._folder / "candidate.onnx"
        write(graph, path, target)
        return path

    def _session(self, key: object, path: Path, *, optimize: bool) -> int:
        if key not in self._sessions:
            self._sessions[key] = self._worker.load(
                path, optimize=optimize, settings=self._settings
            )
        return self._sessions[key]

    def _instrument(
        self, graph: Graph, label: str, origin: Mapping[Value, Value] | None = None
    ) -> Instrumented:
        """Write a copy of a graph all of whose values are outputs."""
        made, new = copy_graph(graph)
        shown = list(dict.fromkeys(graph.outputs))
        seen = set(shown)
        for op in graph.sorted_ops():
            shown += [v for v in op.results if v not in seen]
        made.outputs = [new[v] for v in shown]
        for value in made.outputs[len(graph.outputs) :]:
            if value.producer is not None:
                value.type = None
        path = self._folder / f"{label}.onnx"
        opsets = self.graph.opsets
        model = encode_model(made, opsets, graph.extra.get("ir_version", 10), self._data.place)
        path.write_bytes(model.SerializeToString())
        back = origin or {}
        return Instrumented(
            label,
            path,
            tuple(back.get(v, v) for v in graph.inputs),
            tuple(v.name for v in made.inputs),
            tuple(back.get(v, v) for v in shown),
            tuple(
                (back.get(v, v), v.weight.numpy()) for v in graph.weights() if v.weight is not None
            ),
        )

    def _observe(self, model: Instrumented, inputs: Sequence[Any]) -> dict[Value, Any]:
        session = self._session(model.label, model.path, optimize=False)
        feeds = dict(zip(model.names, inputs, strict=True))
        found: dict[Value, Any] = dict(model.weights)
        found.update(zip(model.inputs, inputs, strict=True))
        found.update(zip(model.values, self._worker.run(session, feeds), strict=True))
        return found

    @staticmethod
    def _feeds(values: Sequence[Value], inputs: Sequence[Any]) -> dict[str, Any]:
        return {v.name: a for v, a in zip(values, inputs, strict=True)}


class Instrumented:
    """A derived model and what its inputs and outputs are in the graph that it came from."""

    def __init__(
        self,
        label: str,
        path: Path,
        inputs: tuple[Value, ...],
        names: tuple[str, ...],
        values: tuple[Value, ...],
        weights: tuple[tuple[Value, Any], ...],
    ) -> None:
        self.label = label
        self.path = path
        self.inputs = inputs
        self.names = names
        self.values = values
        self.weights = weights


class _DataFile:
    """Large weights in one file that all derived models share."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[int, tuple[int, int]] = {}
        self._kept: list[Weight] = []

    def place(self, weight: Weight, name: str) -> onnx.TensorProto:
        """The message of a weight, its data here when it is large."""
        if weight.dtype is DType.STRING or weight.nbytes < EXTERNAL_FROM:
            return encode_tensor(weight, name)
        if id(weight) not in self._offsets:
            with self.path.open("ab") as file:
                start = file.seek(0, 2)
                start += -start % 4096
                file.truncate(start)
                file.seek(start)
                for chunk in weight.chunks():
                    file.write(chunk)
            self._offsets[id(weight)] = start, weight.nbytes
            self._kept.append(weight)
        offset, length = self._offsets[id(weight)]
        made = onnx.TensorProto(name=name, data_type=weight.dtype.value, dims=weight.shape)
        made.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", self.path.name), ("offset", offset), ("length", length)):
            made.external_data.add(key=key, value=str(value))
        return made


def _copy_model(source: Path, target: Path) -> None:
    """The file, and its external data under their own names, from inside its folder alone."""
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
