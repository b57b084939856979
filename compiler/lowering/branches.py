"""An If whose condition is a constant is the branch that it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.patch import Patch

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op, Value


@dataclass(frozen=True, slots=True)
class DecidedBranches:
    """Put the branch in the place of every If whose condition is known."""

    name: str = "decided-branches"

    def apply(self, graph: Graph) -> bool:
        changed = False
        waiting = graph.sorted_ops()
        while waiting:
            op = waiting.pop()
            if (
                op.key == ("", "If")
                and op.inputs[0] is not None
                and op.inputs[0].weight is not None
            ):
                waiting += _take(graph, op, truth=bool(op.inputs[0].weight.numpy().any()))
                changed = True
        return changed


def _take(graph: Graph, op: Op, *, truth: bool) -> list[Op]:
    body: Graph = op.attributes["then_branch" if truth else "else_branch"]
    patch = Patch(graph, op)
    new: dict[Value, Value] = dict(zip(body.captures, op.captures, strict=True))
    for value in body.weights():
        if value.weight is not None and value not in new:
            new[value] = patch.weight(value.weight, value.name)
    for member in body.sorted_ops():
        made = patch.op(
            member.type,
            [None if v is None else new[v] for v in member.inputs],
            member.attributes,
            outputs=[None if v is None else v.name for v in member.outputs],
            domain=member.domain,
            version=member.version,
            captures=[new[v] for v in member.captures],
            types=[v.type for v in member.results],
        )
        made.source, made.name = member.source or op.source, member.name or op.name
        new.update(zip(member.results, made.results, strict=True))
    for old, inner in zip(op.outputs, body.outputs, strict=True):
        if old is not None:
            patch.replace(old, new[inner])
    patch.remove(op)
    patch.apply()
    return patch.made
