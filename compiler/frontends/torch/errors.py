"""What can go wrong between a module and its graph."""

from __future__ import annotations

from isomorph.frontends.array.errors import TraceError
from isomorph.ir.errors import IsomorphError

__all__ = ["NotLowered", "TraceError"]


class NotLowered(Exception):  # noqa: N818 - a gap that becomes a finding, never an error of the user
    """Raised by a rule for a use of its operator that has no ONNX form here.

    Attributes:
        reason: what is not covered.
        remedy: what to write instead.
    """

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class LoweringError(IsomorphError):
    """A rule that gave something else than torch says the operator gives (an error of ours)."""
