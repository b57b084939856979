"""A program of our own kernels as the candidate: each kernel is judged on its own operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from isomorph.ir.graph import Value
    from isomorph.lowering import Step
    from isomorph.runtime.plan import Plan

    Sink = Callable[[Op, Finding], None]


class Compiled(Candidate):
    """What `compile` returned for a device of our own kernels.

    Raises:
        IsomorphError: for other devices: their model is verified as a file.
    """

    def __init__(self, run: Run) -> None:
        if not isinstance(run.engine, KernelEngine):
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
        self._plan: Plan | None = None
        self._labels: dict[tuple[str, str], Op] = {}

    def run(self, inputs: Sequence[Any], *, optimize: bool) -> list[Any]:
        """What the kernels give; there is one program: the latest outputs are not made again."""
        if self._latest is None or self._latest[0] is not inputs:
            self.observe(inputs)
            return self.run(inputs, optimize=optimize)
        return self._latest[1]

    def observe(self, inputs: Sequence[Any]) -> dict[Value, Any]:
        """Every operand and result of every kernel, and the outputs."""
        found: dict[Value, Any] = {}
        engine = self._engine

        def watch(step: int, read: Callable[[Value], Any]) -> None:
            for value in engine.current.lowering.steps[step].op.results:
                found[value] = read(value)

        with paused():  # a simulator takes its time
            outputs = engine.watched(inputs, watch)
        plan = self._plan = engine.current
        found.update(zip(plan.graph.inputs, map(np.asarray, inputs), strict=True))
        for value in plan.graph.weights():
            if value.weight is not None:
                found[value] = value.weight.numpy()
        for value, source in plan.lowering.aliases.items():
            found[value] = np.reshape(found[source], tensor(value)[1])
        found.update(zip(self.graph.outputs, outputs, strict=True))
        self._latest = inputs, outputs
        return found

    def judge(self, values: Mapping[Value, Any], sink: Sink) -> None:
        """Judge every kernel of the latest plan."""
        for step in self._plan.lowering.steps if self._plan is not None else ():
            operands = [None if v is None else values[v] for v in step.op.inputs]
            captured = [values[v] for v in step.op.captures]
            results = [values[v] for v in step.op.results]
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
