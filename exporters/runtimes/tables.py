"""What each release of a run time was observed to load and run: the shipped tables, and lookups.

The data lies beside this file, one JSON document per release and provider, written by
`python -m isomorph.exporters.runtimes.probe`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from isomorph.ir import schema
from isomorph.ir.types import MapType, OptionalType, SequenceType, SparseType, TensorType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.graph import Op, Value
    from isomorph.ir.opdef import Key
    from isomorph.ir.types import Type

Outcome = Literal["runs", "no-kernel", "load-error", "run-error", "crash"]
Verdict = Literal["runs", "fails", "some", "unknown"]

NO_VARIABLES = "()"
"""Signature of an operator whose element types are all fixed."""

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Failure:
    """Uses of one version of an operator that a run time refused: how, why, at which types."""

    outcome: Outcome
    why: str
    signatures: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Observed:
    """What was seen of one version of one operator.

    Signatures name the element type of each type variable, in the schema's order; `@3` behind one
    restricts it to a first operand of rank 3, where the rank made a difference.
    """

    runs: tuple[str, ...] = ()
    fails: tuple[Failure, ...] = ()
    some: tuple[str, ...] = ()
    """Signatures of which some uses ran and others did not."""

    def look_up(self, signature: str, rank: int | None) -> tuple[Verdict, Failure | None]:
        """The verdict on one use, and what was seen when it failed."""
        for text in (f"{signature}@{rank}", signature):
            if text in self.some:
                return "some", self.failure(text)
            if text in self.runs:
                return "runs", None
            found = self.failure(text)
            if found is not None:
                return "fails", found
        return "unknown", None

    def failure(self, text: str) -> Failure | None:
        """The failure that names exactly this signature."""
        return next((f for f in self.fails if text in f.signatures), None)


@dataclass(frozen=True, slots=True)
class Table:
    """Everything observed of one release and provider.

    Attributes:
        runtime, release, provider: whose observations these are.
        newest_opset: of the default domain, that it loads.
        newest_ir_version: that it loads.
        ops: (domain, operator) → version → observations.
    """

    runtime: str
    release: str
    provider: str
    newest_opset: int
    newest_ir_version: int
    ops: dict[Key, dict[int, Observed]] = field(default_factory=dict["Key", dict[int, Observed]])

    def __str__(self) -> str:
        return f"{self.runtime} {self.release} ({self.provider})"

    def observed(self, key: Key, version: int) -> Observed | None:
        """What was seen of one version of an operator, `None` when nobody looked."""
        return self.ops.get(key, {}).get(version)

    def to_json(self) -> dict[str, Any]:
        """As plain data, sorted; `of_json` reads it."""
        domains: dict[str, dict[str, Any]] = {}
        for (domain, name), versions in sorted(self.ops.items()):
            domains.setdefault(domain or "ai.onnx", {})[name] = {
                str(v): _observed_json(o) for v, o in sorted(versions.items())
            }
        return {
            "schema_version": 1,
            "runtime": self.runtime,
            "release": self.release,
            "provider": self.provider,
            "newest_opset": self.newest_opset,
            "newest_ir_version": self.newest_ir_version,
            "ops": domains,
        }

    @staticmethod
    def of_json(data: dict[str, Any]) -> Table:
        """The table that `to_json` wrote."""
        ops: dict[Key, dict[int, Observed]] = {}
        for domain, names in data["ops"].items():
            for name, versions in names.items():
                ops[schema.normal_domain(domain), name] = {
                    int(v): _observed_of(o) for v, o in versions.items()
                }
        return Table(
            data["runtime"],
            data["release"],
            data["provider"],
            data["newest_opset"],
            data["newest_ir_version"],
            ops,
        )


def path_of(runtime: str, release: str, provider: str) -> Path:
    """Where the table of a release lies."""
    return FOLDER / f"{runtime}-{release}-{provider}.json"


@cache
def load_table(runtime: str, release: str, provider: str) -> Table | None:
    """The shipped table of a release, `None` when it was never probed."""
    path = path_of(runtime, release, provider)
    if not path.is_file():
        return None
    return Table.of_json(json.loads(path.read_text(encoding="utf-8")))


def known_tables() -> list[tuple[str, str, str]]:
    """(run time, release, provider) of every shipped table, oldest release first."""
    found = [tuple(p.stem.rsplit("-", 2)) for p in FOLDER.glob("*-*-*.json")]
    return sorted(found, key=lambda t: (t[0], [int(p) for p in t[1].split(".")], t[2]))  # type: ignore[misc]


# -- signatures -----------------------------------------------------------------------------


def signature(op: Op) -> str | None:
    """The element type behind each type variable of an op's own version, in the schema's order.

    `-` stands for a variable that the op does not use; the whole is `None` when a type is unknown.
    """
    known = op.schema
    if known is None:
        return None
    bound: dict[str, str] = {}
    for values, outputs in ((op.inputs, False), (op.outputs, True)):
        for index, value in enumerate(values):
            formal = known.output(index) if outputs else known.input(index)
            if value is None or formal is None or formal.type_var not in known.type_vars:
                continue
            text = type_text(value.type)
            if text is None:
                return None
            bound.setdefault(formal.type_var, text)
    return ",".join(bound.get(v, "-") for v in known.type_vars) or NO_VARIABLES


def type_text(kind: Type | None) -> str | None:
    """A type without its dims."""
    match kind:
        case TensorType():
            return str(kind.dtype)
        case SequenceType():
            inner = type_text(kind.element)
            return None if inner is None else f"seq({inner})"
        case OptionalType():
            inner = type_text(kind.element)
            return None if inner is None else f"optional({inner})"
        case MapType():
            inner = type_text(kind.value)
            return None if inner is None else f"map({kind.key}:{inner})"
        case SparseType():
            return f"sparse({kind.dtype})"
        case None:
            return None


def rank_of(op: Op) -> int | None:
    """The rank of an op's first operand, `None` when it has none or it is unknown."""
    first: Value | None = op.input(0)
    found = None if first is None else first.type
    return found.rank if isinstance(found, TensorType) else None


def operand_dtypes(op: Op) -> Iterator[str]:
    """The element types of an op's operands, each once, in their order."""
    seen: set[str] = set()
    for value in op.operands or op.results:
        text = type_text(value.type)
        if text is not None and text not in seen:
            seen.add(text)
            yield text


# -- data -------------------------------------------------------------------------------------


def _observed_json(observed: Observed) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if observed.runs:
        found["runs"] = " ".join(sorted(observed.runs))
    if observed.some:
        found["some"] = " ".join(sorted(observed.some))
    if observed.fails:
        found["fails"] = [
            {"outcome": f.outcome, "why": f.why, "for": " ".join(sorted(f.signatures))}
            for f in sorted(observed.fails, key=lambda f: (f.outcome, f.why))
        ]
    return found


def _observed_of(data: dict[str, Any]) -> Observed:
    return Observed(
        tuple(data.get("runs", "").split()),
        tuple(
            Failure(f["outcome"], f["why"], tuple(f["for"].split())) for f in data.get("fails", ())
        ),
        tuple(data.get("some", "").split()),
    )
