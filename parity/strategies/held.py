"""Values of sequences, optionals and maps, from a strategy for the tensors that they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.types import DType, MapType, OptionalType, SequenceType, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

    from isomorph.parity.strategies.specs import Spec

    Tensor = Callable[[tuple[int, ...]], np.ndarray]

ABSENT = 0.25
"""How often an optional is absent."""
UNEVEN = 0.3
"""How often the tensors of a sequence differ in a dim that is free."""
TEXT_KEYS = ("a", "b", "Bé", "", "xyz", "12")


def held(
    spec: Spec, dims: Mapping[str, int], tensor: Tensor, rng: np.random.Generator, *, plain: bool
) -> Any:
    """One value of the input's kind.

    Args:
        spec: of the input.
        dims: sizes by symbol, its lengths among them.
        tensor: an array of a shape.
        rng: for whatever else is drawn.
        plain: every optional is present, and the tensors of a sequence have equal shapes.
    """
    lengths = [length.evaluate(dims) for length in spec.lengths]
    shape = spec.sizes(dims)
    free = [a for a, d in enumerate(spec.shape) if str(d) == f"{spec.name}.{a}"]
    uneven = bool(free) and not plain and rng.random() < UNEVEN
    axis = int(rng.choice(free)) if uneven else None

    def draw(kind: Type, level: int) -> Any:
        match kind:
            case OptionalType():
                if not plain and rng.random() < ABSENT:
                    return None
                return draw(kind.element, level)
            case SequenceType():
                return [draw(kind.element, level + 1) for _ in range(lengths[level])]
            case MapType():
                keys = _keys(spec, kind.key, lengths[level], rng)
                return dict(zip(keys, tensor((len(keys),)), strict=True))
            case _:
                return tensor(shape if axis is None else _stretched(shape, axis, rng))

    return None if spec.kind is None else draw(spec.kind, 0)


def _keys(spec: Spec, kind: DType, count: int, rng: np.random.Generator) -> Sequence[Any]:
    """So many distinct keys, of those that the graph knows where there are such."""
    known = [k for k in spec.keys if isinstance(k, str) is (kind is DType.STRING)]
    room: list[int | str]
    if kind is DType.STRING:
        room = list(dict.fromkeys([*known, *TEXT_KEYS, *(f"k{n}" for n in range(count))]))
    else:
        room = list(dict.fromkeys([*known, *range(count + (not known) + 2)]))
    first = min(len(known), count) if rng.random() < 0.5 else 0
    others = [int(i) + first for i in rng.permutation(len(room) - first)]
    return [*room[:first], *(room[i] for i in others)][:count]


def _stretched(shape: tuple[int, ...], axis: int, rng: np.random.Generator) -> tuple[int, ...]:
    size = int(rng.integers(max(shape[axis] - 1, 0), shape[axis] + 2, endpoint=True))
    return (*shape[:axis], size, *shape[axis + 1 :])
