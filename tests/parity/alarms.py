"""False alarms: `python -m tests.parity.alarms [SEED …]` verifies what is right.

Every node case of ONNX's own suite, every use in `ir/instances` in float32, the real models and
`SYNTHETIC`: each is written by our exporter at the newest opset that onnxruntime loads, and held
against what it was written from. FAIL, SUSPECT, an error that is not typed and a dead process are
alarms; what the run time or the exporter refuses is counted. It goes on where it was stopped:
outcomes are kept in `.cache/alarms`, and `--anew` judges those again that its expression finds.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.exporters.coverage.report import ExportError
from isomorph.exporters.onnx.writer import ExportBlocked, to_proto
from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.exporters.target import make_target
from isomorph.frontends.canonical import canonical
from isomorph.frontends.onnx.reader import read
from isomorph.ir.budget import Limits
from isomorph.ir.errors import IsomorphError
from isomorph.ir.infer import infer
from isomorph.ir.instances import INSTANCES, build, dtypes_of
from isomorph.ir.opdef import OPS
from isomorph.ir.types import DType
from isomorph.parity import verify
from isomorph.parity.worker import WorkerDiedError, shared
from isomorph.runtime.errors import RuntimeLoadError
from tests.backend.conformance import plain
from tests.backend.suite import suite
from tests.parity.models import model, node
from tests.processes import each
from tests.realmodels import HOMES, fetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Graph

    Sample = list[Any]
    Source = tuple[Graph | Path, Graph, list[Sample]]

KEPT = Path(".cache/alarms")
KINDS = ("node", "use", "real", "synthetic")
CASES, SECONDS = 20, 2.0
"""Of each model, and of a real one so many times as long."""
LONGER = 15
DEAD = ("crash", "it kills its process")
ALARMS = frozenset({"FAIL", "SUSPECT", "crash"})


def names() -> list[str]:
    """`node NAME` of a case of the suite, `use OP-INDEX` of an instance, `real NAME`, …"""
    uses = [
        f"{domain}:{op}:{index}"
        for domain, op in OPS.rows()
        for index, instance in enumerate(INSTANCES.get((domain, op)) or ())
        if DType.FLOAT32 in dtypes_of((domain, op), instance)
    ]
    cases = [n for n, c in suite().items() if c.kind == "node"]
    found = zip(KINDS, (cases, uses, sorted(HOMES), sorted(SYNTHETIC)), strict=True)
    return [f"{kind} {name}" for kind, of_kind in found for name in of_kind]


def judge(name: str, seed: int = 0) -> tuple[str, str]:
    """What `verify` says of an export held against its source, and why."""
    warnings.simplefilter("ignore")
    seconds = SECONDS * (LONGER if name.startswith("real") else 1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        try:
            reference, graph, samples = _source(name, Path(folder), seed)
            path.write_bytes(to_proto(graph, make_target()).SerializeToString())
            shared().unload(shared().load(path, optimize=True))
            verdict = verify(
                reference,
                path,
                cases=CASES,
                seed=seed,
                samples=samples,
                budget=seconds,
                limits=Limits(seconds=2 * seconds),
                replay_folder=Path(folder, "replay"),
                reducing=0,
            )
        except (ExportError, ExportBlocked) as error:
            return "not written", str(error).splitlines()[-1]
        except (RuntimeLoadError, WorkerDiedError) as error:
            return "not loaded", str(error)
        except IsomorphError as error:
            return "refused", f"{type(error).__name__}: {error}"
    grave = verdict.status.value == "FAIL" and _is_known(verdict.reason)
    return "known to fail" if grave else verdict.status.value, verdict.reason


def _is_known(reason: str) -> bool:
    """Whether it cites a divergence that fails a right export: dead processes, stale memory."""
    entries = DIVERGENCES.values()
    return any(e.judged == "FAIL" and f"[{e.name}: " in reason for e in entries)


def _source(name: str, folder: Path, seed: int) -> Source:
    """What an export is held against, what is written, and inputs that are tried first."""
    kind, _, rest = name.partition(" ")
    if kind == "use":
        domain, op, index = rest.rsplit(":", 2)
        instances = INSTANCES.get((domain, op)) or ()
        graph, feeds = build((domain, op), instances[int(index)], DType.FLOAT32, seed=seed)
        infer(graph)
        return graph, graph, [feeds]
    path, samples = folder / "source.onnx", list[Any]()
    if kind == "node":
        case = suite()[rest]
        path.write_bytes(case.load().SerializeToString())
        samples = [[plain(i) for i in inputs] for inputs, _ in case.values()]
    elif kind == "real":
        path = fetch(rest)
    else:
        model, samples = SYNTHETIC[rest](np.random.default_rng(seed))
        path.write_bytes(model.SerializeToString())
    return path, canonical(read(path)), samples


def _normalized(rng: np.random.Generator) -> tuple[Any, list[Sample]]:
    """A layer norm of numbers around 1e4."""
    nodes = [node("LayerNormalization", "x s b", "y", epsilon=1e-5)]
    weights = {"s": np.ones(64, "f4"), "b": np.zeros(64, "f4")}
    made = model(nodes, ["x: float32[n, 64]"], ["y: float32[n, 64]"], weights)
    return made, [[(rng.standard_normal((4, 64)) + 1e4).astype("f4")] for _ in range(CASES)]


def _positive(kind: str, rng: np.random.Generator) -> tuple[Any, list[Sample]]:
    """Sums of 5,000 numbers between 0 and 1."""
    axes = {"axes": np.array([1])}
    match kind:
        case "ReduceSum":
            nodes, weights, width = [node(kind, "x axes", "y")], axes, 1
        case "MatMul":
            weights = {"w": rng.random((5000, 4)).astype("f4")}
            nodes, width = [node(kind, "x w", "y")], 4
        case _:
            nodes, weights, width = [node(kind, "x", "y", axes=[1])], {}, 1
    made = model(nodes, ["x: float32[n, 5000]"], [f"y: float32[n, {width}]"], weights)
    return made, [[rng.random((3, 5000)).astype("f4")] for _ in range(CASES)]


SYNTHETIC: dict[str, Callable[[np.random.Generator], tuple[Any, list[Sample]]]] = {
    "layer norm around 1e4": _normalized,
    **{
        f"positive {kind}": partial(_positive, kind)
        for kind in ("MatMul", "ReduceL1", "ReduceL2", "ReduceMean", "ReduceSum", "ReduceSumSquare")
    },
}


def judged(seed: int, name: str) -> tuple[str, str, float]:
    """The same, and its seconds; what is no typed error is an outcome too."""
    started = time.monotonic()
    try:
        outcome, reason = judge(name, seed)
    except Exception as error:  # noqa: BLE001 - it is one of the figures
        outcome, reason = "crash", f"{type(error).__name__}: {error}"
    return outcome, reason, round(time.monotonic() - started, 2)


def sweep(seed: int, match: str, workers: int, *, anew: bool) -> int:
    """Judge what is not judged yet, and print counts and alarms; how many of those there are."""
    every = [n for n in names() if re.search(match, n)]
    kept = KEPT / f"{seed}.jsonl"
    known: dict[str, tuple[str, str]] = {}
    if kept.is_file():
        lines = kept.read_text(encoding="utf-8").splitlines()
        known = {name: (outcome, why) for name, outcome, why, _ in map(json.loads, lines)}
    wanted = [n for n in every if anew or n not in known]
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as file:
        for name, found in each(partial(judged, seed), wanted, workers, forked=True):
            outcome, reason, seconds = found or (*DEAD, 0.0)
            known[name] = outcome, reason
            file.write(json.dumps([name, outcome, reason, seconds], ensure_ascii=False) + "\n")
            file.flush()
    for name in every:
        outcome, reason = known[name]
        if outcome in ALARMS:
            print(f"{outcome} {name}: {' '.join(reason.split())[:300]}")
    for kind in KINDS:
        counts = Counter(known[n][0] for n in every if n.startswith(f"{kind} "))
        shown = ", ".join(f"{n:,} {outcome}" for outcome, n in counts.most_common())
        print(f"seed {seed}, {kind}: {shown}", flush=True)
    return sum(known[n][0] in ALARMS for n in every)


def main() -> int:
    """Exit code 1 when there is an alarm."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("seeds", type=int, nargs="*", default=[0, 1])
    parser.add_argument("--match", default="", help="regular expression")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--anew", action="store_true", help="judge again what was judged before")
    given = parser.parse_args()
    found = [sweep(s, given.match, given.workers, anew=given.anew) for s in given.seeds]
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
