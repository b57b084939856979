"""sequence: what each operator computes, on lists of arrays, and `None` for what is absent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import Call, Impl
from isomorph.ir.semantics._plain import ints

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph
    from isomorph.ir.opdef import Key

    Items = list[Any]
    """The value of a sequence: a new list wherever it changes, its arrays shared."""


def _problem(call: Call, message: str) -> Exception:
    return TypeInferenceError(f"{call.op}: {message}")


def _one(result: Any) -> tuple[Any, ...]:
    return (result,)


def _construct(_: Call, *items: Any) -> tuple[Any, ...]:
    return _one([*map(_array, items)])


def _empty(_: Call) -> tuple[Any, ...]:
    return _one([])


def _at(call: Call, items: Items, position: Any) -> Any:
    return items[_place(call, position, len(items))]


def _erase(call: Call, items: Items, position: Any = None) -> tuple[Any, ...]:
    place = _place(call, -1 if position is None else position, len(items))
    return _one([*items[:place], *items[place + 1 :]])


def _insert(call: Call, items: Items, item: Any, position: Any = None) -> tuple[Any, ...]:
    """Positions -n to n: the definition counts both ends, so that -n stands before all."""
    count = len(items)
    place = count if position is None else _number(call, position)
    if not -count <= place <= count:
        raise _problem(call, f"position {place} in a sequence of {count}")
    made = [*items]
    made.insert(place, _array(item))
    return _one(made)


def _length(_: Call, items: Items) -> np.ndarray:
    return np.array(len(items), np.int64)


def _split(call: Call, x: Any, split: Any = None) -> tuple[Any, ...]:
    axis = call.attr("axis", 0)
    if not -x.ndim <= axis < x.ndim:
        raise _problem(call, f"axis {axis} of a tensor of rank {x.ndim}")
    whole = x.shape[axis]
    if split is None:
        lengths = (1,) * whole
    elif np.ndim(split) == 0:
        part = _number(call, split)
        if part < 1:
            raise _problem(call, f"split is {part}, at least 1 was expected")
        lengths = tuple(min(part, whole - start) for start in range(0, whole, part))
    else:
        lengths = ints(split)
    if any(n < 0 for n in lengths) or sum(lengths) != whole:
        raise _problem(call, f"lengths {list(lengths)} do not add up to dim {whole}")
    parts = np.split(x, np.cumsum(lengths[:-1], dtype=np.int64), axis) if lengths else []
    if split is None and not call.attr("keepdims", 1):
        parts = [part.squeeze(axis) for part in parts]
    return _one(parts)


def _concat(call: Call, items: Items) -> Any:
    if not items:
        raise _problem(call, "there is nothing to concatenate: the sequence is empty")
    axis = call.attr("axis")
    try:
        return np.stack(items, axis) if call.attr("new_axis", 0) else np.concatenate(items, axis)
    except (ValueError, IndexError) as error:
        shapes = ", ".join(str(list(np.shape(i))) for i in items[:8])
        raise _problem(call, f"elements of shapes {shapes} along axis {axis}: {error}") from None


def _map(call: Call, first: Items, *others: Any) -> tuple[Any, ...]:
    """The body on each element; a tensor goes into every one of them whole."""
    body: Graph = call.attr("body")
    columns = [first, *others]
    for column in columns:
        if isinstance(column, list) and len(cast("Items", column)) != len(first):
            many = len(cast("Items", column))
            raise _problem(call, f"sequences of {len(first)} and of {many} elements")
    rows = [
        call.run(body, [c[row] if isinstance(c, list) else c for c in columns])
        for row in range(len(first))
    ]
    return tuple([row[index] for row in rows] for index in range(len(body.outputs)))


def _optional(_: Call, item: Any = None) -> tuple[Any, ...]:
    return _one(item)


def _get(call: Call, item: Any) -> tuple[Any, ...]:
    if item is None:
        raise _problem(call, "the optional is absent, so it has no element")
    return _one(item)


def _has(_: Call, item: Any = None) -> np.ndarray:
    return np.array(item is not None)


def _array(item: Any) -> np.ndarray:
    """The element as an array; a lone text is none by itself."""
    return np.array(item, object) if isinstance(item, str) else np.asarray(item)


def _place(call: Call, position: Any, count: int) -> int:
    """A position from 0 on."""
    place = _number(call, position)
    if not -count <= place < count:
        raise _problem(call, f"position {place} in a sequence of {count}")
    return place % count


def _number(call: Call, position: Any) -> int:
    found = ints(position)
    if len(found) != 1:
        raise _problem(call, f"position has {len(found)} elements, a scalar was expected")
    return found[0]


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "SequenceConstruct"): (Impl(_construct),),
    ("", "SequenceEmpty"): (Impl(_empty),),
    ("", "SequenceAt"): (Impl(_at),),
    ("", "SequenceErase"): (Impl(_erase),),
    ("", "SequenceInsert"): (Impl(_insert),),
    ("", "SequenceLength"): (Impl(_length),),
    ("", "SequenceMap"): (Impl(_map),),
    ("", "SplitToSequence"): (Impl(_split),),
    ("", "ConcatFromSequence"): (Impl(_concat),),
    ("", "Optional"): (Impl(_optional),),
    ("", "OptionalGetElement"): (Impl(_get),),
    ("", "OptionalHasElement"): (Impl(_has),),
}
