"""Every op at the version that the target opset means.

One table per family (`DOWNGRADES`): (domain, op) → {version: step that leaves it}. At an op's
first version the step decomposes it into older ops; where a table has no row, the function body of
the op's definition, if there is one, takes its place. `SAME` holds only for what the older schema
allows: element types and attributes are checked here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._body import by_body, has_body
from isomorph.exporters.onnx.downgrade.ml import domain_version
from isomorph.ir import schema
from isomorph.ir.captures import own_constants
from isomorph.ir.opdef import Manifest
from isomorph.ir.versions import (
    SAME,
    Inexpressible,
    InexpressibleError,
    Rewrite,
    Same,
    Steps,
    drop_unknown_attributes,
    fits,
    move,
)

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph, Op

DOWNGRADES: Manifest[Steps] = Manifest("isomorph.exporters.onnx.downgrade", "DOWNGRADES")

LOWEST_WRITTEN = 11
"""The lowest opset of the default domain that graphs are rewritten to."""


def downgrade(graph: Graph, opset: int) -> list[Inexpressible]:
    """Rewrite every op of the default domain for an opset, in place; returns what cannot be.

    Those of ai.onnx.ml go to the version of their domain that the graph was read from, where that
    can express all of them, else to the lowest that can.
    """
    goals = {"": opset, schema.ML: domain_version(graph)}

    def next_step(op: Op) -> tuple[int, Rewrite | Same] | None:
        goal = goals.get(op.domain)
        return None if goal is None else _next(op, goal)

    own_constants(graph)
    return move(graph, next_step)[1]


def _next(op: Op, opset: int) -> tuple[int, Rewrite | Same] | None:
    target = schema.since_version(op.domain, op.type, opset)
    if target == op.version or not schema.versions(op.domain, op.type):
        return None
    if target is not None and op.version < target:
        raise InexpressibleError(
            f"{op.type}-{op.version} could not be upgraded to what opset {opset} means by it"
        )
    earlier = [v for v in schema.versions(op.domain, op.type) if v < op.version]
    step = (DOWNGRADES.get(op.key) or {}).get(op.version)
    if step is None and has_body(op):
        step = by_body
    if step is None:
        raise InexpressibleError(
            f"{op.type}-{op.version} has no equivalent below opset {op.version}",
            f"export at opset {op.version} or newer",
            op.version,
        )
    if not isinstance(step, Same):
        return (earlier[-1] if earlier else 0), step
    reason = fits(op, earlier[-1])
    if reason:
        raise InexpressibleError(reason, f"export at opset {op.version} or newer", op.version)
    drop_unknown_attributes(op, earlier[-1])
    return earlier[-1], SAME
