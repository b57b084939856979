"""normalization: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._older import same, single, widened
from isomorph.ir.build import Build, restate
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _wide(build: Build, count: int) -> tuple[list[Value], DType]:
    """The first operands in one float type that is at least float32."""
    wanted = DType.FLOAT32
    for index in range(count):
        if build.old.input(index) is not None and build.dtype(index) is DType.FLOAT64:
            wanted = DType.FLOAT64
    present = [build.old.input(i) for i in range(count)]
    return [build.cast(v, wanted) for v in present if v is not None], wanted


def _epsilon(build: Build, dtype: DType) -> Value:
    return build.const(single(build.old, "epsilon"), dtype)


def _last_axes(build: Build) -> tuple[int, ...]:
    """The axes from `axis` to the last, counted from behind where the attribute does."""
    axis = int(build.old.attr("axis", -1))
    return tuple(range(axis, 0)) if axis < 0 else tuple(range(axis, build.rank()))


def _layer_17(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    operands, dtype = _wide(build, 3)
    x, scale = operands[:2]
    axes = build.ints(*_last_axes(build))
    mean = build("ReduceMean", x, axes)
    difference = build("Sub", x, mean)
    variance = build("ReduceMean", build("Mul", difference, difference), axes)
    deviation = build("Sqrt", build("Add", variance, _epsilon(build, dtype)))
    result = build("Mul", build("Div", difference, deviation), scale)
    if len(operands) == 3:
        result = build("Add", result, operands[2])
    stash = DType(op.attr("stash_type", 1))
    wanted = [*op.outputs, None, None]
    build.done(
        build.cast(result, build.dtype()),
        build.cast(mean, stash) if wanted[1] is not None else None,
        build.cast(build("Reciprocal", deviation), stash) if wanted[2] is not None else None,
    )


def _rms_23(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    (x, scale), dtype = _wide(build, 2)
    mean = build("ReduceMean", build("Mul", x, x), build.ints(*_last_axes(build)))
    root = build("Sqrt", build("Add", mean, _epsilon(build, dtype)))
    build.done(build.cast(build("Mul", build("Div", x, root), scale), build.dtype(1)))


def _group_21(op: Op, patch: Patch) -> None:
    """Normalized as instances, neutrally; scale and bias of the channels are applied after."""
    build = Build(op, patch)
    (x, scale, shift), dtype = _wide(build, 3)
    neutral = [build.const([n] * int(op.attr("num_groups")), dtype) for n in (1, 0)]
    behind = build.ints(*range(1, build.rank() - 1))

    def spread(parameter: Value) -> Value:
        return build("Unsqueeze", parameter, behind) if build.rank() > 2 else parameter

    normal = _instances(build, x, *neutral)
    result = build("Add", build("Mul", normal, spread(scale)), spread(shift))
    build.done(build.cast(result, build.dtype()))


def _group_18(op: Op, patch: Patch) -> None:
    build = Build(op, patch)
    (x, scale, shift), _ = _wide(build, 3)
    build.done(build.cast(_instances(build, x, scale, shift), build.dtype()))


def _instances(build: Build, x: Value, scale: Value, shift: Value) -> Value:
    """Groups are what InstanceNormalization calls channels, once all of a group is one axis."""
    rows = build("Reshape", x, build.ints(0, int(build.old.attr("num_groups")), -1))
    epsilon = build.old.attr("epsilon", 1e-5)
    found = build("InstanceNormalization", rows, scale, shift, epsilon=epsilon)
    return build("Reshape", found, build("Shape", x))


def _batch_15(op: Op, patch: Patch) -> None:
    """Scale and bias had the type of X."""
    build = Build(op, patch)
    kinds = {build.dtype(i) for i in range(3)}
    if len(kinds) == 1 and build.dtype(3) is build.dtype(4):
        restate(op, patch, 14)
        return
    operands, dtype = _wide(build, 5)
    running = op.attributes.get("training_mode", 0)
    made = patch.op(
        op.type,
        operands,
        op.attributes,
        version=14,
        outputs=3 if running and len(op.outputs) > 1 else 1,
        types=[_typed(op.output, dtype), operands[3].type, operands[4].type],
    )
    results = [
        None if old is None else build.cast(new, _dtype(old))
        for old, new in zip(op.outputs, made.results, strict=False)
    ]
    build.done(*results)


def _batch_14(op: Op, patch: Patch) -> None:
    """All operands had one type, and training gave other results: it is written out."""
    build = Build(op, patch)
    if op.attr("training_mode", 0):
        _train(build)
        return
    kinds = {build.dtype(i) for i in range(5)}
    given = {k: v for k, v in op.attributes.items() if k != "training_mode"}
    if len(kinds) == 1 and DType.BFLOAT16 not in kinds:
        restate(op, patch, 9, attributes=given)
        return
    operands, dtype = _wide(build, 5)
    made = patch.op(op.type, operands, given, version=9, types=(_typed(op.output, dtype),))
    build.done(build.cast(made.output, build.dtype()))


def _train(build: Build) -> None:
    """Y from the batch's own statistics, and the running ones moved towards them."""
    op, rank = build.old, build.rank()
    (x, scale, shift, mean, variance), dtype = _wide(build, 5)
    axes = build.ints(*(i for i in range(rank) if i != 1))
    behind = build.ints(*range(1, rank - 1))

    def spread(parameter: Value) -> Value:
        return build("Unsqueeze", parameter, behind) if rank > 2 else parameter

    own_mean = build("ReduceMean", x, axes, keepdims=0)
    difference = build("Sub", x, spread(own_mean))
    own_variance = build("ReduceMean", build("Mul", difference, difference), axes, keepdims=0)
    deviation = build("Sqrt", build("Add", own_variance, _epsilon(build, dtype)))
    scaled = build("Mul", build("Div", difference, spread(deviation)), spread(scale))
    results: list[Value | None] = [build("Add", scaled, spread(shift))]
    momentum = single(op, "momentum")
    keep, take = build.const(momentum, dtype), build.exact(1 - momentum, dtype)
    for running, own in ((mean, own_mean), (variance, own_variance)):
        results.append(build("Add", build("Mul", running, keep), build("Mul", own, take)))
    build.done(
        *(
            None if old is None or new is None else build.cast(new, _dtype(old))
            for old, new in zip(op.outputs, results, strict=False)
        )
    )


def _softmax_13(op: Op, patch: Patch) -> None:
    """Before 13 all axes from `axis` on are one: the axis is moved to the end."""
    build = Build(op, patch)
    axis = int(op.attr("axis", -1))
    x = build.operand()
    shape = x.type.shape if isinstance(x.type, TensorType) else None
    if axis == -1 or (shape is not None and all(d == 1 for d in shape[axis + 1 :])):
        restate(op, patch, 11, attributes={"axis": axis})
        return
    rank = build.rank()
    axis %= rank
    if build.dtype() is DType.BFLOAT16:
        restate(op, patch, 11)  # refuses, by its type
        return
    order = [i for i in range(rank) if i != axis] + [axis]
    back = [order.index(i) for i in range(rank)]
    moved = build("Transpose", x, perm=tuple(order))
    made = patch.op(op.type, (moved,), {"axis": -1}, version=11, types=(moved.type,))
    build.done(build("Transpose", made.output, perm=tuple(back)))


def _dtype(value: Value) -> DType:
    return value.type.dtype if isinstance(value.type, TensorType) else DType.FLOAT32


def _typed(value: Value, dtype: DType) -> TensorType:
    return TensorType(dtype, value.type.shape if isinstance(value.type, TensorType) else None)


_SOFTMAX: Steps = {13: _softmax_13}

DOWNGRADES: dict[Key, Steps] = {
    ("", "BatchNormalization"): {15: _batch_15, 14: _batch_14},
    ("", "GroupNormalization"): {21: _group_21, 18: _group_18},
    ("", "Hardmax"): _SOFTMAX,
    ("", "InstanceNormalization"): {22: widened},
    ("", "LRN"): same(13),
    ("", "LayerNormalization"): {17: _layer_17},
    ("", "LogSoftmax"): _SOFTMAX,
    ("", "LpNormalization"): {22: widened},
    ("", "MeanVarianceNormalization"): same(13),
    ("", "RMSNormalization"): {23: _rms_23},
    ("", "Softmax"): _SOFTMAX,
}
