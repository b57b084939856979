"""DFT and STFT by products with matrices of sines and cosines, which the graph computes itself.

The matrices are computed in float64 from exact integers and rounded once. Where lengths are
constants so are the matrices, and run times compute them when they load the model; but the file
holds the formula, not N² numbers.
"""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._older import computing, refuse
from isomorph.ir.build import Build, restate
from isomorph.ir.constants import integers
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.patch import Patch


def scalar(build: Build, value: Value) -> Value:
    """An integer operand as an int64 scalar; vectors of one element are taken for one."""
    found = build.cast(value, DType.INT64)
    if isinstance(found.type, TensorType) and found.type.shape == ():
        return found
    return build("Reshape", found, build.ints())


def counted(build: Build, size: Value) -> Value:
    """0, 1, … up to a size."""
    return build("Range", build.const(0, DType.INT64), size, build.const(1, DType.INT64))


def size_of(build: Build, value: Value, axis: int) -> Value:
    """The size of an axis: a constant where it is known."""
    known = _dim(value, axis)
    if isinstance(known, int):
        return build.const(known, DType.INT64)
    return build("Gather", build("Shape", value), build.const(axis, DType.INT64))


def _dim(value: Value, axis: int) -> Dim:
    kind = value.type
    return kind.shape[axis] if isinstance(kind, TensorType) and kind.shape is not None else None


def _half(build: Build, length: Value) -> Value:
    """How many frequencies a real signal of that length has: length // 2 + 1."""
    one, two = (build.const(v, DType.INT64) for v in (1, 2))
    return build("Add", build("Div", length, two), one)


# -- the axis at run time -----------------------------------------------------------------


def dft_20(op: Op, patch: Patch) -> None:
    """The axis becomes an attribute; one that is computed becomes the middle of three."""
    axis = integers(op.input(2))
    if op.input(2) is None or axis is not None:
        attributes = {**op.attributes, "axis": -2 if axis is None else axis[0]}
        restate(op, patch, 17, op.inputs[:2], attributes)
        return
    build = Build(op, patch)
    x, rank = build.operand(), build.rank()
    shape, last = build("Shape", x), build.ints(rank - 1)
    at = scalar(build, build.operand(2))
    at = build("Mod", at, build.const(rank, DType.INT64))
    axes, one = build.ints(*range(rank - 1)), build.ints(1)
    sizes = build("Slice", shape, build.ints(0), last)
    own = build("Equal", axes, at)
    before, along, after = (
        build("ReduceProd", build("Where", taken, sizes, one), build.ints(0))
        for taken in (build("Less", axes, at), own, build("Less", at, axes))
    )
    parts = build("Slice", shape, last, build.ints(rank))
    zeros = None if _full(x) else 1  # 0 is a size, not "the same as before"
    whole = build("Concat", before, along, after, parts, axis=0)
    inner = build("Reshape", x, whole, allowzero=zeros)
    middle = build.const(1, DType.INT64)
    found = build("DFT", inner, op.input(1), middle, **op.attributes)
    made = build("Slice", build("Shape", found), build.ints(1), build.ints(2))
    kept = build("Where", own, made, sizes)
    count = 1 if op.attr("inverse") and op.attr("onesided") else 2
    outer = build("Concat", kept, build.ints(count), axis=0)
    build.done(build("Reshape", found, outer, allowzero=zeros))


def _full(value: Value) -> bool:
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return shape is not None and all(isinstance(d, int) and d > 0 for d in shape)


# -- the transform ------------------------------------------------------------------------


def dft_17(op: Op, patch: Patch) -> None:
    """Real and imaginary parts, along the last axis, times the matrices; and back in place."""
    build = Build(op, patch)
    x, dtype = computing(build)
    rank, parts = build.rank(), _parts(build)
    axis = op.attr("axis", 1) % rank
    inverse, onesided = bool(op.attr("inverse", 0)), bool(op.attr("onesided", 0))
    last = rank - 2
    perm = [a for a in range(rank - 1) if a != axis] + [axis]
    back = tuple(perm.index(a) for a in range(rank - 1))

    def signal(part: int) -> Value:
        found = build("Gather", x, build.const(part, DType.INT64), axis=-1)
        return found if axis == last else build("Transpose", found, perm=tuple(perm))

    given = op.input(1)
    own = size_of(build, x, axis)
    length = scalar(build, given) if given is not None else own
    if given is None and inverse and onesided:
        one, two = (build.const(v, DType.INT64) for v in (1, 2))
        length = build("Mul", build("Sub", own, one), two)
    real, imaginary = signal(0), signal(1) if parts == 2 else None
    if given is not None:  # what is beyond the length is not read
        read = _half(build, length) if inverse and onesided else length
        ends = (build.ints(0), build("Reshape", read, build.ints(1)), build.ints(-1))
        real = build("Slice", real, *ends)
        imaginary = None if imaginary is None else build("Slice", imaginary, *ends)
    rows = size_of(build, real, last)
    columns = _half(build, length) if onesided and not inverse else length
    cosine, sine = _matrices(build, rows, columns, length, dtype, inverse, inverse and onesided)
    result = [_product(build, real, cosine, imaginary, sine, minus=inverse)]
    if not (inverse and onesided):
        result.append(_other(build, real, imaginary, cosine, sine, inverse))
    if axis != last:
        result = [build("Transpose", part, perm=back) for part in result]
    stacked = [build("Unsqueeze", part, build.ints(-1)) for part in result]
    whole = stacked[0] if len(stacked) == 1 else build("Concat", *stacked, axis=-1)
    build.done(build.cast(whole, build.dtype()))


def _parts(build: Build) -> int:
    found = _dim(build.operand(), -1)
    if not isinstance(found, int):
        refuse(build.old, "whether its signal is real or complex is not known")
    return found


def _product(
    build: Build, a: Value, first: Value, b: Value | None, second: Value, *, minus: bool
) -> Value:
    """a·first plus or minus b·second."""
    found = build("MatMul", a, first)
    if b is None:
        return found
    return build("Sub" if minus else "Add", found, build("MatMul", b, second))


def _other(
    build: Build,
    real: Value,
    imaginary: Value | None,
    cosine: Value,
    sine: Value,
    inverse: bool,
) -> Value:
    """The imaginary part: of e^(∓ia)·(real + i·imaginary)."""
    turned = build("MatMul", real, sine)
    if imaginary is None:
        return turned if inverse else build("Neg", turned)
    straight = build("MatMul", imaginary, cosine)
    return build("Add" if inverse else "Sub", straight, turned)


def _matrices(
    build: Build,
    rows: Value,
    columns: Value,
    length: Value,
    dtype: DType,
    inverse: bool,
    mirrored: bool,
) -> tuple[Value, Value]:
    """Cosine and sine of 2π jk / length for j in rows and k in columns, jk reduced as an integer.

    They are 0 where they should be, which those of a rounded angle are not.

    An inverse is divided by the length. In a mirrored one (one-sided to real) every row stands for
    its mirror image too, but for the first and, of an even length, the middle one.
    """
    wide = DType.FLOAT64
    j = build("Unsqueeze", counted(build, rows), build.ints(1))
    k = build("Unsqueeze", counted(build, columns), build.ints(0))
    turns = build("Mod", build("Mul", j, k), length)
    step = build("Div", build.const(2 * pi, wide), build.cast(length, wide))
    angle = build("Mul", build.cast(turns, wide), step)
    nothing, none = build.const(0.0, wide), build.const(0, DType.INT64)
    halves, quarters = (
        build("Equal", build("Mod", build("Mul", turns, build.const(n, DType.INT64)), length), none)
        for n in (2, 4)
    )
    odd = build("And", quarters, build("Not", halves))
    found = [
        build("Where", odd, nothing, build("Cos", angle)),
        build("Where", halves, nothing, build("Sin", angle)),
    ]
    if inverse:
        scale = build("Div", build.const(1.0, wide), build.cast(length, wide))
        if mirrored:
            two = build.const(2, DType.INT64)
            twice = build("Mod", build("Mul", j, two), length)
            alone = build("Equal", twice, build.const(0, DType.INT64))
            one, both = (build.const(v, wide) for v in (1.0, 2.0))
            scale = build("Mul", build("Where", alone, one, both), scale)
        found = [build("Mul", part, scale) for part in found]
    cosine, sine = (build.cast(part, dtype) for part in found)
    return cosine, sine


# -- frames -------------------------------------------------------------------------------


def stft_17(op: Op, patch: Patch) -> None:
    """Gather the frames, multiply by the window, and transform."""
    build = Build(op, patch)
    x, dtype = computing(build)
    window, onesided = op.input(2), bool(op.attr("onesided", 1))
    given = op.input(3)
    if given is not None:
        length = scalar(build, given)
    else:
        length = size_of(build, x, 1) if window is None else size_of(build, window, 0)
    step = scalar(build, build.operand(1))
    spare = build("Sub", size_of(build, x, 1), length)
    frames = build("Add", build("Div", spare, step), build.const(1, DType.INT64))
    starts = build("Unsqueeze", build("Mul", counted(build, frames), step), build.ints(1))
    places = build("Add", starts, build("Unsqueeze", counted(build, length), build.ints(0)))
    framed = build("Gather", x, places, axis=1)
    if window is not None:
        column = build("Unsqueeze", build.cast(window, dtype), build.ints(1))
        framed = build("Mul", framed, column)
    axis = build.const(2, DType.INT64)
    if onesided and _parts(build) == 1:
        found = build("DFT", framed, None, axis, onesided=1)
    else:
        found = build("DFT", framed, None, axis)
        if onesided:
            end = build("Reshape", _half(build, length), build.ints(1))
            found = build("Slice", found, build.ints(0), end, build.ints(2))
    build.done(build.cast(found, build.dtype()))
