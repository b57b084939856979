"""One use of one operator through everything: writing, reading, passes, onnxruntime, parity.

A use at an opset passes when
- the graph written for the opset, read back and upgraded, is the same function in float64, and so
  it is after the passes;
- onnxruntime runs what is written, unoptimized, and parity accepts every node of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.exporters.onnx.downgrade import downgrade
from isomorph.exporters.onnx.writer import to_proto
from isomorph.exporters.target import Target
from isomorph.frontends.onnx.reader import read
from isomorph.frontends.onnx.upgrade import upgrade
from isomorph.ir import schema
from isomorph.ir.copies import copy_graph
from isomorph.ir.interpret import interpret
from isomorph.ir.opdef import Tolerance
from isomorph.ir.versions import drop_unknown_attributes, fits
from isomorph.parity.tolerance import Unit, tolerance_of
from isomorph.parity.verdict import Status
from isomorph.parity.well import judge
from isomorph.passes.canonical import CANONICAL
from isomorph.runtime.errors import RuntimeLoadError
from isomorph.runtime.ort import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph
    from isomorph.ir.opdef import Key

    Feeds = Sequence[Any]

ACCEPTED = frozenset({Status.PASS, Status.RUNTIME, Status.AMBIGUOUS, Status.UNSPECIFIED})
CLOSE = 1e-9
"""Relative difference of two float64 evaluations that rounding alone explains in one small op."""
FOLDED = 4.0
"""Roundings of stored constants that folding may add, in units of their element type."""


@dataclass(frozen=True)
class Written:
    """A use as an opset writes it, or the reason why it cannot."""

    opset: int
    graph: Graph | None
    reason: str = ""
    shape: str = ""
    """Tells apart what different opsets write."""


@dataclass
class Told:
    """What became of one use at one opset."""

    problems: list[str] = field(default_factory=list[str])
    refused: str = ""


def write(graph: Graph, opset: int) -> Written:
    """A use, rewritten for an opset."""
    moved, _ = copy_graph(graph)
    stuck = downgrade(moved, opset)
    if stuck:
        return Written(opset, None, stuck[0].reason)
    shape = "; ".join(f"{op}{sorted(op.attributes)}" for _, op in moved.walk())
    return Written(opset, moved, "", shape)


def older(graph: Graph, key: Key, version: int) -> Graph | None:
    """A use whose op is given an older version as it is, `None` where its schema does not allow."""
    moved, _ = copy_graph(graph)
    ops = moved.ops()
    if len(ops) != 1 or ops[0].key != key or any(True for _ in ops[0].subgraphs()):
        return None
    wanted = schema.schema(*key, version)
    if wanted is None or len(ops[0].inputs) < wanted.min_inputs or fits(ops[0], version):
        return None
    drop_unknown_attributes(ops[0], version)
    ops[0].version = version
    return moved


def reads_back(graph: Graph, opset: int, feeds: Feeds, wide: list[Any]) -> list[str]:
    """What is wrong with a written graph once it is read, upgraded and optimized."""
    target = Target(opset, schema.ir_version_for(schema.CANONICAL[""]), "any")
    graph.opsets = {"": opset}
    close = inf if _draws(graph) else CLOSE
    problems = _differences(interpret(graph, feeds, wide=True), wide, "written", close)
    again = read(to_proto(graph, target))
    left = upgrade(again)
    if left:
        return [*problems, f"does not upgrade: {left[0].reason}"]
    problems += _differences(interpret(again, feeds, wide=True), wide, "upgraded", close)
    CANONICAL.run(again)
    folded = interpret(again, feeds, wide=True)
    return problems + _differences(folded, wide, "optimized", close + FOLDED * _unit(again))


def upgrades(graph: Graph, feeds: Feeds) -> list[str]:
    """What is wrong with a graph of old versions once it is upgraded."""
    wide = interpret(graph, feeds, wide=True)
    left = upgrade(graph)
    if left:
        return [f"does not upgrade: {left[0].reason}"]
    return _differences(interpret(graph, feeds, wide=True), wide, "upgraded")


def runs(graph: Graph, opset: int, ir_version: int, feeds: Feeds) -> Told:
    """What onnxruntime makes of a written graph, node by node."""
    told = Told()
    probe, _ = copy_graph(graph)
    probe.opsets = {"": opset}
    values = [v for op in probe.sorted_ops() for v in op.results]
    extra = [v for v in values if not probe.is_output(v)]
    probe.outputs = [*probe.outputs, *extra]
    model = to_proto(probe, Target(opset, ir_version, "onnxruntime"))
    try:
        session = Session(model.SerializeToString(), optimize=False)
    except RuntimeLoadError as error:
        told.refused = str(error)
        return told
    names = [v.name for v in model.graph.output]
    results = session.run(dict(zip((v.name for v in graph.inputs), feeds, strict=True)))
    known = dict(zip(names, results, strict=True))
    by_value: dict[Any, Any] = {}
    for value in probe.outputs:
        by_value.setdefault(value, known.get(value.name))
    by_value |= dict(zip(probe.inputs, feeds, strict=True))
    for value in probe.weights():
        if value.weight is not None:
            by_value[value] = value.weight.numpy()
    for op in probe.sorted_ops():
        if tolerance_of(op) in {Tolerance.RANDOM, Tolerance.CONTROL} or op.captures:
            continue
        operands = [None if v is None else by_value[v] for v in op.inputs]
        found = [None if v is None else by_value[v] for v in op.outputs]
        try:
            findings = judge(op, operands, found)
        except Exception as error:  # noqa: BLE001 - a bound that fails is told, like the rest
            told.problems.append(f"cannot be judged: {type(error).__name__}: {error}")
            continue
        told.problems += [
            f"{op.type}-{op.version} {f.status.value}: {f.reason}"
            for f in findings
            if f.status not in ACCEPTED
        ]
    return told


def _draws(graph: Graph) -> bool:
    """Whether results are drawn at random: their form is compared alone."""
    return any(tolerance_of(op) is Tolerance.RANDOM for _, op in graph.walk())


def _unit(graph: Graph) -> float:
    """The unit roundoff of the coarsest float constant."""
    weights = (v.weight for v in graph.weights())
    floats = {w.dtype for w in weights if w is not None and w.dtype.is_float}
    return max((Unit.of(d).u for d in floats), default=0.0)


def _differences(found: list[Any], wanted: list[Any], when: str, limit: float = CLOSE) -> list[str]:
    if len(found) != len(wanted):
        return [f"{when}: {len(found)} values, not {len(wanted)}"]
    texts = (_difference(f, w, limit) for f, w in zip(found, wanted, strict=True))
    return [f"{when}: {text}" for text in texts if text]


def _difference(found: Any, wanted: Any, limit: float) -> str:
    if isinstance(wanted, list):
        return next(filter(None, _differences(found, cast("list[Any]", wanted), "item", limit)), "")
    if found is None or wanted is None:
        return "" if found is None and wanted is None else f"{found!r}, not {wanted!r}"
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape or found.dtype.kind != wanted.dtype.kind:
        return f"{found.dtype}{found.shape}, not {wanted.dtype}{wanted.shape}"
    if limit == inf:
        return ""
    if wanted.dtype.kind not in "fc":
        return "" if np.array_equal(found, wanted) else "other elements"
    with np.errstate(all="ignore"):
        same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
        size = np.abs(wanted).max(initial=1.0, where=np.isfinite(wanted))
        error = np.abs(found - wanted)
        close = error <= limit * size
    return "" if (same | close).all() else f"off by {np.nanmax(error):.3g}"
