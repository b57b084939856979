"""Where an operator came from in the user's own code."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

_PACKAGE_ROOTS = tuple(
    str(Path(__file__).resolve().parents[1] / room)
    for room in ("ir", "passes", "exporters", "compiler", "parity")
)
_FOREIGN = ("site-packages", "<frozen", "<__array_function__")


@dataclass(frozen=True, slots=True)
class Source:
    """A place in the user's code: `file:line`, or a node of an .onnx file, and the module path."""

    file: str = ""
    line: int = 0
    module: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


def caller() -> Source:
    """The innermost frame that is neither isomorph's nor an installed library's."""
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way to walk the stack cheaply
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE_ROOTS) and not any(part in file for part in _FOREIGN):
            return Source(file, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return Source()
