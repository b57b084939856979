"""How many parity cases a CPU second judges: `python benchmarks/parity_rate.py [--write]`.

Seconds are of this process and of the one that onnxruntime runs in together, on float32 models of
open batch: 20,000 cases of one elementwise operator, 2,000 of a small convolutional net. Each case
answers both questions, node by node. `--write` stores the figures in `benchmarks/results`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conditions import conditions
from faults import model, node
from onnx import TensorProto

from isomorph.parity import verify
from isomorph.parity.worker import shared

if TYPE_CHECKING:
    from onnx import ModelProto

RESULTS = Path(__file__).with_name("results") / "parity_rate.json"
TICKS = 100.0


def elementwise() -> ModelProto:
    """Exp over rows of 16."""
    kind = (TensorProto.FLOAT, ["n", 16])
    return model([node("Exp", "x", "y")], {"x": kind}, {"y": kind}, opset=17)


def network() -> ModelProto:
    """Two convolutions, a pool, a mean and a layer, on images of 8 by 8."""
    rng = np.random.default_rng(0)
    shapes = {"w1": (8, 1, 3, 3), "b1": (8,), "w2": (16, 8, 3, 3), "b2": (16,), "w3": (16, 10)}
    weights = {n: rng.standard_normal(s).astype(np.float32) for n, s in shapes.items()}
    nodes = [
        node("Conv", "x w1 b1", "c1", pads=[1, 1, 1, 1]),
        node("Relu", "c1", "r1"),
        node("MaxPool", "r1", "p", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "p w2 b2", "c2", pads=[1, 1, 1, 1]),
        node("Relu", "c2", "r2"),
        node("GlobalAveragePool", "r2", "g"),
        node("Flatten", "g", "f"),
        node("MatMul", "f w3", "y"),
    ]
    kinds = (TensorProto.FLOAT, ["n", 1, 8, 8]), (TensorProto.FLOAT, ["n", 10])
    return model(nodes, {"x": kinds[0]}, {"y": kinds[1]}, weights, opset=17)


def _worker_seconds() -> float:
    """CPU seconds of onnxruntime's process."""
    process = shared()._process  # noqa: SLF001 - whose time is wanted
    if process is None:
        return 0.0
    text = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii")
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def measured(make: Any, cases: int) -> dict[str, Any]:
    """Cases and CPU seconds of one verification, everything loaded before."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(make().SerializeToString())
        verify(path, path, cases=16)
        start, there = time.process_time(), _worker_seconds()
        verdict = verify(path, path, cases=cases, budget=600.0)
        seconds = time.process_time() - start + _worker_seconds() - there
    if verdict.status.value not in {"PASS", "UNSPECIFIED"} or verdict.cases < cases:
        raise RuntimeError(str(verdict))
    return {"cases": verdict.cases, "seconds": seconds, "rate": verdict.cases / seconds}


def main() -> None:
    """Measure, print, and store when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--cases", type=int, default=20_000)
    given = parser.parse_args()
    rows = [
        {"model": "Exp", **measured(elementwise, given.cases)},
        {"model": "small CNN", **measured(network, given.cases // 10)},
    ]
    for row in rows:
        print(f"{row['model']:>10}  {row['cases']:,} cases, {row['rate']:,.0f} a CPU second")
    if given.write:
        found = conditions("numpy", "onnx", "onnxruntime-gpu", "onnxruntime")
        document = {"conditions": found, "rows": rows}
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
