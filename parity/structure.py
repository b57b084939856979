"""What two models declare and return, apart from the numbers: any difference is a FAIL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.printable import printable
from isomorph.ir.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    TensorType,
    Type,
    innermost,
)
from isomorph.parity.arrays import is_tensor
from isomorph.parity.leaves import difference_of_form, leaves
from isomorph.parity.tolerance.units import Unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isomorph.ir.graph import Graph, Op, Value


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output as declared; parts that are not declared are `None`."""

    name: str | None
    type: Type | None

    def __str__(self) -> str:
        return printable(f"{self.name or '_'}: {self.type or 'undeclared'}")


def ports(values: Sequence[Value]) -> tuple[Port, ...]:
    """The declared inputs or outputs of a graph."""
    return tuple(Port(v.name, v.type) for v in values)


def declared(
    kind: str, wanted: Sequence[Port], found: Sequence[Port], *, names: bool = True
) -> list[str]:
    """Differences between the declared inputs (or outputs) of reference and candidate.

    Args:
        kind: `input` or `output`.
        wanted: the reference's.
        found: the candidate's.
        names: whether names count.
    """
    if len(wanted) != len(found):
        have = f"the candidate {len(found)} ({_list(found)})"
        return [f"the reference has {len(wanted)} {kind}s ({_list(wanted)}), {have}"]
    problems: list[str] = []
    stated = [p.name for p in wanted]
    given = [p.name for p in found]
    if names and None not in stated and stated != given:
        same = sorted(map(str, stated)) == sorted(map(str, given))
        one, other = (printable(", ".join(map(str, n))) for n in (stated, given))
        what = "in another order:" if same else "named"
        problems.append(f"the {kind}s are {what} {other} instead of {one}")
    for index, (want, have) in enumerate(zip(wanted, found, strict=True)):
        label = f"{kind} {have.name or index!r}"
        problems += [f"{label}: {p}" for p in _types(want.type, have.type, kind)]
    return problems


def _types(want: Type | None, have: Type | None, kind: str) -> list[str]:
    if want is None or have is None:
        return []
    if type(want) is not type(have):
        return [f"the candidate declares {have}, the reference {want}"]
    match want, have:
        case (SequenceType(), SequenceType()) | (OptionalType(), OptionalType()):
            return _types(want.element, have.element, kind)
        case MapType(), MapType():
            if want.key is not have.key:
                return [f"the candidate declares keys of {have.key}, the reference {want.key}"]
            return _types(want.value, have.value, kind)
        case _:
            return _tensors(want, have, kind)


def _tensors(want: Type, have: Type, kind: str) -> list[str]:
    if not isinstance(want, TensorType) or not isinstance(have, TensorType):
        return []
    if want.dtype is not have.dtype:
        return [f"the candidate declares {have.dtype}, the reference {want.dtype}"]
    if want.shape is None or have.shape is None:
        return []
    if len(want.shape) != len(have.shape):
        return [f"the candidate declares rank {len(have.shape)}, the reference {len(want.shape)}"]
    problems: list[str] = []
    for axis, (a, b) in enumerate(zip(want.shape, have.shape, strict=True)):
        if isinstance(a, int) and isinstance(b, int) and a != b:
            problems.append(f"axis {axis} is {b} in the candidate, {a} in the reference")
        elif kind == "input" and isinstance(b, int) and not isinstance(a, int):
            problems.append(
                f"axis {axis} is fixed to {b} in the candidate, free ({a or 'any size'}) in the "
                "reference"
            )
    return problems


def observed(stated: Type | None, kind: Type | None, wanted: Any, got: Any) -> str:
    """How a returned value contradicts what the reference returns, or its own declaration.

    Args:
        stated: the type that the candidate declares.
        kind: the type of the reference's value, `None` when it is not known.
        wanted: the reference's value; its dtypes do not count.
        got: what the run time returned.
    """
    problem = difference_of_form(wanted, got)
    if problem:
        return problem
    dtype = None if (known := innermost(kind)) is None else known.dtype
    shape = _shape_held(stated)
    for (place, want), (_, have) in zip(leaves(wanted), leaves(got), strict=True):
        problem = _tensor(dtype, np.shape(want), have)
        if not problem and shape is not None and not _fits(shape, np.shape(have)):
            problem = printable(f"its shape is {np.shape(have)}, but the file declares {stated}")
        if problem:
            return f"element {place}: {problem}" if place else problem
    return ""


def narrowed(reference: Graph, candidate: Graph) -> list[str]:
    """Casts of a candidate to floats that are narrower than all that the reference holds.

    In float64 they round nothing, and each is well computed: only this tells of such a loss.
    """
    held = max(map(_roundoff, _dtypes(reference)), default=0.0)
    found: dict[str, None] = {}
    for _, op in candidate.walk():
        dtype = _cast_to(op)
        if held and dtype is not None and _roundoff(dtype) > held:
            found[
                f"{op.where} casts to {dtype}, and nothing in the reference is so narrow: a loss, "
                "which --metric judges if it is meant"
            ] = None
    return list(found)


def _dtypes(graph: Graph) -> Iterator[DType]:
    values = list(graph.inputs)
    for _, op in graph.walk():
        values += [*op.operands, *op.results]
        if (dtype := _cast_to(op)) is not None:
            yield dtype
    for value in values:
        if (tensor := innermost(value.type)) is not None:
            yield tensor.dtype


def _cast_to(op: Op) -> DType | None:
    return DType(op.attr("to")) if op.key == ("", "Cast") else None


def _roundoff(dtype: DType) -> float:
    """The unit roundoff of a float type; 0 of what is none."""
    return Unit.of(dtype).u if dtype.is_float else 0.0


def keeps(stated: Type | None, value: Any) -> bool:
    """Whether a value has the rank and the sizes that its type states."""
    shape = _shape_held(stated)
    return shape is None or all(_fits(shape, np.shape(have)) for _, have in leaves(value))


def _tensor(dtype: DType | None, shape: tuple[int, ...], got: Any) -> str:
    if not is_tensor(got):
        return f"it is a {type(got).__name__}, the reference returns a tensor"
    found = DType.of(got.dtype)
    if dtype is not None and found is not dtype:
        return f"its dtype is {found}, the reference's {dtype}"
    return "" if got.shape == shape else f"its shape is {got.shape}, the reference's {shape}"


def _shape_held(kind: Type | None) -> Shape | None:
    """The shape of a tensor, or of those in a sequence or optional; that of maps is no one's."""
    while isinstance(kind, SequenceType | OptionalType):
        kind = kind.element
    return kind.shape if isinstance(kind, TensorType) else None


def _fits(stated: Shape, shape: tuple[int, ...]) -> bool:
    pairs = zip(stated, shape, strict=False)
    return len(stated) == len(shape) and all(d == s for d, s in pairs if isinstance(d, int))


def _list(found: Sequence[Port]) -> str:
    return ", ".join(map(str, found)) or "none"


def is_fixed(kind: Type | None) -> bool:
    """Whether the inputs' sizes alone say what shape a tensor has."""
    return isinstance(kind, TensorType) and kind.shape is not None and None not in kind.shape
