"""Instances of Resize: every mode, coordinate transformation and way to say the size."""

from __future__ import annotations

from typing import Any

from isomorph.ir.instances import Arg, Instance

_FLOATS = ("float32", "float64", "float16", "bfloat16")


def _resize(
    x: tuple[int, ...],
    scales: tuple[float, ...] = (),
    sizes: tuple[int, ...] = (),
    roi: tuple[float, ...] = (),
    *,
    note: str = "",
    run_time: bool = False,
    **attributes: Any,
) -> Instance:
    operands: tuple[Arg | None, ...] = (
        Arg(x, "T1"),
        Arg((len(roi),), "T2", roi, const=True) if roi else None,
        Arg((len(scales),), "float32", scales, const=not run_time) if scales else None,
        Arg((len(sizes),), "int64", sizes, const=not run_time) if sizes else None,
    )
    while operands[-1] is None:
        operands = operands[:-1]
    nearest = attributes.get("mode", "nearest") == "nearest"
    return Instance(
        operands,
        attributes,
        main="T1",
        note=note,
        dtypes=() if nearest else _FLOATS,
        bind={"T2": "float32"},
    )


_IMAGE = (1, 2, 3, 4)
_UP = (1.0, 1.0, 2.0, 2.5)
_DOWN = (1.0, 1.0, 0.6, 0.8)
_MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")

RESIZE = (
    *(
        _resize(_IMAGE, scales, mode=mode, coordinate_transformation_mode=where, note=where)
        for where in _MODES
        for mode in ("nearest", "linear", "cubic")
        for scales in (_UP, _DOWN)
        if where in ("half_pixel", "half_pixel_symmetric", "align_corners") or scales is _UP
    ),
    *(
        _resize(_IMAGE, sizes=(1, 2, 5, 3), nearest_mode=mode, note=mode)
        for mode in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    ),
    *(
        _resize(
            _IMAGE,
            sizes=(1, 2, 5, 3),
            roi=(0.0, 0.0, 0.4, -0.2, 1.0, 1.0, 0.9, 1.3),
            mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=7.0,
            note="region",
        )
        for mode in ("nearest", "linear", "cubic")
    ),
    _resize(_IMAGE, _DOWN, mode="linear", antialias=1, note="antialias"),
    _resize(_IMAGE, _DOWN, mode="cubic", antialias=1, note="antialias"),
    _resize(_IMAGE, _UP, mode="linear", antialias=1, note="antialias"),
    _resize(_IMAGE, _UP, mode="cubic", exclude_outside=1, note="exclude outside"),
    _resize(_IMAGE, _UP, mode="cubic", cubic_coeff_a=-0.5, note="coefficient"),
    _resize(_IMAGE, (2.0, 2.0), axes=(2, 3), note="axes"),
    _resize(_IMAGE, sizes=(5, 6), axes=(-1, -2), mode="linear", note="axes"),
    _resize(
        _IMAGE, sizes=(7, 7), axes=(2, 3), keep_aspect_ratio_policy="not_larger", note="aspect"
    ),
    _resize(
        _IMAGE, sizes=(7, 7), axes=(2, 3), keep_aspect_ratio_policy="not_smaller", note="aspect"
    ),
    _resize(_IMAGE, (1.0, 1.0, 3.0, 0.5), mode="linear", run_time=True, note="run-time scales"),
    _resize(_IMAGE, sizes=(1, 2, 6, 8), mode="linear", run_time=True, note="run-time sizes"),
    _resize(
        _IMAGE,
        sizes=(1, 2, 1, 1),
        mode="linear",
        coordinate_transformation_mode="pytorch_half_pixel",
        note="to one",
    ),
    _resize(
        _IMAGE,
        sizes=(1, 2, 1, 1),
        mode="linear",
        coordinate_transformation_mode="align_corners",
        note="to one",
    ),
    _resize((4,), (0.5,), mode="linear", note="one axis"),
    _resize((1, 1, 2, 3, 2), (1.0, 1.0, 2.0, 2.0, 2.0), mode="linear", note="three axes"),
)
