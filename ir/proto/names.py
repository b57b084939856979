"""Names and remarks of a file. Protobuf's Python hands out `bytes` where text is not UTF-8."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.errors import InvalidModelError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import StringStringEntryProto


def utf8(*texts: str) -> str:
    """The first of some texts; raises InvalidModelError when one of them is not UTF-8."""
    for text in texts:
        if type(text) is not str:
            raise InvalidModelError(f"{text!r:.80} is not UTF-8 text, which names must be")
    return texts[0]


def properties(entries: Iterable[StringStringEntryProto]) -> dict[str, str]:
    """Key-value properties; raises InvalidModelError when one is not UTF-8."""
    return {utf8(e.key): utf8(e.value) for e in entries}
