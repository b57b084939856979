"""signal: what each operator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.dims import floor_div
from isomorph.ir.opdef import Key, OpDef, Tolerance
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.context import Context
    from isomorph.ir.dims import Dim
    from isomorph.ir.types import Type

    Types = tuple[Type | None, ...]


def _scalar(ctx: Context, index: int, name: str, least: int) -> Dim:
    """The number that an operand holds, where it is known; run times take one-element vectors too.

    Raises:
        TypeInferenceError: for more than one element, or a number that is too small.
    """
    shape = ctx.shape(index)
    if shape is not None and (len(shape) > 1 or (shape and shape[0] not in (1, None))):
        raise ctx.error(f"{name} has shape {list(shape)}, a scalar was expected")
    known = ctx.dims(index)
    found = known[0] if known is not None and len(known) == 1 else None
    if isinstance(found, int) and found < least:
        raise ctx.error(f"{name} is {found}, at least {least} was expected")
    return found


def one_sided(length: Dim) -> Dim:
    """How many frequencies of a real signal of this length are not mirrored ones."""
    return None if length is None else floor_div(length, 2) + 1


def _dft(ctx: Context) -> Types:
    dtype, shape = ctx.dtype(0), ctx.shape(0)
    inverse, onesided = bool(ctx.attr("inverse", 0)), bool(ctx.attr("onesided", 0))
    length = _scalar(ctx, 1, "dft_length", 1) if ctx.has(1) else None
    axis = _scalar(ctx, 2, "axis", -(2**31)) if ctx.has(2) else -2
    if dtype is None or shape is None:
        return (None if dtype is None else TensorType(dtype, None),)
    rank = len(shape)
    if rank < 2:
        raise ctx.error(f"rank {rank}; a signal and a last axis of 1 or 2 parts were expected")
    _check_parts(ctx, shape[-1], inverse=inverse, onesided=onesided)
    parts = 1 if inverse and onesided else 2
    if not isinstance(axis, int):
        kept = shape[:-1] if not onesided and not ctx.has(1) else (None,) * (rank - 1)
        return (TensorType(dtype, (*kept, parts)),)
    if not -rank <= axis < rank - 1 or axis == -1:
        raise ctx.error(f"axis {axis}; -{rank} to -2, or 0 to {rank - 2} was expected")
    axis %= rank
    if not ctx.has(1):
        own = shape[axis]
        length = own if own is None or not (inverse and onesided) else 2 * (own - 1)
        if isinstance(length, int) and length < 1:
            raise ctx.error(f"a transform of {length} points, from {own} along axis {axis}")
    made = one_sided(length) if onesided and not inverse else length
    return (TensorType(dtype, (*shape[:axis], made, *shape[axis + 1 : -1], parts)),)


def _check_parts(ctx: Context, parts: Dim, *, inverse: bool, onesided: bool) -> None:
    if not isinstance(parts, int):
        return
    if parts not in (1, 2):
        raise ctx.error(f"the last axis holds {parts} parts; 1 (real) or 2 (complex) were expected")
    if onesided and parts != (2 if inverse else 1):
        kind = "inverse one-sided" if inverse else "one-sided"
        wanted = "complex (2 parts)" if inverse else "real (1 part)"
        raise ctx.error(f"the last axis holds {parts} parts; {kind} input is {wanted}")


def _stft(ctx: Context) -> Types:
    dtype, shape, window = ctx.dtype(0), ctx.shape(0), ctx.shape(2)
    if shape is not None and len(shape) != 3:
        raise ctx.error(f"rank {len(shape)}; (batch, samples, 1 or 2 parts) was expected")
    if shape is not None:
        _check_parts(ctx, shape[2], inverse=False, onesided=False)
    if window is not None and len(window) != 1:
        raise ctx.error(f"the window has rank {len(window)}, a vector was expected")
    step = _scalar(ctx, 1, "frame_step", 1)
    length = _scalar(ctx, 3, "frame_length", 1) if ctx.has(3) else None
    samples = shape[1] if shape is not None else None
    if ctx.has(2) and window is not None:
        if isinstance(length, int) and isinstance(window[0], int) and length != window[0]:
            raise ctx.error(f"frame_length is {length}, the window has {window[0]} elements")
        length = window[0] if length is None else length
    elif not ctx.has(2) and not ctx.has(3):
        length = samples
    if isinstance(length, int) and isinstance(samples, int) and length > samples:
        raise ctx.error(f"frames of {length} do not fit a signal of {samples}")
    frames = None
    if samples is not None and length is not None and step is not None:
        frames = floor_div(samples - length, step) + 1
    bins = one_sided(length) if ctx.attr("onesided", 1) else length
    batch = shape[0] if shape is not None else None
    return (None if dtype is None else TensorType(dtype, (batch, frames, bins, 2)),)


def _asked_for(ctx: Context) -> DType:
    return DType(ctx.attr("output_datatype", DType.FLOAT32.value))


def _window(ctx: Context) -> Types:
    return (TensorType(_asked_for(ctx), (_scalar(ctx, 0, "size", 1),)),)


def _mel_weight_matrix(ctx: Context) -> Types:
    bins = _scalar(ctx, 0, "num_mel_bins", 0)
    length = _scalar(ctx, 1, "dft_length", 1)
    _scalar(ctx, 2, "sample_rate", 1)
    for index, name in ((3, "lower_edge_hertz"), (4, "upper_edge_hertz")):
        _scalar(ctx, index, name, 0)
    return (TensorType(_asked_for(ctx), (one_sided(length), bins)),)


# Which bins a Mel filter spans is decided by rounding frequencies down.
OPS: dict[Key, OpDef] = {
    ("", "DFT"): OpDef(_dft, Tolerance.FOURIER),
    ("", "STFT"): OpDef(_stft, Tolerance.FOURIER),
    ("", "HannWindow"): OpDef(_window, Tolerance.FOURIER, ulps=8),
    ("", "HammingWindow"): OpDef(_window, Tolerance.FOURIER, ulps=8),
    ("", "BlackmanWindow"): OpDef(_window, Tolerance.FOURIER, ulps=8),
    ("", "MelWeightMatrix"): OpDef(_mel_weight_matrix, Tolerance.DISCONTINUOUS),
}
