"""What onnxruntime's casts do otherwise: measured on 1.31.1."""

from __future__ import annotations

import numpy as np

from isomorph.exporters.runtimes.divergences import uses
from isomorph.exporters.runtimes.divergences.arrays import f32, i32
from isomorph.exporters.runtimes.divergences.entry import Divergence, Gives, Probe, ai

NAN, INF = np.nan, np.inf
SOURCE = "onnxruntime/core/providers/cpu/tensor/cast_op.cc, measured"
_BITS = (f32(1.5, 2.7, -1.7),), Gives((i32(2, 3, -2),)), (i32(1, 2, -1),)


def _float8(how: str, x: float, gives: float, wanted: float) -> Probe:
    return Probe(
        f"{how} y = Cast <to = 1> (z)",
        "float[1] x",
        "float[1] y",
        (f32(x),),
        Gives((f32(gives),)),
        (f32(wanted),),
    )


ENTRIES = (
    Divergence(
        "cast-few-bits",
        ai("Cast", "CastLike"),
        "wrong value",
        "a cast to 2- or 4-bit integers rounds, where others truncate",
        "Cast-23: the fractional part is truncated",
        SOURCE,
        tuple(
            Probe(body, "float[3] x", "int32[3] y", *_BITS)
            for body in (
                "z = Cast <to = 22> (x) y = Cast <to = 6> (z)",
                "t = Constant <value = int4[1] {0}> () z = CastLike (x, t) y = Cast <to = 6> (z)",
            )
        ),
        when=uses.casts_to_few_bits,
        remedy="cast to int8 first",
    ),
    Divergence(
        "cast-unsaturated",
        ai("Cast", "CastLike"),
        "wrong value",
        "a cast to float8e4m3fn that does not saturate makes 448 of 480 to 496, one to float8e5m2 "
        "NaN of 61440 to 65536",
        "Cast-23: beyond the range float8e4m3fn is NaN, float8e5m2 infinity, unless saturated",
        "onnxruntime/core/common/float8.h, measured",
        (
            _float8("z = Cast <to = 17, saturate = 0> (x)", 480, 448, NAN),
            _float8("z = Cast <to = 19, saturate = 0> (x)", 61440, NAN, INF),
            _float8(
                "t = Constant <value = float8e5m2[1] {0}> () z = CastLike <saturate = 0> (x, t)",
                -65535,
                NAN,
                -INF,
            ),
        ),
        when=uses.casts_unsaturated,
        remedy="let it saturate, or clip before",
    ),
)
