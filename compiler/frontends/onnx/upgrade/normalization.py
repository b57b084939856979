"""normalization: how older versions become the canonical one."""

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


def _softmax_13(op: Op, patch: Patch) -> None:
    """All axes from `axis` on were taken as one, by default from 1 on."""
    axis = int(op.attr("axis", 1))
    build = Build(op, patch)
    x = build.operand()
    shape = x.type.shape if isinstance(x.type, TensorType) else None
    if axis == -1 or (shape is not None and all(d == 1 for d in shape[axis + 1 :])):
        restate(op, patch, 13, attributes={"axis": axis})
        return
    rows = build(op.type, build("Flatten", x, axis=axis), axis=-1)
    # a size of 0 behind the first axis is a size, not "the same as in the matrix"
    full = shape is not None and all(isinstance(d, int) and d > 0 for d in shape[1:])
    build.done(build("Reshape", rows, build("Shape", x), allowzero=None if full else 1))


def _batch_7(op: Op, patch: Patch) -> None:
    """Evaluation and training were told apart by `is_test`; the number of results says the same."""
    attributes = {k: v for k, v in op.attributes.items() if k != "is_test"}
    restate(op, patch, 7, attributes=attributes)


def _batch_9(op: Op, patch: Patch) -> None:
    """With `spatial=0` every element of the batch's items has its own statistics."""
    attributes = {k: v for k, v in op.attributes.items() if k != "spatial"}
    if op.attr("spatial", 1):
        restate(op, patch, 9, attributes=attributes)
        return
    if len(op.results) > 1:
        raise InexpressibleError("BatchNormalization with spatial=0 cannot be trained any more")
    build = Build(op, patch)
    x, scale, shift, mean, variance = (build.operand(i) for i in range(5))
    epsilon = build.const(op.attr("epsilon", 1e-5), build.dtype())
    deviation = build("Sqrt", build("Add", variance, epsilon))
    normal = build("Div", build("Sub", x, mean), deviation)
    build.done(build("Add", build("Mul", normal, scale), shift))


def _batch_14(op: Op, patch: Patch) -> None:
    """Several results meant training; the batch's own statistics are no results any more."""
    outputs = list(op.outputs)
    if len(op.results) == 1 and outputs[0] is not None:
        attributes = {**op.attributes, "training_mode": None}
        restate(op, patch, 14, attributes=attributes)
        return
    build = Build(op, patch)
    operands = [build.operand(i) for i in range(5)]
    attributes = {**op.attributes, "training_mode": 1}
    made: list[Value | None] = list(build.op(op.type, operands, attributes, 3))
    wanted = [v is not None and patch.graph.is_used(v) for v in outputs[3:]]
    if any(wanted):
        axes = build.ints(*(i for i in range(build.rank()) if i != 1))
        mean = build("ReduceMean", operands[0], axes)
        difference = build("Sub", operands[0], mean)
        variance = build("ReduceMean", build("Mul", difference, difference), axes, keepdims=0)
        made += [build("Squeeze", mean, axes), variance]
    build.done(*made)


def _group_21(op: Op, patch: Patch) -> None:
    """Scale and bias belonged to the groups; now they belong to the channels."""
    build = Build(op, patch)
    groups = int(op.attr("num_groups"))
    channels = build("Shape", build.operand(), start=1, end=2)
    per = build("Div", channels, build.ints(groups))
    target = build("Concat", build.ints(groups), per, axis=0)

    def spread(index: int) -> Value:
        column = build("Unsqueeze", build.operand(index), build.ints(1))
        return build("Reshape", build("Expand", column, target), build.ints(-1))

    restate(op, patch, 21, (op.inputs[0], spread(1), spread(2)))


def _layer_17(op: Op, patch: Patch) -> None:
    """Version 1 is onnxruntime's: the scale's type, which the result has, may be another than X's.

    Statistics of another type than float32 and bfloat16 may be asked for there.
    """
    attributes = dict(op.attributes)
    stash = DType(op.attr("stash_type", 1))
    if stash not in (DType.FLOAT32, DType.BFLOAT16):
        if len(op.results) > 1:
            raise InexpressibleError(
                f"LayerNormalization-17 has no statistics of {stash}",
                "leave the statistics out, or ask for float32: stash_type 1",
            )
        attributes["stash_type"] = DType.FLOAT32.value
    kinds = [v.type for v in op.inputs[:2] if v is not None]
    dtypes = {k.dtype for k in kinds if isinstance(k, TensorType)}
    if len(dtypes) < 2:
        restate(op, patch, 17, attributes=attributes)
        return
    build = Build(op, patch)
    wide = max(dtypes, key=lambda d: d.bits)
    wide = DType.FLOAT32 if wide.bits == 16 else wide
    operands = [None if v is None else build.cast(v, wide) for v in op.inputs]
    y, *statistics = build.op(op.type, operands, attributes, len(op.outputs))
    build.done(build.cast(y, build.dtype(1)), *statistics)


_SOFTMAX: Steps = {**_same(11), 13: _softmax_13}

UPGRADES: dict[Key, Steps] = {
    ("", "BatchNormalization"): {7: _batch_7, 9: _batch_9, 14: _batch_14, **_same(15)},
    ("", "GroupNormalization"): {21: _group_21},
    ("", "Hardmax"): _SOFTMAX,
    ("", "InstanceNormalization"): _same(22),
    ("", "LRN"): _same(13),
    ("", "LayerNormalization"): {17: _layer_17},
    ("", "LogSoftmax"): _SOFTMAX,
    ("", "LpNormalization"): _same(22),
    ("", "MeanVarianceNormalization"): _same(13),
    ("", "RMSNormalization"): {},
    ("", "Softmax"): _SOFTMAX,
}
