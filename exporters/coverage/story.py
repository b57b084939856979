"""Everything that is known of one operator, as text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from isomorph.exporters.coverage.columns import title
from isomorph.exporters.coverage.entries import Tally, spans
from isomorph.exporters.coverage.torch_rows import rows_of
from isomorph.exporters.runtimes.limitations import LIMITATIONS
from isomorph.exporters.runtimes.tables import load_table
from isomorph.ir import schema
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isomorph.exporters.coverage.entries import Entry
    from isomorph.exporters.coverage.ledger import Ledger
    from isomorph.exporters.coverage.torch_rows import Row
    from isomorph.ir.opdef import Key


def story(key: Key, ledger: Ledger) -> str:
    """Everything that is known of one operator."""
    return "\n".join(_story(key, ledger.entries[key], ledger))


def _story(key: Key, entry: Entry, ledger: Ledger) -> Iterator[str]:
    yield f"{title(key)} ({entry.family})"
    yield f"versions: {', '.join(map(str, schema.versions(*key)))}"
    yield "reads: " + ", ".join(f"{v} ({_of(t)})" for v, t in entry.imports.items())
    yield f"writes: opsets {spans(entry.opsets) or 'none'}"
    for opset, tally in entry.exports.items():
        if not tally:
            yield f"  opset {opset}: {_of(tally)} keep their function"
    for reason, opsets in entry.stuck.items():
        yield f"  not at {spans(opsets)}: {reason}"
    yield from _runtime(key, entry, ledger.releases)
    for limitation in LIMITATIONS.get(key, ()):
        yield f"limitation {limitation}"
    yield from _kernels(entry)
    yield f"array functions: {', '.join(entry.spellings) or 'only xp.op'}"
    yield from _torch(rows_of(key, ledger.torch), ledger.releases.get("torch", ""))


def _runtime(key: Key, entry: Entry, releases: Mapping[str, str]) -> Iterator[str]:
    release = releases.get("onnxruntime", "")
    yield f"runs on onnxruntime {release}: {_accepted(entry.cases)}"
    for dtype in _ordered({*entry.dtypes, *entry.refused}):
        tally, refused = entry.dtypes.get(dtype, Tally()), entry.refused.get(dtype)
        kernels = f"; no kernel for some use at opsets {spans(refused)}" if refused else ""
        yield f"  {dtype}: {_of(tally) if tally.tried else 'none ran'}{kernels}"
    for failure in entry.failures:
        yield f"  differs: {failure}"
    table = load_table("onnxruntime", release, "cpu")
    for version, seen in sorted((table.ops.get(key) or {}).items()) if table else ():
        yield f"observed of {title(key)}-{version}: runs {', '.join(seen.runs) or 'nothing'}"
        for failure in seen.fails:
            some = "some uses of " if set(failure.signatures) & set(seen.some) else ""
            why = f": {failure.why}" if failure.why else ""
            yield f"  {failure.outcome}: {some}{', '.join(failure.signatures)}{why}"


def _kernels(entry: Entry) -> Iterator[str]:
    kernels = entry.kernels
    if not kernels.digest:
        yield "our own kernels: not measured"
        return
    yield f"our own kernels, on the simulator: {_accepted(kernels.cases)}"
    for dtype in _ordered({*kernels.dtypes, *kernels.lacking}):
        parts: list[str] = []
        if dtype in kernels.dtypes:
            parts.append(_of(kernels.dtypes[dtype]))
        if dtype in kernels.lacking:
            count, why = kernels.lacking[dtype]
            parts.append(f"{count} use{'s have' if count > 1 else ' has'} none: {why}")
        yield f"  {dtype}: {'; '.join(parts)}"
    for failure in kernels.failures:
        yield f"  differs: {failure}"


def _torch(rows: list[Row], release: str) -> Iterator[str]:
    if not rows:
        yield "PyTorch: nothing becomes it"
        return
    yield f"PyTorch {release}:"
    for count, group in groupby(rows, key=lambda row: row.ops):
        head = "alone" if count == 1 else f"with {count - 1} other operator{'s' * (count > 2)}"
        yield f"  {head}: {', '.join(str(row).replace('`', '') for row in group)}"
    for use, why in sorted({f for row in rows for f in row.failures}):
        yield f"  not accepted: {use}: {why}"


def _ordered(dtypes: set[str]) -> list[str]:
    return sorted(dtypes, key=lambda d: DType.of(d).value)


def _accepted(tally: Tally) -> str:
    return f"{_of(tally)} cases accepted"


def _of(tally: Tally) -> str:
    return f"{tally.passed} of {tally.tried}"
