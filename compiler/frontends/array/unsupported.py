"""Functions that are not captured: named, and passed over where their result's type can be told.

A placeholder of domain `isomorph.unsupported` takes the call's place, so that `check` lists all of
them at once; nothing exports or runs one.
"""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import has_traced, lift
from isomorph.frontends.array.dims import TracedDim
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.tables import FUNCTIONS
from isomorph.frontends.array.traced import Traced
from isomorph.frontends.array.ufuncs import UFUNCS
from isomorph.ir.dims import Expr, symbol
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DOMAIN = "isomorph.unsupported"
_LIMIT = 1 << 22
_PRIMES = ((5, 7, 11, 13, 17, 19, 23, 29), (7, 11, 13, 17, 19, 23, 29, 31))
_INSTEAD = {
    "linalg.inv": "a weight that was inverted outside the function",
    "bincount": "xp.sum(xp.astype(x[:, None] == xp.arange(n), xp.int64), axis=0)",
    "copyto": "xp.where(mask, new, old)",
    "put_along_axis": "nn.scatter(x, indices, updates, axis=…)",
    "place": "xp.where(mask, new, old)",
    "putmask": "xp.where(mask, new, old)",
    "put": "xp.at(x)[i].set(y)",
    "fill_diagonal": "xp.where(xp.eye(n, dtype=bool), value, x)",
}


def placeholder(
    name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """What stands for the result of a function that is not captured.

    Raises:
        TraceError: when not even the type of the result can be told.
    """
    if name in _INSTEAD and _INSTEAD[name].startswith(("xp.where", "nn.scatter", "xp.at")):
        raise TraceError(f"np.{name} writes in place, which is not captured", _INSTEAD[name])
    first = _result_types(function, args, kwargs, _PRIMES[0])
    second = _result_types(function, args, kwargs, _PRIMES[1])
    if first is None or second is None:
        raise unsupported(name)
    many = isinstance(first, tuple)
    pairs = list(zip(first, second, strict=True)) if many else [(first, second)]
    if any(a.ndim != b.ndim or a.dtype.kind not in "biufc" for a, b in pairs):
        raise unsupported(name)
    scope = current()
    operands = [lift(a).value for a in _traced_in((tuple(args), dict(kwargs)))]
    made = scope.emit(
        name,
        operands,
        {"function": f"numpy.{name}", "remedy": remedy(name)},
        outputs=len(pairs),
        domain=DOMAIN,
        version=1,
        types=[
            TensorType(DType.of(a.dtype), _dims(a.shape, b.shape, _symbols(args, kwargs)))
            for a, b in pairs
        ],
    )
    results = tuple(Traced(v, scope) for v in made.results)
    return results if many else results[0]


def remedy(name: str) -> str:
    """What to write instead of a function."""
    if name in _INSTEAD:
        return _INSTEAD[name]
    close = get_close_matches(name, [*FUNCTIONS, *UFUNCS], n=3, cutoff=0.75)
    if close:
        return "one of " + ", ".join(f"xp.{c}" for c in close)
    return "captured functions (isomorph.array), or xp.op with an ONNX operator"


def unsupported(name: str) -> TraceError:
    """The error for a function whose result cannot be told."""
    return TraceError(f"np.{name} is not captured", remedy(name))


def _traced_in(value: Any) -> list[Any]:
    match value:
        case Traced() | TracedDim():
            return [value]
        case list() | tuple():
            return [t for v in value for t in _traced_in(v)]
        case dict():
            return [t for v in value.values() for t in _traced_in(v)]
        case _:
            return []


def _symbols(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    found: dict[str, None] = {}
    for item in _traced_in((tuple(args), dict(kwargs))):
        for dim in item.dims if isinstance(item, Traced) else (item.expr,):
            if isinstance(dim, Expr):
                found.update(dict.fromkeys(sorted(dim.symbols())))
    return list(found)


def _result_types(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    primes: tuple[int, ...],
) -> Any:
    """The function's own result on dummy arrays, open dims at distinct primes."""
    names = _symbols(args, kwargs)
    if len(names) > len(primes):
        return None
    sizes = dict(zip(names, primes, strict=False))
    rng = np.random.default_rng(0)
    try:
        dummies = _dummy((tuple(args), dict(kwargs)), sizes, rng)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = function(*dummies[0], **dummies[1])
    except (TraceError, ValueError, TypeError, IndexError, ArithmeticError, RuntimeError):
        return None
    except np.linalg.LinAlgError:
        return None
    if isinstance(found, (tuple, list)):
        return tuple(np.asarray(f) for f in found)
    return np.asarray(found) if isinstance(found, (np.ndarray, np.generic)) else None


def _dummy(value: Any, sizes: Mapping[str, int], rng: np.random.Generator) -> Any:
    match value:
        case Traced():
            shape = [d if isinstance(d, int) else d.evaluate(sizes) for d in value.dims]
            if np.prod(shape, dtype=float) > _LIMIT:
                raise unsupported(f"a function of {value.type}")
            if value.dtype.kind in "biu":
                return rng.integers(0, 2, shape).astype(value.dtype)
            return rng.uniform(0.5, 1.5, shape).astype(value.dtype)
        case TracedDim():
            return value.expr.evaluate(sizes)
        case tuple() if not has_traced(value) or type(value) is not tuple:
            return value
        case tuple() | list():
            return type(value)(_dummy(v, sizes, rng) for v in value)
        case dict():
            return {k: _dummy(v, sizes, rng) for k, v in value.items()}
        case _:
            return value


def _dims(
    first: tuple[int, ...], second: tuple[int, ...], names: Sequence[str]
) -> tuple[int | Expr | None, ...]:
    """A size that both sets of primes gave is a number; one that a symbol had is the symbol."""
    sizes = list(zip(names, *_PRIMES, strict=False))
    found: list[int | Expr | None] = []
    for a, b in zip(first, second, strict=True):
        named = next((symbol(n) for n, p, q in sizes if (p, q) == (a, b)), None)
        found.append(a if a == b else named)
    return tuple(found)
