"""Every function and method that traces, by numpy's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.frontends.array.rules import (
    accumulation,
    comparison,
    creation,
    interpolation,
    joining,
    linalg,
    norms,
    padding,
    rearrange,
    reduction,
    selection,
    shape,
    sorting,
    subscript,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_GROUPS = (
    accumulation, comparison, creation, interpolation, joining, linalg, norms, padding, rearrange,
    reduction, selection, shape, sorting, subscript,
)  # fmt: skip

FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: rule for group in _GROUPS for name, rule in group.FUNCTIONS.items()
}
"""By path in numpy's namespace (`linalg.norm`), or by the protocol's name (`__getitem__`)."""

GENERALISED = linalg.UFUNCS

VIEWS = frozenset({
    "__getitem__", "reshape", "ravel", "squeeze", "expand_dims", "transpose", "swapaxes",
    "matrix_transpose", "linalg.matrix_transpose", "moveaxis", "rollaxis", "broadcast_to", "flip",
    "flipud", "fliplr", "rot90", "diagonal", "linalg.diagonal", "split", "array_split", "vsplit",
    "hsplit", "dsplit", "unstack", "atleast_1d", "atleast_2d", "atleast_3d", "asarray",
    "asanyarray", "ascontiguousarray", "real",
})  # fmt: skip
"""Functions whose result shares memory with its operand in numpy (or may)."""
