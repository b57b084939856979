"""elementwise: how older versions become the canonical one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.build import Build, restate
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import SAME, InexpressibleError

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Same, Steps


def _same(*versions: int) -> dict[int, Same]:
    """Steps that only allow more."""
    return dict.fromkeys(versions, SAME)


def _broadcast_7(op: Op, patch: Patch) -> None:
    """Limited broadcasting: B's dims meet A's from `axis` on, at the end by default."""
    build = Build(op, patch)
    b = build.operand(1)
    axis = op.attr("axis")
    single = isinstance(b.type, TensorType) and b.type.shape in ((), (1,), (1, 1))
    if op.attr("broadcast", 0) and axis is not None and not single:
        rank, own = build.rank(0), build.rank(1)
        missing = rank - axis % rank - own
        if missing < 0:
            raise InexpressibleError(
                f"{op.type}-{op.version}: B of rank {own} at axis {axis} exceeds A of rank {rank}"
            )
        if missing:
            b = build("Unsqueeze", b, build.ints(*range(own, own + missing)))
    restate(op, patch, 7, (op.inputs[0], b), {})


def _prelu_7(op: Op, patch: Patch) -> None:
    """A slope of rank 1 belonged to the channels, axis 1; now it would meet the last axis."""
    build = Build(op, patch)
    slope = build.operand(1)
    if build.rank(1) == 1 and isinstance(slope.type, TensorType) and slope.type.shape != (1,):
        behind = build.rank(0) - 2
        if behind > 0:
            slope = build("Unsqueeze", slope, build.ints(*range(1, behind + 1)))
    restate(op, patch, 7, (op.inputs[0], slope))


def _clip_11(op: Op, patch: Patch) -> None:
    """Bounds were attributes; one that is absent stays absent."""
    build = Build(op, patch)
    bounds: list[Value | None] = [None, None]
    for place, name in enumerate(("min", "max")):
        if name in op.attributes:
            bounds[place] = build.const(op.attributes[name], build.dtype())
    restate(op, patch, 11, (op.inputs[0], *bounds), {})


def _dropout_7(op: Op, patch: Patch) -> None:
    """Training was the default; the canonical form says so by its third input."""
    attributes = {k: v for k, v in op.attributes.items() if k != "is_test"}
    if op.attr("is_test", 0):
        restate(op, patch, 7, attributes=attributes)
        return
    build = Build(op, patch)
    ratio = build.const(op.attr("ratio", 0.5), DType.FLOAT32)
    training = build.const(True, DType.BOOL)
    _masked(build, ratio, training)


def _dropout_10(op: Op, patch: Patch) -> None:
    """The mask had the data's element type."""
    if len(op.outputs) == 1:
        restate(op, patch, 10)
        return
    build = Build(op, patch)
    _masked(build, build.const(op.attr("ratio", 0.5), DType.FLOAT32), None)


def _masked(build: Build, ratio: Value, training: Value | None) -> None:
    """The canonical Dropout; the mask, where it is read, is cast to what old versions gave."""
    mask = build.old.outputs[1] if len(build.old.outputs) > 1 else None
    wanted = 2 if mask is not None and build.patch.graph.is_used(mask) else 1
    operands = (build.operand(), ratio) if training is None else (build.operand(), ratio, training)
    results = build.op("Dropout", operands, {}, wanted)
    build.done(results[0], build.cast(results[1], build.dtype()) if wanted == 2 else None)


def _dropout_12(op: Op, patch: Patch) -> None:
    """The ratio became an operand; it has no effect outside training."""
    ratio = Build(op, patch).const(op.attr("ratio", 0.5), DType.FLOAT32)
    restate(op, patch, 12, (op.inputs[0], ratio), {})


def _erf_13(op: Op, patch: Patch) -> None:
    """Integers are no longer allowed; they are computed as float32 and truncated."""
    build = Build(op, patch)
    if build.dtype().is_float:
        restate(op, patch, 13)
        return
    found = build("Erf", build.cast(build.operand(), DType.FLOAT32))
    build.done(build.cast(found, build.dtype()))


UPGRADES: dict[Key, Steps] = {
    ("", "Abs"): _same(13),
    ("", "Acos"): _same(22),
    ("", "Acosh"): _same(22),
    ("", "Add"): {7: _broadcast_7, **_same(13, 14)},
    ("", "And"): {7: _broadcast_7},
    ("", "Asin"): _same(22),
    ("", "Asinh"): _same(22),
    ("", "Atan"): _same(22),
    ("", "Atanh"): _same(22),
    ("", "BitCast"): {},
    ("", "BitShift"): _same(28),
    ("", "BitwiseAnd"): {},
    ("", "BitwiseNot"): {},
    ("", "BitwiseOr"): {},
    ("", "BitwiseXor"): {},
    ("", "Cast"): _same(9, 13, 19, 21, 23, 24, 25, 28),
    ("", "CastLike"): _same(19, 21, 23, 24, 25),
    ("", "Ceil"): _same(13),
    ("", "Celu"): _same(28),
    ("", "Clip"): {11: _clip_11, **_same(12, 13)},
    ("", "Cos"): _same(22),
    ("", "Cosh"): _same(22),
    ("", "Div"): {7: _broadcast_7, **_same(13, 14)},
    ("", "Dropout"): {7: _dropout_7, 10: _dropout_10, 12: _dropout_12, **_same(13, 22)},
    ("", "Elu"): _same(22),
    ("", "Equal"): {7: _broadcast_7, **_same(11, 13, 19)},
    ("", "Erf"): {13: _erf_13},
    ("", "Exp"): _same(13),
    ("", "Floor"): _same(13),
    ("", "Gelu"): {},
    ("", "Greater"): {7: _broadcast_7, **_same(9, 13)},
    ("", "GreaterOrEqual"): _same(16),
    ("", "HardSigmoid"): _same(22),
    ("", "HardSwish"): _same(22),
    ("", "Identity"): _same(13, 14, 16, 19, 21, 23, 24, 25),
    ("", "IsInf"): _same(20),
    ("", "IsNaN"): _same(13, 20),
    ("", "LeakyRelu"): _same(16),
    ("", "Less"): {7: _broadcast_7, **_same(9, 13)},
    ("", "LessOrEqual"): _same(16),
    ("", "Log"): _same(13),
    ("", "Max"): _same(8, 12, 13),
    ("", "Mean"): _same(8, 13),
    ("", "Min"): _same(8, 12, 13),
    ("", "Mish"): _same(22),
    ("", "Mod"): _same(13, 28),
    ("", "Mul"): {7: _broadcast_7, **_same(13, 14)},
    ("", "Neg"): _same(13),
    ("", "Not"): {},
    ("", "Or"): {7: _broadcast_7},
    ("", "PRelu"): {7: _prelu_7, **_same(9, 16)},
    ("", "Pow"): {7: _broadcast_7, **_same(12, 13, 15)},
    ("", "Reciprocal"): _same(13),
    ("", "Relu"): _same(13, 14),
    ("", "Round"): _same(22),
    ("", "Selu"): _same(22),
    ("", "Shrink"): {},
    ("", "Sigmoid"): _same(13),
    ("", "Sign"): _same(13),
    ("", "Sin"): _same(22),
    ("", "Sinh"): _same(22),
    ("", "Softplus"): _same(22),
    ("", "Softsign"): _same(22),
    ("", "Sqrt"): _same(13),
    ("", "Sub"): {7: _broadcast_7, **_same(13, 14)},
    ("", "Sum"): _same(8, 13),
    ("", "Swish"): {},
    ("", "Tan"): _same(22),
    ("", "Tanh"): _same(13),
    ("", "ThresholdedRelu"): _same(22),
    ("", "Where"): _same(16),
    ("", "Xor"): {7: _broadcast_7},
}
