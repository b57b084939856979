"""What operators without a kernel are written as: definitions of ours, of ONNX, of older opsets.

One table per family (`DEFINITIONS`): (domain, op) → a rewrite into operators that have kernels,
exact as a function. Where there is none, the function body of the operator's definition takes its
place; where there is no body either, the steps by which it is exported to opsets that lack it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade import DOWNGRADES
from isomorph.ir import schema
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.infer import is_canonical
from isomorph.ir.opdef import Manifest
from isomorph.ir.proto.function import inline_body
from isomorph.ir.versions import InexpressibleError, Rewrite, Same, move

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.patch import Patch

FAMILIES = ("recurrent", "training")

DEFINITIONS: Manifest[Rewrite] = Manifest("isomorph.lowering.definitions", "DEFINITIONS", FAMILIES)


def is_defined(op: Op) -> bool:
    """Whether an operator can be written as others, for some operands."""
    return op.key in DEFINITIONS.rows() or _has_body(op) or _is_left(op)


def write_out(op: Op, patch: Patch) -> bool:
    """Put the definition of an op in its place; whether there is one for its operands."""
    if op.captures or not is_canonical(op):
        return False
    rule = DEFINITIONS.get(op.key)
    try:
        if rule is not None:
            rule(op, patch)
            return True
        if _has_body(op) and inline_body(op, patch, schema.CANONICAL[""]):
            return True
    except (UnsupportedError, InexpressibleError):
        pass  # there is none for these operands: the op stays, and is refused
    patch.discard()
    return False


def leave(graph: Graph, lacks: Callable[[Op], bool]) -> bool:
    """Write ops that have neither a kernel nor a body as what older opsets have.

    Args:
        graph: changed in place, its subgraphs too.
        lacks: whether an op has no kernel.
    """

    def next_step(op: Op) -> tuple[int, Rewrite | Same] | None:
        if not _is_left(op) or (is_canonical(op) and not lacks(op)):
            return None
        earlier = [v for v in schema.versions(op.domain, op.type) if v < op.version]
        return (earlier[-1] if earlier else 0), DOWNGRADES.rows()[op.key][op.version]

    return move(graph, next_step)[0]


def _has_body(op: Op) -> bool:
    return schema.has_body(op.domain, op.type, op.version)


def _is_left(op: Op) -> bool:
    """Whether the steps of its family lead from the newest version to opsets without it."""
    steps = DOWNGRADES.get(op.key)
    versions = [v for v in schema.versions(op.domain, op.type) if v <= op.version]
    if not steps or not versions or _has_body(op) or op.key in DEFINITIONS.rows():
        return False
    first = versions[0]
    return first in steps and not isinstance(steps[first], Same)


__all__ = ["DEFINITIONS", "is_defined", "leave", "write_out"]
