"""Ufuncs: numpy decides the dtypes, the rule tables the operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import cast, elementwise, lift
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import is_weak, kind, limits, resolve
from isomorph.frontends.array.python_operators import COMPARISONS
from isomorph.frontends.array.rules import arithmetic, logic, transcendental
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.structure import is_many

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isomorph.frontends.array.traced import Traced

UFUNCS: dict[str, str | Callable[..., Any]] = {
    **arithmetic.UFUNCS,
    **transcendental.UFUNCS,
    **logic.UFUNCS,
}
"""By numpy's name: an ONNX operator, or a function of operands in the dtypes of numpy's loop."""

REDUCTIONS = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_and": "all",
    "logical_or": "any",
}
ACCUMULATIONS = {"add": "cumsum", "multiply": "cumprod"}


def apply(name: str, operands: Sequence[Any], dtype: Any = None) -> Any:
    """The result of a ufunc on operands of which at least one is traced."""
    ufunc: np.ufunc = getattr(np, name)
    weak = all(map(is_weak, operands))
    if name in COMPARISONS:
        operands = _fitting(operands)
    if dtype is not None:
        operands = [lift(v, np.dtype(dtype)) for v in operands]
    dtypes = resolve(ufunc, operands)
    arrays = [lift(v, d) for v, d in zip(operands, dtypes, strict=False)]
    rule = UFUNCS[name]
    found = elementwise(rule, *arrays) if isinstance(rule, str) else rule(*arrays)
    results: list[Any] | tuple[Any, ...] = found if is_many(found) else (found,)
    made: tuple[Any, ...] = tuple(
        cast(r, d) for r, d in zip(results, dtypes[ufunc.nin :], strict=True)
    )
    if weak:
        for result in made:
            result.weak = {"f": float, "i": int}.get(result.dtype.kind)
    return made if ufunc.nout > 1 else made[0]


def _fitting(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands of a comparison, where a Python integer may lie outside the other's dtype."""
    for index, value in enumerate(operands):
        if type(value) is not int:
            continue
        other = kind(operands[1 - index])
        if not isinstance(other, type) and other.kind in "iu":
            range_ = limits(other)
            if not range_.min <= value <= range_.max:
                wide = np.dtype(np.float64 if not -(2**63) <= value < 2**63 else np.int64)
                if other == np.dtype(np.uint64) and value < 0:
                    return [lift(v, wide) if v is value else v for v in operands]
                return [lift(v, wide) for v in operands]
    return operands


def in_place(name: str, target: Traced, result: Any) -> Traced:
    """`target += other`, as numpy allows it: same shape, and a dtype of the same kind."""
    if not np.can_cast(result.dtype, target.dtype, "same_kind"):
        raise TraceError(
            f"in-place {name} would turn {target.dtype} into {result.dtype}, which numpy refuses",
            f"x = x … y, or xp.astype(…, {target.dtype})",
        )
    scope = current()
    same = len(result.dims) == len(target.dims) and all(
        scope.same(a, b) for a, b in zip(result.dims, target.dims, strict=True)
    )
    if not same:
        raise TraceError(
            f"in-place {name} would give shape {result.shape} to an array of shape {target.shape}",
            "x = x … y",
        )
    return target.assign(cast(result, target.dtype))


def options(ufunc: np.ufunc, kwargs: Mapping[str, Any]) -> Any:
    """The `dtype` among a ufunc's keyword arguments; raises TraceError for what is not traced."""
    for name, value in kwargs.items():
        plain = {"where": True, "subok": True}
        if name in ("dtype", "casting", "order") or value is None or value is plain.get(name, ...):
            continue
        what = {
            "out": "writes into an array that exists",
            "where": "leaves elements undefined",
        }.get(name, "is not captured")
        raise TraceError(
            f"np.{ufunc.__name__}(…, {name}=…) {what}", "the plain call; xp.where for a choice"
        )
    return kwargs.get("dtype")
