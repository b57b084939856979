"""control_flow: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.graph import Graph
from isomorph.ir.versions import SAME, InexpressibleError

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _scan_9(op: Op, patch: Patch) -> None:
    """The batch becomes a Scan along axis 0, around the Scan of one sample."""
    if op.input(0) is not None:
        raise InexpressibleError(
            "Scan-8 with sequence_lens has no equivalent in later versions",
            "export the model again at opset 9 or newer",
        )
    operands = op.inputs[1:]
    scanned = op.attr("num_scan_inputs")
    outer = Graph("batch")
    formals = [outer.add_input(v.name if v else "in") for v in operands]
    captures = [outer.add_capture(v.name, v.type) for v in op.captures]
    attributes = {
        "body": op.attr("body"),
        "num_scan_inputs": scanned,
        "scan_input_directions": op.attr("directions"),
    }
    names = [f"sample_{n}" for n in range(len(op.outputs))]
    inner = outer.add_op(
        "Scan", formals, attributes, outputs=names, version=9, captures=captures, source=op.source
    )
    outer.outputs = list(inner.results)
    made = patch.op(
        "Scan",
        operands,
        {"body": outer, "num_scan_inputs": len(operands)},
        outputs=[None if v is None else v.name for v in op.outputs],
        version=9,
        captures=op.captures,
    )
    patch.replace_op(op, made)


_TYPES = {16: SAME, 19: SAME, 21: SAME, 23: SAME, 24: SAME, 25: SAME}

UPGRADES: dict[Key, Steps] = {
    ("", "If"): {11: SAME, 13: SAME, **_TYPES},
    ("", "Loop"): {11: SAME, 13: SAME, **_TYPES},
    ("", "Scan"): {9: _scan_9, 11: SAME, **_TYPES},
}
