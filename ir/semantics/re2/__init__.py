"""Whether a text matches a pattern of RE2's syntax as a whole, in time linear in the text.

The pattern becomes a program of sets and choices; its states are followed together, and each set of
states is met once (Thompson's construction, with the automaton built as it is needed).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from isomorph.ir.semantics.re2.classes import WORD, Ranges, holds
from isomorph.ir.semantics.re2.syntax import Parser, PatternError

if TYPE_CHECKING:
    from isomorph.ir.semantics.re2.syntax import Tree

MOST_INSTRUCTIONS = 50_000
MOST_KEPT = 1 << 20
"""States in the transitions that are kept; beyond them they are forgotten, as RE2 does."""
_EDGE, _NEWLINE, _WORD, _OTHER = range(4)
States = frozenset[int]


class Pattern:
    """A pattern made ready; raises PatternError for what RE2 does not take."""

    def __init__(self, pattern: str) -> None:
        self._sets: list[Ranges | None] = []
        self._next: list[tuple[int, ...]] = []
        self._asserts: list[str] = []
        self._steps: dict[tuple[States, str, int, int], States] = {}
        self._kept = 0
        self._end = self._add(None, ())
        self._start = self._compile(Parser(pattern).parse(), self._end)

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        states: States = frozenset((self._start,))
        before = _EDGE
        for char in text:
            kind = _kind(char)
            states = self._step(states, char, before, kind)
            if not states:
                return False
            before = kind
        return self._end in self._closure(states, before, _EDGE)

    # -- the program ----------------------------------------------------------------------------

    def _add(self, ranges: Ranges | None, following: tuple[int, ...], condition: str = "") -> int:
        if len(self._sets) >= MOST_INSTRUCTIONS:
            raise PatternError(f"the pattern takes more than {MOST_INSTRUCTIONS} instructions")
        self._sets.append(ranges)
        self._next.append(following)
        self._asserts.append(condition)
        return len(self._sets) - 1

    def _compile(self, tree: Tree, then: int) -> int:
        """The first instruction of a tree that goes on at another."""
        match tree:
            case ("set", ranges):
                return self._add(ranges, (then,))
            case ("assert", kind):
                return self._add(None, (then,), kind)
            case ("cat", parts):
                for part in reversed(parts):
                    then = self._compile(part, then)
                return then
            case ("alt", parts):
                return self._add(None, tuple(self._compile(p, then) for p in parts))
            case ("repeat", part, least, most):
                return self._repeat(part, least, most, then)
            case _:
                raise PatternError(f"unknown part {tree[0]!r}")

    def _repeat(self, part: Tree, least: int, most: int, then: int) -> int:
        if most < 0:
            loop = self._add(None, ())
            self._next[loop] = (self._compile(part, loop), then)
            then = loop
        else:
            out = then
            for _ in range(most - least):
                then = self._add(None, (self._compile(part, then), out))
        for _ in range(least):
            then = self._compile(part, then)
        return then

    # -- running it -----------------------------------------------------------------------------

    def _step(self, states: States, char: str, before: int, after: int) -> States:
        key = states, char, before, after
        found = self._steps.get(key)
        if found is None:
            point = ord(char)
            found = frozenset(
                self._next[state][0]
                for state in self._closure(states, before, after)
                if (ranges := self._sets[state]) is not None and holds(ranges, point)
            )
            self._kept += len(states) + len(found) + 1
            if self._kept > MOST_KEPT:
                self._steps.clear()
                self._kept = 0
            self._steps[key] = found
        return found

    def _closure(self, states: States, before: int, after: int) -> set[int]:
        """Every instruction that is reached without taking a character."""
        found: set[int] = set()
        stack = list(states)
        while stack:
            state = stack.pop()
            if state in found:
                continue
            found.add(state)
            condition = self._asserts[state]
            if self._sets[state] is None and (not condition or _holds(condition, before, after)):
                stack.extend(self._next[state])
        return found


@lru_cache(maxsize=64)
def compiled(pattern: str) -> Pattern:
    """A pattern made ready, once."""
    return Pattern(pattern)


def _kind(char: str) -> int:
    if char == "\n":
        return _NEWLINE
    return _WORD if holds(WORD, ord(char)) else _OTHER


def _holds(condition: str, before: int, after: int) -> bool:
    match condition:
        case "begin":
            return before == _EDGE
        case "end":
            return after == _EDGE
        case "line begin":
            return before in {_EDGE, _NEWLINE}
        case "line end":
            return after in {_EDGE, _NEWLINE}
        case "word edge":
            return (before == _WORD) is not (after == _WORD)
        case _:
            return (before == _WORD) is (after == _WORD)
