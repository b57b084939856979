"""Instances of the operators that change an element type, and values that all floats meet."""

from __future__ import annotations

from math import inf, nan

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.types import DType

Several = tuple[Instance, ...]

SPECIAL = (-inf, -3.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, inf, nan)
FLOATS = ("float32", "float64", "float16", "bfloat16")


def casts() -> Several:
    """To every element type from each that Cast takes; out of range only where it is specified."""
    found = [
        Instance(
            (Arg((2, 3), "T1", low=0, high=1.9),), {"to": to.value}, main="T1", note=f"to {to}"
        )
        for to in DType
        if not to.is_complex and to is not DType.STRING
    ]
    texts = [DType.FLOAT32, DType.INT64, DType.FLOAT64]
    found = [_no_text(i) for i in found]
    found += [
        Instance(
            (Arg((4,), "T1", ("1", "-2", "3e2" if to.is_float else "3", "+7")),),
            {"to": to.value},
            main="T1",
            note=f"text to {to}",
            dtypes=("string",),
        )
        for to in texts
    ]
    found += [
        Instance(
            (Arg((3,), "T1", ("+INF", "-inf", "NaN")),),
            {"to": 1},
            main="T1",
            note="named numbers",
            dtypes=("string",),
        ),
        Instance(
            (Arg((3,), "T1"),),
            {"to": DType.STRING.value},
            main="T1",
            note="to string",
            dtypes=("int64", "int32"),
        ),
        Instance(
            (Arg((11,), "T1", SPECIAL),),
            {"to": DType.BOOL.value},
            main="T1",
            note="special to bool",
            dtypes=FLOATS,
        ),
        Instance(
            (Arg((4,), "T1", (-200, 200, 40000, -5)),),
            {"to": DType.INT8.value},
            main="T1",
            note="wraps",
            dtypes=("int32", "int64"),
        ),
        Instance(
            (Arg((5,), "T1", (-2.7, -0.5, 0.5, 1.5, 2.7)),),
            {"to": DType.INT32.value},
            main="T1",
            note="truncates",
            dtypes=FLOATS,
        ),
        Instance(
            (Arg((5,), "T1", (-1e6, 1e6, inf, -inf, nan)),),
            {"to": DType.FLOAT8E4M3FN.value},
            main="T1",
            note="saturates",
            dtypes=("float32",),
        ),
        Instance(
            (Arg((5,), "T1", (-1e6, 1e6, inf, -inf, nan)),),
            {"to": DType.FLOAT8E5M2.value, "saturate": 0},
            main="T1",
            note="does not saturate",
            dtypes=("float32",),
        ),
        *(
            Instance(
                (Arg((5,), "T1", (0.3, 1.5, 1.25, 3.0, 5.0)),),
                {"to": DType.FLOAT8E8M0.value, "round_mode": mode},
                main="T1",
                note=f"rounds {mode}",
                dtypes=("float32",),
            )
            for mode in ("up", "down", "nearest")
        ),
    ]
    return tuple(found)


def _no_text(instance: Instance) -> Instance:
    dtypes = tuple(str(d) for d in DType if d is not DType.STRING)
    return Instance(
        instance.inputs, instance.attributes, main=instance.main, note=instance.note, dtypes=dtypes
    )


def casts_like() -> Several:
    to = ("float16", "float32", "float64", "int32", "int64", "bool", "uint8", "bfloat16")
    sources = (*FLOATS, "int32", "int64", "uint8", "bool")
    return tuple(
        Instance(
            (Arg((2, 3), "T1", low=0, high=1.9), Arg((1,), "T2")),
            main="T1",
            bind={"T2": t},
            note=f"to {t}",
            dtypes=sources,
        )
        for t in to
    )


def bitcasts() -> Several:
    pairs = (
        ("float32", "int32"), ("int32", "float32"), ("float64", "uint64"), ("int64", "float64"),
        ("float16", "bfloat16"), ("bfloat16", "uint16"), ("int8", "uint8"), ("uint8", "bool"),
        ("uint8", "float8e4m3fn"), ("int4", "uint4"), ("uint4", "int4"),
    )  # fmt: skip
    single = Arg((), "T1")
    to_int = {"to": DType.INT32.value}
    return (
        Instance((single,), to_int, main="T1", note="scalar", dtypes=("float32",)),
        *(
            Instance(
                (Arg((2, 3), "T1", low=0, high=1),),
                {"to": DType.of(to).value},
                main="T1",
                note=f"to {to}",
                dtypes=(source,),
            )
            for source, to in pairs
        ),
    )
