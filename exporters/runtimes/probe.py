"""Observe the installed onnxruntime, one-op model by one-op model, and write its table.

Run as `python -m isomorph.exporters.runtimes.probe`. For each operator that has instances, for
each version of it that an opset from 11 to the newest loaded means, for each element type: the
instance is downgraded to that opset; if it is then still one op, of that version, it is tried.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx
import onnx.helper

from isomorph.exporters.onnx.downgrade import LOWEST_WRITTEN
from isomorph.exporters.runtimes.cases import cases
from isomorph.exporters.runtimes.prober import Prober
from isomorph.exporters.runtimes.tables import (
    Failure,
    Observed,
    Outcome,
    Table,
    path_of,
)
from isomorph.exporters.runtimes.worker import Job
from isomorph.exporters.target import installed
from isomorph.ir import schema
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.instances import INSTANCES

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key


@dataclass
class Notes:
    """What happened while probing, for the person who runs it."""

    tried: int = 0
    unbuilt: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])


def newest_opset(prober: Prober) -> int:
    """The newest opset of the default domain that a trivial model may have."""
    candidates = range(LOWEST_WRITTEN, schema.CANONICAL[""] + 1)
    loaded = [o for o in candidates if _loads(prober, _trivial(o, _ir(o)))]
    if not loaded:
        raise UnsupportedError(f"the installed onnxruntime loads no opset from {LOWEST_WRITTEN} on")
    return max(loaded)


def newest_ir_version(prober: Prober, opset: int) -> int:
    """The newest IR version that a trivial model may have."""
    found = range(_ir(LOWEST_WRITTEN), int(onnx.IR_VERSION) + 1)
    loaded = [v for v in found if _loads(prober, _trivial(opset, v))]
    return max(loaded)


def _loads(prober: Prober, model: bytes) -> bool:
    return prober.ask(Job(model, {}, run=False))[0] == "runs"


def _ir(opset: int) -> int:
    """The IR version to try an opset with: its own release's, kept where old readers are."""
    return min(schema.ir_version_for(opset), 10)


def _trivial(opset: int, ir_version: int) -> bytes:
    kind = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["x"], ["y"])],
        "trivial",
        [onnx.helper.make_tensor_value_info("x", kind, [1])],
        [onnx.helper.make_tensor_value_info("y", kind, [1])],
    )
    imports = [onnx.helper.make_opsetid("", opset)]
    model = onnx.helper.make_model(graph, opset_imports=imports, ir_version=ir_version)
    return model.SerializeToString()


# -- observation --------------------------------------------------------------------------------

Seen = dict[str, dict[int | None, list[tuple[Outcome, str]]]]


def observe(
    key: Key, opset: int, ir_version: int, prober: Prober, notes: Notes
) -> dict[int, Observed]:
    """What is seen of every version of an operator."""
    seen: dict[int, Seen] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for case in cases(key, opset, ir_version, notes.unbuilt):
        outcome, why = prober.ask(case.job)
        notes.tried += 1
        if outcome in ("run-error", "load-error", "crash"):
            use = f"{key[1]}-{case.version} {case.signature} rank {case.rank} {case.note}"
            notes.errors.append(f"{use}: {outcome}: {why}")
        seen[case.version][case.signature][case.rank].append((outcome, why))
    return {version: summarize(found) for version, found in sorted(seen.items())}


def summarize(seen: Seen) -> Observed:
    """The outcomes by signature; ranks are told apart only where they made a difference."""
    runs: list[str] = []
    some: list[str] = []
    failures: dict[tuple[Outcome, str], list[str]] = defaultdict(list)
    for text, ranks in seen.items():
        merged = {rank: _merge(outcomes) for rank, outcomes in ranks.items()}
        if len({kind for kind, _ in merged.values()}) == 1:
            everything = [o for outcomes in ranks.values() for o in outcomes]
            entries = [(text, _merge(everything))]
        else:
            entries = [(f"{text}@{rank}", found) for rank, found in merged.items()]
        for name, (kind, worst) in entries:
            if kind == "runs":
                runs.append(name)
            if kind == "some":
                some.append(name)
            if worst is not None:
                outcome, why = worst
                failures[outcome, "" if outcome == "no-kernel" else why].append(name)
    return Observed(
        tuple(runs),
        tuple(Failure(outcome, why, tuple(names)) for (outcome, why), names in failures.items()),
        tuple(some),
    )


_WORST: tuple[Outcome, ...] = ("crash", "no-kernel", "load-error", "run-error")


def _merge(outcomes: list[tuple[Outcome, str]]) -> tuple[str, tuple[Outcome, str] | None]:
    """runs, fails or some; with the failure that weighs most, if any."""
    failed = [o for o in outcomes if o[0] != "runs"]
    if not failed:
        return "runs", None
    worst = min(failed, key=lambda o: (_WORST.index(o[0]), o[1]))
    return ("fails" if len(failed) == len(outcomes) else "some"), worst


def probe(notes: Notes | None = None) -> Table:
    """The table of the onnxruntime that is installed here, CPU provider.

    Raises:
        UnsupportedError: when there is none, or it cannot be imported.
    """
    release = installed("onnxruntime")
    if release is None:
        raise UnsupportedError("onnxruntime is not installed: there is nothing to probe")
    notes = notes or Notes()
    with Prober() as prober:
        opset = newest_opset(prober)
        ir_version = newest_ir_version(prober, opset)
        ops = {
            key: found
            for key in sorted(INSTANCES.rows())
            if (found := observe(key, opset, ir_version, prober, notes))
        }
    return Table("onnxruntime", release, "cpu", opset, ir_version, ops)


def main() -> None:
    """Probe, write the table beside this file, and say what was seen."""
    notes = Notes()
    table = probe(notes)
    path = path_of(table.runtime, table.release, table.provider)
    path.write_text(dump(table), encoding="utf-8")
    out = sys.stdout.write
    for line in notes.errors + notes.unbuilt:
        out(line + "\n")
    out(f"{notes.tried} models tried, {len(table.ops)} operators: {path}\n")


def dump(table: Table) -> str:
    """The table's text: one line per version of an operator."""
    data = table.to_json()
    head = {k: v for k, v in data.items() if k != "ops"}
    lines = [json.dumps(head, indent=1)[:-2] + ',\n "ops": {']
    domains: list[str] = []
    for domain, names in data["ops"].items():
        rows = [
            f"   {json.dumps(name)}: {{\n"
            + ",\n".join(f"    {json.dumps(v)}: {json.dumps(o)}" for v, o in versions.items())
            + "\n   }"
            for name, versions in names.items()
        ]
        domains.append(f"  {json.dumps(domain)}: {{\n" + ",\n".join(rows) + "\n  }")
    return "\n".join([*lines, ",\n".join(domains), " }", "}"]) + "\n"


if __name__ == "__main__":
    main()
