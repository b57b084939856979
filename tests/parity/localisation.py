"""How often the first diverging node is named correctly, over mutations of the real models.

`python -m tests.parity.localisation 200 0` prints the figure: so many mutations, from that seed.
Every other mutated model goes through the passes of an export, so that it is another graph than
the reference. A mutation that leaves all outputs what they are is none.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.interpret import Program
from isomorph.parity import locate
from isomorph.parity.explore import Explorer
from isomorph.parity.noise import EVALUATION_ERRORS
from isomorph.parity.sources import read
from isomorph.parity.strategies import specs_of
from isomorph.passes.canonical import CANONICAL
from tests.parity.mutations import Mutation, Mutator
from tests.realmodels import HOMES, fetch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from isomorph.ir.graph import Graph
    from isomorph.parity.case import Case

SLOW = ("brainmaze_spindle_eeg", "brainmaze_spindle_ieeg")
"""They take five seconds for one evaluation."""
SHIPPED = "logreg_iris"
MODELS = (*(name for name in HOMES if name not in SLOW), SHIPPED)


@dataclass(frozen=True)
class Outcome:
    """One mutation, and what was named.

    Attributes:
        model, mutation: what was changed.
        optimized: whether it went through the passes.
        named: the node that was named, with the first of its results; empty if none was.
        right: whether that is the one.
    """

    model: str
    mutation: Mutation
    optimized: bool
    named: str
    right: bool
    seconds: float


def path_of(name: str) -> Path:
    """Of a real model, or of one that onnxruntime ships."""
    if name != SHIPPED:
        return fetch(name)
    return Path(str(files("onnxruntime").joinpath("datasets", f"{name}.onnx")))


class Subject:
    """A model with a case that it accepts, and its outputs."""

    def __init__(self, name: str, seed: int) -> None:
        self.name, path = name, path_of(name)
        self.graph = read(path)
        self.inputs: list[Any] = []
        program = Program(self.graph, wide=True)

        def judge(case: Case) -> bool:
            try:
                self.outputs = program.run(case.inputs)
            except EVALUATION_ERRORS:
                return False
            self.inputs = case.inputs
            return True

        def found() -> bool:
            return bool(self.inputs)

        specs = specs_of(self.graph, self.graph)
        Explorer(specs, [*self.graph.constraints], seed, judge, found, found).run()
        assert self.inputs, f"no inputs were found for {name}"
        self.mutator = Mutator(onnx.load(path))

    def changes(self, graph: Graph) -> bool:
        """Whether a graph gives other outputs, or none."""
        try:
            found = Program(graph, wide=True).run(self.inputs)
        except EVALUATION_ERRORS:
            return True
        return any(locate.apart(a, b)[0] for a, b in zip(self.outputs, found, strict=True))


def outcomes(names: Sequence[str], count: int, seed: int) -> Iterator[Outcome]:
    """So many mutations, the models in turn; every other one through the passes."""
    rng = np.random.default_rng(seed)
    subjects = [Subject(name, seed) for name in names]
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        while done < count:
            subject = subjects[done % len(subjects)]
            mutation = subject.mutator.draw(rng)
            if mutation is None:
                continue
            onnx.save(mutation.model, path)
            optimized = bool(done // len(subjects) % 2)
            try:
                graph = before = read(path)
                if optimized:
                    graph = read(path)
                    upgrade(graph)
                    CANONICAL.run(graph)
            except EVALUATION_ERRORS:  # what no reader or pass accepts needs no judge
                continue
            if not subject.changes(graph):
                continue
            started = time.monotonic()
            place = locate.first_place(subject.graph, graph, subject.inputs)
            seconds = time.monotonic() - started
            named = "" if place is None else place.op.results[0].name
            right = named in allowed(mutation.right, before, graph)
            said = "" if place is None else f"{place.op.type} {named!r}: {place.problem}"
            yield Outcome(subject.name, mutation, optimized, said, right, seconds)
            done += 1


def allowed(names: Iterable[str], before: Graph, after: Graph) -> set[str]:
    """Names of the changed nodes; where passes took them, of the first that are left behind."""
    left = {v.name for _, op in after.walk() for v in op.results}
    readers: dict[str, set[str]] = {}
    for _, op in before.walk():
        for value in op.operands:
            readers.setdefault(value.name, set()).update(v.name for v in op.results)
    found: set[str] = set()
    seen: set[str] = set()
    stack = list(names)
    while stack:
        name = stack.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in left:
            found.add(name)
        else:
            stack.extend(readers.get(name, ()))
    return found


def main(count: int, seed: int) -> None:
    """Print every mutation that was not found, and the figure."""
    right: Counter[str] = Counter()
    every: Counter[str] = Counter()
    seconds = 0.0
    for outcome in outcomes(MODELS, count, seed):
        seconds += outcome.seconds
        for key in ("all", outcome.mutation.kind, "optimized" if outcome.optimized else "as it is"):
            every[key] += 1
            right[key] += outcome.right
        if not outcome.right:
            what = f"{outcome.mutation.kind} of {outcome.mutation.node}"
            print(f"{outcome.model}: {what}; named: {outcome.named or 'nothing'}", flush=True)
    for key, total in every.items():
        print(f"{key}: {right[key]} of {total} named correctly ({right[key] / total:.1%})")
    print(f"{seconds / max(every['all'], 1):.2f} seconds each")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
