"""indexing: what each operator computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.semantics import Call, Impl
from isomorph.ir.semantics._plain import counted
from isomorph.ir.semantics._suppress import non_max_suppression

if TYPE_CHECKING:
    from isomorph.ir.opdef import Key


def _gather(call: Call, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    return np.asarray(np.take(x, indices, axis=call.attr("axis")))


def _gather_elements(call: Call, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    if x.ndim != indices.ndim:
        raise TypeInferenceError(f"{call.op}: indices of rank {indices.ndim} for rank {x.ndim}")
    return x[_along(indices, call.attr("axis"))]


def _along(indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """Index arrays that replace one axis; the others count through the shape of `indices`."""
    grid: list[np.ndarray] = list(np.ogrid[tuple(slice(n) for n in indices.shape)])
    grid[axis] = indices
    return tuple(grid)


def _gather_nd(call: Call, x: np.ndarray, indices: np.ndarray) -> np.ndarray:
    batch, depth = call.attr("batch_dims", 0), indices.shape[-1]
    if not 0 <= batch < min(x.ndim, indices.ndim):
        raise TypeInferenceError(f"{call.op}: batch_dims is {batch}")
    shape = indices.shape[:-1] + x.shape[batch + depth :]
    count = int(np.prod(x.shape[:batch], dtype=np.int64))
    rows = int(np.prod(indices.shape[batch:-1], dtype=np.int64))
    tuples = indices.reshape(count, rows, depth)
    data = x.reshape(count, *x.shape[batch:])
    where = tuple(tuples[..., i] for i in range(depth))
    return np.asarray(data[(np.arange(count)[:, None], *where)]).reshape(shape)


_REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _put(call: Call, x: np.ndarray, where: tuple[np.ndarray, ...], updates: np.ndarray) -> Any:
    result: Any = x.copy()
    reduction = call.attr("reduction", "none")
    if reduction == "none":
        result[where] = updates
    else:
        _REDUCTIONS[reduction].at(result, where, updates)
    return result


def _scatter_elements(
    call: Call, x: np.ndarray, indices: np.ndarray, updates: np.ndarray
) -> np.ndarray:
    return _put(call, x, _along(indices, call.attr("axis")), updates)


def _scatter_nd(call: Call, x: np.ndarray, indices: np.ndarray, updates: np.ndarray) -> np.ndarray:
    where = tuple(indices[..., i] for i in range(indices.shape[-1]))
    return _put(call, x, where, updates)


def _tensor_scatter(
    call: Call, past: np.ndarray, update: np.ndarray, write_indices: Any = None
) -> np.ndarray:
    axis = call.attr("axis") % past.ndim
    first: np.ndarray = np.zeros(past.shape[:1], np.int64)
    if write_indices is not None:
        first = write_indices
    places = first[:, None] + counted(update.shape[axis])
    if call.attr("mode") == "circular":
        places = places % past.shape[axis]
    shape = [1] * past.ndim
    shape[0], shape[axis] = places.shape
    result = past.copy()
    result[_along(np.broadcast_to(places.reshape(shape), update.shape), axis)] = update
    return result


def _one_hot(call: Call, indices: np.ndarray, depth: np.ndarray, values: np.ndarray) -> np.ndarray:
    if values.shape != (2,):
        raise TypeInferenceError(f"{call.op}: values of shape {values.shape}, (2,) was expected")
    size = int(np.asarray(depth).reshape(-1)[0])
    places = np.asarray(indices).astype(np.int64)
    wrapped = np.where(places < 0, places + size, places)
    hot = np.expand_dims(wrapped, -1) == np.arange(size)
    return np.moveaxis(values[hot.astype(np.intp)], -1, call.attr("axis"))


def _sortable(x: np.ndarray) -> np.ndarray:
    """Numbers that numpy sorts in the same order (its own dtypes as they are)."""
    return x.astype(np.float64) if x.dtype.kind not in "biufcO" else x


def _top_k(call: Call, x: np.ndarray, k: Any = None) -> tuple[np.ndarray, np.ndarray]:
    axis = call.attr("axis")
    count = int(np.asarray(call.attr("k") if k is None else k).reshape(-1)[0])
    keys = _sortable(x)
    if call.attr("largest", 1):
        # A stable sort of the reversed elements, read backwards: the lower of two equals first.
        order = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
        order = x.shape[axis] - 1 - np.flip(order, axis)
    else:
        order = np.argsort(keys, axis=axis, kind="stable")
    best = np.take(order, np.arange(count), axis=axis)
    return np.take_along_axis(x, best, axis), best.astype(np.int64)


def _non_zero(call: Call, x: np.ndarray) -> np.ndarray:
    if not x.ndim:
        return np.zeros((0, int(bool(x))), np.int64)
    return np.array(np.nonzero(x), np.int64).reshape(x.ndim, -1)


def _compress(call: Call, x: np.ndarray, condition: np.ndarray) -> np.ndarray:
    axis = call.attr("axis")
    chosen = np.flatnonzero(condition)
    size = x.size if axis is None else x.shape[axis]
    if chosen.size and chosen[-1] >= size:  # of no elements, numpy takes any
        raise TypeInferenceError(f"{call.op}: element {chosen[-1]} is selected, of {size}")
    return np.take(x.reshape(-1), chosen) if axis is None else np.take(x, chosen, axis)


def _unique(call: Call, x: np.ndarray) -> tuple[np.ndarray, ...]:
    axis = call.attr("axis")
    keys = _sortable(x.reshape(-1) if axis is None else np.moveaxis(x, axis, 0))
    if axis is not None:
        # Rows are compared by the ranks of their elements, which any dtype has.
        ranks = np.unique(keys, return_inverse=True)[1]
        keys = ranks.reshape(keys.shape[0], -1)
    _, first, inverse, counts = np.unique(
        keys,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        axis=None if axis is None else 0,
    )
    inverse = inverse.reshape(-1)
    if not call.attr("sorted"):
        order = np.argsort(first)
        position = np.empty_like(order)
        position[order] = np.arange(order.size)
        first, counts, inverse = first[order], counts[order], position[inverse]
    values = np.take(x.reshape(-1), first) if axis is None else np.take(x, first, axis)
    return values, first.astype(np.int64), inverse.astype(np.int64), counts.astype(np.int64)


SEMANTICS: dict[Key, tuple[Impl, ...]] = {
    ("", "Gather"): (Impl(_gather),),
    ("", "GatherElements"): (Impl(_gather_elements),),
    ("", "GatherND"): (Impl(_gather_nd),),
    ("", "Scatter"): (Impl(_scatter_elements),),
    ("", "ScatterElements"): (Impl(_scatter_elements),),
    ("", "ScatterND"): (Impl(_scatter_nd),),
    ("", "TensorScatter"): (Impl(_tensor_scatter),),
    ("", "OneHot"): (Impl(_one_hot),),
    ("", "TopK"): (Impl(_top_k),),
    ("", "NonZero"): (Impl(_non_zero),),
    ("", "Compress"): (Impl(_compress),),
    ("", "Unique"): (Impl(_unique),),
    ("", "NonMaxSuppression"): (Impl(non_max_suppression),),
}
