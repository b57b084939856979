"""`isomorph compile`: the kernels of a model, their machine code, and the plan of its memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import command, emit

if TYPE_CHECKING:
    from isomorph.runtime.plan import Plan


def compile(  # noqa: A001 - the command's name
    source: options.SourceArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A folder for kernels, plan and report.")
    ],
    device: Annotated[str, typer.Option(help="sim:sm_80, sim:sm_90, sim:sm_100 or cuda:0.")] = (
        "sim:sm_90"
    ),
    input: options.Inputs = None,  # noqa: A002 - the option's name
    as_json: options.Json = False,
) -> None:
    """Lower SOURCE to CUDA kernels and write them to a folder.

    Open dims are given trial sizes in the plan; name sizes with --input to plan for those.
    Exit code 0: done. 1: ops without a kernel, all of them listed. 2: bad call or unreadable input,
    no such device, no compiler.
    """
    with command(as_json=as_json) as say:
        import isomorph as iso
        from isomorph.cli.source import graph_of

        say("read")
        graph = graph_of(source, input or ())
        say("lower")
        plan = iso.compile(graph, device=device).plan
        say("build")
        document = _write(plan, output, device)
        if as_json:
            emit(document)
        else:
            print((output / "report.txt").read_text(encoding="utf-8"), end="")


def _write(plan: Plan, folder: Path, device: str) -> dict[str, Any]:
    """Sources, cubins where NVRTC is installed, plan.json, report.txt."""
    from isomorph.codegen.flatten import source
    from isomorph.codegen.nvrtc import NvrtcError, cubin, version

    arch = device.partition(":")[2]
    arch = arch if arch.startswith("sm_") else "sm_90"
    (folder / "kernels").mkdir(parents=True, exist_ok=True)
    try:
        nvrtc, missing = version(), ""
        (folder / "cubins").mkdir(exist_ok=True)
    except NvrtcError as error:
        nvrtc, missing = "", str(error)
    resources: dict[str, dict[str, int]] = {}
    for spec in plan.specs:
        (folder / "kernels" / f"{spec.name}.cu").write_text(source(spec), encoding="utf-8")
        if nvrtc:
            made = cubin(spec, arch)
            (folder / "cubins" / f"{spec.name}.{arch}.cubin").write_bytes(made.code)
            resources[spec.name] = {"registers": made.registers, "spills": made.spills}
    document = {
        "schema_version": 1,
        "device": device,
        "arch": arch,
        "nvrtc": nvrtc,
        **plan.to_json(),
        "kernels": resources,
    }
    (folder / "plan.json").write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    text = _report(plan, resources, f"cubins: none ({missing})" if missing else f"NVRTC {nvrtc}")
    (folder / "report.txt").write_text(text, encoding="utf-8")
    return document


def _report(plan: Plan, resources: dict[str, dict[str, int]], note: str) -> str:
    lines = [f"{v.name}: {v.type}" for v in plan.graph.inputs]
    lines.append(f"{len(plan.kernels)} launches of {len(plan.specs)} kernels; {note}")
    for k in plan.kernels:
        used = resources.get(k.spec.name)
        machine = f", {used['registers']} registers, {used['spills']} bytes spilled" if used else ""
        place = f"  at {k.where}" if k.where else ""
        lines.append(
            f"  {k.title}: {k.spec.name} grid {'×'.join(map(str, k.grid))} of {k.spec.threads} "
            f"threads, {k.bytes:,} bytes{machine}{place}"
        )
    moved = sum(k.bytes for k in plan.kernels)
    lines.append(
        f"arena {plan.peak_bytes:,} bytes, constants {plan.constant_bytes:,} bytes, "
        f"operands and results of all launches {moved:,} bytes"
    )
    return "\n".join(lines) + "\n"
