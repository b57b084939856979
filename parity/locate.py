"""Where two graphs part: the candidate's first node whose value the reference has otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import Program
from isomorph.parity.leaves import difference_of_form, leaves
from isomorph.parity.noise import EVALUATION_ERRORS
from isomorph.parity.verdict import Divergence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Op

APART = 2.0**-30
"""Relative difference, against the largest element, that no float64 rounding makes."""


def first_difference(
    reference: Graph, candidate: Graph, inputs: Sequence[Any]
) -> Divergence | None:
    """The first node whose result differs from the reference's value of the same name.

    `None` when the graphs share no names, or differ only where they share none.
    """
    wanted = {name: array for _, name, array in _values(reference, inputs)}
    for op, name, array in _values(candidate, inputs):
        if name in wanted:
            problem = _apart(wanted[name], array)
            if problem:
                return divergence(op, f"%{name}: {problem}")
    return None


def divergence(op: Op, reason: str) -> Divergence:
    """A node as a place to look at."""
    return Divergence(node_name(op), op.type, str(op.source or ""), reason)


def node_name(op: Op) -> str:
    """The node's name, or its first output's."""
    return op.name or next((v.name for v in op.results), op.type)


def _values(graph: Graph, inputs: Sequence[Any]) -> list[tuple[Op, str, Any]]:
    found: list[tuple[Op, str, Any]] = []

    def watch(op: Op, operands: list[Any], results: list[Any]) -> None:
        found.extend(
            (op, value.name, result)
            for value, result in zip(op.outputs, results, strict=False)
            if value is not None
        )

    try:
        Program(graph, wide=True).run(inputs, watch=watch)
    except EVALUATION_ERRORS:  # what was computed until then is what there is to compare
        return found
    return found


def _apart(wanted: Any, got: Any) -> str:
    problem = difference_of_form(wanted, got)
    if problem:
        return problem
    pairs = zip(leaves(wanted), leaves(got), strict=True)
    found = ((place, _tensors_apart(w, g)) for (place, w), (_, g) in pairs)
    return next((f"element {at}: {p}" if at else p for at, p in found if p), "")


def _tensors_apart(wanted: Any, got: Any) -> str:
    wanted, got = np.asarray(wanted), np.asarray(got)
    if wanted.shape != got.shape:
        return f"shape {got.shape} instead of {wanted.shape}"
    if wanted.dtype.kind in "OUST" or wanted.dtype.kind != got.dtype.kind:
        return ""
    with np.errstate(all="ignore"):
        if wanted.dtype.kind != "f":
            bad = wanted != got
            return f"{int(bad.sum())} of {bad.size} elements differ" if bad.any() else ""
        if (np.isnan(wanted) != np.isnan(got)).any():
            return "NaN in other places"
        error = np.abs(wanted - got)
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
        worst = float(np.where(np.isfinite(error), error, 0.0).max(initial=0.0))
    return f"off by {worst:.3g} where the largest is {scale:.3g}" if worst > APART * scale else ""
