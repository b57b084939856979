"""`python -m tests.fuzz.graph_run COUNT [SEED] [--seconds N]`: so many drawn graphs.

It goes on where it was stopped: counts and findings of a seed are kept in `.cache/fuzz-graphs`. Of
each kind of finding the first graph is kept too, made small, with inputs that show it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.onnx.writer import to_proto
from isomorph.exporters.target import Target
from isomorph.ir import schema
from isomorph.parity.worker import Worker
from tests.fuzz.graphs import Graphs, Trial
from tests.fuzz.run import run

if TYPE_CHECKING:
    from tests.fuzz.run import Result

KEPT = Path(".cache/fuzz-graphs")
AT_ONCE = 500
"""Graphs between two times that the state is kept."""


@dataclass
class State:
    """How far a seed was tried, and what came of it.

    Attributes:
        next: number of the next graph.
        seconds: that it took so far.
        outcomes: how many graphs came to what.
        findings: by kind: how many, the number of the first, and what is wrong with it.
    """

    next: int = 0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter[str])
    findings: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])

    @staticmethod
    def read(path: Path) -> State:
        if not path.is_file():
            return State()
        known = json.loads(path.read_text(encoding="utf-8"))
        return State(known["next"], known["seconds"], Counter(known["outcomes"]), known["findings"])

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        text = json.dumps(self.__dict__, indent=1, ensure_ascii=False)
        new.write_text(text, encoding="utf-8")
        new.replace(path)

    def add(self, result: Result) -> list[tuple[str, int]]:
        """Count a result; the kinds that were not seen before, and the first graph of each."""
        self.outcomes += result.outcomes
        new: list[tuple[str, int]] = []
        for key, (escape, index) in result.escapes.items():
            if key not in self.findings:
                self.findings[key] = {"times": 0, "first": index, "detail": escape.detail}
                new.append((key, index))
            self.findings[key]["times"] += result.seen[key]
        return new


def keep(seed: int, index: int, folder: Path) -> str:
    """Put a failing graph there, made small, and inputs that show it; its name."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as scratch:
        worker = Worker(20.0)
        trial = Trial(seed, index, Path(scratch), worker)
        _, escape = trial.outcome()
        found = None if escape is None else trial.small(escape, trial.case)
        worker.close()
    if found is None:
        return ""
    graph, feeds = found
    newest = schema.CANONICAL[""]
    target = Target(newest, schema.ir_version_for(newest), "any run time")
    name = f"{seed}-{index}.onnx"
    folder.joinpath(name).write_bytes(to_proto(graph, target).SerializeToString())
    arrays = {v.name: a for v, a in zip(graph.inputs, feeds, strict=True)}
    plain = {k: v for k, v in arrays.items() if isinstance(v, np.ndarray) and v.dtype.kind != "O"}
    np.savez(folder / f"{seed}-{index}.npz", **plain)
    return name


def main(count: int, seed: int, seconds: float, workers: int) -> int:
    path = KEPT / f"seed-{seed}.json"
    state, start = State.read(path), time.monotonic()
    while state.next < count and time.monotonic() - start < seconds:
        began = time.monotonic()
        end = min(state.next + AT_ONCE, count)
        new = state.add(run(Graphs(seed), range(state.next, end), workers=workers))
        state.next = end
        state.seconds += time.monotonic() - began
        state.write(path)
        for key, index in new:
            name = "" if key.startswith("process") else keep(seed, index, KEPT)
            print(f"{key}\n    {state.findings[key]['detail'][:600]}\n    {name}", flush=True)
        told(state, seed, sys.stderr)
    told(state, seed, sys.stdout)
    return 1 if state.findings or state.next < count else 0


def told(state: State, seed: int, where: Any) -> None:
    """One line: how many graphs, how fast, and what came of them."""
    shown = ", ".join(f"{n:,} {outcome}" for outcome, n in state.outcomes.most_common())
    rate = state.next / max(state.seconds, 1e-9)
    print(
        f"{state.next:,} graphs of seed {seed}, {rate:.1f} a second: {shown}; "
        f"{len(state.findings)} kinds of finding",
        file=where,
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    sys.exit(main(given.count, given.seed, given.seconds, given.workers))
