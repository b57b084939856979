"""What a run of tests asks of its parity tests, and who hears of their verdicts.

The pytest plugin opens a journal when it starts; without one, everything has its usual value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from isomorph.parity.verdict import Verdict

CASES, SEED, PROFILE = 200, 0, "all"
"""Where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How parity is to be tested, as far as somebody said so."""

    cases: int | None = None
    seed: int | None = None
    profile: str | None = None

    def over(self, other: Choice) -> Choice:
        """These, and the other's where nothing is said here."""
        return Choice(
            other.cases if self.cases is None else self.cases,
            other.seed if self.seed is None else self.seed,
            other.profile if self.profile is None else self.profile,
        )


USUAL = Choice(CASES, SEED, PROFILE)


@dataclass(slots=True)
class Journal:
    """One run of tests.

    Attributes:
        forced: what outranks the test's own words: the command line.
        usual: what a test need not repeat: the configuration file.
        hear: told the name and verdict of every parity test.
    """

    forced: Choice = field(default_factory=Choice)
    usual: Choice = field(default_factory=Choice)
    hear: Callable[[str, Verdict], None] = lambda _, __: None


_open: list[Journal] = []


def open_journal(journal: Journal) -> None:
    """Ask the newest journal from now on."""
    _open.append(journal)


def close_journal(journal: Journal) -> None:
    """Ask the one before again; a journal that is not open is left alone."""
    if journal in _open:
        _open.remove(journal)


def chosen(own: Choice) -> Choice:
    """The command line's choice, else the test's, else the configuration's, else the usual one."""
    journal = _open[-1] if _open else Journal()
    return journal.forced.over(own).over(journal.usual).over(USUAL)


def tell(name: str, verdict: Verdict) -> None:
    """Let the newest journal hear of a verdict."""
    if _open:
        _open[-1].hear(name, verdict)
