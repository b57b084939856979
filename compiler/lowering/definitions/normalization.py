"""normalization: by norms of lines, sums over neighbouring channels, a batch's own moments."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from isomorph.ir.build import Build
from isomorph.ir.types import DType, TensorType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite


def computing(build: Build, index: int = 0) -> tuple[Value, DType]:
    """An operand in the type that kernels compute it in: float32 for what is stored in 16 bits."""
    stored = build.dtype(index)
    dtype = DType.FLOAT32 if stored in {DType.FLOAT16, DType.BFLOAT16} else stored
    return build.cast(build.operand(index), dtype), dtype


def _shape(value: Value) -> tuple[int, ...]:
    kind = value.type
    shape = kind.static_shape if isinstance(kind, TensorType) else None
    if shape is None:
        raise InexpressibleError("its shape is not known")
    return shape


def _lp(op: Op, patch: Patch) -> None:
    """X / ‖x‖ along an axis, 0 where the norm is."""
    build = Build(op, patch)
    x, dtype = computing(build)
    kind = f"ReduceL{int(op.attr('p', 2))}"
    norm = build(kind, x, build.ints(int(op.attr("axis", -1))), keepdims=1)
    zero = build.const(0, dtype)
    found = build("Where", build("Equal", norm, zero), zero, build("Div", x, norm))
    build.done(build.cast(found, build.dtype()))


def _lrn(op: Op, patch: Patch) -> None:
    """X / (bias + alpha · mean of the squares of `size` channels around)^beta, zeros beyond."""
    build = Build(op, patch)
    x, dtype = computing(build)
    shape = _shape(x)
    size = int(op.attr("size"))
    flat = build.ints(shape[0], 1, shape[1], prod(shape[2:]))
    squares = build("Reshape", build("Mul", x, x), flat)
    before = (size - 1) // 2
    mean = build(
        "AveragePool",
        squares,
        kernel_shape=(size, 1),
        pads=(before, 0, size - 1 - before, 0),
        count_include_pad=1,
    )
    alpha, bias, beta = (_number(build, name, dtype) for name in ("alpha", "bias", "beta"))
    scaled = build("Mul", build("Reshape", mean, build.ints(*shape)), alpha)
    found = build("Div", x, build("Pow", build("Add", scaled, bias), beta))
    build.done(build.cast(found, build.dtype()))


def _number(build: Build, name: str, dtype: DType) -> Value:
    return build.const(float(build.old.attr(name)), dtype)


def _batch(op: Op, patch: Patch) -> None:
    """In training: by the moments of the batch, which move the running ones."""
    if not op.attr("training_mode", 0):
        raise InexpressibleError("in evaluation it has a kernel")
    build = Build(op, patch)
    x, dtype = computing(build)
    rank = build.rank()
    axes = build.ints(*(n for n in range(rank) if n != 1))
    mean = build("ReduceMean", x, axes, keepdims=1)
    apart = build("Sub", x, mean)
    variance = build("ReduceMean", build("Mul", apart, apart), axes, keepdims=1)
    spread = build("Sqrt", build("Add", variance, _number(build, "epsilon", dtype)))
    column = build.ints(-1, *[1] * (rank - 2))
    scale, bias = (build("Reshape", build.cast(build.operand(n), dtype), column) for n in (1, 2))
    y = build("Add", build("Mul", build("Div", apart, spread), scale), bias)
    kept = float(op.attr("momentum"))
    moved: list[Value] = []
    for index, own in ((3, mean), (4, variance)):
        before = _times(build, build.operand(index), kept, dtype)
        moved.append(build("Add", before, _times(build, own, 1 - kept, dtype)))
    stored = [build.cast(v, build.dtype(n)) for v, n in zip(moved, (3, 4), strict=True)]
    build.done(build.cast(y, build.dtype()), *stored)


def _times(build: Build, value: Value, factor: float, dtype: DType) -> Value:
    flat = build("Reshape", build.cast(value, dtype), build.ints(-1))
    return build("Mul", flat, build.const(factor, dtype))


DEFINITIONS: dict[Key, Rewrite] = {
    ("", "BatchNormalization"): _batch,
    ("", "LRN"): _lrn,
    ("", "LpNormalization"): _lp,
}
