"""How one result of one case compares with the truth."""

from __future__ import annotations

from dataclasses import dataclass, replace

from isomorph.parity.verdict import Status


@dataclass(frozen=True, slots=True)
class Finding:
    """An outcome, its reason, and distances from the truth.

    Attributes:
        status: of this comparison alone.
        reason: empty for PASS.
        max_ulp, max_abs: largest distance from the float64 truth.
        nearer: as in `Judged`.
        histogram: elements by their distance, as in `Judged`.
        overflows: whether a partial result may have left the format's range, and did.
    """

    status: Status = Status.PASS
    reason: str = ""
    max_ulp: float = 0.0
    max_abs: float = 0.0
    nearer: str = "equal"
    histogram: tuple[int, ...] = ()
    overflows: bool = False

    def at(self, status: Status, reason: str) -> Finding:
        """The same figures with another outcome."""
        return replace(self, status=status, reason=reason)
