"""What can go wrong while a function is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.errors import IsomorphError
from isomorph.ir.source import Source, caller

if TYPE_CHECKING:
    from collections.abc import Sequence


class TraceError(IsomorphError, TypeError):
    """Something that a trace cannot capture; names the user's line and what to write instead.

    Attributes:
        source: the place in the user's code.
        instead: what to write instead, where there is something.
        message: what is wrong, without the place.
        earlier: one line for each function before it that is not captured either.
    """

    def __init__(
        self,
        message: str,
        instead: str = "",
        source: Source | None = None,
        earlier: Sequence[str] = (),
    ) -> None:
        self.source = caller() if source is None else source
        self.instead = instead
        self.message = message
        self.earlier = tuple(earlier)
        place = f"{self.source}: " if str(self.source) else ""
        text = f"{place}{message}" + (f"\n  write instead: {instead}" if instead else "")
        if earlier:
            text += "\nnot captured either, before that:" + "".join(f"\n  {e}" for e in earlier)
        super().__init__(text)

    def after(self, earlier: Sequence[str]) -> TraceError:
        """The same error, which also lists what was not captured before it."""
        return TraceError(self.message, self.instead, self.source, earlier)
