"""What two models declare and return, apart from the numbers: any difference is a FAIL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.ir.types import DType, SequenceType, TensorType, Type
from isomorph.parity.arrays import is_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Value


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output as declared; parts that are not declared are `None`."""

    name: str | None
    type: Type | None

    def __str__(self) -> str:
        return f"{self.name or '_'}: {self.type or 'undeclared'}"


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
        if sorted(map(str, stated)) == sorted(map(str, given)):
            problems.append(
                f"the {kind}s are in another order: {', '.join(map(str, given))} "
                f"instead of {', '.join(map(str, stated))}"
            )
        else:
            problems.append(
                f"the {kind}s are named {', '.join(map(str, given))} "
                f"instead of {', '.join(map(str, stated))}"
            )
    for index, (want, have) in enumerate(zip(wanted, found, strict=True)):
        label = f"{kind} {have.name or index!r}"
        problems += [f"{label}: {p}" for p in _types(want.type, have.type, kind)]
    return problems


def _types(want: Type | None, have: Type | None, kind: str) -> list[str]:
    if want is None or have is None:
        return []
    if type(want) is not type(have):
        return [f"the candidate declares {have}, the reference {want}"]
    if isinstance(want, SequenceType) and isinstance(have, SequenceType):
        return _types(want.element, have.element, kind)
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


def observed(
    index: int, port: Port, got: Any, dtype: DType | None, shape: tuple[int, ...] | None
) -> str:
    """How a returned value contradicts what the reference returns, or its own declaration.

    Args:
        index: of the output.
        port: as the candidate declares it.
        got: what the run time returned.
        dtype: of the reference's output, `None` when it is not known.
        shape: of the reference's output; `None` for a value that is no tensor.
    """
    if shape is None:
        if is_tensor(got):
            return f"it is a tensor, the reference returns {port.type or 'something else'}"
        return ""
    if not is_tensor(got):
        return f"it is a {type(got).__name__}, the reference returns a tensor"
    found = DType.of(got.dtype)
    if dtype is not None and found is not dtype:
        return f"its dtype is {found}, the reference's {dtype}"
    if got.shape != shape:
        return f"its shape is {got.shape}, the reference's {shape}"
    if isinstance(port.type, TensorType) and port.type.shape is not None:
        stated = port.type.shape
        if len(stated) != got.ndim or any(
            isinstance(d, int) and d != s for d, s in zip(stated, got.shape, strict=True)
        ):
            return f"its shape is {got.shape}, but the file declares {port.type}"
    return ""


def _list(found: Sequence[Port]) -> str:
    return ", ".join(map(str, found)) or "none"
