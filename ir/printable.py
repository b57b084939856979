"""Text from a file, made safe for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def printable(text: str) -> str:
    """Text from a file, its control characters escaped: a terminal would act on them."""
    return text if text.isprintable() else "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()


def escaped(text: str, names: Iterable[str]) -> str:
    """Text in which these names stand, each of them escaped, so that no line of it breaks."""
    for name in names:
        if not name.isprintable():
            text = text.replace(name, printable(name))
    return text
