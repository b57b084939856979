"""What comes after something that a trace refuses: looked for with stand-ins, to be listed alone.

The function is run again, and what needs a number that a trace does not have is given one: a
condition holds and then does not, a number is 1, or −1. The graphs that come of it are thrown away.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.frontends.array.errors import Obstacle, TraceError

MOST_VISITS = 16
"""So often a line gets an answer: a loop that waits for another one ends."""


class Listing:
    """Answers what a trace cannot.

    Args:
        first: what the condition of a line turns out the first time; then the opposite, in turn.
    """

    def __init__(self, *, first: bool) -> None:
        self._first = first
        self._visits: Counter[str] = Counter()

    def answer(self, error: TraceError, stand_in: Any) -> Any:
        """What to go on with; `None` stands for a condition. Raises the error when it is enough."""
        place = str(error.source)
        turn = self._visits[place]
        self._visits[place] += 1
        if turn >= MOST_VISITS:
            raise error
        if stand_in is None:
            return (turn % 2 == 0) is self._first
        return stand_in if self._first or not isinstance(stand_in, float) else -stand_in


def listed(
    run: Callable[[Listing], Sequence[Obstacle]], error: TraceError, before: list[Obstacle]
) -> TraceError:
    """The error, with everything that is not captured before and after it.

    Args:
        run: traces the function once more, with these answers; gives what it went past.
        error: that ended the trace.
        before: what the trace went past until then.
    """
    found: dict[Obstacle, None] = {}
    for first in (True, False) if error.passable else ():
        found.update(dict.fromkeys(run(Listing(first=first))))
    known = {error.obstacle, *before}
    return error.among(before, [o for o in found if o not in known])
