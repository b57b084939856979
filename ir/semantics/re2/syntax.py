"""RE2's syntax, read into a tree. See https://github.com/google/re2/wiki/Syntax.

A tree is `("set", ranges)`, `("assert", kind)`, `("cat", parts)`, `("alt", parts)` or
`("repeat", part, least, most)` with `most` -1 for no bound. Groups that capture are parts like any
others, and whether a repetition is lazy does not matter to a match of the whole text.
"""

from __future__ import annotations

from typing import Any

from isomorph.ir.errors import UnsupportedError
from isomorph.ir.semantics.re2.classes import (
    LAST,
    PERL,
    POSIX,
    Ranges,
    category,
    folded,
    joined,
    negated,
)

Tree = tuple[Any, ...]
DEEPEST = 150
MOST_REPEATS = 1000
"""RE2's own limit."""
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_OCTAL = frozenset("01234567")
_ANY: Ranges = ((0, LAST),)
_NO_NEWLINE: Ranges = ((0, 9), (11, LAST))


class PatternError(UnsupportedError):
    """A pattern that RE2 does not take, or that is not supported here."""


class Parser:
    """Reads one pattern; raises PatternError."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.flags = frozenset[str]()

    def parse(self) -> Tree:
        """The tree of the whole pattern."""
        found = self._alternatives()
        if self.at < len(self.pattern):
            raise self._error("unexpected )")
        return found

    # -- structure ------------------------------------------------------------------------------

    def _alternatives(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._error(f"groups are nested more than {DEEPEST} deep")
        parts = [self._sequence()]
        while self._take("|"):
            parts.append(self._sequence())
        self.depth -= 1
        return ("alt", parts) if len(parts) > 1 else parts[0]

    def _sequence(self) -> Tree:
        parts: list[Tree] = []
        repeated = False
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            bounds = self._bounds()
            if bounds is None:
                parts += self._atoms()
                repeated = False
                continue
            if repeated:
                raise self._error("bad repetition operator: repetitions do not stack")
            if not parts:
                raise self._error("no argument for repetition operator")
            parts[-1] = ("repeat", parts[-1], *bounds)
            repeated = True
        return ("cat", parts)

    def _bounds(self) -> tuple[int, int] | None:
        """The repetition that stands here, taken with its mark of laziness."""
        found = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}.get(self._peek())
        if found is not None:
            self.at += 1
        elif self._peek() == "{":
            found = self._counted()
        if found is not None:
            self._take("?")
        return found

    def _counted(self) -> tuple[int, int] | None:
        """`{n}`, `{n,}` or `{n,m}`; anything else after a brace is the brace itself."""
        end = self.pattern.find("}", self.at)
        least, comma, most = self.pattern[self.at + 1 : max(end, 0)].partition(",")
        if end < 0 or not _digits(least) or (most and not _digits(most)):
            return None
        self.at = end + 1
        low = int(least) if len(least) < 6 else MOST_REPEATS + 1
        high = low if not comma else -1 if not most else int(most[:6])
        if max(low, high) > MOST_REPEATS or (high != -1 and high < low):
            raise self._error(f"bad repetition size {{{least}{comma}{most}}}")
        return low, high

    def _atoms(self) -> list[Tree]:
        char = self._next()
        match char:
            case "(":
                return self._group()
            case "[":
                return [("set", self._class())]
            case ".":
                return [("set", _ANY if "s" in self.flags else _NO_NEWLINE)]
            case "^":
                return [("assert", "line begin" if "m" in self.flags else "begin")]
            case "$":
                return [("assert", "line end" if "m" in self.flags else "end")]
            case "\\":
                return self._escape()
            case _:
                return [self._literal(ord(char))]

    def _group(self) -> list[Tree]:
        outer = self.flags
        if self._take("?"):
            if self._take("P<") or (self._peek() == "<" and self._ahead(1) not in "=!"):
                self._take("<")
                name = self._until(">", "a group's name")
                if not name or not all(c == "_" or c.isalnum() for c in name):
                    raise self._error(f"invalid group name {name!r}")
            elif not self._set_flags():
                return []  # they hold to the end of the group around
        found = self._alternatives()
        if not self._take(")"):
            raise self._error("missing )")
        self.flags = outer
        return [found]

    def _set_flags(self) -> bool:
        """Flags such as `i-s`, and whether a group of their own follows."""
        on, sign = set(self.flags), True
        while True:
            char = self._next() if self.at < len(self.pattern) else ""
            if char in {"i", "m", "s", "U"}:
                (on.add if sign else on.discard)(char)
            elif char == "-" and sign:
                sign = False
            elif char in {":", ")"}:
                self.flags = frozenset(on)
                return char == ":"
            else:
                raise self._error("invalid or unsupported group (?" + char)

    # -- characters -----------------------------------------------------------------------------

    def _escape(self) -> list[Tree]:
        char = self._peek()
        simple = {"A": "begin", "z": "end", "b": "word edge", "B": "no word edge"}.get(char)
        if simple is not None:
            self.at += 1
            return [("assert", simple)]
        if char == "Q":
            self.at += 1
            text, _, _ = self.pattern[self.at :].partition("\\E")
            ended = self.pattern.startswith("\\E", self.at + len(text))
            self.at += len(text) + 2 * ended
            return [self._literal(ord(c)) for c in text]
        if char == "C":
            raise self._error("\\C, one byte of a character, is not supported here")
        named = self._named_class()
        return [("set", named)] if named is not None else [self._literal(self._escaped())]

    def _named_class(self) -> Ranges | None:
        """A class such as d or pL, behind the backslash; `None` when another escape stands."""
        char = self._peek()
        if char and char in "dDsSwW":
            self.at += 1
            return self._signed(PERL[char.lower()], positive=char.islower())
        if not char or char not in "pP":
            return None
        self.at += 1
        positive = char == "p"
        name = self._next() if self.at < len(self.pattern) else ""
        if name == "{":
            name = self._until("}", "a character class")
        if name.startswith("^"):
            positive, name = not positive, name[1:]
        found = category(name)
        if found is None:
            raise self._error(f"character class \\p{{{name}}} is unknown, or a script")
        return self._signed(found, positive=positive)

    def _signed(self, ranges: Ranges, *, positive: bool) -> Ranges:
        found = folded(ranges) if "i" in self.flags else ranges
        return found if positive else negated(found)

    def _escaped(self) -> int:
        """The code point of an escape, behind the backslash."""
        if self.at >= len(self.pattern):
            raise self._error("trailing \\")
        char = self._next()
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "x":
            wide = self._take("{")
            digits = self._until("}", "a number") if wide else self._ahead(0) + self._ahead(1)
            if not wide:
                self.at += 2
            good = digits and all(d in "0123456789abcdefABCDEF" for d in digits)
            if not good or len(digits) > 8 or int(digits, 16) > LAST or len(digits) < 2 - wide:
                raise self._error("invalid escape sequence \\x")
            return int(digits, 16)
        if char == "0" or (char in _OCTAL and self._peek() in _OCTAL):  # else back
            digits = char
            while len(digits) < 3 and self._peek() in _OCTAL:
                digits += self._next()
            return int(digits, 8)
        if ord(char) < 128 and not char.isalnum():
            return ord(char)
        raise self._error(f"invalid escape sequence \\{char}")

    def _literal(self, point: int) -> Tree:
        found: Ranges = ((point, point),)
        return "set", folded(found) if "i" in self.flags else found

    def _class(self) -> Ranges:
        """A class in brackets, behind the first of them."""
        negative = self._take("^")
        found: list[tuple[int, int]] = []
        first = True
        while first or self._peek() != "]":
            if self.at >= len(self.pattern):
                raise self._error("missing ]")
            first = False
            found += self._class_item()
        self.at += 1
        return negated(joined(found)) if negative else joined(found)

    def _class_item(self) -> Ranges:
        if self.pattern.startswith("[:", self.at):
            end = self.pattern.find(":]", self.at + 2)
            if end >= 0:
                name = self.pattern[self.at + 2 : end]
                self.at = end + 2
                found = POSIX.get(name.removeprefix("^"))
                if found is None:
                    raise self._error(f"invalid character class [:{name}:]")
                return self._signed(found, positive=not name.startswith("^"))
        if self._peek() == "\\":
            self.at += 1
            named = self._named_class()
            if named is not None:
                return named
            low = self._escaped()
        else:
            low = ord(self._next())
        high = low
        if self._peek() == "-" and self._ahead(1) not in {"", "]"}:
            self.at += 1
            high = self._escaped() if self._take("\\") else ord(self._next())
            if high < low:
                raise self._error("invalid character class range")
        ranges: Ranges = ((low, high),)
        return folded(ranges) if "i" in self.flags else ranges

    # -- the text -------------------------------------------------------------------------------

    def _peek(self) -> str:
        return self._ahead(0)

    def _ahead(self, count: int) -> str:
        return self.pattern[self.at + count : self.at + count + 1]

    def _next(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1]

    def _take(self, text: str) -> bool:
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def _until(self, end: str, what: str) -> str:
        text, found, _ = self.pattern[self.at :].partition(end)
        if not found:
            raise self._error(f"missing {end} after {what}")
        self.at += len(text) + len(end)
        return text

    def _error(self, reason: str) -> PatternError:
        shown = self.pattern if len(self.pattern) <= 80 else f"{self.pattern[:77]}..."
        return PatternError(f"pattern {shown!r} at {self.at}: {reason}")


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
