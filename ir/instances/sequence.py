"""sequence: small well-typed instances of each operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.graph import Graph
from isomorph.ir.instances import Arg, Instance
from isomorph.ir.types import DType, SequenceType, TensorType

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key

    Several = tuple[Instance, ...]


def _items(main: str, *shapes: tuple[int, ...]) -> Arg:
    return Arg.sequence(*(Arg(s, main) for s in shapes))


def _nothing(main: str, shape: tuple[int, ...] = (2, 3)) -> Arg:
    return Arg.sequence(Arg(shape, main), absent=True)


def _index(value: int, dtype: str = "int64", *, const: bool = False) -> Arg:
    return Arg((), dtype, value, const=const)


def _split(
    shape: tuple[int, ...], split: Arg | None = None, note: str = "", **attributes: Any
) -> Instance:
    given = (Arg(shape),) if split is None else (Arg(shape), split)
    return Instance(given, attributes, note=note)


def _join(axis: int, *shapes: tuple[int, ...], new: bool = False, note: str = "") -> Instance:
    attributes = {"axis": axis, "new_axis": 1} if new else {"axis": axis}
    return Instance((_items("T", *shapes),), attributes, note=note)


# -- bodies of SequenceMap ------------------------------------------------------------------------


def _twice(dtype: DType) -> Graph:
    """One element → the element beside itself."""
    body = Graph("twice")
    x = body.add_input("x", TensorType(dtype, (None, None)))
    body.outputs = [body.add_op("Concat", [x, x], {"axis": 1}).output]
    return body


def _pair(dtype: DType) -> Graph:
    """Two elements x and y → x over y, y transposed."""
    body = Graph("pair")
    x, y = (body.add_input(n, TensorType(dtype, (None, None))) for n in "xy")
    body.outputs = [
        body.add_op("Concat", [x, y], {"axis": 0}).output,
        body.add_op("Transpose", [y]).output,
    ]
    return body


def _unchanged(dtype: DType) -> Graph:
    """One element → the element, and the captured."""
    body = Graph("unchanged")
    outer = body.add_capture("outer")
    x = body.add_input("x", TensorType(dtype, (None, None)))
    body.outputs = [body.add_op("Identity", [v]).output for v in (x, outer)]
    return body


def _mapped(
    body: Any, inputs: tuple[Arg, ...], outputs: int, *captures: Arg, note: str
) -> Instance:
    return Instance(inputs, {"body": body}, outputs=outputs, main="S", note=note, captures=captures)


# -- optionals ----------------------------------------------------------------------------------


def _number(dtype: DType) -> int:
    return dtype.value


def _optional_type(dtype: DType) -> TensorType:
    return TensorType(dtype, (2, 3))


def _optional_sequence(dtype: DType) -> SequenceType:
    return SequenceType(TensorType(dtype))


def _operands(main: str) -> tuple[tuple[Arg, str], ...]:
    """What may stand for an optional, and a note."""
    return (
        (Arg.optional(Arg((2, 3), main)), "present"),
        (Arg.optional(_items(main, (2,), (1,))), "sequence"),
        (Arg((2, 3), main), "tensor"),
        (_items(main, (2,), (3,)), "plain sequence"),
    )


_ABSENT = (
    (Arg.optional(Arg((2, 3), "O"), absent=True), "absent"),
    (Arg.optional(_items("O", (2,)), absent=True), "absent sequence"),
)
_THREE = ((2, 3), (2, 3), (2, 3))
_UNEVEN = ((2, 3), (1, 3), (4, 3))

INSTANCES: dict[Key, tuple[Instance, ...]] = {
    ("", "SequenceConstruct"): (
        Instance((Arg((2, 3)), Arg((2, 3)))),
        Instance((Arg((2, 3)), Arg((1, 3)), Arg((2,))), note="other shapes"),
        Instance((Arg(()),), note="scalar"),
        Instance((Arg((0, 3)), Arg((2, 3), const=True)), note="empty and constant"),
    ),
    ("", "SequenceEmpty"): (
        Instance((), {"dtype": _number}, main="S"),
        Instance((), main="S", note="default", dtypes=("float32",)),
    ),
    ("", "SequenceAt"): (
        Instance((_items("T", *_THREE), _index(1))),
        Instance((_items("T", *_UNEVEN), _index(-1, "int32")), note="from the end"),
        Instance((_items("T", (2,), (3,)), _index(0, const=True)), note="constant"),
    ),
    ("", "SequenceErase"): (
        Instance((_items("S", *_UNEVEN),), main="S"),
        Instance((_items("S", *_UNEVEN), _index(1)), main="S", note="position"),
        Instance((_items("S", *_UNEVEN), _index(-3, "int32")), main="S", note="from the end"),
        Instance((_items("S", (2,)), _index(0, const=True)), main="S", note="constant"),
    ),
    ("", "SequenceInsert"): (
        Instance((_items("T", *_THREE), Arg((2, 3)))),
        Instance((_items("T", *_UNEVEN), Arg((2,)), _index(1)), note="position"),
        Instance((_items("T", *_UNEVEN), Arg((2, 3)), _index(-1, "int32")), note="from the end"),
        Instance((_items("T", *_UNEVEN), Arg((2, 3)), _index(3, const=True)), note="at the end"),
        Instance((_nothing("T"), Arg((2, 3))), note="into nothing"),
    ),
    ("", "SequenceLength"): (
        Instance((_items("S", *_UNEVEN),), main="S"),
        Instance((_nothing("S"),), main="S", note="empty"),
    ),
    ("", "SequenceMap"): (
        _mapped(_twice, (_items("S", *_UNEVEN),), 1, note="one"),
        _mapped(_pair, (_items("S", *_UNEVEN), _items("S", *_THREE)), 2, note="two"),
        _mapped(_pair, (_items("S", *_UNEVEN), Arg((2, 3), "S")), 2, note="tensor"),
        _mapped(_unchanged, (_items("S", *_UNEVEN),), 2, Arg((2,), "S"), note="captures"),
        _mapped(_twice, (_nothing("S"),), 1, note="empty"),
    ),
    ("", "SplitToSequence"): (
        _split((3, 2)),
        _split((3, 2), note="no axis", keepdims=0),
        _split((3,), note="scalars", keepdims=0),
        _split((2, 5), _index(2), "chunks", axis=1),
        _split((2, 6), _index(3, "int32", const=True), "even chunks", axis=-1),
        _split((5, 2), Arg((3,), "int64", [1, 0, 4]), "lengths"),
        _split((4, 2), Arg.ints(2, 2), "constant lengths"),
        _split((3, 2), _index(5), "one chunk", keepdims=0),
        _split((0, 2), note="empty"),
    ),
    ("", "ConcatFromSequence"): (
        _join(0, *_UNEVEN),
        _join(-1, (2, 3), (2, 1), note="last axis"),
        _join(0, *_THREE, new=True, note="new axis"),
        _join(-1, *_THREE, new=True, note="new last axis"),
        _join(1, (2, 3), note="one"),
    ),
    ("", "Optional"): (
        Instance((Arg((2, 3), "V"),), main="V"),
        Instance((_items("V", (2,), (1,)),), main="V", note="sequence"),
        Instance((), {"type": _optional_type}, main="V", note="absent"),
        Instance((), {"type": _optional_sequence}, main="V", note="absent sequence"),
        Instance((Arg((2, 3), "V"),), {"type": _optional_type}, main="V", note="type given"),
    ),
    ("", "OptionalGetElement"): tuple(
        Instance((arg,), main="O", note=note) for arg, note in _operands("O")
    ),
    ("", "OptionalHasElement"): (
        *(Instance((arg,), main="O", note=note) for arg, note in (*_operands("O"), *_ABSENT)),
        Instance((), main="O", note="no input", dtypes=("float32",)),
        Instance((None,), main="O", note="no name", dtypes=("float32",)),
    ),
}
