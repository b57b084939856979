"""Load and export at 1,000 to 100,000 operators: seconds, microseconds an op, and the exponent.

`python benchmarks/graph_scale.py [--sizes 1000 10000] [--repeat 3] [--write]` prints a table;
`--write` stores the figures in `benchmarks/results/graph_scale.json`. An exponent of 1 is linear.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from conditions import conditions
from onnx import TensorProto, helper, numpy_helper

from isomorph.exporters.onnx.writer import write
from isomorph.exporters.target import Target
from isomorph.frontends.onnx.reader import read
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir.copies import copy_graph
from isomorph.ir.verify import verify
from isomorph.passes.canonical import CANONICAL

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (1_000, 3_000, 10_000, 30_000, 100_000)
RESULTS = Path(__file__).with_name("results") / "graph_scale.json"
WIDTH = 8
OWN, OTHER = 17, 21
STAGES = ("load", "verify", "write", "copy", "upgrade", "passes", "export")


def residual_mlp(ops: int) -> onnx.ModelProto:
    """Blocks of six ops, each with two weights: MatMul, Add, Relu, then a gate and a shortcut."""
    rng = np.random.default_rng(0)
    nodes: list[onnx.NodeProto] = []
    weights: list[TensorProto] = []
    value = "x"
    for block in range(max(1, ops // 6)):
        w, b = f"w{block}", f"b{block}"
        weights += (
            numpy_helper.from_array(rng.normal(size=(WIDTH, WIDTH)).astype(np.float32), w),
            numpy_helper.from_array(rng.normal(size=WIDTH).astype(np.float32), b),
        )
        names = [f"{kind}{block}" for kind in ("m", "a", "r", "s", "g", "y")]
        m, a, r, s, g, y = names
        nodes += (
            helper.make_node("MatMul", [value, w], [m], f"/block{block}/MatMul"),
            helper.make_node("Add", [m, b], [a], f"/block{block}/Add"),
            helper.make_node("Relu", [a], [r], f"/block{block}/Relu"),
            helper.make_node("Sigmoid", [a], [s], f"/block{block}/Sigmoid"),
            helper.make_node("Mul", [r, s], [g], f"/block{block}/Mul"),
            helper.make_node("Add", [g, value], [y], f"/block{block}/Shortcut"),
        )
        value = y
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", WIDTH])
        for name in ("x", value)
    ]
    graph = helper.make_graph(nodes, "mlp", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OWN)], ir_version=8)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call took, and what it gave."""
    gc.collect()
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def measure(ops: int, repeat: int) -> dict[str, Any]:
    """The best of some runs of each stage, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "in.onnx"), Path(folder, "out.onnx")
        source.write_bytes(residual_mlp(ops).SerializeToString())
        runs = [_stages(source, out) for _ in range(repeat)]
        nodes = runs[0].pop("nodes")
        for run in runs[1:]:
            run.pop("nodes")
        best = {stage: min(run[stage] for run in runs) for stage in STAGES}
        return {"ops": int(nodes), "file_bytes": source.stat().st_size, "seconds": best}


def _stages(source: Path, out: Path) -> dict[str, float]:
    taken: dict[str, float] = {}
    taken["load"], graph = seconds(lambda: read(source))
    taken["nodes"] = len(graph)
    taken["verify"], _ = seconds(lambda: verify(graph))
    taken["write"], _ = seconds(lambda: write(graph, out))
    taken["copy"], (copied, _) = seconds(lambda: copy_graph(graph))
    taken["upgrade"], _ = seconds(lambda: upgrade(copied))
    taken["passes"], _ = seconds(lambda: CANONICAL.run(copied))
    taken["export"], _ = seconds(lambda: write(copied, out, Target(OTHER, 10)))
    return taken


def exponent(sizes: list[int], taken: list[float]) -> float:
    """The slope of log(seconds) over log(ops)."""
    slope, _ = np.polyfit(np.log(sizes), np.log(taken), 1)
    return float(slope)


def isolated(ops: int, repeat: int) -> dict[str, Any]:
    """The same in a process of its own, so that its peak of memory is its own."""
    command = [sys.executable, __file__, "--one", str(ops), "--repeat", str(repeat)]
    done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")  # noqa: S603 - itself
    return json.loads(done.stdout)


def main() -> None:
    """Measure, print, and store when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        import resource

        found = measure(given.one, given.repeat)
        found["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(json.dumps(found))
        return
    rows = [isolated(size, given.repeat) for size in given.sizes]
    print(f"{'ops':>8}" + "".join(f"{s + ' µs/op':>15}" for s in STAGES) + f"{'peak MiB':>10}")
    for row in rows:
        per_op = [row["seconds"][s] / row["ops"] * 1e6 for s in STAGES]
        print(
            f"{row['ops']:>8}" + "".join(f"{t:>15.1f}" for t in per_op) + f"{row['peak_mib']:>10}"
        )
    fits: dict[str, float] = {}
    if len(rows) > 1:
        sizes = [row["ops"] for row in rows]
        fits = {s: exponent(sizes, [row["seconds"][s] for row in rows]) for s in STAGES}
        print("exponent" + "".join(f"{fits[s]:>15.2f}" for s in STAGES))
    if given.write:
        RESULTS.parent.mkdir(exist_ok=True)
        document = {
            "conditions": conditions("networkx", "numpy", "onnx"),
            "rows": rows,
            "exponents": fits,
        }
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
