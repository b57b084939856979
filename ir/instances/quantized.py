"""quantized: small well-typed instances of each operator."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import TYPE_CHECKING, Any

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

    Several = tuple[Instance, ...]

A = Arg
BYTES = ("uint8", "int8")
INTEGERS = (*BYTES, "uint16", "int16", "int4", "uint4", "int2", "uint2")
NARROW = tuple(str(d) for d in DType if d.is_float and d.bits <= 8 and d is not DType.FLOAT8E8M0)
TIES = (-2.5, -1.5, -1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.5, 2.5, 3.5)
"""In steps of 1 or ½: halves on both sides of even and odd numbers."""
BEYOND = (-70000.0, -300.0, -130.0, -9.0, -3.0, 2.0, 7.0, 15.0, 128.0, 256.0, 40000.0, 70000.0)


def _scalar(value: float, dtype: str = "float32", *, const: bool = True) -> Arg:
    return A((), dtype, value, const=const)


def _value(dtype: DType) -> int:
    return dtype.value


def _quantize() -> Several:
    x = A((2, 3, 4), "float32")
    one, none = _scalar(1.0), _scalar(0, "T3")

    def use(*inputs: Arg | None, note: str = "", main: str = "T3", **given: Any) -> Instance:
        dtypes = given.pop("dtypes", ())
        return Instance(inputs, given, main=main, note=note, dtypes=dtypes)

    blocks = A((2, 2, 4), "float32", low=0.25, high=1.0)
    return (
        use(x, _scalar(0.25), none),
        use(x, _scalar(0.1), _scalar(1, "T3"), note="moved", dtypes=INTEGERS),
        use(A((12,), "float32", TIES), _scalar(0.5), none, note="ties"),
        use(A((12,), "float32", TIES), one, _scalar(1, "T3"), note="moved ties", dtypes=INTEGERS),
        use(A((12,), "float32", BEYOND), one, none, note="saturates"),
        use(A((12,), "float32", BEYOND), one, none, note="keeps infinity", saturate=0,
            dtypes=NARROW),
        use(A((3,), "float32", (-inf, inf, 0)), one, none, note="infinite", dtypes=INTEGERS),
        use(A((2,), "float32", (nan, 1)), one, none, note="nan"),
        use(x, _scalar(0.25), note="no zero point", main="T2", dtypes=("float32",)),
        replace(
            use(x, _scalar(0.25), note="named type"), attributes={"output_dtype": _value}
        ),
        use(x, A((), "float32", 0.25), A((), "T3", 0), note="given as it runs"),
        use(x, A((3,), "float32", (0.25, 0.5, 1)), A((3,), "T3", (0, 0, 0)), note="per axis"),
        use(x, A((2,), "float32", (0.25, 0.5), const=True), A((2,), "T3", (0, 1), const=True),
            note="first axis", axis=0, dtypes=INTEGERS),
        use(x, A((4,), "float32", (0.25, 0.5, 1, 2)), note="last axis, named type", axis=-1,
            output_dtype=3, main="T2", dtypes=("float32",)),
        use(x, A((1,), "float32", (0.5,)), A((1,), "T3", (0,)), note="a vector of one"),
        use(A((4,), "float32"), A((4,), "float32", (0.25, 0.5, 1, 2)), A((4,), "T3", (0,) * 4),
            note="vector", axis=0),
        use(x, blocks, A((2, 2, 4), "T3", low=0, high=0), note="blocks", block_size=2),
        use(x, replace(blocks, const=True), note="constant blocks", block_size=2, main="T2",
            dtypes=("float32",)),
        use(x, A((2, 3, 2), "float32", low=0.25, high=1.0), A((2, 3, 2), "T3", low=0, high=0),
            note="blocks of the last axis", block_size=3, axis=-1),
        use(A((2, 3), "T1"), A((), "T1", 0.5), A((), "uint8", 3), note="types", main="T1",
            dtypes=("float32", "float16", "bfloat16")),
        use(A((2, 3), "T1"), A((3,), "T1", (0.5, 0.25, 1.0)), A((3,), "int8", (0, 1, 2)),
            note="types per axis", main="T1", dtypes=("float16", "bfloat16")),
        use(A((2, 3), "int32", low=-300, high=300), A((), "T2", 2), A((), "int8", 3),
            note="integers", main="T2", dtypes=("float32", "int32")),
        use(A((2, 3), "float32"), A((), "T2", 0.5), A((), "uint8", 3), note="narrower scale",
            main="T2", dtypes=("float16", "bfloat16", "float8e8m0")),
        use(A((2, 3), "float32"), A((), "float8e8m0", 0.5, const=True), A((), "int8", 3),
            note="constant power of two", main="T1", dtypes=("float32",)),
        use(A((2, 3), "T1"), A((), "float32", 0.5), A((), "uint8", 3), note="precise", main="T1",
            precision=1, dtypes=("float16", "bfloat16")),
        use(A((2, 3), "float32"), A((), "float32", 0.5), A((), "uint8", 3), note="imprecise",
            main="T1", precision=10, dtypes=("float32",)),
        use(A((), "float32", 1.3), _scalar(0.5), note="scalar", main="T2", dtypes=("float32",)),
        use(A((2, 0), "float32"), _scalar(0.5), note="empty", main="T2", dtypes=("float32",)),
    )  # fmt: skip


def _dequantize() -> Several:
    x, wide = A((2, 3, 4), "T1", low=-100, high=100), ("float32",)
    zeros = A((), "T1", 0, const=True)

    def use(*inputs: Arg | None, note: str = "", main: str = "T1", **given: Any) -> Instance:
        dtypes = given.pop("dtypes", ())
        return Instance(inputs, given, main=main, note=note, dtypes=dtypes)

    moved = tuple(d for d in INTEGERS if d not in ("int2", "uint2"))
    blocks = A((2, 2, 4), "float32", low=0.25, high=1.0)
    weights = replace(x, const=True)
    return (
        use(x, _scalar(0.1), zeros),
        use(x, _scalar(0.1), note="no zero point"),
        use(x, _scalar(0.1), A((), "T1", 3, const=True), note="moved", dtypes=moved),
        use(x, A((), "float32", 0.25), A((), "T1", 0), note="given as it runs"),
        use(x, A((3,), "float32", (0.25, 0.5, 1)), A((3,), "T1", (0, 0, 0)), note="per axis"),
        use(x, A((2,), "float32", (0.3, 0.5), const=True), A((2,), "T1", (0, 1), const=True),
            note="first axis", axis=0, dtypes=INTEGERS),
        use(x, A((4,), "float32", (0.3, 0.5, 1, 2)), note="last axis", axis=-1),
        use(x, A((1,), "float32", (0.5,)), A((1,), "T1", (0,)), note="a vector of one"),
        use(A((4,), "T1"), A((4,), "float32", (0.25, 0.5, 1, 2)), note="vector", axis=0),
        use(x, blocks, A((2, 2, 4), "T1", low=0, high=1), note="blocks", block_size=2,
            dtypes=INTEGERS),
        use(x, blocks, note="blocks without zero point", block_size=2),
        use(x, A((2, 3, 2), "float32", low=0.25, high=1.0), note="blocks of the last axis",
            block_size=3, axis=-1),
        use(weights, _scalar(0.1), zeros, note="weights"),
        use(weights, replace(blocks, const=True), A((2, 2, 4), "T1", low=0, high=1, const=True),
            note="weights in blocks", block_size=2, dtypes=INTEGERS),
        use(A((2, 3), "int8", low=-128, high=127), A((), "T2", 0.1), A((), "int8", -3),
            note="types", main="T2", dtypes=("float32", "float16", "bfloat16")),
        use(A((2, 3), "int8", low=-128, high=127), A((3,), "T2", (0.1, 0.3, 2.0)),
            note="types per axis", main="T2", dtypes=("float16", "bfloat16")),
        *(
            use(A((2, 3), "uint8", high=255), A((), "T2", 0.25), A((), "uint8", 3),
                note=f"to {to}", main="T2", output_dtype=DType.of(to).value)
            for to in ("float32", "float16", "bfloat16")
        ),
        use(A((2, 3), "uint8", high=255), A((), "float8e8m0", 0.25, const=True),
            note="constant power of two", main="T3", output_dtype=1, dtypes=wide),
        use(A((2, 3), "int32", (0, 1, -1, 2**24 + 1, 2**31 - 1, -(2**31))), _scalar(0.1),
            note="large", main="T2", dtypes=wide),
        use(A((), "int8", -7), _scalar(0.5), note="scalar", main="T2", dtypes=wide),
        use(A((2, 0), "uint8"), _scalar(0.5), note="empty", main="T2", dtypes=wide),
    )  # fmt: skip


def _matmul_integer() -> Several:
    def use(a: tuple[int, ...], b: tuple[int, ...], *zeros: Arg | None, note: str = "") -> Several:
        return tuple(
            Instance(
                (A(a, "T1", low=-128, high=255), A(b, "T2", low=-128, high=255), *zeros),
                main="T1",
                bind={"T2": other},
                note=f"{note} by {other}" if note or other == "int8" else "",
            )
            for other in BYTES
        )

    left, right = A((), "T1", 7, const=True), A((), "T2", 3, const=True)
    return (
        *use((3, 4), (4, 5), left, right),
        *use((3, 4), (4, 5), note="no zero points"),
        *use((2, 3, 4), (2, 4, 5), A((), "T1", 5), A((), "T2", 1), note="batches, given"),
        *use((3, 4), (4, 5), left, A((5,), "T2", (0, 1, 2, 3, 4)), note="per column"),
        *use((3, 4), (4, 5), A((3,), "T1", (0, 1, 2)), note="per row"),
        *use((3, 4), (4, 5), None, right, note="the second alone"),
        *use((4,), (4, 5), note="vector"),
        *use((0, 4), (4, 5), left, right, note="no rows"),
    )


def _qlinear_matmul() -> Several:
    def use(
        a: tuple[int, ...],
        b: tuple[int, ...],
        note: str = "",
        *,
        rows: tuple[int, ...] = (),
        columns: tuple[int, ...] = (),
        scale: float = 3.0,
        scales: str = "float32",
        const: bool = False,
        by: str = "T1",
        dtypes: tuple[str, ...] = BYTES,
    ) -> Instance:
        operands = (
            A(a, "T1", low=-100, high=100),
            A(rows, scales, low=0.25, high=1.0, const=const),
            A(rows, "T1", low=0, high=3, const=const),
            A(b, by, low=-100, high=100, const=const),
            A(columns, scales, low=0.25, high=1.0, const=const),
            A(columns, by, low=0, high=3, const=const),
            A((), scales, scale, const=const),
            A((), "T1", 1, const=const),
        )
        bind = {"T3": "T1"}
        return Instance(operands, main="T1", note=note, bind=bind, dtypes=dtypes)

    narrow = ("float8e4m3fn", "float8e5m2", "float8e4m3fnuz", "float8e5m2fnuz")
    return (
        use((3, 4), (4, 5), scale=100.0),
        use((3, 4), (4, 5), "constant", scale=100.0, const=True),
        use((3, 4), (4, 5), "saturates", scale=0.1),
        use((3, 4), (4, 5), "signed by unsigned", scale=100.0, by="uint8"),
        use((2, 3, 4), (2, 4, 5), "batches", scale=100.0),
        use((3, 4), (4, 5), "per column", columns=(5,), scale=100.0),
        use((3, 4), (4, 5), "per row", rows=(3,), scale=100.0),
        use((2, 3, 4), (2, 4, 5), "per row and column", rows=(2, 3, 1), columns=(2, 1, 5),
            scale=100.0),
        use((3, 4), (4, 5), "float16 scales", scales="float16", scale=100.0),
        use((3, 4), (4, 5), "bfloat16 scales", scales="bfloat16", scale=100.0),
        use((3, 4), (4, 5), "floats of 8 bits", scale=100.0, dtypes=narrow),
        use((0, 4), (4, 5), "no rows", scale=100.0),
    )  # fmt: skip


X = A((2, 4, 7, 6), "T1", low=-128, high=255)


def _conv_integer() -> Several:
    def use(
        w: tuple[int, ...],
        note: str = "",
        x: Arg = X,
        x_zero: Arg | None = None,
        w_zero: Arg | None = None,
        **given: Any,
    ) -> Several:
        others = BYTES if not note else BYTES[:1]
        return tuple(
            Instance(
                (x, A(w, "T2", low=-128, high=255), x_zero, w_zero),
                given,
                main="T1",
                bind={"T2": other},
                note=note or ("" if other == "uint8" else f"by {other}"),
            )
            for other in others
        )

    zero = A((), "T1", 5)
    return (
        *use((3, 4, 3, 3), "", x_zero=zero),
        *use((3, 4, 3, 2), "no zero points"),
        *use((3, 4, 3, 3), "padded with the zero point", x_zero=zero, pads=(1, 0, 2, 1)),
        *use((3, 4, 3, 3), "both zero points", x_zero=zero, w_zero=A((), "T2", 3), strides=(2, 3)),
        *use((3, 4, 3, 3), "per channel", x_zero=zero, w_zero=A((3,), "T2", (0, 1, 2))),
        *use((6, 2, 3, 3), "groups", x_zero=zero, group=2, dilations=(2, 1)),
        *use((3, 4, 3, 3), "same upper", x_zero=zero, auto_pad="SAME_UPPER"),
        *use((4, 3, 3), "1-D", x=A((2, 3, 9), "T1", low=-128, high=255), x_zero=zero, pads=(1, 1)),
    )


def _qlinear_conv() -> Several:
    def use(
        w: tuple[int, ...],
        note: str = "",
        x: Arg = X,
        *,
        per_channel: bool = False,
        bias: bool = False,
        const: bool = False,
        scale: float = 300.0,
        by: str = "T1",
        **given: Any,
    ) -> Instance:
        channels = (w[0],) if per_channel else ()
        operands = (
            x,
            A((), "float32", 0.5, const=const),
            A((), "T1", 3, const=const),
            A(w, by, low=-128, high=255, const=const),
            A(channels, "float32", low=0.25, high=1.0, const=const),
            A(channels, by, low=0, high=0, const=const),
            A((), "float32", scale, const=const),
            A((), "T1", 1, const=const),
            *([A((w[0],), "int32", low=-5000, high=5000, const=const)] if bias else []),
        )
        return Instance(operands, given, main="T1", note=note)

    return (
        use((3, 4, 3, 3)),
        use((3, 4, 3, 3), "constant", bias=True, const=True),
        use((3, 4, 3, 3), "signed weights", by="int8"),
        use((3, 4, 3, 3), "bias, padded", bias=True, pads=(1, 0, 2, 1)),
        use((3, 4, 3, 3), "per channel", per_channel=True, bias=True, strides=(2, 1)),
        use((3, 4, 3, 3), "saturates", scale=0.5),
        use((4, 1, 3, 3), "depthwise", group=4, auto_pad="SAME_LOWER"),
        use((4, 3, 3), "1-D", x=A((2, 3, 9), "T1", low=-128, high=255), dilations=(2,)),
    )


def _dynamic() -> Several:
    def use(values: tuple[float, ...], note: str = "") -> Instance:
        return Instance((A((len(values),), "float32", values),), outputs=3, main="T1", note=note)

    return (
        Instance((A((2, 3, 4), "float32"),), outputs=3, main="T1"),
        use((0, 2, -3, -2.5, 1.34, 0.5), "both signs"),
        use((1.0, 2.1, 1.3, 2.5, 3.34, 4.0), "positive"),
        use((-1.0, -2.1, -1.3, -2.5, -3.34, -4.0), "negative"),
        use((0.0, 255.0, 0.5, 1.5, 2.5, 3.5), "ties"),
        use((0.0, 0.0), "zeros"),
    )


INSTANCES: dict[Key, Several] = {
    ("", "ConvInteger"): _conv_integer(),
    ("", "DequantizeLinear"): _dequantize(),
    ("", "DynamicQuantizeLinear"): _dynamic(),
    ("", "MatMulInteger"): _matmul_integer(),
    ("", "QLinearConv"): _qlinear_conv(),
    ("", "QLinearMatMul"): _qlinear_matmul(),
    ("", "QuantizeLinear"): _quantize(),
}
