"""signal: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import DType


def _signal(*shape: int) -> Arg:
    return Arg(shape, "T1")


def _int(value: int, *, const: bool = True, dtype: str = "T2") -> Arg:
    """A scalar: known beforehand, or at run time only."""
    return Arg((), dtype, value, const=const)


def _axis(value: int, *, const: bool = True) -> Arg:
    return _int(value, const=const, dtype="int64")


def _use(*inputs: Arg | None, note: str = "", bind: str = "int64", **attributes: int) -> Instance:
    return Instance(inputs, attributes, main="T1", note=note, bind={"T2": bind})


def _asked_for(dtype: DType) -> int:
    return dtype.value


def _window(count: int, *, const: bool = True, note: str = "", **attributes: int) -> Instance:
    given: dict[str, Any] = {**attributes, "output_datatype": _asked_for}
    size = _int(count, const=const, dtype="T1")
    return Instance((size,), given, main="T2", note=note, bind={"T1": "int64"})


_WINDOWS = (
    _window(10),
    _window(10, periodic=0, note="symmetric"),
    _window(7, const=False, note="run-time size"),
    _window(8, const=False, periodic=0, note="run-time size, symmetric"),
    _window(1, note="one element"),
    _window(0, const=False, note="nothing"),
)


def _mel(
    bins: int,
    length: int,
    rate: int,
    low: float,
    high: float,
    *,
    const: bool = True,
    note: str = "",
) -> Instance:
    return Instance(
        (
            *(_int(v, const=const, dtype="T1") for v in (bins, length, rate)),
            *(Arg((), "T2", v, const=const) for v in (low, high)),
        ),
        {"output_datatype": _asked_for},
        main="T3",
        note=note,
        bind={"T1": "int64", "T2": "float32"},
    )


_BATCH = _signal(2, 12, 1)
_PAIRS = _signal(2, 12, 2)
_FRAME = Arg((8,), "T1", low=0.0, high=1.0)

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "DFT"): (
        _use(_signal(2, 10, 1)),
        _use(_signal(2, 8, 2), note="complex"),
        _use(_signal(2, 10, 1), onesided=1, note="real to one-sided"),
        _use(_signal(2, 10, 2), inverse=1, note="inverse"),
        _use(_signal(2, 8, 1), inverse=1, note="inverse of a real spectrum"),
        _use(_signal(2, 6, 2), inverse=1, onesided=1, note="one-sided to real"),
        _use(_signal(2, 6, 2), _int(11), inverse=1, onesided=1, note="one-sided to real, odd"),
        _use(_signal(2, 6, 2), _int(16), inverse=1, onesided=1, note="one-sided to real, padded"),
        _use(_signal(3, 10, 4, 2), None, _axis(1), note="axis"),
        _use(_signal(3, 10, 4, 1), None, _axis(-4), onesided=1, note="first axis"),
        _use(_signal(2, 10, 1), _int(16), _axis(1), note="padded"),
        _use(_signal(2, 10, 2), _int(7), _axis(-2), note="cropped"),
        _use(_signal(2, 10, 1), _int(5), _axis(1), onesided=1, bind="int32", note="int32 length"),
        _use(_signal(2, 10, 1), _int(12, const=False), note="run-time length"),
        _use(_signal(2, 9, 1), _int(6, const=False), onesided=1, note="run-time length, real"),
        _use(
            _signal(2, 5, 2),
            _int(9, const=False),
            inverse=1,
            onesided=1,
            note="run-time length, one-sided to real",
        ),
        _use(_signal(3, 4, 5, 1), None, _axis(1, const=False), note="run-time axis"),
        _use(
            _signal(3, 4, 5, 2),
            _int(6, const=False),
            _axis(-2, const=False),
            inverse=1,
            note="run-time length and axis",
        ),
        _use(_signal(10, 2), note="without a batch"),
        _use(_signal(0, 6, 1), note="empty batch"),
    ),
    ("", "STFT"): (
        _use(_BATCH, _int(2), _FRAME, onesided=1),
        _use(_BATCH, _int(3), None, _int(5), onesided=1, note="frame length"),
        _use(_BATCH, _int(2), _FRAME, _int(8), onesided=1, note="window and frame length"),
        _use(_BATCH, _int(4), _FRAME, onesided=0, note="two-sided"),
        _use(_PAIRS, _int(3), _FRAME, onesided=0, note="complex"),
        _use(_PAIRS, _int(3), _FRAME, onesided=1, note="half of complex"),
        _use(_BATCH, _int(1), None, _int(12), onesided=1, note="one frame"),
        _use(
            _BATCH,
            _int(3, const=False),
            None,
            _int(6, const=False),
            bind="int32",
            note="run-time step and length",
        ),
    ),
    ("", "HannWindow"): _WINDOWS,
    ("", "HammingWindow"): _WINDOWS,
    ("", "BlackmanWindow"): _WINDOWS,
    ("", "MelWeightMatrix"): (
        _mel(8, 16, 8192, 0.0, 4096.0),
        _mel(10, 64, 16000, 20.0, 7000.0, note="several bins a triangle"),
        _mel(4, 33, 8000, 300.0, 3400.0, const=False, note="run-time everything"),
        _mel(3, 16, 8000, 2000.0, 2000.0, note="no span"),
        _mel(3, 32, 8000, 3000.0, 1000.0, note="edges the wrong way round"),
    ),
}
