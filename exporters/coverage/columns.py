"""The cells of the matrix: what an entry says in a few words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.coverage.entries import Tally
from isomorph.exporters.coverage.torch_rows import rows_of
from isomorph.ir import schema
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isomorph.exporters.coverage.entries import Entry, TorchUse
    from isomorph.ir.opdef import Key

_SHORT = {
    DType.FLOAT16: "f16",
    DType.FLOAT32: "f32",
    DType.FLOAT64: "f64",
    DType.BFLOAT16: "bf16",
    DType.BOOL: "bool",
    DType.STRING: "string",
    DType.INT8: "i8",
    DType.INT16: "i16",
    DType.INT32: "i32",
    DType.INT64: "i64",
    DType.UINT8: "u8",
    DType.UINT16: "u16",
    DType.UINT32: "u32",
    DType.UINT64: "u64",
}
_FLOAT8 = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
_GROUPS = (
    ("floats", ("f16", "f32", "f64")),
    ("integers", ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")),
    ("float8", _FLOAT8),
)

MOST_SPELLINGS = 6


def title(key: Key) -> str:
    """`domain.Name`, or the name alone in ONNX's own domain."""
    return f"{key[0]}.{key[1]}" if key[0] else key[1]


def reads(key: Key, entry: Entry) -> str:
    """The versions that were read and upgraded; others that exist are in brackets."""
    lowest = schema.since_version(*key, schema.LOWEST_READ) or 0
    shown = [v for v in schema.versions(*key) if v >= lowest]
    return " ".join(str(v) if entry.imports.get(v) else f"({v})" for v in shown)


def runs(entry: Entry) -> str:
    """The element types that ran, with a star where some opsets have no kernel."""
    good = [d for d, t in entry.dtypes.items() if t]
    return short(good, starred=set(entry.refused))


def refused(entry: Entry) -> list[str]:
    """The element types that were refused and never ran."""
    return [d for d in entry.refused if not entry.dtypes.get(d, Tally()).tried]


def short(names: Iterable[str], starred: set[str] | None = None) -> str:
    """Element types abbreviated, complete groups by their name."""
    starred = starred or set()
    order = {str(d): i for i, d in enumerate(DType)}
    left = {_SHORT.get(DType.of(n), n): n in starred for n in sorted(names, key=order.__getitem__)}
    found: list[str] = []
    for name, members in _GROUPS:
        if all(m in left for m in members) and len({left[m] for m in members}) == 1:
            found.append(name + "*" * left[members[0]])
            left = {k: v for k, v in left.items() if k not in members}
    return " ".join([*found, *(n + "*" * star for n, star in left.items())])


def differs(tallies: Mapping[str, Tally]) -> str:
    """The element types at which some result was not accepted."""
    return short(d for d, t in tallies.items() if t.passed < t.tried)


def kernel(entry: Entry) -> str:
    """The element types that our own kernels take, with a star where some use has none."""
    kernels = entry.kernels
    good = short((d for d, t in kernels.dtypes.items() if t), starred=set(kernels.lacking))
    wrong = differs(kernels.dtypes)
    return f"{good} (differs: {wrong})".strip() if wrong else good or "–"


def torch(key: Key, uses: Mapping[str, TorchUse]) -> str:
    """The operators of torch that become this one alone, or else with the fewest others."""
    rows = rows_of(key, uses)
    nearest = [r for r in rows if r.ops == rows[0].ops]
    shown = [str(r) for r in nearest[:MOST_SPELLINGS]]
    more = f" +{len(nearest) - len(shown)}" if len(nearest) > len(shown) else ""
    return ", ".join(shown) + more
