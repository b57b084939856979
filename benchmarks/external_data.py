"""Models with gigabytes of weights: memory and time of loading them and of writing them.

`python benchmarks/external_data.py [--mib 1024] [--write]` prints a table; `--write` stores the
figures in `benchmarks/results/external_data.json`. Each row is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conditions import conditions
from onnx import TensorProto, helper

from isomorph.exporters.onnx.faithful import write_as_read
from isomorph.exporters.onnx.writer import write
from isomorph.frontends.onnx.reader import read

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).with_name("results") / "external_data.json"
TENSORS = 16
KINDS = {
    "in a file beside the model": 1,
    "in the model's own file": 1,
    "a hole of three times the size": 3,
}
"""What is measured, and how many times the size it has."""


def make(folder: Path, kind: str, size: int) -> Path:
    """A chain of additions of weights that are `size` bytes together."""
    path = folder / "model.onnx"
    each = size // TENSORS // 4 * 4
    inline = kind == "in the model's own file"
    nodes = [
        helper.make_node("Add", [f"v{i}", f"w{i}"], [f"v{i + 1}"], f"add{i}")
        for i in range(TENSORS)
    ]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [each // 4])
        for name in ("v0", f"v{TENSORS}")
    ]
    weights: list[TensorProto] = []
    rng = np.random.default_rng(0)
    with (folder / "model.data").open("wb") as file:
        for index in range(TENSORS):
            tensor = TensorProto(name=f"w{index}", data_type=TensorProto.FLOAT, dims=[each // 4])
            weights.append(tensor)
            if inline:
                tensor.raw_data = rng.bytes(each)
                continue
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", "model.data"), ("offset", str(index * each))):
                tensor.external_data.add(key=key, value=value)
            if kind == "in a file beside the model":
                file.write(rng.bytes(each))
            else:
                file.truncate((index + 1) * each)
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def measured(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    """Seconds of a call, and MiB that it came to hold at once beyond what was held before."""
    before = _status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    start = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "mib": (_status("VmHWM") - before) / 1024}, found


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def stages(path: Path) -> dict[str, dict[str, float]]:
    """Load, read one weight, write; and whether what was written is the same."""
    found: dict[str, dict[str, float]] = {}
    found["load"], graph = measured(lambda: read(path))
    first = graph.weights()[0].weight
    found["one weight"], _ = measured(lambda: first is not None and float(first.numpy().sum()))
    before = _digests(graph)
    out = path.with_name("out")
    out.mkdir()
    found["write"], _ = measured(lambda: write(graph, out / "a.onnx", external=True))
    found["write as read"], _ = measured(lambda: write_as_read(graph, out / "b.onnx"))
    for name in ("a.onnx", "b.onnx"):
        if _digests(read(out / name)) != before:
            raise RuntimeError(f"{name} has other weights than {path}")
    return found


def _digests(graph: Any) -> dict[str, bytes]:
    return {v.name: v.weight.digest() for v in graph.weights()}


def isolated(kind: str, mib: int) -> dict[str, Any]:
    """One kind, in a process that has imported everything and done nothing else."""
    with tempfile.TemporaryDirectory() as folder:
        path = make(Path(folder), kind, mib << 20)
        command = [sys.executable, __file__, "--one", str(path)]
        done = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")  # noqa: S603 - itself
    return {"kind": kind, "mib": mib, "stages": json.loads(done.stdout)}


def main() -> None:
    """Measure, print, and store when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(stages(given.one)))
        return
    if sys.platform != "linux":
        print("the peak of memory of a stage is Linux's; nothing was measured")
        return
    rows = [isolated(kind, given.mib * times) for kind, times in KINDS.items()]
    names = list(rows[0]["stages"])
    print(f"{'weights':>34}" + "".join(f"{f'{n}, s / MiB':>24}" for n in names))
    for row in rows:
        cells = (f"{s['seconds']:.2f} / {s['mib']:.0f}" for s in row["stages"].values())
        label = f"{row['mib']} MiB {row['kind']}"
        print(f"{label:>34}" + "".join(f"{c:>24}" for c in cells))
    if given.write:
        document = {"conditions": conditions("numpy", "ml_dtypes", "onnx"), "rows": rows}
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
