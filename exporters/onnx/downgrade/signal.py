"""signal: how the canonical version becomes older ones."""

from __future__ import annotations

from math import log, pi
from typing import TYPE_CHECKING

from isomorph.exporters.onnx.downgrade._fourier import counted, dft_17, dft_20, scalar, stft_17
from isomorph.ir.build import Build
from isomorph.ir.semantics.signal import HAMMING
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.patch import Patch
    from isomorph.ir.versions import Rewrite, Steps

    Formula = Callable[[Build, Value], Value]

_WIDE = DType.FLOAT64


def _number(build: Build, value: float) -> Value:
    return build.const(value, _WIDE)


def _half_sine(build: Build, angle: Value) -> Value:
    """sin²(angle / 2), which is (1 - cos(angle)) / 2 without cancellation."""
    sine = build("Sin", build("Mul", angle, _number(build, 0.5)))
    return build("Mul", sine, sine)


def _hamming(build: Build, angle: Value) -> Value:
    wave = build("Mul", build("Cos", angle), _number(build, 1 - HAMMING))
    return build("Sub", _number(build, HAMMING), wave)


def _blackman(build: Build, angle: Value) -> Value:
    rest = build("Sub", _number(build, 2.125), build("Cos", angle))
    return build("Mul", build("Mul", _half_sine(build, angle), _number(build, 0.32)), rest)


def _window(formula: Formula) -> Rewrite:
    """The formula in float64, cast to the type that is asked for."""

    def step(op: Op, patch: Patch) -> None:
        build = Build(op, patch)
        size = scalar(build, build.operand())
        period = size
        if not op.attr("periodic", 1):
            period = build("Sub", size, build.const(1, DType.INT64))
        unit = build("Div", _number(build, 2 * pi), build.cast(period, _WIDE))
        angle = build("Mul", build.cast(counted(build, size), _WIDE), unit)
        build.done(build.cast(formula(build, angle), _asked_for(op)))

    return step


def _asked_for(op: Op) -> DType:
    return DType(op.attr("output_datatype", DType.FLOAT32.value))


def _mel_17(op: Op, patch: Patch) -> None:
    """Points evenly on the mel scale, as frequencies rounded down; triangles between them."""
    build = Build(op, patch)
    bins, length, rate = (scalar(build, build.operand(i)) for i in range(3))
    one, two = (build.const(v, DType.INT64) for v in (1, 2))
    low, high = (_mel(build, build.operand(i)) for i in (3, 4))
    count = build("Add", bins, two)
    step = build("Div", build("Sub", high, low), build.cast(count, _WIDE))
    mels = build("Add", low, build("Mul", step, build.cast(counted(build, count), _WIDE)))
    power = build("Pow", _number(build, 10.0), build("Div", mels, _number(build, 2595.0)))
    hertz = build("Mul", _number(build, 700.0), build("Sub", power, _number(build, 1.0)))
    points = build.cast(build("Add", length, one), _WIDE)
    exact = build("Div", build("Mul", points, hertz), build.cast(rate, _WIDE))
    begin = build("Floor", exact)
    left, centre, right = (_three(build, begin, bins, offset) for offset in range(3))
    rows = build("Add", build("Div", length, two), one)
    at = build("Unsqueeze", build.cast(counted(build, rows), _WIDE), build.ints(1))
    up = build("Div", build("Sub", at, left), build("Sub", centre, left))
    down = build("Div", build("Sub", right, at), build("Sub", right, centre))
    side = build("Where", build("Less", centre, at), down, up)
    inside = build("And", build("Less", left, at), build("Less", at, right))
    zero, whole = _number(build, 0.0), _number(build, 1.0)
    peak = build("Where", build("Less", centre, left), zero, whole)
    slopes = build("Where", inside, side, zero)
    found = build("Where", build("Equal", at, centre), peak, slopes)
    build.done(build.cast(found, _asked_for(op)))


def _mel(build: Build, hertz: Value) -> Value:
    """2595 log₁₀(1 + f / 700) of a scalar."""
    whole = build("Reshape", build.cast(hertz, _WIDE), build.ints())
    ratio = build("Add", _number(build, 1.0), build("Div", whole, _number(build, 700.0)))
    return build("Mul", build("Log", ratio), _number(build, 2595 / log(10)))


def _three(build: Build, points: Value, bins: Value, offset: int) -> Value:
    """One row of those points that are the left ends, peaks or right ends of the triangles."""
    first = build.ints(offset)
    length = build("Reshape", bins, build.ints(1))
    return build("Slice", points, first, build("Add", first, length))


DOWNGRADES: dict[Key, Steps] = {
    ("", "DFT"): {20: dft_20, 17: dft_17},
    ("", "STFT"): {17: stft_17},
    ("", "HannWindow"): {17: _window(_half_sine)},
    ("", "HammingWindow"): {17: _window(_hamming)},
    ("", "BlackmanWindow"): {17: _window(_blackman)},
    ("", "MelWeightMatrix"): {17: _mel_17},
}
