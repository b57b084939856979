"""The first pass: every op at the version that the canonical opset means.

One table per family (`UPGRADES`): (domain, op) → {version: step that reaches it}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir import schema
from isomorph.ir.infer import infer_op
from isomorph.ir.opdef import Manifest
from isomorph.ir.verify import check_types
from isomorph.ir.versions import Inexpressible, InexpressibleError, Rewrite, Same, Steps, move

if TYPE_CHECKING:
    from isomorph.ir.context import Content
    from isomorph.ir.graph import Graph, Op, Value

UPGRADES: Manifest[Steps] = Manifest("isomorph.frontends.onnx.upgrade", "UPGRADES")


def upgrade(graph: Graph) -> list[Inexpressible]:
    """Bring every op to its canonical version, in place; returns those that stay behind.

    Each op's results are typed as soon as it is canonical: steps that need ranks find them.

    Raises:
        TypeInferenceError: when operands do not fit their operator.
    """
    contents: dict[Value, Content] = {}

    def settled(op: Op, current: Graph) -> None:
        infer_op(op, current, contents, graph.constraints, body=current is not graph)

    behind = move(graph, _next, settled)[1]
    check_types(graph)  # the file may have stated none, or they may have been known too late
    return behind


def _next(op: Op) -> tuple[int, Rewrite | Same] | None:
    known = schema.versions(op.domain, op.type)
    later = [v for v in known if v > op.version]
    if not later:
        return None
    rows = UPGRADES.get(op.key)
    if rows is None:
        raise InexpressibleError(f"{op.type} has no upgrade from version {op.version} yet")
    step = rows.get(later[0])
    if step is None:
        raise InexpressibleError(f"{op.type}-{op.version} has no upgrade to version {later[0]}")
    return later[0], step
