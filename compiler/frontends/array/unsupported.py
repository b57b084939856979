"""Functions that are not captured: named, and passed over where their result's type can be told.

A placeholder of domain `isomorph.unsupported` takes the call's place, so that `check` lists all of
them at once; nothing exports or runs one.
"""

from __future__ import annotations

import math
import warnings
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends.array.build import lift
from isomorph.frontends.array.dims import TracedDim
from isomorph.frontends.array.errors import Obstacle, TraceError
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.structure import is_many, leaves, mapped
from isomorph.frontends.array.tables import FUNCTIONS, GENERALISED
from isomorph.frontends.array.traced import Traced
from isomorph.frontends.array.ufuncs import UFUNCS
from isomorph.ir.dims import Expr, symbol
from isomorph.ir.source import Source
from isomorph.ir.types import DType, TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DOMAIN = "isomorph.unsupported"
_LIMIT = 1 << 22
_PRIMES = ((5, 7, 11, 13, 17, 19, 23, 29), (7, 11, 13, 17, 19, 23, 29, 31))
_INSTEAD = {
    "linalg.inv": "a weight that was inverted outside the function",
    "fft.fft": 'xp.op("DFT", x[..., None]), whose last axis holds real and imaginary parts',
    "fft.rfft": 'xp.op("DFT", x[..., None], onesided=1), with real and imaginary parts last',
    "fft.ifft": 'xp.op("DFT", parts, inverse=1) of real and imaginary parts along a last axis',
    "fft.irfft": 'xp.op("DFT", parts, onesided=1, inverse=1)[..., 0]',
    "bincount": "xp.sum(xp.astype(x[:, None] == xp.arange(n), xp.int64), axis=0)",
    "copyto": "xp.where(mask, new, old)",
    "put_along_axis": "nn.scatter(x, indices, updates, axis=…)",
    "place": "xp.where(mask, new, old)",
    "putmask": "xp.where(mask, new, old)",
    "put": "xp.at(x)[i].set(y)",
    "fill_diagonal": "xp.where(xp.eye(n, dtype=bool), value, x)",
}


def placeholder(
    name: str,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    reason: str = "",
    instead: str = "",
) -> Any:
    """What stands for the result of a function that is not captured, for a reason where one is.

    Raises:
        TraceError: when not even the type of the result can be told.
    """
    if name in _INSTEAD and _INSTEAD[name].startswith(("xp.where", "nn.scatter", "xp.at")):
        raise TraceError(f"np.{name} writes in place, which is not captured", _INSTEAD[name])
    first = _result_types(function, args, kwargs, _PRIMES[0])
    second = _result_types(function, args, kwargs, _PRIMES[1])
    if first is None or second is None or len(first[1]) != len(second[1]):
        raise unsupported(name, args, kwargs)
    many, firsts, seconds = *first, second[1]
    pairs = list(zip(firsts, seconds, strict=True))
    if any(a.ndim != b.ndim or a.dtype.kind not in "biufc" for a, b in pairs):
        raise unsupported(name, args, kwargs)
    scope = current()
    operands = [lift(a).value for a in _traced_in((tuple(args), dict(kwargs)))]
    if not reason:
        reason, instead = _reason(name, args, kwargs, [a.dtype for a, _ in pairs])
    instead = instead or remedy(name)
    made = scope.emit(
        name,
        operands,
        {"function": f"numpy.{name}", "reason": reason, "remedy": instead},
        outputs=len(pairs),
        domain=DOMAIN,
        version=1,
        types=[
            TensorType(DType.of(a.dtype), _dims(a.shape, b.shape, _symbols(args, kwargs)))
            for a, b in pairs
        ],
    )
    scope.trace.passed.append(Obstacle(made.source or Source(), reason, instead, name))
    results = tuple(Traced(v, scope) for v in made.results)
    return results[0] if many is None else many(results)


def is_complex(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether complex numbers take part: ONNX has hardly an operator for them."""
    return bool(_complex_types(args, kwargs))


def _complex_types(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for value in leaves((tuple(args), dict(kwargs))):
        dtype = getattr(value, "dtype", None)
        if getattr(dtype, "kind", "") == "c":
            found.append(str(dtype))
        elif isinstance(value, complex):
            found.append("complex128")
    return found


def _reason(
    name: str, args: Sequence[Any], kwargs: Mapping[str, Any], results: Sequence[np.dtype[Any]]
) -> tuple[str, str]:
    """Why a function is not captured, and what to write instead where complex numbers are why."""
    arrays = [v.dtype for v in _traced_in((tuple(args), dict(kwargs))) if isinstance(v, Traced)]
    kinds = [str(d) for d in (*arrays, *results) if d.kind == "c"]
    kinds = kinds or _complex_types(args, kwargs)
    known = name in FUNCTIONS or name in UFUNCS or name in GENERALISED
    if known and kinds:
        return (
            f"numpy.{name}: {kinds[0]} is not supported for it",
            "real arithmetic: the real and the imaginary part as two arrays",
        )
    return f"numpy.{name} cannot be expressed yet", ""


def remedy(name: str) -> str:
    """What to write instead of a function."""
    if name in _INSTEAD:
        return _INSTEAD[name]
    close = get_close_matches(name, [*FUNCTIONS, *UFUNCS], n=3, cutoff=0.75)
    if close:
        return "one of " + ", ".join(f"xp.{c}" for c in close)
    return "captured functions (isomorph.array), or xp.op with an ONNX operator"


def unsupported(
    name: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> TraceError:
    """The error for a function whose result cannot be told."""
    operands = _traced_in((tuple(args), dict(kwargs or {})))
    if operands and (name in FUNCTIONS or name in UFUNCS or name in GENERALISED):
        kinds = ", ".join(str(v.type) if isinstance(v, Traced) else str(v) for v in operands)
        instead = "operands whose dtypes and shapes it takes"
        if is_complex(args, kwargs or {}):
            instead = "real arithmetic: the real and the imaginary part as two arrays"
        return TraceError(f"np.{name} of {kinds} is not captured", instead)
    return TraceError(f"np.{name} is not captured", remedy(name))


def _traced_in(value: Any) -> list[Any]:
    return [v for v in leaves(value) if isinstance(v, (Traced, TracedDim))]


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
) -> tuple[Callable[[Sequence[Any]], Any] | None, list[np.ndarray]] | None:
    """Its results on dummy arrays with open dims at primes, and what holds them if several."""
    names = _symbols(args, kwargs)
    if len(names) > len(primes):
        return None
    sizes = dict(zip(names, primes, strict=False))
    rng = np.random.default_rng(0)
    try:
        dummies = mapped((tuple(args), dict(kwargs)), lambda v: _dummy(v, sizes, rng))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            found = function(*dummies[0], **dummies[1])
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RuntimeError):
        return None
    if is_many(found):
        made: Any = type(found)
        hold = made._make if hasattr(made, "_make") else made
        return hold, [np.asarray(f) for f in found]
    plain = isinstance(found, (bool, int, float, complex)) or hasattr(found, "dtype")
    return (None, [np.asarray(found)]) if plain else None


def _dummy(value: Any, sizes: Mapping[str, int], rng: np.random.Generator) -> Any:
    if isinstance(value, TracedDim):
        return value.expr.evaluate(sizes)
    if not isinstance(value, Traced):
        return value
    shape = [d if isinstance(d, int) else d.evaluate(sizes) for d in value.dims]
    if math.prod(shape) > _LIMIT:
        raise ValueError(f"{value.type} is too large to try a function on")
    if value.dtype.kind in "biu":
        return rng.integers(0, 2, shape).astype(value.dtype)
    return rng.uniform(0.5, 1.5, shape).astype(value.dtype)


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
