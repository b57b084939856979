"""Uses of onnxruntime's operators on quantized tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isomorph.ir.instances import Arg, Instance

Several = tuple[Instance, ...]
BYTES = ("uint8", "int8")


def scale(number: float, *, const: bool = False) -> Arg:
    """A scale of one element."""
    return Arg((), "float32", number, const=const)


def zero(number: int, kind: str = "T", *, const: bool = False) -> Arg:
    """A zero point of one element, valid for signed and unsigned bytes."""
    return Arg((), kind, number, const=const)


def whole(*shape: int, kind: str = "T") -> Arg:
    """Bytes of any value."""
    return Arg(shape, kind, low=-128, high=255)


def constant(use: Instance) -> Instance:
    """The same, scales and zero points being initializers."""
    inputs = tuple(
        replace(a, const=True) if a is not None and a.values is not None else a for a in use.inputs
    )
    return replace(use, inputs=inputs, note=f"{use.note}, constant".lstrip(", "))


def _pair(first: Arg, second: Arg, result: float, note: str = "") -> Instance:
    own = (scale(0.0513), zero(7)), (scale(0.0317), zero(100)), (scale(result), zero(5))
    return Instance((first, *own[0], second, *own[1], *own[2]), note=note)


def _pairs(result: float) -> Several:
    plain = _pair(whole(2, 3, 4), whole(2, 3, 4), result)
    return (
        plain,
        constant(plain),
        _pair(whole(2, 1, 4), whole(3, 1), result, "both broadcast"),
        _pair(whole(2, 3), whole(), result, "a scalar"),
        _pair(whole(0, 4), whole(4), result, "empty"),
    )


def _single(
    *shape: int, note: str = "", x: float = 0.04, y: float = 0.004, at: int = 3, **attributes: Any
) -> Instance:
    inputs = (whole(*shape), scale(x), zero(100), scale(y), zero(at))
    return Instance(inputs, attributes, note=note)


def _pools() -> Several:
    def use(note: str, *shape: int, **attributes: Any) -> Instance:
        return _single(*shape, note=note, y=0.05, **attributes)

    return (
        use("", 1, 2, 5, 6, kernel_shape=(2, 3)),
        use("padded", 2, 2, 5, 6, kernel_shape=(3, 3), pads=(1, 1, 1, 1), strides=(2, 2)),
        use("counted", 1, 3, 5, 5, kernel_shape=(3, 3), pads=(1, 1, 1, 1), count_include_pad=1),
        use("ceil", 1, 1, 6, 6, kernel_shape=(3, 3), strides=(2, 2), ceil_mode=1),
        use("same", 1, 1, 5, 5, kernel_shape=(3, 3), strides=(2, 2), auto_pad="SAME_UPPER"),
        use("line", 2, 3, 9, kernel_shape=(4,)),
        use("channels last", 1, 5, 6, 3, kernel_shape=(2, 2), channels_last=1),
    )


def _concat(note: str, axis: int, *shapes: tuple[int, ...]) -> Instance:
    parts = [
        arg
        for index, shape in enumerate(shapes)
        for arg in (
            whole(*shape, kind="T8"),
            scale(0.02 + 0.01 * index),
            zero(10 * index, "T8"),
        )
    ]
    inputs = (scale(0.03), zero(10, "T8"), *parts)
    return Instance(inputs, {"axis": axis}, main="T8", note=note, bind={"TV": "uint8"})


def _where(note: str, condition: Arg, x: Arg, y: Arg) -> Instance:
    quantizers = (scale(0.05), zero(7)), (scale(0.03), zero(100)), (scale(0.06), zero(5))
    return Instance((condition, x, *quantizers[0], y, *quantizers[1], *quantizers[2]), note=note)


SINGLE = _single(2, 3, 5)
BARE = Instance((whole(7), scale(0.04), None, scale(0.0041), zero(3)), note="no zero point")
FIRST = _where("", Arg((2, 3), "bool"), whole(2, 3), whole(2, 3))

REQUANTIZED: dict[str, Several] = {
    "QLinearAdd": _pairs(0.0629),
    "QLinearAveragePool": tuple(v for use in _pools() for v in (use, constant(use))),
    "QLinearConcat": (
        constant(_concat("", 1, (2, 3), (2, 4))),
        constant(_concat("three, from behind", -2, (1, 4), (2, 4), (1, 4))),
        constant(_concat("alone", 0, (3, 2))),
    ),
    "QLinearGlobalAveragePool": (
        _single(2, 3, 4, 5, y=0.05),
        constant(_single(2, 3, 4, 5, y=0.05)),
        _single(1, 4, 5, 3, note="channels last", y=0.03, channels_last=1),
    ),
    "QLinearLeakyRelu": (
        _single(2, 3, 5, y=0.05, at=50),
        constant(_single(2, 3, 5, y=0.05, at=50)),
        _single(6, note="slope", y=0.03, at=50, alpha=0.3),
        BARE,
    ),
    "QLinearMul": _pairs(0.0917),
    "QLinearSigmoid": (SINGLE, constant(SINGLE), BARE),
    "QLinearSoftmax": (
        _single(3, 5, y=1 / 64, at=0, opset=13),
        constant(_single(3, 5, y=1 / 64, at=0, opset=13)),
        _single(2, 4, 3, note="axis 1", y=1 / 64, at=0, opset=13, axis=1),
        _single(2, 4, 3, note="from axis 1 on", y=1 / 64, at=0, opset=12, axis=1),
    ),
    "QLinearWhere": (
        FIRST,
        constant(FIRST),
        _where("all broadcast", Arg((3, 1), "bool"), whole(2, 1, 4), whole(4)),
    ),
}


def _to_float(note: str, columns: int, *, zeros: bool = True, bias: bool = True) -> Instance:
    per = (columns,) if columns else ()
    count = columns or 5
    return Instance(
        (
            whole(3, 4, kind="T1"),
            whole(4, count, kind="T2"),
            scale(0.05),
            Arg(per, "float32", low=0.01, high=0.1),
            zero(100, "T1") if zeros else None,
            Arg(per, "T2", low=0, high=20) if zeros else None,
            Arg((count,), "float32") if bias else None,
        ),
        main="T2",
        bind={"T1": "uint8", "T3": "float32"},
        note=note,
    )


def _dynamic(
    note: str, *, columns: bool = False, zeros: bool = True, bias: bool = True
) -> Instance:
    per = (5,) if columns else ()
    return Instance(
        (
            Arg((2, 3, 4), "float32"),
            Arg((4, 5), "T2", low=-128, high=255, const=columns),
            Arg(per, "float32", low=0.01, high=0.1, const=columns),
            Arg(per, "T2", low=0, high=20, const=columns) if zeros else None,
            Arg((5,), "float32") if bias else None,
        ),
        main="T2",
        bind={"T1": "float32"},
        note=note,
    )


def _gemm(
    note: str,
    *,
    result: bool = True,
    columns: bool = False,
    c: tuple[int, ...] | None = (5,),
    **attributes: Any,
) -> Instance:
    per = (5,) if columns else ()
    a, b = (4, 3) if attributes.get("transA") else (3, 4), (4, 5)
    return Instance(
        (
            whole(*a, kind="TA"),
            scale(0.05),
            zero(100, "TA"),
            whole(*(b[::-1] if attributes.get("transB") else b), kind="TA"),
            Arg(per, "float32", low=0.01, high=0.1),
            Arg(per, "TA", low=0, high=20),
            None if c is None else Arg(c, "int32", low=-3000, high=3000),
            scale(2.0) if result else None,
            zero(30, "TA") if result else None,
        ),
        attributes,
        main="TA",
        note=note,
    )


PRODUCTS: dict[str, Several] = {
    "MatMulIntegerToFloat": (
        _to_float("", 0),
        _to_float("scales per column", 5),
        _to_float("no zero points", 0, zeros=False),
        _to_float("no bias", 0, bias=False),
    ),
    "DynamicQuantizeMatMul": (
        _dynamic(""),
        _dynamic("scales per column", columns=True),
        _dynamic("no zero point", zeros=False),
        _dynamic("no bias", bias=False),
    ),
    "QGemm": (
        _gemm(""),
        _gemm("float", result=False),
        _gemm("scales per column", columns=True),
        _gemm("float, scales per column", columns=True, result=False, c=None),
        _gemm("transposed", transA=1, transB=1),
        _gemm("matrix", c=(3, 5)),
        _gemm("alpha", c=None, alpha=0.5),
    ),
}
