"""`isomorph compile`: the kernels of a model, their machine code, and the plan of its memory."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit
from isomorph.ir.printable import printable

if TYPE_CHECKING:
    from isomorph.runtime.plan import Plan, Plans


def compile(  # noqa: A001 - the command's name
    source: options.SourceArgument,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder for kernels, plan and report.")
    ] = None,
    device: Annotated[str, typer.Option(help="sim:sm_80, sim:sm_90, sim:sm_100 or cuda:0.")] = (
        "sim:sm_90"
    ),
    input: options.Inputs = None,  # noqa: A002 - the option's name
    report: Annotated[
        bool, typer.Option("--report", help="Print the report; without -o, write nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Lower SOURCE to CUDA kernels; write them to a folder, or report on them.

    Open dims are given trial sizes in the plan; name sizes with --input to plan for those.
    Exit code 0: done. 1: ops without a kernel, all of them listed. 2: bad call or unreadable input,
    no such device, no compiler.
    """
    with command(as_json=as_json) as say:
        import isomorph as iso
        from isomorph.cli.source import SourceError, graph_of

        if output is None and not report:
            raise SourceError("-o FOLDER writes kernels, plan and report; --report prints the last")
        say("read")
        graph = graph_of(source, input or ())
        say("lower")
        plan = iso.compile(graph, device=device).plan
        say("build")
        document, text = _built(plan, output, device)
        if output is not None:
            content = json.dumps(document, indent=2) + "\n"
            (output / "plan.json").write_text(content, encoding="utf-8")
            (output / "report.txt").write_text(text, encoding="utf-8")
        if as_json:
            emit(document)
        else:
            print(text, end="")


def _built(plan: Plan | Plans, folder: Path | None, device: str) -> tuple[dict[str, Any], str]:
    """The plan as data and as text; sources, and cubins where NVRTC is installed, are written."""
    from isomorph.codegen.flatten import source
    from isomorph.codegen.nvrtc import NvrtcError, cubin, version

    arch = device.partition(":")[2]
    arch = arch if arch.startswith("sm_") else "sm_90"
    try:
        nvrtc, missing = version(), ""
    except NvrtcError as error:
        nvrtc, missing = "", str(error)
    if folder is not None:
        for name in ("kernels", "cubins") if nvrtc else ("kernels",):
            (folder / name).mkdir(parents=True, exist_ok=True)
    resources: dict[str, dict[str, int]] = {}
    for spec in plan.specs:
        if folder is not None:
            text = source(spec)
            (folder / "kernels" / f"{spec.name}.cu").write_text(text, encoding="utf-8")
        if nvrtc:
            made = cubin(spec, arch)
            resources[spec.name] = {"registers": made.registers, "spills": made.spills}
            if folder is not None:
                (folder / "cubins" / f"{spec.name}.{arch}.cubin").write_bytes(made.code)
    document = {
        "schema_version": 1,
        "device": device,
        "arch": arch,
        "nvrtc": nvrtc,
        **plan.to_json(),
        "moved_bytes": _moved(plan),
        "kernels": resources,
    }
    note = f"cubins: none ({missing})" if missing else f"NVRTC {nvrtc}"
    return document, _report(plan, resources, note)


def _moved(plan: Plan | Plans) -> int:
    """Bytes of operands and results of all launches."""
    return sum(k.bytes for k in plan.kernels)


def _report(plan: Plan | Plans, resources: dict[str, dict[str, int]], note: str) -> str:
    rows: list[tuple[str, ...]] = [
        ("ops", "kernel", "grid", "threads", "bytes", "registers", "spilled", "at")
    ]
    for k in plan.kernels:
        used = resources.get(k.spec.name)
        machine = ("-", "-") if used is None else (str(used["registers"]), str(used["spills"]))
        grid = "×".join(map(str, k.grid))
        rows.append(
            (
                k.title,
                k.spec.name,
                grid,
                str(k.spec.threads),
                f"{k.bytes:,}",
                *machine,
                printable(k.where),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    numbers = range(3, 7)
    lines = [printable(f"{v.name}: {v.type}") for v in plan.graph.inputs]
    hosted = Counter(h.op for h in plan.hosted)
    if hosted:
        shown = ", ".join(f"{name} ×{count}" for name, count in hosted.items())
        lines.append(f"on the host, between kernels: {shown}")
    lines.append(f"{len(plan.kernels)} launches of {len(plan.specs)} kernels; {note}")
    for row in rows:
        cells = [
            cell.rjust(width) if n in numbers else cell.ljust(width)
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    lines.append(
        f"peak {plan.peak_bytes:,} bytes, constants {plan.constant_bytes:,} bytes, moved by all "
        f"launches {_moved(plan):,} bytes"
    )
    return "\n".join(lines) + "\n"
