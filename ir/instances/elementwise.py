"""elementwise: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.instances._casting import FLOATS, SPECIAL, bitcasts, casts, casts_like

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

    Several = tuple[Instance, ...]


def _unary(low: float = -4, high: float = 4, main: str = "T") -> Several:
    """A matrix, a scalar, an empty tensor, and special values."""
    return (
        Instance((Arg((2, 3), main, low=low, high=high),), main=main),
        Instance((Arg((), main, low=low, high=high),), main=main, note="scalar"),
        Instance((Arg((2, 0, 3), main),), main=main, note="empty"),
        Instance((Arg((11,), main, SPECIAL),), main=main, note="special values", dtypes=FLOATS),
    )


def _with(*attributes: dict[str, float], low: float = -4, high: float = 4) -> Several:
    """The same, and one instance per set of attributes."""
    given = tuple(
        Instance(
            (Arg((2, 1, 3), low=low, high=high),),
            a,
            note=" ".join(f"{k} {v}" for k, v in a.items()),
        )
        for a in attributes
    )
    return _unary(low, high) + given


def _binary(low: float = -4, high: float = 4, second: float | None = None) -> Several:
    """Equal shapes, broadcasting both ways, ranks 0 and 1, and an empty tensor."""
    least = low if second is None else second

    def pair(a: tuple[int, ...], b: tuple[int, ...], note: str = "") -> Instance:
        return Instance((Arg(a, low=low, high=high), Arg(b, low=least, high=high)), note=note)

    return (
        pair((2, 3), (2, 3)),
        pair((2, 1, 3), (4, 1), "both broadcast"),
        pair((), (3,), "scalar first"),
        pair((), (), "scalars"),
        pair((0, 3), (1,), "empty"),
        Instance(
            (Arg((3,), low=low, high=high), Arg((3,), low=least, high=high, const=True)),
            note="constant",
        ),
    )


def _special_pairs(main: str = "T") -> Instance:
    """Special values against each other."""
    return Instance(
        (Arg((11, 1), main, SPECIAL), Arg((1, 11), main, SPECIAL)),
        main=main,
        note="special values",
        dtypes=FLOATS,
    )


def _variadic() -> Several:
    return (
        Instance((Arg((2, 3)),), note="one"),
        Instance((Arg((2, 3)), Arg((2, 3)))),
        Instance((Arg((2, 1, 3)), Arg((4, 1)), Arg(())), note="three broadcast"),
        Instance((Arg((0, 3)), Arg((3,))), note="empty"),
        _special_pairs(),
    )


def _clips() -> Several:
    low, high = Arg((), values=-1), Arg((), values=2)
    unsigned = Arg((), values=1)
    return (
        Instance((Arg((2, 3)), unsigned, high)),
        Instance((Arg((2, 3)), low), note="min alone", dtypes=(*FLOATS, "int8", "int32", "int64")),
        Instance((Arg((2, 3)), None, high), note="max alone"),
        Instance((Arg((2, 3)),), note="no bounds"),
        Instance((Arg(()), unsigned, high), note="scalar"),
        Instance((Arg((0, 3)), unsigned, high), note="empty"),
        Instance((Arg((2, 3)), high, unsigned), note="min above max"),
        Instance(
            (Arg((2, 3)), Arg((), values=1, const=True), Arg((), values=2, const=True)),
            note="constant",
        ),
        Instance((Arg((11,), values=SPECIAL), low, high), note="special values", dtypes=FLOATS),
    )


def _powers() -> Several:
    base = Arg((2, 3), low=0.5, high=3)
    return (
        Instance((base, Arg((2, 3), "T1", low=0, high=3)), bind={"T1": "float32"}),
        *(
            Instance((base, Arg((3,), "T1", low=0, high=3)), bind={"T1": t}, note=f"to {t}")
            for t in ("int64", "int32", "float64", "float16", "uint8")
        ),
        Instance(
            (Arg((2, 3), low=-3, high=3), Arg((), "T1", 2)), bind={"T1": "float32"}, note="square"
        ),
        Instance(
            (Arg((2, 3), low=-3, high=3), Arg((), "T1", 3)),
            bind={"T1": "int64"},
            note="cube of signed",
        ),
        Instance(
            (Arg((2, 1, 3), low=1, high=3), Arg((4, 1), "T1", low=0, high=2)),
            bind={"T1": "float32"},
            note="both broadcast",
        ),
        Instance(
            (Arg((4,), values=(1, -1, 2, -2)), Arg((3, 1), "T1", (-1, -2, 0))),
            bind={"T1": "int64"},
            note="negative powers",
        ),
        Instance(
            (Arg((11, 1), values=SPECIAL), Arg((1, 11), "T1", SPECIAL)),
            bind={"T1": "float32"},
            note="special values",
            dtypes=("float32",),
        ),
    )


def _mods() -> Several:
    signed = ("int8", "int16", "int32", "int64", *FLOATS)
    near = Arg((2, 3), values=(-3, -2, -1, 1, 2, 3))
    return (
        Instance((Arg((2, 3), low=-9, high=9), Arg((2, 3), low=1, high=4)), note="floor"),
        Instance((Arg((2, 3), low=-9, high=9), near), note="floor, any sign", dtypes=signed),
        Instance((Arg((2, 3), low=-9, high=9), near), {"fmod": 1}, note="truncate", dtypes=signed),
        Instance(
            (Arg((2, 1, 3), low=0, high=9), Arg((4, 1), low=1, high=4)),
            {"fmod": 1},
            note="both broadcast",
        ),
        Instance(
            (Arg((11, 1), values=SPECIAL), Arg((1, 11), values=SPECIAL)),
            {"fmod": 1},
            note="special values",
            dtypes=FLOATS,
        ),
    )


def _shifts(direction: str) -> Several:
    amounts = Arg((2, 3), low=0, high=7)
    return (
        Instance(
            (Arg((2, 3), low=-90, high=90), amounts), {"direction": direction}, note=direction
        ),
        Instance(
            (Arg((2, 1, 3), low=-90, high=90), Arg((4, 1), low=0, high=7)),
            {"direction": direction},
            note=f"{direction} both broadcast",
        ),
        Instance(
            (Arg((3,), low=-90, high=90), Arg((3,), values=(0, 3, 7), const=True)),
            {"direction": direction},
            note=f"{direction} constant",
        ),
        Instance(
            (Arg((2, 1), values=(-77, 77)), Arg((3,), values=(-1, 64, 100))),
            {"direction": direction},
            note=f"{direction} out of range",
            dtypes=("int8", "int16", "int32", "int64"),
        ),
    )


def _logical() -> Several:
    return (
        Instance((Arg((2, 3)), Arg((2, 3)))),
        Instance((Arg((2, 1, 3)), Arg((4, 1))), note="both broadcast"),
        Instance((Arg(()), Arg((3,))), note="scalar first"),
    )


def _comparison(low: float = -2, high: float = 2) -> Several:
    return (*_binary(low, high), _special_pairs())


def _where() -> Several:
    def three(
        c: tuple[int, ...], x: tuple[int, ...], y: tuple[int, ...], note: str = ""
    ) -> Instance:
        return Instance((Arg(c, "B"), Arg(x), Arg(y)), bind={"B": "bool"}, note=note)

    return (
        three((2, 3), (2, 3), (2, 3)),
        three((2, 1, 3), (4, 1), (1,), "all broadcast"),
        three((), (), (), "scalars"),
        three((0, 3), (3,), (1, 1), "empty"),
    )


def _dropouts() -> Several:
    def use(ratio: Arg | None, training: Arg | None, outputs: int, note: str) -> Instance:
        operands = (Arg((2, 3)), ratio, training)
        bind = {"T1": "float32", "T2": "bool"}
        while operands[-1] is None:
            operands = operands[:-1]
        return Instance(operands, outputs=outputs, bind=bind, note=note, dtypes=FLOATS)

    off = Arg((), "T2", values=False, const=True)
    return (
        use(None, None, 1, "plain"),
        use(None, None, 2, "with mask"),
        use(Arg((), "T1", 0.25, const=True), off, 2, "not training"),
        use(None, off, 1, "no ratio"),
        use(
            Arg((), "T1", 0.0, const=True),
            Arg((), "T2", values=True, const=True),
            2,
            "drops nothing",
        ),
    )


def _slopes() -> Several:
    return (
        Instance((Arg((2, 3, 4)), Arg((2, 3, 4), low=0, high=2))),
        Instance((Arg((2, 3, 4)), Arg((3, 1), low=0, high=2)), note="per channel"),
        Instance((Arg((2, 3)), Arg((), low=0, high=2)), note="one slope"),
        Instance(
            (Arg((11,), values=SPECIAL), Arg((1,), values=(0.25,))),
            note="special values",
            dtypes=FLOATS,
        ),
    )


INSTANCES: dict[Key, Several] = {
    ("", "Abs"): _unary(),
    ("", "Acos"): _unary(-1, 1),
    ("", "Acosh"): _unary(1, 4),
    ("", "Add"): (*_binary(), _special_pairs()),
    ("", "And"): _logical(),
    ("", "Asin"): _unary(-1, 1),
    ("", "Asinh"): _unary(),
    ("", "Atan"): _unary(),
    ("", "Atanh"): _unary(-0.875, 0.875),
    ("", "BitCast"): bitcasts(),
    ("", "BitShift"): _shifts("LEFT") + _shifts("RIGHT"),
    ("", "BitwiseAnd"): _binary(-90, 90),
    ("", "BitwiseNot"): _unary(-90, 90)[:3],
    ("", "BitwiseOr"): _binary(-90, 90),
    ("", "BitwiseXor"): _binary(-90, 90),
    ("", "Cast"): casts(),
    ("", "CastLike"): casts_like(),
    ("", "Ceil"): _unary(),
    ("", "Celu"): _with({"alpha": 0.7}, {"alpha": 2.0}),
    ("", "Clip"): _clips(),
    ("", "Cos"): _unary(),
    ("", "Cosh"): _unary(),
    ("", "Div"): (*_binary(-9, 9, second=1), _special_pairs()),
    ("", "Dropout"): _dropouts(),
    ("", "Elu"): _with({"alpha": 0.7}, {"alpha": 2.0}),
    ("", "Equal"): _comparison(),
    ("", "Erf"): _unary(),
    ("", "Exp"): _unary(),
    ("", "Floor"): _unary(),
    ("", "Gelu"): (
        *_unary(),
        Instance((Arg((2, 1, 3)),), {"approximate": "tanh"}, note="tanh"),
        Instance((Arg((2, 1, 3)),), {"approximate": "none"}, note="none"),
    ),
    ("", "Greater"): _comparison(),
    ("", "GreaterOrEqual"): _comparison(),
    ("", "HardSigmoid"): _with({"alpha": 0.25}, {"alpha": 0.5, "beta": 0.3}),
    ("", "HardSwish"): _unary(),
    ("", "Identity"): _unary(main="V"),
    ("", "IsInf"): (
        *_unary(main="T1"),
        *(
            Instance(
                (Arg((11,), "T1", SPECIAL),),
                {"detect_negative": a, "detect_positive": b},
                main="T1",
                note=f"negative {a} positive {b}",
                dtypes=FLOATS,
            )
            for a, b in ((0, 1), (1, 0), (0, 0))
        ),
    ),
    ("", "IsNaN"): _unary(main="T1"),
    ("", "LeakyRelu"): _with({"alpha": 0.3}),
    ("", "Less"): _comparison(),
    ("", "LessOrEqual"): _comparison(),
    ("", "Log"): _unary(0.125, 4),
    ("", "Max"): _variadic(),
    ("", "Mean"): _variadic(),
    ("", "Min"): _variadic(),
    ("", "Mish"): _unary(),
    ("", "Mod"): _mods(),
    ("", "Mul"): (*_binary(), _special_pairs()),
    ("", "Neg"): _unary(),
    ("", "Not"): _unary()[:3],
    ("", "Or"): _logical(),
    ("", "PRelu"): _slopes(),
    ("", "Pow"): _powers(),
    ("", "Reciprocal"): _unary(0.25, 4),
    ("", "Relu"): _unary(),
    ("", "Round"): _unary(),
    ("", "Selu"): _with({"alpha": 0.7, "gamma": 1.5}),
    ("", "Shrink"): _with({"lambd": 1.5, "bias": 1.5}, {"bias": 0.5}),
    ("", "Sigmoid"): _unary(),
    ("", "Sign"): _unary(),
    ("", "Sin"): _unary(),
    ("", "Sinh"): _unary(),
    ("", "Softplus"): _unary(),
    ("", "Softsign"): _unary(),
    ("", "Sqrt"): _unary(0, 4),
    ("", "Sub"): (*_binary(2, 9, second=0), _special_pairs()),
    ("", "Sum"): _variadic(),
    ("", "Swish"): _with({"alpha": 0.7}, {"alpha": 2.0}),
    ("", "Tan"): _unary(-1.25, 1.25),
    ("", "Tanh"): _unary(),
    ("", "ThresholdedRelu"): _with({"alpha": 0.7}, {"alpha": 2.0}),
    ("", "Where"): _where(),
    ("", "Xor"): _logical(),
}
