"""Writes `docs/benchmarks.md` from the figures in `benchmarks/results`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"

TEXT = """\
# Benchmarks

Written by `python benchmarks/page.py` from the figures in `benchmarks/results`. Times are CPU
seconds of one process, the best of several runs; memory is what the process holds.

## How a graph lies on networkx

`python benchmarks/ir_layout.py --write`: residual blocks of MatMul, Add, Relu, Sigmoid, Mul and
Add, {ops:,} operators. *Collected* is the same with Python's cycle collector on, as in ordinary
code; reading, copying and writing switch it off (`isomorph.ir.bulk`).

{layout}

*digraph* (operators are nodes, an edge carries the values between two of them) is what
`isomorph.ir.graph` uses: of the three it sorts and copies fastest and is the smallest, and an
algorithm of networkx that is run on it sees operators, not a mixture. *multidigraph* has an edge
for each use of a value; *bipartite* has values as nodes too. The three hold bare objects, and a
copy of them shares these. *isomorph* is the first one with everything that our graph records
(names, types, versions, sources) and checks; its copy is a copy of all of it, and its sort keeps
the order in which operators were added.

{layout_conditions}

## Load and export

`python benchmarks/graph_scale.py --write`: the same blocks as an .onnx file with two weights for
each six operators. Microseconds of CPU an operator:

{scale}

*load* reads the file, decodes it and checks every operator against its definition. *write* writes
it as it was read. *export* rewrites it for another opset, after *copy*, *upgrade* and *passes*.
The exponent is the slope of log time over log size: 1 is linear. *peak* is the process's, with
three graphs alive.

{scale_conditions}

## Gigabytes of weights

`python benchmarks/external_data.py --write`: sixteen additions of weights that are so large
together. Seconds of wall time, and MiB of resident memory that a stage comes to hold at once beyond
what was held before:

{external}

*load* maps what the model refers to and reads none of it. *one weight* adds up the numbers of one
of sixteen, which are in memory then. *write* puts the weights into a data file named after its
content's hash, *write as read* into one of the name and layout that they had: both stream them.
What is written is read again and compared, bit by bit. The last row is a file without blocks on the
disk, larger than any protobuf message can be.

{external_conditions}

## Parity: cases a second

`python benchmarks/parity_rate.py --write`: CPU seconds of this process and of onnxruntime's,
models in float32 with an open batch, both questions on every case.

{rate}

{rate_conditions}

## Parity: planted faults

`python benchmarks/planted.py --write`: verdicts over {seeds} seeds, {cases} cases each. A fault in
a *graph* is a file that differs from the right one in one place; one in a *node* is a result spoilt
as a bad kernel would, on right operands; *right* models are held against themselves.

{planted}

{planted_conditions}

## PyTorch programs to ONNX

`python benchmarks/torch_conversion.py --write`: from one program of `torch.export`, with random
weights and open batch, to an .onnx file at opset 18. Neither side verifies it.

{torch}

*lower* makes our graph; *file* also optimizes and writes it. *torch.onnx* is
`torch.onnx.export(program, dynamo=True)`, without and with its optimizer. A call is an operator of
the program. Nodes are those of the file. The MLPs have more of ours: each layer is MatMul and Add
where torch.onnx writes one Gemm.

{torch_conditions}
"""


def conditions(document: dict[str, Any]) -> str:
    """What the figures were measured on."""
    found = dict(document["conditions"])
    cpu = found.pop("cpu")
    versions = ", ".join(f"{name} {version}" for name, version in found.items())
    return f"Measured on {cpu} (shared with other work), {versions}."


def table(head: list[str], rows: list[list[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page() -> str:
    """The whole page."""
    layout = json.loads((HERE / "results" / "ir_layout.json").read_text(encoding="utf-8"))
    scale = json.loads((HERE / "results" / "graph_scale.json").read_text(encoding="utf-8"))
    torch = json.loads((HERE / "results" / "torch_conversion.json").read_text(encoding="utf-8"))
    external = json.loads((HERE / "results" / "external_data.json").read_text(encoding="utf-8"))
    rate = json.loads((HERE / "results" / "parity_rate.json").read_text(encoding="utf-8"))
    planted = json.loads((HERE / "results" / "planted.json").read_text(encoding="utf-8"))
    layouts: dict[str, dict[str, float]] = layout["layouts"]
    steps = [s for s in next(iter(layouts.values())) if s not in {"bytes", "ops"}]
    stages = list(scale["rows"][0]["seconds"])
    return TEXT.format(
        ops=int(layouts["digraph"]["ops"]),
        layout=table(
            ["layout", *(f"{s} s" for s in steps), "bytes an operator"],
            [
                [name, *(f"{row[s]:.2f}" for s in steps), f"{row['bytes']:.0f}"]
                for name, row in layouts.items()
            ],
        ),
        layout_conditions=conditions(layout),
        scale=table(
            ["operators", *stages, "peak MiB"],
            [
                [
                    f"{row['ops']:,}",
                    *(f"{row['seconds'][s] / row['ops'] * 1e6:.0f}" for s in stages),
                    str(row["peak_mib"]),
                ]
                for row in scale["rows"]
            ]
            + [["exponent", *(f"{scale['exponents'][s]:.2f}" for s in stages), ""]],
        ),
        scale_conditions=conditions(scale),
        external=table(
            ["weights", *(f"{s}: s, MiB" for s in external["rows"][0]["stages"])],
            [
                [
                    f"{row['mib']:,} MiB {row['kind']}",
                    *(f"{s['seconds']:.2f}, {s['mib']:.0f}" for s in row["stages"].values()),
                ]
                for row in external["rows"]
            ],
        ),
        external_conditions=conditions(external),
        rate=table(
            ["model", "cases", "CPU s", "cases a CPU s"],
            [
                [r["model"], f"{r['cases']:,}", f"{r['seconds']:.2f}", f"{r['rate']:,.0f}"]
                for r in rate["rows"]
            ],
        ),
        rate_conditions=conditions(rate),
        seeds=planted["seeds"],
        cases=planted["cases"],
        planted=table(
            ["", "where", "verdicts"],
            [
                [
                    row["name"],
                    row["kind"],
                    ", ".join(f"{n} {s}" for s, n in row["verdicts"].items()),
                ]
                for row in planted["rows"]
            ],
        ),
        planted_conditions=conditions(planted),
        torch=table(
            [
                "model",
                "calls",
                "capture s",
                "lower ms a call",
                "file s",
                "nodes",
                "torch.onnx ms a call",
                "optimized s",
                "nodes",
            ],
            [
                [
                    name,
                    f"{row['calls']:,}",
                    f"{row['capture']:.2f}",
                    f"{row['lower'] / row['calls'] * 1e3:.2f}",
                    f"{row['export']:.2f}",
                    f"{row['export nodes']:,}",
                    f"{row['theirs, not optimized'] / row['calls'] * 1e3:.1f}",
                    f"{row['theirs']:.2f}",
                    f"{row['theirs nodes']:,}",
                ]
                for name, row in torch["rows"].items()
            ],
        ),
        torch_conditions=conditions(torch),
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
