"""Planted faults: how many `verify` finds, over many seeds, and what right models are called.

`python benchmarks/planted.py [--seeds 200] [--write]` prints a table; `--write` stores the figures
in `benchmarks/results/planted.json`. A fault in a graph is a file that differs from the right one
in one place; a fault in a node is a result spoilt as a bad kernel would, on right operands.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conditions import conditions
from faults import GRAPHS, NODES, QUIET

from isomorph.parity import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from onnx import ModelProto

    from isomorph.parity.verdict import Status

RESULTS = Path(__file__).with_name("results") / "planted.json"
CASES = 200


def graphs(make: Callable[[int], tuple[ModelProto, ModelProto]], seeds: int) -> Counter[str]:
    """Verdicts on a candidate with a fault, one per seed."""
    found = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            paths: list[Path] = []
            for name, model in zip(("good.onnx", "bad.onnx"), make(seed), strict=True):
                paths.append(Path(folder, name))
                paths[-1].write_bytes(model.SerializeToString())
            verdict = verify(*paths, cases=CASES, seed=seed, replay_folder=Path(folder, "replay"))
            found[verdict.status.value] += 1
    return found


def nodes(make: Callable[[int], Status], seeds: int) -> Counter[str]:
    """Verdicts on a node's spoilt result, one per seed."""
    return Counter(make(seed).value for seed in range(seeds))


def main() -> None:
    """Measure, print, and store when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for kind, table, judge in (
        ("graph", GRAPHS, graphs),
        ("node", NODES, nodes),
        ("right", QUIET, graphs),
    ):
        for name, make in table.items():
            counts = judge(make, given.seeds)
            rows.append({"kind": kind, "name": name, "verdicts": dict(counts.most_common())})
            shown = ", ".join(f"{n} {status}" for status, n in counts.most_common())
            print(f"{kind:>6}  {name:<60} {shown}", flush=True)
    if given.write:
        found = {"conditions": conditions("numpy", "onnx", "onnxruntime-gpu", "onnxruntime")}
        document = {**found, "seeds": given.seeds, "cases": CASES, "rows": rows}
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
