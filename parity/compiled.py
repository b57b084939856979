"""A program of our own kernels as the candidate: each kernel is judged on its own operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from isomorph.exporters.onnx.writer import write
from isomorph.exporters.target import Target
from isomorph.ir import schema
from isomorph.ir.budget import paused
from isomorph.ir.errors import IsomorphError, UnsupportedError
from isomorph.ir.graph import Graph, Op
from isomorph.ir.interpret import Program
from isomorph.parity.candidate import Candidate
from isomorph.parity.group import judge_group
from isomorph.parity.sources import read
from isomorph.parity.structure import ports
from isomorph.parity.well import Finding
from isomorph.runtime.device import Run, compile_graph
from isomorph.runtime.plan import tensor
from isomorph.runtime.program import KernelEngine
from isomorph.runtime.staged.engine import StagedEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isomorph.ir.graph import Value
    from isomorph.lowering import Step
    from isomorph.runtime.plan import Plan

    Sink = Callable[[Op, Finding], None]


class Seen(NamedTuple):
    """One step of a run, with what it was given and gave."""

    step: Step
    operands: list[Any]
    captured: list[Any]
    results: list[Any]


class Observed(dict["Value", Any]):
    """Values of a run, and the steps that it took, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Seen] = []


class Compiled(Candidate):
    """What `compile` returned for a device of our own kernels.

    Raises:
        IsomorphError: for other devices: their model is verified as a file.
    """

    def __init__(self, run: Run) -> None:
        if not isinstance(run.engine, KernelEngine | StagedEngine):
            raise IsomorphError(
                f"{run!r} cannot be verified: device {run.device!r} runs no kernels of ours; "
                "verify its model instead"
            )
        self._run, self._engine, self.device = run, run.engine, run.device
        self.graph = run.graph
        self.inputs, self.outputs = ports(run.graph.inputs), ports(run.graph.outputs)
        self.program = Program(run.graph, wide=True)
        self._settings = None
        self._latest: tuple[Sequence[Any], list[Any]] | None = None
        self._labels: dict[tuple[str, str], Op] = {}

    def run(self, inputs: Sequence[Any], *, optimize: bool) -> list[Any]:
        """What the kernels give; there is one program: the latest outputs are not made again."""
        if self._latest is None or self._latest[0] is not inputs:
            self.observe(inputs)
            return self.run(inputs, optimize=optimize)
        return self._latest[1]

    def observe(self, inputs: Sequence[Any]) -> Observed:
        """Every operand and result of every kernel, and the outputs.

        Where the host repeats kernels, the values of the last time are told; all are judged.
        """
        found = Observed()

        def watch(plan: Plan, step: int, read: Callable[[Value], Any]) -> None:
            if step < 0:
                for value in plan.graph.inputs:
                    if value in plan.offsets:
                        found[value] = read(value)
                for value in plan.graph.weights():
                    if value.weight is not None:
                        found[value] = value.weight.numpy()
                return
            op = plan.lowering.steps[step].op
            for value in op.results:
                found[value] = read(value)
            found.seen.append(
                Seen(
                    plan.lowering.steps[step],
                    [None if v is None else _known(v, found, plan) for v in op.inputs],
                    [_known(v, found, plan) for v in op.captures],
                    [found[v] for v in op.results],
                )
            )

        with paused():  # a simulator takes its time
            outputs = self._engine.watched(inputs, watch)
        found.update(zip(self.graph.outputs, outputs, strict=True))
        self._latest = inputs, outputs
        return found

    def judge(self, values: Mapping[Value, Any], sink: Sink) -> None:
        """Judge every kernel of a run that was observed."""
        for step, operands, captured, results in (
            values.seen if isinstance(values, Observed) else ()
        ):
            try:
                finding = judge_group(step.op, operands, captured, results)
            except UnsupportedError as error:
                finding = Finding(reason=f"not judged: {error}")
            sink(self._label(step), finding)

    def _label(self, step: Step) -> Op:
        """One stand-in for the same kernel in the plans of all shapes, named after its ops."""
        op = step.op
        name = op.name or op.output.name
        if (name, step.title) not in self._labels:
            made = Op(op.domain, step.title, op.version, (), {}, source=op.source, name=name)
            made.outputs = op.outputs
            self._labels[name, step.title] = made
        return self._labels[name, step.title]

    def save(self, path: Path) -> None:
        """Write the graph, in operators of the versions it has."""
        newest = schema.CANONICAL[""]
        opset = self.graph.opsets.get("") or newest
        write(self.graph, path, Target(opset, schema.ir_version_for(newest), "reference"))

    def beside(self, model: Graph | Path) -> Candidate:
        graph = model if isinstance(model, Graph) else read(model)
        return Compiled(compile_graph(graph, self._run.device))

    def close(self) -> None:
        self._latest = None


def _known(value: Value, found: Mapping[Value, Any], plan: Plan) -> Any:
    """A value as it was read, or as the one whose buffer it is in another shape."""
    if value in found and value not in plan.lowering.aliases:
        return found[value]
    dtype, shape = tensor(value)
    root = plan.lowering.root(value)
    if root not in found:  # no kernel reads it: its shape is all that counts
        return np.zeros(shape, dtype)
    return np.reshape(found[root].view(dtype), shape)
