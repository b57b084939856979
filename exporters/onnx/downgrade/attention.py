"""attention: how the canonical version becomes older ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._attention import (
    attention_23,
    attention_24,
    attention_25,
)
from isomorph.exporters.onnx.downgrade._older import computing, single
from isomorph.exporters.onnx.downgrade._recurrence import linear_attention_27
from isomorph.exporters.onnx.downgrade._sizes import (
    LAST,
    minus,
    over,
    part,
    size_of,
    vector,
)
from isomorph.ir.build import Build
from isomorph.ir.types import DType
from isomorph.ir.versions import InexpressibleError

if TYPE_CHECKING:
    from isomorph.exporters.onnx.downgrade._sizes import Size
    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Steps


def _rotary_23(op: Op, patch: Patch) -> None:
    """Pairs are taken apart, turned in float32 at least, and put together again."""
    build = Build(op, patch)
    x, packed = build.operand(), build.rank() == 3
    if packed:
        heads = int(op.attr("num_heads"))
        apart = vector(build, 0, 0, heads, over(build, size_of(build, x, 2), heads))
        x = build("Reshape", x, apart)
    size = size_of(build, x, 3)
    rotated: Size = int(op.attr("rotary_embedding_dim", 0)) or size
    whole = rotated is size or rotated == size
    turned = x if whole else part(build, x, 0, rotated, -1)
    dtype = DType.FLOAT32
    turned = build.cast(turned, dtype)
    between = build.ints(2 if packed else 1)
    cos, sin = (_angles(build, i, between, dtype) for i in (1, 2))
    interleaved = bool(op.attr("interleaved", 0))
    if interleaved:
        first, second = (part(build, turned, i, LAST, -1, 2) for i in (0, 1))
    else:
        first, second = build.op("Split", (turned,), {"axis": -1, "num_outputs": 2}, 2)
    real = build("Sub", build("Mul", cos, first), build("Mul", sin, second))
    imaginary = build("Add", build("Mul", sin, first), build("Mul", cos, second))
    if interleaved:
        pairs = [build("Unsqueeze", p, build.ints(-1)) for p in (real, imaginary)]
        found = build("Concat", *pairs, axis=-1)
        found = build("Reshape", found, vector(build, 0, 0, 0, rotated))
    else:
        found = build("Concat", real, imaginary, axis=-1)
    found = build.cast(found, build.dtype())
    if not whole:
        kept = build("Slice", x, vector(build, rotated), build.ints(LAST), build.ints(-1))
        found = build("Concat", found, kept, axis=-1)
    if packed:
        hidden = size_of(build, build.operand(), 2)
        found = build("Reshape", found, vector(build, 0, 0, hidden))
    build.done(found)


def _angles(build: Build, index: int, axis: Value, dtype: DType) -> Value:
    """Cosines or sines of each token, for all of its heads."""
    cache = build.operand(index)
    places = build.old.input(3)
    if places is not None:
        cache = build("Gather", cache, places, axis=0)
    return build("Unsqueeze", build.cast(cache, dtype), axis)


def _causal_conv_27(op: Op, patch: Patch) -> None:
    """What came before, then the input; a Conv of each channel by itself; the end is the state."""
    build = Build(op, patch)
    x, own = build.operand(), build.dtype()
    taps = size_of(build, build.operand(1), 2)
    before = minus(build, taps, 1)
    past = op.input(3)
    if past is not None:
        padded = build("Concat", past, x, axis=2)
        wide = build.cast(padded, DType.FLOAT32)
    else:
        pads = vector(build, 0, 0, before, 0, 0, 0)
        zero = build.const(0, DType.FLOAT32)
        padded = wide = build("Pad", build.cast(x, DType.FLOAT32), pads, zero)
    weight, bias = build.cast(build.operand(1), DType.FLOAT32), op.input(2)
    shift = None if bias is None else build.cast(bias, DType.FLOAT32)
    channels = size_of(build, build.operand(1), 0)
    if not isinstance(channels, int):
        channels = size_of(build, x, 1)
    if isinstance(channels, int):
        y = build("Conv", wide, weight, *(() if shift is None else (shift,)), group=channels)
    else:
        y = _taps(build, wide, weight, shift, taps)
    if op.attr("activation", "none") != "none":
        y = build("Mul", y, build("Sigmoid", y))
    if isinstance(before, int):
        state = part(build, padded, -before if before else LAST, LAST, 2)
    else:
        start = vector(build, size_of(build, x, 2))
        state = build("Slice", padded, start, build.ints(LAST), build.ints(2))
    build.done(build.cast(y, own), build.cast(state, own))


def _taps(build: Build, wide: Value, weight: Value, shift: Value | None, taps: Size) -> Value:
    """The sum over the kernel, for a number of channels that no Conv could be told."""
    if not isinstance(taps, int):
        raise InexpressibleError(
            "CausalConvWithState: neither the number of channels nor the kernel's size is known",
            "state the shape of its weight",
        )
    total: Value | None = None
    for tap in range(taps):
        left = taps - 1 - tap
        window = part(build, wide, tap, -left if left else LAST, 2)
        factor = build("Squeeze", part(build, weight, tap, tap + 1, 2), build.ints(2))
        term = build("Mul", window, factor)
        total = term if total is None else build("Add", total, term)
    if total is None:
        raise InexpressibleError("CausalConvWithState: its kernel is empty")
    if shift is not None:
        total = build("Add", total, build("Unsqueeze", shift, build.ints(1)))
    return total


def _swiglu_28(op: Op, patch: Patch) -> None:
    """Not by Swish, which opset 24 has and no released run time."""
    build = Build(op, patch)
    (a, dtype), (b, _) = computing(build), computing(build, 1)
    alpha = single(op, "alpha")
    inner = a if alpha == 1 else build("Mul", a, build.const(alpha, dtype))
    gate = build("Mul", a, build("Sigmoid", inner))
    build.done(build.cast(build("Mul", gate, build.cast(b, dtype)), build.dtype()))


DOWNGRADES: dict[Key, Steps] = {
    ("", "Attention"): {25: attention_25, 24: attention_24, 23: attention_23},
    ("", "CausalConvWithState"): {27: _causal_conv_27},
    ("", "LinearAttention"): {27: linear_attention_27},
    ("", "RotaryEmbedding"): {23: _rotary_23},
    ("", "SwiGLU"): {28: _swiglu_28},
}
