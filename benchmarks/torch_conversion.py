"""Conversion of captured PyTorch programs to ONNX: ours and torch's own exporter, side by side.

`python benchmarks/torch_conversion.py [--repeat 3] [--write]` prints a table; `--write` stores the
figures in `benchmarks/results/torch_conversion.json`. Needs torch, onnxscript and onnx: without
them it says so and stops. Both start from the same program of `torch.export`, and write a file at
opset 18; neither verifies it. Random weights; CPU seconds, the best of several runs.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import io
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conditions import conditions

if TYPE_CHECKING:
    from collections.abc import Callable

RESULTS = Path(__file__).with_name("results") / "torch_conversion.json"
OPSET = 18
NEEDED = ("torch", "onnxscript")


def models() -> dict[str, tuple[Any, Any, Any]]:
    """Module, example inputs and dynamic shapes by name, all in plain torch.nn."""
    import torch
    from torch import nn

    class Bottleneck(nn.Module):
        def __init__(self, inner: int, width: int, stride: int) -> None:
            super().__init__()
            outer = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(inner, width, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False),
                nn.BatchNorm2d(width),
                nn.ReLU(),
                nn.Conv2d(width, outer, 1, bias=False),
                nn.BatchNorm2d(outer),
            )
            self.down = nn.Identity()
            if stride != 1 or inner != outer:
                self.down = nn.Sequential(
                    nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
                )

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.down(x))

    def resnet50() -> nn.Module:
        parts: list[nn.Module] = [
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        ]
        inner = 64
        for width, count, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for index in range(count):
                parts.append(Bottleneck(inner, width, first if index == 0 else 1))
                inner = 4 * width
        return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layer = nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
            self.tokens = nn.Embedding(30522, 768)
            self.layers = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)

        def forward(self, tokens: Any) -> Any:
            return self.layers(self.tokens(tokens))

    def mlp(layers: int) -> nn.Module:
        parts = [p for _ in range(layers) for p in (nn.Linear(32, 32), nn.ReLU())]
        return nn.Sequential(*parts)

    dynamic = torch.export.Dim.DYNAMIC
    first = ({0: dynamic},)
    return {
        "ResNet-50": (resnet50(), (torch.zeros(3, 3, 64, 64),), first),
        "encoder, 12 layers of 768": (
            Encoder(),
            (torch.zeros(3, 16, dtype=torch.int64),),
            ({0: dynamic, 1: dynamic},),
        ),
        "MLP, 200 layers": (mlp(200), (torch.zeros(3, 32),), first),
        "MLP, 800 layers": (mlp(800), (torch.zeros(3, 32),), first),
    }


def captured(module: Any, args: Any, shapes: Any) -> tuple[Any, float]:
    """A fresh program, and the CPU seconds that torch took for it."""
    import torch
    from torch.fx.experimental import _config as symbolic

    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    start = time.process_time()
    with torch.no_grad(), symbolic.patch(backed_size_oblivious=True):
        program = torch.export.export(module, args, dynamic_shapes=shapes)
    taken = time.process_time() - start
    torch.backends.mha.set_fastpath_enabled(fast)
    return program, taken


def ours(program: Any, path: Path) -> int:
    """Lower, optimize and write; the nodes of the file."""
    import isomorph as iso

    graph = iso.trace(program)
    return iso.export(graph, path, opset=OPSET, verify=False).nodes


def lowered(program: Any, path: Path) -> int:
    """Lower alone."""
    import isomorph as iso

    return len(iso.trace(program))


def theirs(program: Any, path: Path, *, optimize: bool = True) -> int:
    """torch.onnx.export of the same program; the nodes of the file."""
    import torch

    with contextlib.redirect_stdout(io.StringIO()):
        made = torch.onnx.export(
            program, f=path, opset_version=OPSET, dynamo=True, optimize=optimize, verbose=False
        )
    return len(list(made.model.graph))


def converted(program: Any, path: Path) -> int:
    """The same without its optimizer."""
    return theirs(program, path, optimize=False)


def best(run: Callable[[Any, Path], int], case: Any, repeat: int) -> tuple[float, int]:
    """(CPU seconds, nodes): the best of several runs, each on a program of its own."""
    found: list[tuple[float, int]] = []
    for _ in range(repeat):
        program, _ = captured(*case)
        with tempfile.TemporaryDirectory() as folder:
            start = time.process_time()
            nodes = run(program, Path(folder) / "model.onnx")
            found.append((time.process_time() - start, nodes))
    return min(found)


def measure(case: Any, repeat: int) -> dict[str, Any]:
    """Everything about one model."""
    program, _ = captured(*case)
    capture = min(captured(*case)[1] for _ in range(repeat))
    calls = sum(n.op == "call_function" for n in program.graph.nodes)
    row: dict[str, Any] = {"calls": calls, "capture": capture}
    for name, run in (
        ("lower", lowered),
        ("export", ours),
        ("theirs, not optimized", converted),
        ("theirs", theirs),
    ):
        row[name], row[f"{name} nodes"] = best(run, case, repeat)
    return row


def main() -> None:
    """Measure, print, and store when asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", help="a part of one model's name")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    missing = [n for n in NEEDED if importlib.util.find_spec(n) is None]
    if missing:
        print(f"not measured: this needs {' and '.join(missing)} (pip install {' '.join(missing)})")
        sys.exit(0)
    warnings.simplefilter("ignore")
    rows: dict[str, dict[str, Any]] = {}
    for name, (module, args, shapes) in models().items():
        if given.only and given.only not in name:
            continue
        row = rows[name] = measure((module.eval(), args, shapes), given.repeat)
        per_call = {k: row[k] / row["calls"] * 1e3 for k in ("lower", "theirs, not optimized")}
        print(
            f"{name}: {row['calls']} calls, capture {row['capture']:.2f} s; ours: lower "
            f"{row['lower']:.3f} s ({per_call['lower']:.2f} ms a call), lower and write "
            f"{row['export']:.2f} s, {row['export nodes']} nodes; torch.onnx: convert "
            f"{row['theirs, not optimized']:.2f} s "
            f"({per_call['theirs, not optimized']:.1f} ms a call), with its optimizer "
            f"{row['theirs']:.2f} s, {row['theirs nodes']} nodes"
        )
    if given.write:
        RESULTS.parent.mkdir(exist_ok=True)
        document = {
            "conditions": conditions("torch", "onnxscript", "onnx", "onnxruntime-gpu", "numpy"),
            "rows": rows,
        }
        RESULTS.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
