"""Findings as they come up, one per op; given out grouped, with every place."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from isomorph.exporters.coverage.report import SEVERITIES, Finding, Kind, Severity
from isomorph.exporters.runtimes.tables import operand_dtypes

if TYPE_CHECKING:
    from isomorph.ir.graph import Op


class Origin(dict[str, str]):
    """An op's metadata that also remembers the op: rewrites hand it on to the ops they make."""

    __slots__ = ("_first", "_op", "domain", "op", "version")

    def __init__(self, op: Op) -> None:
        super().__init__(op.metadata)
        self.op = op.type
        self.domain = op.domain
        self.version = op.version
        self._op = op
        self._first = next((v.name for v in op.outputs if v is not None), "")

    @property
    def where(self) -> str:
        """`file:line`, else the node's name, else its first output's as it was."""
        op = self._op
        return str(op.source or "") or op.name or self._first

    @property
    def dtypes(self) -> tuple[str, ...]:
        """The element types of the operands."""
        return tuple(operand_dtypes(self._op))


class _Group(NamedTuple):
    """Everything that equal findings share."""

    op: str
    domain: str
    version: int
    dtypes: tuple[str, ...]
    kind: Kind
    reason: str
    remedy: str
    severity: Severity


class Collector:
    """Findings of one graph, grouped by everything but their places."""

    def __init__(self) -> None:
        self._groups: dict[_Group, dict[int, str]] = {}
        self._warned: dict[tuple[str, str], _Group] = {}

    def add(
        self,
        op: Op | None,
        kind: Kind,
        reason: str,
        remedy: str,
        *,
        severity: Severity = "obstacle",
        place: str = "",
    ) -> None:
        """Note one finding; it is told of the op of the user's graph that `op` came from.

        Args:
            op: what is in the way; `None` for the graph as a whole.
            kind, reason, remedy, severity: as in `Finding`.
            place: where, when there is no op.
        """
        if op is None:
            identity = len(self._groups)
            head: tuple[str, str, int, tuple[str, ...]] = ("", "", 0, ())
        else:
            origin = op.metadata if isinstance(op.metadata, Origin) else Origin(op)
            identity = id(op.metadata) if origin is op.metadata else id(op)
            place = origin.where
            head = (origin.op, origin.domain, origin.version, origin.dtypes)
        self._groups.setdefault(_Group(*head, kind, reason, remedy, severity), {})[identity] = place

    def warn(self, op: Op, reason: str, remedy: str) -> None:
        """Note a use that may go wrong: one finding for all uses, whatever their element types."""
        origin = Origin(op)
        made = _Group(
            *(origin.op, origin.domain, origin.version, origin.dtypes),
            *("risk", reason, remedy, "warning"),
        )
        group = self._warned.setdefault((reason, remedy), made)
        self._groups.setdefault(group, {})[id(op)] = origin.where

    def findings(self) -> tuple[Finding, ...]:
        """All of them: obstacles first, warnings last, each in the order in which it was met."""
        found = [
            Finding(
                group.op,
                group.domain,
                group.version,
                group.dtypes,
                len(places),
                tuple(dict.fromkeys(p for p in places.values() if p)),
                group.kind,
                group.reason,
                group.remedy,
                group.severity,
            )
            for group, places in self._groups.items()
        ]
        return tuple(sorted(found, key=lambda f: SEVERITIES.index(f.severity)))
