"""What can go wrong while a function is traced."""

from __future__ import annotations

from isomorph.ir.errors import IsomorphError
from isomorph.ir.source import Source, caller


class TraceError(IsomorphError, TypeError):
    """Something that a trace cannot capture; names the user's line and what to write instead.

    Attributes:
        source: the place in the user's code.
        instead: what to write instead, where there is something.
    """

    def __init__(self, message: str, instead: str = "", source: Source | None = None) -> None:
        self.source = caller() if source is None else source
        self.instead = instead
        place = f"{self.source}: " if str(self.source) else ""
        super().__init__(f"{place}{message}" + (f"\n  write instead: {instead}" if instead else ""))
