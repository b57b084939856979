"""sequence: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isomorph.exporters.onnx.downgrade._older import older, refuse, same
from isomorph.ir.build import Build
from isomorph.ir.mapped import map_as_loop
from isomorph.ir.types import DType, OptionalType

if TYPE_CHECKING:
    from isomorph.ir.graph import Op
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _map_17(op: Op, patch: Patch) -> None:
    map_as_loop(op, patch)


def _optional_15(op: Op, _: Patch) -> None:
    refuse(op, f"{op.type}-{op.version} is the first: optionals do not exist before opset 15")


def _get(op: Op, patch: Patch) -> None:
    """What is no optional is its own element; before 18 only optionals are allowed."""
    build = Build(op, patch)
    value = build.operand()
    if value.type is not None and not isinstance(value.type, OptionalType):
        build.done(build("Identity", value))
    elif op.version > 15:
        older(op, patch)
    else:
        _optional_15(op, patch)


def _has(op: Op, patch: Patch) -> None:
    """What is no optional is there, and nothing is not; before 18 only optionals are allowed."""
    value = op.input(0)
    if value is None or (value.type is not None and not isinstance(value.type, OptionalType)):
        build = Build(op, patch)
        there = build.const(np.bool_(value is not None), DType.BOOL)
        build.done(build("Identity", there))
    elif op.version > 15:
        older(op, patch)
    else:
        _optional_15(op, patch)


DOWNGRADES: dict[Key, Steps] = {
    ("", "SequenceMap"): {17: _map_17},
    ("", "SplitToSequence"): same(24),
    ("", "Optional"): {**same(28), 15: _optional_15},
    ("", "OptionalGetElement"): {**same(28), 18: _get, 15: _get},
    ("", "OptionalHasElement"): {**same(28), 18: _has, 15: _has},
}
