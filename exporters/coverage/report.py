"""What `check` says: findings, all of them at once, each with its places and its remedy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from isomorph.ir.errors import IsomorphError
from isomorph.ir.printable import printable

if TYPE_CHECKING:
    from isomorph.exporters.target import Target

SCHEMA_VERSION = 1

Kind = Literal["unsupported-op", "no-kernel", "dtype", "opset", "shape", "risk"]
Severity = Literal["obstacle", "risk", "warning"]
SEVERITIES: tuple[Severity, ...] = ("obstacle", "risk", "warning")
"""The gravest first."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that stands in the way of an export (or may do so), wherever it occurs.

    Attributes:
        op, domain, version: the operator, at the version it has in the graph.
        dtypes: element types of the operands concerned.
        count: how many ops it concerns.
        where: `file:line` of the user's source, or node names.
        kind: what sort of obstacle.
        reason: what is the matter.
        remedy: what to do about it.
        severity: `obstacle` stops an export, `risk` does not; a `warning` is of results that the
            run time is known to get wrong for some values.
    """

    op: str
    domain: str
    version: int
    dtypes: tuple[str, ...]
    count: int
    where: tuple[str, ...]
    kind: Kind
    reason: str
    remedy: str
    severity: Severity = "obstacle"

    def __str__(self) -> str:
        name = f"{self.domain}.{self.op}" if self.domain else self.op
        whole = "the source" if self.kind == "unsupported-op" else "the graph"
        name = f"{name}-{self.version}" if name else whole
        kinds = f" ({', '.join(self.dtypes)})" if self.dtypes else ""
        times = f" ×{self.count}" if self.count > 1 else ""
        if self.severity == "warning":
            first = f", first at {self.where[0]}" if self.where and self.count > 1 else ""
            at = f" at {self.where[0]}" if self.where and self.count == 1 else first
            return f"{self.severity}: {self.op}{times}{at}: {self.reason}; {self.remedy}"
        places = ", ".join(map(printable, self.where[:8])) + (", …" if len(self.where) > 8 else "")
        at = f" at {places}" if places else ""
        head = f"{self.severity}: {name}{kinds}{times} [{self.kind}]"
        return f"{head}{at}\n    {self.reason}\n    remedy: {self.remedy}"


@dataclass(frozen=True, slots=True)
class Report:
    """All findings for one graph and one target.

    Attributes:
        target: opset and run time.
        findings: obstacles first, warnings last.
        notes: how they were come by.
        source: the file or the source that the graph is of, where it is known.
    """

    target: Target
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way."""
        return not any(f.severity == "obstacle" for f in self.findings)

    def __str__(self) -> str:
        obstacles, risks, warnings = (
            sum(f.severity == severity for f in self.findings) for severity in SEVERITIES
        )
        name = f"{self.source}: " if self.source else ""
        head = f"{name}{'exportable' if self.ok else 'not exportable'} for {self.target}: "
        head += f"{obstacles} obstacle{'s' * (obstacles != 1)}, {risks} risk{'s' * (risks != 1)}"
        if warnings:
            head += f", {warnings} warning{'s' * (warnings != 1)}"
        return "\n".join([head, *map(str, self.findings), *(f"note: {n}" for n in self.notes)])

    def to_json(self) -> dict[str, Any]:
        """The report as plain data; `schema_version` changes when its form does."""
        return {
            "schema_version": SCHEMA_VERSION,
            "ok": self.ok,
            "source": self.source,
            "target": self.target.to_json(),
            "findings": [asdict(f) for f in self.findings],
            "notes": list(self.notes),
        }


class ExportError(IsomorphError):
    """An export that found obstacles; nothing was written. Carries the report."""

    def __init__(self, report: Report) -> None:
        super().__init__(str(report))
        self.report = report
