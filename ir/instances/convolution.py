"""convolution: small well-typed instances of each operator."""

from isomorph.ir.instances import Arg, Instance
from isomorph.ir.opdef import Key

A = Arg
X = A((2, 4, 7, 6))
NUMBERS = ("float32", "float16", "float64", "bfloat16", "int32", "uint8", "bool")
"""Col2Im's schema allows strings too, whose sum means nothing."""


def _deform(
    kernel: tuple[int, ...], counts: tuple[int, ...], offsets: int = 1, batch: int = 1
) -> tuple[Arg, Arg]:
    """Offset and mask operands; offsets stay clear of whole numbers, where sampling has kinks."""
    taps = 1
    for k in kernel:
        taps *= k
    rank, total = len(kernel), 1
    for n in (batch, offsets, taps, len(kernel), *counts):
        total *= n
    values = tuple(((i * 7) % 12 - 6) * 0.3125 + 0.125 for i in range(total))
    return (
        A((batch, offsets * taps * rank, *counts), values=values),
        A((batch, offsets * taps, *counts), low=0.0, high=1.0),
    )


OFFSET, MASK = _deform((3, 3), (5, 4))
OFFSET2, MASK2 = _deform((2, 2), (3, 3), offsets=2, batch=2)
OFFSET_STRIDED, _ = _deform((3, 3), (4, 3))

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "Conv"): (
        Instance((X, A((3, 4, 3, 3)), A((3,)))),
        Instance((X, A((3, 4, 3, 2), const=True), A((3,), const=True)), note="constant weights"),
        Instance(
            (X, A((3, 4, 3, 3))), {"kernel_shape": (3, 3), "pads": (1, 0, 2, 1)}, note="uneven pads"
        ),
        Instance((X, A((3, 4, 3, 3))), {"strides": (2, 3), "pads": (1, 1, 1, 1)}, note="strides"),
        Instance((X, A((3, 4, 2, 3))), {"dilations": (3, 2)}, note="dilations"),
        Instance((X, A((6, 2, 3, 3)), A((6,))), {"group": 2}, note="groups"),
        Instance((X, A((4, 1, 3, 3))), {"group": 4, "pads": (1, 1, 1, 1)}, note="depthwise"),
        Instance((X, A((8, 1, 3, 3), const=True)), {"group": 4}, note="depthwise, multiplied"),
        Instance((X, A((5, 4, 1, 1))), note="pointwise"),
        Instance(
            (X, A((3, 4, 3, 2))), {"auto_pad": "SAME_UPPER", "strides": (2, 1)}, note="same upper"
        ),
        Instance(
            (X, A((3, 4, 2, 4))), {"auto_pad": "SAME_LOWER", "strides": (1, 2)}, note="same lower"
        ),
        Instance((X, A((3, 4, 3, 3))), {"auto_pad": "VALID", "strides": (2, 2)}, note="valid"),
        Instance((A((2, 3, 9)), A((4, 3, 3))), {"strides": (2,), "pads": (1, 0)}, note="1-D"),
        Instance(
            (A((1, 2, 4, 5, 3)), A((3, 2, 2, 3, 2)), A((3,))),
            {"pads": (0, 1, 0, 1, 0, 1)},
            note="3-D",
        ),
        Instance((A((0, 4, 7, 6)), A((3, 4, 3, 3))), note="empty batch"),
    ),
    ("", "ConvTranspose"): (
        Instance((A((2, 3, 4, 5)), A((3, 2, 3, 3)), A((2,)))),
        Instance(
            (A((2, 3, 4, 5)), A((3, 2, 3, 2), const=True)), {"strides": (2, 3)}, note="strides"
        ),
        Instance(
            (A((2, 3, 4, 5)), A((3, 2, 3, 3))),
            {"strides": (2, 2), "pads": (1, 0, 1, 2)},
            note="pads",
        ),
        Instance(
            (A((2, 3, 4, 5)), A((3, 2, 3, 3))),
            {"strides": (3, 2), "output_padding": (2, 1)},
            note="output padding",
        ),
        Instance((A((2, 3, 4, 5)), A((3, 2, 3, 3))), {"dilations": (2, 3)}, note="dilations"),
        Instance((A((2, 4, 3, 3)), A((4, 3, 3, 3)), A((6,))), {"group": 2}, note="groups"),
        Instance(
            (A((2, 4, 3, 3)), A((4, 1, 2, 2))), {"group": 4, "strides": (2, 2)}, note="depthwise"
        ),
        Instance(
            (A((2, 3, 4, 5)), A((3, 2, 3, 3))),
            {"strides": (2, 2), "output_shape": (8, 10)},
            note="output shape",
        ),
        Instance(
            (A((2, 3, 4, 5)), A((3, 2, 4, 4))),
            {"strides": (2, 2), "auto_pad": "SAME_UPPER", "output_shape": (7, 11)},
            note="output shape, upper",
        ),
        Instance(
            (A((2, 3, 4, 5)), A((3, 2, 3, 3))),
            {"strides": (2, 2), "auto_pad": "SAME_UPPER"},
            note="same upper",
        ),
        Instance(
            (A((2, 3, 4, 5)), A((3, 2, 3, 3))),
            {"strides": (2, 2), "auto_pad": "SAME_LOWER"},
            note="same lower",
        ),
        Instance((A((2, 3, 5)), A((3, 2, 4))), {"strides": (2,), "pads": (1, 2)}, note="1-D"),
        Instance((A((1, 2, 2, 3, 2)), A((2, 2, 2, 2, 3)), A((2,))), note="3-D"),
        Instance((A((0, 3, 4, 5)), A((3, 2, 3, 3))), note="empty batch"),
    ),
    ("", "DeformConv"): (
        Instance((A((1, 2, 5, 4)), A((3, 2, 3, 3)), OFFSET), {"pads": (1, 1, 1, 1)}),
        Instance(
            (A((1, 2, 5, 4)), A((3, 2, 3, 3)), OFFSET, A((3,)), MASK),
            {"pads": (1, 1, 1, 1)},
            note="bias and mask",
        ),
        Instance(
            (A((1, 2, 5, 4)), A((3, 2, 3, 3), const=True), OFFSET, None, MASK),
            {"pads": (1, 1, 1, 1)},
            note="mask alone",
        ),
        Instance(
            (A((2, 4, 4, 4)), A((2, 2, 2, 2)), OFFSET2, A((2,)), MASK2),
            {"group": 2, "offset_group": 2},
            note="groups",
        ),
        Instance(
            (A((1, 2, 8, 7)), A((3, 2, 3, 3)), OFFSET_STRIDED),
            {"strides": (2, 2), "dilations": (1, 2), "pads": (1, 1, 1, 1), "kernel_shape": (3, 3)},
            note="strides",
        ),
    ),
    ("", "Col2Im"): (
        Instance(
            (A((1, 10, 10)), A.ints(3, 4), A.ints(2, 1)),
            {"dilations": (1, 2), "strides": (1, 1), "pads": (0, 0, 0, 1)},
            dtypes=NUMBERS,
        ),
        Instance((A((2, 12, 12)), A.ints(4, 5), A.ints(2, 2)), dtypes=NUMBERS, note="overlapping"),
        Instance(
            (A((1, 8, 9)), A.ints(5, 5), A.ints(2, 2)),
            {"strides": (2, 2), "pads": (0, 1, 1, 0)},
            dtypes=NUMBERS,
            note="strides and pads",
        ),
        Instance((A((1, 6, 5)), A.ints(7), A.ints(3)), dtypes=NUMBERS, note="1-D"),
        Instance((A((1, 8, 8)), A.ints(3, 3, 3), A.ints(2, 2, 2)), dtypes=NUMBERS, note="3-D"),
        Instance(
            (A((1, 4, 12)), A((2,), "int64", (4, 5)), A((2,), "int64", (2, 2))),
            dtypes=NUMBERS,
            note="run-time shapes",
        ),
    ),
}
