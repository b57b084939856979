"""Uses of products and convolutions with an activation, and of products with packed weights."""

from __future__ import annotations

from typing import Any

from isomorph.ir.instances import Arg, Instance

A = Arg


def _conv(
    note: str = "",
    *,
    x: tuple[int, ...] = (2, 4, 5, 5),
    w: tuple[int, ...] = (6, 4, 3, 3),
    bias: bool = False,
    added: tuple[int, ...] | None = None,
    const: bool = False,
    **attributes: Any,
) -> Instance:
    given = Arg(w[:1], const=const) if bias else None
    operands = [Arg(x), Arg(w, const=const), given, None if added is None else Arg(added)]
    while operands[-1] is None:
        operands.pop()
    return Instance(tuple(operands), attributes, note=note)


CONVOLUTIONS = (
    _conv(activation="Relu"),
    _conv("no activation", bias=True),
    _conv("bias", bias=True, activation="Relu", const=True),
    _conv("sum", bias=True, added=(2, 6, 3, 3), activation="Relu"),
    _conv("sum, no bias", added=(2, 6, 3, 3), activation="Relu"),
    _conv("sum, no activation", bias=True, added=(2, 6, 3, 3)),
    _conv("Tanh", bias=True, activation="Tanh"),
    _conv("Sigmoid", bias=True, activation="Sigmoid"),
    _conv("LeakyRelu", bias=True, activation="LeakyRelu", activation_params=(0.1,)),
    _conv("Clip", bias=True, activation="Clip", activation_params=(-3.0, 6.0)),
    _conv("HardSigmoid", bias=True, activation="HardSigmoid", activation_params=(0.02, 0.5)),
    _conv("padded", pads=(1, 1, 1, 1), strides=(2, 2), activation="Relu", kernel_shape=(3, 3)),
    _conv("dilated groups", w=(6, 2, 2, 2), group=2, dilations=(2, 2), activation="Relu"),
    _conv("padded to the same", auto_pad="SAME_UPPER", strides=(2, 2), activation="Relu"),
    _conv("signals", x=(2, 4, 7), w=(3, 4, 3), activation="Relu", bias=True),
    _conv("volumes", x=(1, 2, 4, 4, 4), w=(3, 2, 2, 2, 2), activation="Relu"),
)

FLOATS = ("float16", "float32", "float64")


def _gemm(
    note: str,
    activation: str,
    c: tuple[int, ...] | None = (5,),
    *,
    a: tuple[int, int] = (3, 4),
    b: tuple[int, int] = (4, 5),
    dtypes: tuple[str, ...] = FLOATS,
    const: bool = False,
    **attributes: Any,
) -> Instance:
    operands = (Arg(a), Arg(b, const=const), *([] if c is None else [Arg(c, const=const)]))
    return Instance(operands, {"activation": activation, **attributes}, note=note, dtypes=dtypes)


PRODUCTS = (
    _gemm("", "Relu", dtypes=()),
    _gemm("no bias", "Relu", None),
    _gemm("constant weights", "Relu", const=True),
    _gemm("both turned", "Relu", (1, 5), a=(4, 3), b=(5, 4), transA=1, transB=1),
    _gemm("scaled", "Relu", (3, 1), alpha=0.5, beta=0.25),
    _gemm("Tanh", "Tanh", alpha=0.25),
    _gemm("Sigmoid", "Sigmoid", alpha=0.25),
    _gemm("Softplus", "Softplus"),
    _gemm("Softsign", "Softsign"),
    _gemm("LeakyRelu", "LeakyRelu", activation_alpha=0.1),
    _gemm("Elu", "Elu", activation_alpha=1.5),
    _gemm("Celu", "Celu", activation_alpha=2.0),
    _gemm("Selu", "Selu", activation_alpha=1.67326, activation_gamma=1.0507),
    _gemm("HardSigmoid", "HardSigmoid", activation_alpha=0.02, activation_beta=0.5),
    _gemm("ThresholdedRelu", "ThresholdedRelu", activation_alpha=2.0),
)


def _nbits(
    note: str = "",
    *,
    rows: int = 5,
    terms: int = 40,
    block: int = 16,
    bits: int = 4,
    lead: tuple[int, ...] = (3,),
    zeros: str = "",
    index: str = "",
    bias: bool = False,
    flat: bool = False,
    const: bool = True,
    **attributes: Any,
) -> Instance:
    """A product; `zeros` are packed (uint8) or of the type of A, `index` is as long or padded."""
    blocks = -(-terms // block)
    packed = -(-blocks * bits // 8)
    of_rows = (rows * blocks,) if flat else (rows, blocks)
    rest: list[Arg | None] = [None, None, None]
    if zeros:
        shape = (rows * packed,) if flat else (rows, packed)
        rest[0] = (
            Arg(shape, "uint8", low=0, high=255, const=const)
            if zeros == "packed"
            else Arg(of_rows, "T1", low=0, high=2.0**bits - 1, const=const)
        )
    if index:
        length = terms if index == "exact" else blocks * block
        places = tuple((5 * n) % blocks for n in range(length))
        rest[1] = Arg((length,), "int32", places, const=const)
    if bias:
        rest[2] = Arg((rows,), "T1", const=const)
    while rest and rest[-1] is None:
        rest.pop()
    operands = (
        Arg((*lead, terms), "T1"),
        Arg((rows, blocks, block * bits // 8), "uint8", low=0, high=255, const=const),
        Arg(of_rows, "T1", low=0.01, high=0.1, const=const),
        *rest,
    )
    sizes = {"N": rows, "K": terms, "bits": bits, "block_size": block}
    return Instance(operands, {**sizes, **attributes}, main="T1", note=note)


FEW_BITS = (
    _nbits(),
    _nbits("blocks of 32", block=32, terms=64),
    _nbits("blocks of 128", block=128, terms=200, rows=3),
    _nbits("packed zero points", zeros="packed"),
    _nbits("zero points of A's type", zeros="floats"),
    _nbits("bias", bias=True),
    _nbits("bias and packed zero points", bias=True, zeros="packed", block=32, terms=64),
    _nbits("flat scales", flat=True, zeros="packed"),
    _nbits("batches", lead=(2, 3)),
    _nbits("one row", lead=(1,), block=32, terms=64),
    _nbits("one short block", terms=7),
    _nbits("block by index", index="exact"),
    _nbits("block by padded index", index="padded"),
    _nbits("block by index, zero points", index="exact", zeros="packed"),
    _nbits("weights as inputs", const=False, zeros="packed", bias=True),
    _nbits("index as input", const=False, index="exact"),
    _nbits("8 bits", bits=8),
    _nbits("8 bits, blocks of 32", bits=8, block=32, terms=64, rows=4),
    _nbits("8 bits, zero points", bits=8, zeros="packed"),
    _nbits("8 bits, bias", bits=8, zeros="packed", bias=True, const=False),
    _nbits("2 bits", bits=2, zeros="packed"),
)
