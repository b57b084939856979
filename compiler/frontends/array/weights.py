"""Weights of an array function, read strictly from a safetensors file."""

from __future__ import annotations

import json
import mmap
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
from safetensors import SafetensorError, safe_open

from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

_NUMPY: dict[str, np.dtype[Any]] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype("u1"),
    "U16": np.dtype("<u2"),
    "U32": np.dtype("<u4"),
    "U64": np.dtype("<u8"),
    "I8": np.dtype("i1"),
    "I16": np.dtype("<i2"),
    "I32": np.dtype("<i4"),
    "I64": np.dtype("<i8"),
    "F16": np.dtype("<f2"),
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "C64": np.dtype("<c8"),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}

_TEXT_LIMIT = 120  # characters of one name or message that came from the file
_LIST_LIMIT = 100  # problems written out in the error's text; `.problems` has all
_COMPARISONS = 100_000  # pairs of names; beyond it a search for similar ones takes seconds


@dataclass(frozen=True, slots=True)
class WeightProblem:
    """One name that is `missing`, `unused`, or of another `shape` or `dtype` than expected."""

    kind: str
    name: str
    expected: str
    found: str
    suggestion: str | None = None

    def __str__(self) -> str:
        text = f"{self.kind:<7}  {_shown(self.name)}: expected {self.expected}, found {self.found}"
        return f"{text}; did you mean {_shown(self.suggestion)}?" if self.suggestion else text


class WeightsError(IsomorphError):
    """A file that cannot be read as safetensors, or does not hold exactly the tensors wanted.

    `path` is the file; `problems` has every mismatch, and is empty if the file cannot be read.
    """

    def __init__(
        self, path: Path, problems: Sequence[WeightProblem] = (), unreadable: str = ""
    ) -> None:
        self.path = path
        self.problems = tuple(problems)
        if unreadable:
            super().__init__(f"{path}: {unreadable}")
            return
        lines = [f"{path}: {len(problems)} problem{'s' * (len(problems) != 1)} with the weights"]
        lines += [f"  {problem}" for problem in self.problems[:_LIST_LIMIT]]
        if len(problems) > _LIST_LIMIT:
            lines.append(f"  … and {len(problems) - _LIST_LIMIT} more")
        super().__init__("\n".join(lines))


def load_strict(
    path: str | os.PathLike[str],
    shapes: Mapping[str, tuple[int, ...]],
    *,
    dtype: DTypeLike = np.float32,
    dtypes: Mapping[str, DTypeLike] | None = None,
) -> dict[str, NDArray[Any]]:
    """The named tensors of a safetensors file, if it holds exactly those.

    `shapes` gives the shape of every tensor; each is of `dtype`, or of its own entry in `dtypes`.
    The arrays are read-only, in the order of `shapes`, and stay on disk until they are used. To
    replace the file later, rename a new one over it: rewriting it in place changes the arrays.

    Raises `WeightsError`: one for all names that are missing, unused, or of a wrong shape or
    dtype; or one sentence for a file that is unreadable, truncated or malformed.
    """
    path = Path(path)
    special = dtypes or {}
    wanted = {n: (np.dtype(special.get(n, dtype)), tuple(s)) for n, s in shapes.items()}
    if stray := sorted(set(special) - set(shapes)):
        raise ValueError(f"dtypes has entries without a shape: {', '.join(map(repr, stray))}")
    held, data = _read(path)
    if problems := _problems(wanted, held):
        raise WeightsError(path, problems)
    try:
        return {
            name: np.ndarray(held[name].shape, kind, buffer=data, offset=held[name].offset)
            for name, (kind, _) in wanted.items()
        }
    except (TypeError, ValueError) as error:
        reason = f"is not usable as numpy arrays ({_shown(error)})"
        raise WeightsError(path, unreadable=reason) from error


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: str
    shape: tuple[int, ...]
    offset: int

    def __str__(self) -> str:
        dtype = _NUMPY.get(self.kind)
        return _type_text(dtype.name if dtype is not None else self.kind, self.shape)


def _read(path: Path) -> tuple[dict[str, _Entry], memoryview]:
    """The table of contents, and the file's bytes, mapped.

    `safe_open` judges the header (sizes, overlaps, gaps, JSON); it does not tell the offsets, and
    its tensors are copies, so those are read from the header that it approved.
    """
    if not path.exists():
        raise WeightsError(path, unreadable="no such file")
    if not path.is_file():
        raise WeightsError(path, unreadable="is not a regular file")
    try:
        with safe_open(path, framework="np"):
            pass
        with path.open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        start = 8 + int.from_bytes(data[:8], "little")
        header: dict[str, Any] = json.loads(bytes(data[8:start]))
        return {
            name: _Entry(e["dtype"], tuple(e["shape"]), start + e["data_offsets"][0])
            for name, e in header.items()
            if name != "__metadata__"
        }, data
    except SafetensorError as error:
        reason = f"is not a whole safetensors file ({_shown(error)})"
    except OSError as error:
        reason = f"cannot be read ({_shown(error.strerror or error)})"
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"changed while it was read ({_shown(error)})"  # the header was approved above
    raise WeightsError(path, unreadable=reason)


def _problems(
    wanted: Mapping[str, tuple[np.dtype[Any], tuple[int, ...]]], held: Mapping[str, _Entry]
) -> list[WeightProblem]:
    missing = [name for name in wanted if name not in held]
    unused = [name for name in held if name not in wanted]
    alike = len(missing) * len(unused) <= _COMPARISONS
    found: list[WeightProblem] = []
    for name in missing:
        expected = _type_text(wanted[name][0].name, wanted[name][1])
        near = _nearest(name, unused) if alike else None
        found.append(WeightProblem("missing", name, expected, "nothing", near))
    for name in unused:
        near = _nearest(name, missing) if alike else None
        found.append(WeightProblem("unused", name, "nothing", str(held[name]), near))
    for name, (dtype, shape) in wanted.items():
        if (entry := held.get(name)) is None:
            continue
        if entry.shape != shape:
            found.append(WeightProblem("shape", name, str(list(shape)), str(list(entry.shape))))
        actual = _NUMPY.get(entry.kind)
        if actual != dtype:
            kind = actual.name if actual is not None else entry.kind
            found.append(WeightProblem("dtype", name, dtype.name, kind))
    return found


def _nearest(name: str, names: Iterable[str]) -> str | None:
    short = [n for n in names if len(n) <= _TEXT_LIMIT]
    close = get_close_matches(name, short, n=1, cutoff=0.75) if len(name) <= _TEXT_LIMIT else []
    return close[0] if close else None


def _type_text(dtype: str, shape: tuple[int, ...]) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _shown(value: object) -> str:
    """Text from the file, safe for a terminal and of bounded length."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(value)[: _TEXT_LIMIT + 1])
    return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 1] + "…"
