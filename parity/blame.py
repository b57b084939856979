"""The oracle court: who is at fault, by what five witnesses say of one small case.

The witnesses are the source, onnxruntime without its optimizer and with it, onnx's reference
interpreter, and our float64 evaluation. The last is what the others are judged by, so where two
independent witnesses agree against it, it is to blame itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx

from isomorph.ir.errors import IsomorphError
from isomorph.ir.interpret import widen
from isomorph.parity import bisect
from isomorph.parity.arrays import is_float
from isomorph.parity.leaves import Leaves, formed_otherwise, leaves
from isomorph.parity.locate import divergence
from isomorph.parity.noise import EVALUATION_ERRORS
from isomorph.parity.sources import GraphReference, RefusedError
from isomorph.parity.verdict import Blame, Divergence

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isomorph.ir.graph import Graph
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.case import Failure
    from isomorph.parity.reduce import Reduced

NEARER = 4.0
"""A witness stands with one value when it is so many times nearer to it than to the other."""
RUN_TIME = PLAIN, OPTIMIZED = "onnxruntime", "onnxruntime, optimized"
EXPORTER, KERNEL, OPTIMIZER, ORACLE = "exporter", "kernel", "optimizer", "oracle"
WHO = {
    "same": EXPORTER, "structure": EXPORTER, "trace": EXPORTER, "weak": EXPORTER,
    "well": KERNEL, "died": KERNEL, "refused": KERNEL, "optimized": OPTIMIZER,
}  # fmt: skip


def blame(
    failure: Failure, small: Reduced | None, candidate: Candidate, place: Divergence | None
) -> Blame:
    """Who is at fault, in one line.

    Args:
        failure: of the whole.
        small: a piece of it that fails alike, if there is one.
        candidate: the whole.
        place: the node that was found, if one was.
    """
    if small is None:
        if failure.kind not in WHO or not failure.optimize or candidate.device is not None:
            return _said(WHO.get(failure.kind, EXPORTER), failure, place, {})
        return optimizer(failure, candidate, failure.case.inputs, place)
    piece = small.piece
    place = place or _last(piece.graph)
    with small.check.opened(piece.graph) as model:
        if failure.optimize:
            return optimizer(failure, model, piece.inputs, _last(piece.graph))
        dies = failure.kind == "died"
        said = witnesses(model, piece.reference, piece.inputs, without=RUN_TIME if dies else ())
    who = WHO[failure.kind]
    if who in (EXPORTER, KERNEL) and failure.kind in ("same", "well") and _against_us(said, who):
        who = ORACLE
    return replace(_said(who, failure, place, said), small=True)


def optimizer(
    failure: Failure, model: Candidate, inputs: Sequence[Any], place: Divergence | None
) -> Blame:
    """The run time's optimizer, by the passes that make the difference."""
    names = bisect.guilty(model, inputs)
    return _said(OPTIMIZER, failure, place, {}, tuple(names))


def witnesses(
    model: Candidate, reference: Graph | None, inputs: Sequence[Any], without: Sequence[str] = ()
) -> dict[str, list[Any]]:
    """What each witness gives; those that cannot are left out."""
    given = list(inputs)
    found: dict[str, list[Any]] = {}
    calls = {
        "float64": lambda: model.wide(given),
        PLAIN: lambda: model.run(given, optimize=False),
        OPTIMIZED: lambda: model.run(given, optimize=True),
        "reference interpreter": lambda: interpreter(model.path, model.graph, given),
    }
    if reference is not None:
        source = GraphReference(reference)
        calls["source"] = lambda: source.wide(given)
    for name, call in calls.items():
        if name in without:
            continue
        try:
            found[name] = call()
        except (IsomorphError, *EVALUATION_ERRORS):
            continue
    return found


def interpreter(path: Path, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
    """What onnx's reference interpreter makes of a file; raises RefusedError."""
    from onnx.reference import ReferenceEvaluator

    feeds = {v.name: a for v, a in zip(graph.inputs, inputs, strict=True)}
    model: Any = onnx
    try:
        with np.errstate(all="ignore"):
            evaluator: Any = ReferenceEvaluator(model.load(path))
            return list(evaluator.run(None, feeds))
    except Exception as error:
        raise RefusedError(f"{type(error).__name__}: {error}") from error


def _against_us(said: dict[str, list[Any]], who: str) -> bool:
    """Whether run time and interpreter agree on something else than our float64 evaluation."""
    ours, plain = said.get("float64"), said.get(PLAIN)
    theirs, source = said.get("reference interpreter"), said.get("source")
    if ours is None or plain is None or theirs is None:
        return False
    if who == EXPORTER:  # they find that the candidate is the source's function after all
        return source is not None and _sides(plain, source, ours) and _sides(theirs, source, ours)
    return _sides(theirs, plain, ours)


def _sides(witness: list[Any], one: list[Any], other: list[Any]) -> bool:
    """Whether a witness stands with the one where both differ."""
    try:
        tensors = Leaves(one)
        columns = [tensors.tensors, tensors.like(other), tensors.like(witness)]
    except ValueError:
        return False
    for a, b, w in zip(*columns, strict=True):
        if formed_otherwise(a, b) or formed_otherwise(a, w):
            if not formed_otherwise(a, w) and formed_otherwise(b, w):
                continue
            return False
        if not is_float(a):
            differ = np.asarray(a != b)
            if not np.asarray(a == w)[differ].all():
                return False
            continue
        p, q, v = (np.asarray(widen(t), np.float64) for t in (a, b, w))
        with np.errstate(all="ignore"):
            apart = np.abs(p - q) > 2.0**-20 * np.nanmax(np.abs(p), initial=0.0)
            near = (NEARER * np.abs(v - p) < np.abs(v - q)) | (v == p) | (
                np.isnan(v) & np.isnan(p) & ~np.isnan(q)
            )  # fmt: skip
            apart |= np.isnan(p) != np.isnan(q)
        if not near[apart].all():
            return False
    return True


def _last(graph: Graph) -> Divergence | None:
    ops = graph.sorted_ops()
    return divergence(ops[-1], "") if ops else None


def _said(
    who: str,
    failure: Failure,
    place: Divergence | None,
    said: dict[str, list[Any]],
    passes: tuple[str, ...] = (),
) -> Blame:
    where = place.where if place is not None else ""
    node = f"{place.op} {place.node!r}" if place is not None else ""
    reason = place.reason if place is not None and place.reason else failure.reason
    return Blame(who, node, where, reason, passes, _values(said))


def _values(said: dict[str, list[Any]]) -> dict[str, str]:
    """What each witness gives at the element where float64 and another are furthest apart."""
    ours = said.get("float64")
    if ours is None:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for name, values in said.items():
        for index, value in enumerate(values):
            for place, tensor in leaves(value):
                found.setdefault(f"{index}{place}", {})[name] = np.asarray(tensor)
    worst, shown = -1.0, dict[str, str]()
    for tensors in found.values():
        base = tensors.get("float64")
        if base is None or not base.size or base.dtype.kind in "OUST":
            continue
        for other in tensors.values():
            if other.shape != base.shape or other.dtype.kind in "OUST":
                continue
            with np.errstate(all="ignore"):
                off = np.abs(np.asarray(widen(other), np.float64) - base.astype(np.float64))
            off = np.where(np.isnan(off), 0.0, off)
            if float(off.max()) > worst:
                worst, flat = float(off.max()), int(off.argmax())
                shown = {
                    n: f"{np.asarray(widen(t), np.float64).reshape(-1)[flat]:.9g}"
                    for n, t in tensors.items()
                    if t.shape == base.shape
                }
    return shown
