"""signal: what each operator computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import Impl
from isomorph.ir.semantics import _numeric as n
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from isomorph.ir.opdef import Key
    from isomorph.ir.semantics import Call

    Array = npt.NDArray[Any]

HAMMING = 25 / 46
"""The constant of a Hamming window; the function body in ONNX rounds it to float32."""


LONGEST = 1 << 22
"""Products that a transform of infinities is worth."""


def problem(call: Call, message: str) -> Exception:
    """The error for operands that do not fit the op."""
    return TypeInferenceError(f"{call.op}: {message}")


def number(call: Call, operand: Any, name: str, least: int | None = None) -> int:
    """The integer that a scalar operand (or a vector of one element, as run times allow) holds."""
    array = np.asarray(operand)
    if array.size != 1:
        raise problem(call, f"{name} has shape {list(array.shape)}, a scalar was expected")
    found = int(array.reshape(()))
    if least is not None and found < least:
        raise problem(call, f"{name} is {found}, at least {least} was expected")
    return found


def dft_axis(call: Call, rank: int, axis: Any) -> int:
    """The axis of a DFT, not negative: an operand since version 20, an attribute before."""
    stated = call.attr("axis", 1) if call.op.version < 20 else -2 if axis is None else None
    found = number(call, axis, "axis") if stated is None else int(stated)
    if not -rank <= found < rank - 1 or found == -1:
        raise problem(call, f"axis {found}; -{rank} to -2, or 0 to {rank - 2} was expected")
    return found % rank


def dft_length(call: Call, x: Array, length: Any, axis: int) -> int:
    """How many points are transformed."""
    if length is not None:
        return number(call, length, "dft_length", 1)
    own = x.shape[axis]
    found = 2 * (own - 1) if call.attr("inverse", 0) and call.attr("onesided", 0) else own
    if found < 1:
        raise problem(call, f"a transform of {found} points, from {own} along axis {axis}")
    return found


def joined(x: Array) -> Array:
    """Real and imaginary parts along the last axis as one number; real ones as they are."""
    if x.shape[-1] == 1:
        return x[..., 0]
    # Not x + iy: an infinite y would make x NaN.
    return np.ascontiguousarray(x).view(np.result_type(x.dtype, np.complex64))[..., 0]


def parted(y: Array) -> Array:
    """The reverse: parts along a new last axis."""
    return np.stack([np.real(y), np.imag(y)], -1)


def transform(signal: Array, points: int, axis: int, *, inverse: bool, onesided: bool) -> Array:
    """Signals along an axis, cropped or padded with zeros at the end, as complex or real numbers.

    A one-sided inverse reads the first points // 2 + 1 frequencies, and its result is real. What
    infinities and NaN become is what the sum says, not what a fast algorithm makes of them.
    """
    lines = np.moveaxis(signal, axis, -1)
    real = inverse and onesided
    read = lines[..., : points // 2 + 1 if real else points]
    if not read.shape[-1]:  # numpy transforms no signals of no samples
        read = np.zeros((*read.shape[:-1], 1), read.dtype)
    if real:
        found = np.fft.irfft(read, points)
    elif onesided and not inverse and read.dtype.kind != "c":
        found = np.fft.rfft(read, points)
    else:
        found = (np.fft.ifft if inverse else np.fft.fft)(read, points)
        found = found[..., : points // 2 + 1] if onesided else found
    odd = ~np.isfinite(read).all(-1)
    if odd.any():
        found[odd] = _summed(read[odd], points, found.shape[-1], inverse=inverse, real=real)
    return np.moveaxis(found, -1, axis)


def _summed(lines: Array, points: int, count: int, *, inverse: bool, real: bool) -> Array:
    """The same term by term, in float64: Σ x·e^(∓2πi jk / points); NaN where it is a long sum."""
    if lines.shape[-1] * count > LONGEST:
        return np.full((len(lines), count), np.nan)
    at = np.arange(lines.shape[-1], dtype=np.int64)[:, None]
    turns = at * np.arange(count, dtype=np.int64) % points
    halves, quarters = 2 * turns % points == 0, 4 * turns % points == 0
    angle = 2 * np.pi / points * turns
    scale = np.full(at.shape, 1 / points if inverse else 1.0)
    if real:
        scale = np.where(2 * at % points == 0, scale, 2 * scale)
    cosine = scale * np.where(quarters & ~halves, 0.0, np.cos(angle))
    sine = scale * np.where(halves, 0.0, np.sin(angle) if inverse else -np.sin(angle))
    straight, turned = np.real(lines) @ cosine, np.real(lines) @ sine
    if lines.dtype.kind == "c":
        straight = straight - np.imag(lines) @ sine
        turned = turned + np.imag(lines) @ cosine
    return straight if real else joined(np.stack([straight, turned], -1))


def _dft(call: Call, x: Any, length: Any = None, axis: Any = None) -> Array:
    a = n.up(x)
    if a.ndim < 2 or a.shape[-1] not in (1, 2):
        raise problem(call, f"shape {list(a.shape)}; a last axis of 1 or 2 parts was expected")
    inverse, onesided = bool(call.attr("inverse", 0)), bool(call.attr("onesided", 0))
    if onesided and a.shape[-1] != (2 if inverse else 1):
        kind = "complex" if inverse else "real"
        raise problem(call, f"shape {list(a.shape)}; a {kind} signal was expected here")
    along = dft_axis(call, a.ndim, axis)
    points = dft_length(call, a, length, along)
    found = transform(joined(a), points, along, inverse=inverse, onesided=onesided)
    return n.like(found[..., None] if inverse and onesided else parted(found), x)


def frames_of(call: Call, x: Array, step: Any, window: Any, length: Any) -> Array:
    """The frames (batch, frames, samples, parts) of a signal, times the window."""
    if x.ndim != 3 or x.shape[-1] not in (1, 2):
        raise problem(call, f"shape {list(x.shape)}; (batch, samples, 1 or 2 parts) was expected")
    size = None if window is None else int(np.size(window))
    count = size if length is None else number(call, length, "frame_length", 1)
    count = x.shape[1] if count is None else count
    if size is not None and size != count:
        raise problem(call, f"frame_length is {count}, the window has {size} elements")
    if not 1 <= count <= x.shape[1]:
        raise problem(call, f"frames of {count} do not fit a signal of {x.shape[1]}")
    every = np.lib.stride_tricks.sliding_window_view(x, count, 1)
    frames = np.moveaxis(every[:, :: number(call, step, "frame_step", 1)], -1, 2)
    return frames if window is None else frames * n.up(window)[:, None]


def _stft(call: Call, x: Any, step: Any, window: Any = None, length: Any = None) -> Array:
    """Of a complex signal too, `onesided` (the default) keeps the first length // 2 + 1 bins."""
    frames = frames_of(call, n.up(x), step, window, length)
    onesided, count = bool(call.attr("onesided", 1)), frames.shape[2]
    return n.like(parted(transform(joined(frames), count, 2, inverse=False, onesided=onesided)), x)


def _hann(angle: Array) -> Array:
    return np.sin(angle / 2) ** 2


def _hamming(angle: Array) -> Array:
    return HAMMING - (1 - HAMMING) * np.cos(angle)


def _blackman(angle: Array) -> Array:
    """0.42 - 0.5 cos a + 0.08 cos 2a, without its cancellation near 0."""
    return 0.32 * np.sin(angle / 2) ** 2 * (2.125 - np.cos(angle))


def _window(formula: Callable[[Array], Array]) -> Impl:
    """In float64, rounded (truncated, where integers are asked for) to the type that is asked for.

    A symmetric window of one element is 0/0, as in the function bodies.
    """

    def run(call: Call, size: Any) -> Array:
        count = number(call, size, "size", 0)
        period = np.float64(count if call.attr("periodic", 1) else count - 1)
        found = formula(2 * np.pi / period * np.arange(count))
        return found.astype(call.float_dtype(_asked_for(call)))

    return Impl(run)


def _asked_for(call: Call) -> DType:
    return DType(call.attr("output_datatype", DType.FLOAT32.value))


def mel_points(
    bins: int, length: int, rate: int, lowest: float, highest: float
) -> npt.NDArray[np.float64]:
    """Where triangles begin, peak and end, as frequencies of the transform, before rounding down.

    They lie evenly on the mel scale, `bins + 2` of them, the last one step below the highest.
    """
    low, high = (2595 * np.log10(1 + np.float64(edge) / 700) for edge in (lowest, highest))
    mels = low + (high - low) / (bins + 2) * np.arange(bins + 2)
    return (length + 1) * (700 * (np.power(10.0, mels / 2595) - 1)) / rate


def _mel_weight_matrix(
    call: Call, bins: Any, length: Any, rate: Any, lowest: Any, highest: Any
) -> Array:
    """Triangles of height 1 between three neighbouring points, which are rounded down."""
    count = number(call, bins, "num_mel_bins", 0)
    points = number(call, length, "dft_length", 1)
    per_second = number(call, rate, "sample_rate", 1)
    edges = [float(n.up(e).reshape(-1)[0]) for e in (lowest, highest)]
    rows = points // 2 + 1
    exact = np.floor(mel_points(count, points, per_second, *edges))
    if not ((exact >= 0) & (exact < rows)).all():
        raise problem(
            call,
            f"edges of {edges[0]:g} to {edges[1]:g} hertz at {per_second} samples a second reach "
            f"beyond the {rows} frequencies of a transform of {points} points",
        )
    left, centre, right = exact[:-2], exact[1:-1], exact[2:]
    at = np.arange(rows)[:, None]
    rising = np.where(at <= centre, (at - left) / (centre - left), (right - at) / (right - centre))
    inside = (at > left) & (at < right) & (left < right)
    found = np.where(at == centre, left <= centre, np.where(inside, rising, 0.0))
    return found.astype(call.float_dtype(_asked_for(call)))


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "DFT"): (Impl(_dft),),
    ("", "STFT"): (Impl(_stft),),
    ("", "HannWindow"): (_window(_hann),),
    ("", "HammingWindow"): (_window(_hamming),),
    ("", "BlackmanWindow"): (_window(_blackman),),
    ("", "MelWeightMatrix"): (Impl(_mel_weight_matrix),),
}
