"""Values of every kind for one input: ordinary ones, and those that no ordinary data has."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from isomorph.ir.dims import Expr
from isomorph.ir.types import DType
from isomorph.parity.strategies import scales
from isomorph.parity.strategies.anchors import near
from isomorph.parity.strategies.held import held
from isomorph.parity.strategies.kinds import HOSTILE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isomorph.parity.strategies.specs import Spec

TOLD = 0.7
"""How often a text is one that the graph itself names."""
TEXTS = ("", "a", "Bé", "xyz", "12", "-1.5", " ")


def fill(
    spec: Spec,
    kind: str,
    dims: Mapping[str, int],
    rng: np.random.Generator,
    *,
    plain: bool = False,
) -> Any:
    """One value of a kind, within the input's domain and role.

    A tensor is an array; see `held` for others, which `plain` keeps present and even.
    """
    shape = spec.sizes(dims)
    if spec.kind is None:
        return _array(spec, kind, shape, dims, rng)

    def tensor(shape: tuple[int, ...]) -> np.ndarray:
        return _array(spec, kind, shape, dims, rng)

    return held(spec, dims, tensor, rng, plain=plain)


def _array(
    spec: Spec,
    kind: str,
    shape: tuple[int, ...],
    dims: Mapping[str, int],
    rng: np.random.Generator,
) -> np.ndarray:
    dtype = spec.dtype
    if dtype is DType.STRING:
        plain = rng.choice(np.array(TEXTS, object), shape)
        if not spec.texts or (kind == "zeros" and not spec.strict):
            return plain
        told = rng.choice(np.array(spec.texts, object), shape)
        if spec.strict:
            return told
        return np.where(rng.random(shape) < TOLD, told, plain).astype(object)
    if dtype is DType.BOOL:
        share = {"zeros": 0.0, "constant": 1.0, "sparse": 0.1}.get(kind, 0.5)
        return rng.random(shape) < share
    if spec.role is not None and spec.role.kind != "divisor":
        return _in_role(spec, shape, dims, rng).astype(dtype.numpy)
    if dtype.is_complex:
        half = DType.FLOAT32 if dtype is DType.COMPLEX64 else DType.FLOAT64
        drawn = (2, *shape)
        parts = _hostile(kind, drawn, half, rng) if kind in HOSTILE else _floats(kind, drawn, rng)
        found = np.empty(shape, np.complex128)
        found.real, found.imag = parts  # a product with 1j would make NaN of infinities
        with np.errstate(all="ignore"):
            return found.astype(dtype.numpy)
    low, high = _limits(spec)
    if dtype.is_integer:
        drawn = _integers(spec, kind, shape, low, high, rng)
        return drawn if spec.role is None else np.where(drawn == 0, 1, drawn).astype(dtype.numpy)
    if kind == "constants" and spec.anchors:
        return _near(spec, shape, rng).astype(dtype.numpy)
    values = _hostile(kind, shape, dtype, rng) if kind in HOSTILE else _floats(kind, shape, rng)
    if spec.low is not None or spec.high is not None:
        values = _into(values, kind, low, high, rng)
    with np.errstate(all="ignore"):
        return np.asarray(values).astype(dtype.numpy)


def _near(spec: Spec, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Numbers at which the graph may change its mind; the first of them most often."""
    dtype = np.dtype(spec.dtype.numpy)
    found = near(spec.anchors, dtype)
    low, high = _limits(spec)
    values = found[(len(found) * rng.random(shape) ** 2).astype(int)]
    return np.clip(values, low, high)


def _floats(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    normal = rng.standard_normal(shape)
    match kind:
        case "uniform":
            return rng.uniform(-1, 1, shape)
        case "large":
            return normal * 30
        case "small":
            return normal * 1e-3
        case "integers":
            return np.rint(normal * 3)
        case "ties":
            return np.rint(normal * 2) + rng.choice([0.0, 0.5, -0.5], shape)
        case "repeated":
            return rng.choice(rng.standard_normal(3), shape)
        case "sorted":
            return np.sort(normal, axis=-1) if normal.ndim else normal
        case "sparse":
            return np.where(rng.random(shape) < 0.1, normal, 0.0)
        case "constant":
            return np.full(shape, rng.standard_normal())
        case "zeros":
            return np.zeros(shape)
        case "positive":
            return np.abs(normal)
        case "one-hot":
            flat = np.zeros(prod(shape))
            if flat.size:
                flat[rng.integers(flat.size)] = 1.0
            return flat.reshape(shape)
        case "thousands":
            return rng.choice([1.0, -1.0], shape) * 10 ** rng.uniform(2.5, 4, shape)
        case "offset":
            return normal + rng.choice([-10.0, 10.0, 100.0])
        case _:
            return normal


def _hostile(
    kind: str, shape: tuple[int, ...], dtype: DType, rng: np.random.Generator
) -> np.ndarray:
    info = cast("Any", ml_dtypes.finfo(dtype.numpy))
    top, least = float(info.max), float(info.smallest_subnormal)
    normal = rng.standard_normal(shape)
    some = rng.random(shape) < 0.2
    match kind:
        case "negative-zero":
            return np.where(rng.random(shape) < 0.5, -0.0, np.where(some, 0.0, normal))
        case "subnormal":
            return rng.integers(-1000, 1000, shape) * least
        case "infinite":
            found = np.where(some, rng.choice([np.inf, -np.inf], shape), normal)
            return _with(found, [-np.inf, np.inf], rng)
        case "nan":
            return _with(np.where(some, np.nan, normal), [np.nan], rng)
        case "huge" | "extreme":
            return rng.choice([1.0, -1.0], shape) * np.clip(rng.random(shape), 0.01, 1) * top
        case "decades":
            exponents = rng.uniform(max(np.log10(least), -30), min(np.log10(top), 30), shape)
            return rng.choice([1.0, -1.0], shape) * 10**exponents
        case "tiny":
            return normal * float(info.smallest_normal) * 8
        case _:
            special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, top, -top, least, -least]
            return np.where(rng.random(shape) < 0.5, rng.choice(special, shape), normal)


def _with(values: np.ndarray, wanted: list[float], rng: np.random.Generator) -> np.ndarray:
    """The values with each of the wanted ones somewhere, as far as there is room."""
    flat = np.array(values).reshape(-1)
    places = rng.permutation(flat.size)[: len(wanted)]
    flat[places] = rng.permutation(wanted)[: len(places)]
    return flat.reshape(np.shape(values))


def _limits(spec: Spec) -> tuple[float, float]:
    low = -np.inf if spec.low is None else spec.low
    high = np.inf if spec.high is None else spec.high
    return low, high


def _into(
    values: np.ndarray, kind: str, low: float, high: float, rng: np.random.Generator
) -> np.ndarray:
    """Values of a kind, squeezed into a range."""
    if np.isfinite(low) and np.isfinite(high):
        if kind in {"zeros", "constant"}:
            return np.full(values.shape, rng.choice([low, high, min(max(0.0, low), high)]))
        spread = low + (high - low) * rng.random(values.shape)
        edges = rng.choice([low, high], values.shape)
        share = {"sparse": 0.9, "ties": 0.5, "one-hot": 1.0, "normal": 0.02}.get(kind, 0.0)
        return np.where(rng.random(values.shape) < share, edges, spread)
    if np.isfinite(low):
        return low + np.abs(values)
    return high - np.abs(values) if np.isfinite(high) else values


def _integers(
    spec: Spec,
    kind: str,
    shape: tuple[int, ...],
    low: float,
    high: float,
    rng: np.random.Generator,
) -> np.ndarray:
    bits = spec.dtype.bits
    top = 2 ** (bits - 1) - 1 if spec.dtype.is_signed else 2**bits - 1
    bottom = -top - 1 if spec.dtype.is_signed else 0
    if kind in {"huge", "extreme", "mixed"}:
        special = np.array([bottom, bottom + 1, 0, 1, top - 1, top], object)
        drawn = rng.choice(special, shape)
        return np.asarray(
            drawn.astype(spec.dtype.numpy) if drawn.size else drawn.astype(int)
        ).astype(spec.dtype.numpy)
    reach = {"large": 100, "integers": 10, "zeros": 0}.get(kind, 8)
    given = spec.low is not None or spec.high is not None
    start = int(max(bottom, low if np.isfinite(low) else (-reach if not given else high - reach)))
    stop = int(min(top, high if np.isfinite(high) else start + max(2 * reach, 1)))
    if given and kind in {"ties", "one-hot", "sparse"}:
        return rng.choice(np.array([start, stop]), shape).astype(spec.dtype.numpy)
    if kind == "zeros" and not given:
        start = stop = 0
    if kind == "constant":
        return np.full(shape, rng.integers(start, stop, endpoint=True)).astype(spec.dtype.numpy)
    drawn = rng.integers(start, stop, shape, endpoint=True)
    return (np.sort(drawn, axis=-1) if kind == "sorted" and drawn.ndim else drawn).astype(
        spec.dtype.numpy
    )


def _in_role(
    spec: Spec, shape: tuple[int, ...], dims: Mapping[str, int], rng: np.random.Generator
) -> np.ndarray:
    role = spec.role
    assert role is not None  # noqa: S101 - the caller checked
    count = prod(shape)
    if role.kind in scales.KINDS:
        return scales.draw(role.kind, shape, rng)
    match role.kind:
        case "index":
            bound = _size(role.bound, dims)
            if bound is None:
                return rng.integers(0, 2, shape)
            drawn = rng.integers(0, max(bound, 1), shape)
            edges = rng.choice([0, max(bound - 1, 0)], shape)
            drawn = np.where(rng.random(shape) < 0.1, edges, drawn)
            if role.negative and spec.dtype.is_signed and rng.random() < 0.1:
                drawn = np.where(rng.random(shape) < 0.3, drawn - bound, drawn)
            if role.choices:
                drawn = np.where(rng.random(shape) < 0.2, rng.choice(role.choices, shape), drawn)
            return drawn - role.offset
        case "exact":
            return np.full(shape, (_size(role.bound, dims) or 0) - role.offset)
        case "choice":
            near = [c + d for c in role.choices[:8] for d in (-1, 1)] + [0, 1]
            whole = np.array(role.choices)
            if count == 1 or len(role.choices) < 16:
                other = np.array(near)
                return (
                    np.where(
                        rng.random(shape) < 0.7, rng.choice(whole, shape), rng.choice(other, shape)
                    )
                    - role.offset
                )
            return rng.choice(whole, shape) - role.offset
        case "axes":
            rank = _size(role.bound, dims) or 1
            chosen = rng.permutation(rank)[:count] if count <= rank else np.arange(count)
            return np.resize(chosen, shape) - (rank if rng.random() < 0.3 else 0)
        case "shape":
            return np.array(_factors(_prod(role.shape, dims), count, rng)).reshape(shape)
        case "expand":
            own = [_size(d, dims) or 1 for d in role.shape]
            wanted = [1] * max(count - len(own), 0) + own[max(len(own) - count, 0) :]
            return np.array([int(rng.integers(1, 4)) if w == 1 else w for w in wanted]).reshape(
                shape
            )
        case "size":
            drawn = rng.integers(1, 4, shape)
            given = [_size(d, dims) for d in role.shape]
            for position, known in enumerate(given[:count]):
                drawn[position] = drawn[position] if known is None else known
            return drawn
        case _:
            return rng.integers(1, 4, shape)


def _size(dim: int | Expr | None, dims: Mapping[str, int]) -> int | None:
    if isinstance(dim, Expr):
        return dim.evaluate(dims) if dim.symbols() <= dims.keys() else None
    return dim


def _prod(shape: tuple[int | Expr | None, ...], dims: Mapping[str, int]) -> int:
    return prod(_size(d, dims) or 1 for d in shape)


def _factors(total: int, count: int, rng: np.random.Generator) -> list[int]:
    """A random way to write a size as `count` dims, one of them perhaps left open as -1."""
    found: list[int] = []
    left = total
    for position in range(count):
        if position == count - 1:
            found.append(left)
            break
        divisors = [d for d in range(1, min(left, 4096) + 1) if left % d == 0] or [1]
        found.append(int(rng.choice(divisors)))
        left //= max(found[-1], 1)
    if found and total and rng.random() < 0.3:
        found[int(rng.integers(len(found)))] = -1
    return found
