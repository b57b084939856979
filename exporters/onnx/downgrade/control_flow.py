"""control_flow: how the canonical version becomes older ones: the same, for fewer types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir import schema
from isomorph.ir.build import restate
from isomorph.ir.types import schema_name
from isomorph.ir.versions import InexpressibleError, Rewrite

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _to(version: int) -> Rewrite:
    """The step that leaves for this version."""

    def step(op: Op, patch: Patch) -> None:
        known = schema.schema(op.domain, op.type, version)
        for values, formal in ((op.inputs, "input"), (op.outputs, "output")):
            for index, value in enumerate(values):
                found = None if value is None else schema_name(value.type)
                operand = getattr(known, formal)(index)
                if found is not None and operand is not None and found not in operand.dtypes:
                    raise InexpressibleError(
                        f"{op.type}-{version} does not allow {found}",
                        f"export at opset {op.version} or newer",
                        op.version,
                    )
        restate(op, patch, version)

    return step


_TO_16: dict[int, Rewrite] = {25: _to(24), 24: _to(23), 23: _to(21), 21: _to(19), 19: _to(16)}

DOWNGRADES: dict[Key, Steps] = {
    ("", "If"): {**_TO_16, 16: _to(13), 13: _to(11)},
    ("", "Loop"): {**_TO_16, 16: _to(13), 13: _to(11)},
    ("", "Scan"): {**_TO_16, 16: _to(11)},
}
