"""Uses of normalized sums, of embeddings, and of rotations, as onnxruntime's optimizer has them."""

from __future__ import annotations

from typing import Any

from isomorph.ir.instances import Arg, Instance


def _positive(shape: tuple[int, ...], dtype: str = "T", *, const: bool = False) -> Arg:
    return Arg(shape, dtype, low=0.5, high=2, const=const)


def _skip(
    note: str = "",
    *,
    shape: tuple[int, ...] = (2, 3, 8),
    skip: tuple[int, ...] | None = None,
    shift: bool | None = True,
    bias: bool = False,
    outputs: int = 1,
    const: bool = False,
    **attributes: Any,
) -> Instance:
    """With or without beta and bias; `shift` is `None` for the simplified, which has no beta."""
    own = shape[-1:]
    rest = [] if shift is None else [Arg(own, const=const) if shift else None]
    operands = [Arg(shape), Arg(skip or shape), _positive(own, const=const), *rest]
    operands += [Arg(own, const=const)] if bias else []
    while operands[-1] is None:
        operands.pop()
    return Instance(tuple(operands), attributes, outputs, note=note)


def _skips(**given: Any) -> tuple[Instance, ...]:
    def use(note: str = "", **more: Any) -> Instance:
        return _skip(note, **{**given, **more})

    return (
        use(),
        use("bias", bias=True),
        use("matrices", shape=(6, 8)),
        use("one skip for all", skip=(1, 3, 8)),
        use("a skip without a batch", skip=(3, 8), epsilon=0.5),
        use("statistics", outputs=3),
        use("sum", outputs=4, bias=True),
        use("constant weights", const=True, bias=True),
        use("no rows", shape=(0, 3, 8)),
    )


SKIPS = (*_skips(), _skip("no shift", shift=False), _skip("bias, no shift", shift=False, bias=True))
SIMPLIFIED_SKIPS = _skips(shift=None)


def _simplified(
    note: str = "",
    *,
    axis: int | None = None,
    own: tuple[int, ...] = (4,),
    scale: str = "",
    outputs: int = 1,
    **attributes: Any,
) -> Instance:
    bind = {"V": scale} if scale else {}
    dtype = "V" if scale else "T"
    operands = (Arg((2, 3, 4)), _positive(own, dtype))
    return Instance(operands, {"axis": axis, **attributes}, outputs, bind=bind, note=note)


SIMPLIFIED = (
    _simplified(),
    _simplified("two axes", axis=1, own=(3, 4)),
    _simplified("two axes from behind", axis=-2, own=(3, 4), epsilon=0.5),
    _simplified("all axes", axis=0, own=(2, 3, 4)),
    _simplified("broadcast scale", axis=1),
    _simplified("statistic", outputs=2),
    _simplified("statistic of two axes", axis=1, own=(3, 4), outputs=2),
    _simplified("float32 scale", scale="float32", outputs=2),
)


def _embed(
    note: str = "",
    *,
    segments: bool = True,
    table: bool = True,
    mask: bool = False,
    places: tuple[int, int] | None = None,
    outputs: int = 2,
    const: bool = True,
    **attributes: Any,
) -> Instance:
    def ids(*values: int, shape: tuple[int, int] = (2, 3)) -> Arg:
        return Arg(shape, "int32", values)

    order = (2, 0, 1, 0, 3, 3)
    operands = [
        ids(0, 5, 2, 2, 5, 1),
        ids(0, 1, 1, 0, 0, 1) if segments else None,
        Arg((6, 8), const=const),
        Arg((4, 8), const=const),
        Arg((2, 8), const=const) if table else None,
        _positive((8,), const=const),
        Arg((8,), const=const),
        ids(1, 1, 0, 1, 2, 1) if mask else None,
        None if places is None else ids(*order[: places[0] * places[1]], shape=places),
    ]
    while operands[-1] is None:
        operands.pop()
    return Instance(tuple(operands), attributes, outputs, note=note)


EMBEDDINGS = (
    _embed(),
    _embed("mask", mask=True),
    _embed("no segments", segments=False, table=False),
    _embed("all of segment 0", segments=False),
    _embed("positions", places=(2, 3)),
    _embed("one row of positions", places=(1, 3), mask=True, epsilon=0.5),
    _embed("sum", outputs=3, mask=True),
    _embed("tables as inputs", const=False, outputs=3, mask=True, mask_index_type=1),
)


def _rotary(
    note: str = "",
    *,
    shape: tuple[int, ...] = (2, 3, 8),
    half: int = 2,
    first: int | None = None,
    const: bool = False,
    **attributes: Any,
) -> Instance:
    """Positions of each row, or the first of all rows."""
    rows, length = shape[0], shape[-2]
    places = Arg((rows, length), "int64", tuple((3 * n) % 6 for n in range(rows * length)))
    if first is not None:
        places = Arg((1,), "int64", (first,))
    angles = [Arg((6, half), low=-1, high=1, const=const) for _ in range(2)]
    return Instance((Arg(shape), places, *angles), attributes, note=note)


ROTATIONS = (
    _rotary(),
    _rotary("first position", first=2),
    _rotary("constant angles", const=True),
    _rotary("interleaved", interleaved=1),
    _rotary("stated heads", num_heads=2, scale=1.0),
    _rotary("part of each head", num_heads=1, rotary_embedding_dim=4),
    _rotary("part, interleaved", num_heads=2, rotary_embedding_dim=2, half=1, interleaved=1),
    _rotary("heads apart", shape=(2, 2, 3, 4)),
    _rotary("heads apart, part", shape=(2, 2, 3, 6), num_heads=2, rotary_embedding_dim=4),
    _rotary("longer than the angles", shape=(1, 8, 4), is_packed_batching=1, num_heads=1),
)
