"""image: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.instances import Arg, Instance

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

_X = Arg((2, 3, 4, 5), "T1")
_GRID = Arg((2, 3, 4, 2), "T2", low=-1.6, high=1.6)
_VOLUME = Arg((1, 2, 3, 4, 2), "T1")
_PLACES = Arg((1, 2, 2, 3, 3), "T2", low=-1.6, high=1.6)
_FLOATS = ("float32", "float64", "float16", "bfloat16")
_INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
_NUMBERS = (*_FLOATS, *_INTEGERS, "bool")
_HALVES = (-1.0, -0.75, -0.5, 0.0, 0.5, 0.75, 1.0, -2.0)


def _sample(
    x: Arg, grid: Arg, mode: str, padding: str, corners: int, *dtypes: str, note: str = ""
) -> Instance:
    return Instance(
        (x, grid),
        {"mode": mode, "padding_mode": padding, "align_corners": corners},
        main="T1",
        dtypes=dtypes or ("float32",),
        bind={"T2": "float32"},
        note=" ".join(filter(None, (note, mode, padding, "aligned" if corners else ""))),
    )


def _size(*sizes: int, const: bool = True) -> Arg:
    return Arg((len(sizes),), "int64", sizes, const=const)


def _affine(theta: tuple[int, ...], size: Arg, note: str, corners: int = 0) -> Instance:
    return Instance((Arg(theta, "T1"), size), {"align_corners": corners}, main="T1", note=note)


BMP = (
    *(66, 77, 70, 0, 0, 0, 0, 0, 0, 0, 54, 0, 0, 0),  # header: 70 bytes, pixels from 54 on
    *(40, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 1, 0, 24, 0, 0, 0, 0, 0, 16, 0, 0, 0),
    *(0,) * 16,
    *(1, 2, 3, 40, 50, 60, 0, 0),  # the lower row, blue green red, padded to four bytes
    *(255, 0, 0, 7, 200, 9, 0, 0),
)
"""Two by two pixels in the plainest of the formats."""


def _decode(stream: tuple[int, ...], note: str, **attributes: str) -> Instance:
    return Instance((Arg((len(stream),), "T1", stream),), attributes, main="T1", note=note)


INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "GridSample"): (
        Instance((_X, _GRID), main="T1", bind={"T2": "float32"}, dtypes=_NUMBERS),
        *(
            _sample(_X, _GRID, mode, padding, corners, *(_FLOATS if not corners else ()))
            for mode in ("nearest", "linear", "cubic")
            for padding in ("zeros", "border", "reflection")
            for corners in (0, 1)
        ),
        *(
            _sample(_VOLUME, _PLACES, mode, padding, corners, note="volume")
            for mode in ("nearest", "linear")
            for padding in ("zeros", "border", "reflection")
            for corners in (0, 1)
        ),
        _sample(_VOLUME, _PLACES, "cubic", "reflection", 0, note="volume"),
        _sample(Arg((2, 2, 7), "T1"), Arg((2, 5, 1), "T2"), "linear", "zeros", 0, note="line"),
        _sample(
            _X, Arg((2, 2, 2, 2), "T2", _HALVES * 2), "nearest", "zeros", 0, note="between elements"
        ),
        _sample(
            Arg((1, 1, 1, 1), "T1"),
            Arg((1, 2, 2, 2), "T2", _HALVES),
            "linear",
            "reflection",
            1,
            note="one element",
        ),
        *(
            Instance(
                (_X, _GRID),
                {"mode": "nearest"},
                main="T1",
                bind={"T2": kind},
                note=f"{kind} grid",
                dtypes=("float32", "float64", "uint8", "bool", "string", "complex64"),
            )
            for kind in ("float64", "float16")
        ),
        _sample(Arg((0, 2, 3, 3), "T1"), Arg((0, 2, 2, 2), "T2"), "linear", "zeros", 0, note="no"),
    ),
    ("", "AffineGrid"): (
        _affine((2, 2, 3), _size(2, 3, 4, 5), "plane"),
        _affine((2, 2, 3), _size(2, 3, 4, 5), "plane, corners aligned", 1),
        _affine((1, 3, 4), _size(1, 1, 2, 3, 4), "space"),
        _affine((1, 3, 4), _size(1, 1, 2, 3, 4), "space, corners aligned", 1),
        _affine((2, 2, 3), _size(2, 1, 3, 2, const=False), "run-time size"),
        _affine((1, 3, 4), _size(1, 1, 2, 2, 3, const=False), "run-time size, space", 1),
        _affine((1, 2, 3), _size(1, 1, 1, 1), "one pixel"),
        _affine((1, 2, 3), _size(1, 1, 1, 1), "one pixel, corners aligned", 1),
    ),
    ("", "ImageDecoder"): (
        _decode(BMP, ""),
        _decode(BMP, "reversed", pixel_format="BGR"),
        _decode(BMP, "grey", pixel_format="Grayscale"),
        _decode((1, 2, 3, 4, 5), "nothing that decodes"),
    ),
}
