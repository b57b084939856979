"""What can go wrong while a function is traced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.errors import IsomorphError
from isomorph.ir.source import Source, caller

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing in a function that is not captured.

    Attributes:
        source: the place in the user's code.
        reason: what is the matter.
        instead: what to write instead.
        name: of a function that is called there; empty for what is no call.
    """

    source: Source
    reason: str
    instead: str
    name: str = ""

    def __str__(self) -> str:
        place = f"{self.source}: " if str(self.source) else ""
        return f"{place}{self.reason}; write instead: {self.instead}"


class TraceError(IsomorphError, TypeError):
    """Something that a trace cannot capture; names the user's line and what to write instead.

    Attributes:
        source: the place in the user's code.
        instead: what to write instead, where there is something.
        message: what is wrong, without the place.
        earlier: what is not captured before it.
        later: what is not captured after it, as far as it could be told.
        passable: whether a trace can go on with a stand-in, to see what comes after.
    """

    def __init__(
        self,
        message: str,
        instead: str = "",
        source: Source | None = None,
        earlier: Sequence[Obstacle] = (),
        later: Sequence[Obstacle] = (),
        *,
        passable: bool = False,
    ) -> None:
        self.source = caller() if source is None else source
        self.instead = instead
        self.message = message
        self.earlier, self.later = tuple(earlier), tuple(later)
        self.passable = passable
        place = f"{self.source}: " if str(self.source) else ""
        text = f"{place}{message}" + (f"\n  write instead: {instead}" if instead else "")
        if earlier:
            text += "\nnot captured either, before that:" + "".join(f"\n  {e}" for e in earlier)
        if later:
            text += f"\nnot captured either, after it ({AFTER}):"
            text += "".join(f"\n  {e}" for e in later)
        super().__init__(text)

    def among(self, earlier: Sequence[Obstacle], later: Sequence[Obstacle]) -> TraceError:
        """The same error, which also lists what else was not captured."""
        return TraceError(
            self.message, self.instead, self.source, earlier, later, passable=self.passable
        )

    @property
    def obstacle(self) -> Obstacle:
        """Itself, as one of several."""
        return Obstacle(self.source, self.message, self.instead)

    @property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """Everything that is known not to be captured, in the order of the code that ran."""
        return (*self.earlier, self.obstacle, *self.later)


AFTER = "looked for as if each condition held, and as if it did not; there may be more"
