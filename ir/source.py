"""Where an operator came from in the user's own code."""

from __future__ import annotations

import inspect
import os
import sys
import sysconfig
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOREIGN = ("site-packages", "dist-packages", "<frozen", "<__array_function__")


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
    frame = inspect.currentframe()
    while frame is not None:
        code = frame.f_code
        if not is_foreign(code.co_filename):
            return Source(code.co_filename, frame.f_lineno, code.co_name)
        frame = frame.f_back
    return Source()


def place_of(error: BaseException) -> str:
    """The innermost line of the user's own code that an error passed through."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = reversed(traceback.extract_tb(error.__traceback__, limit=-50))
    own = (f"{f.filename}:{f.lineno}" for f in frames if not is_foreign(f.filename))
    return next(own, "an unknown line")


@cache
def is_foreign(file: str) -> bool:
    """Whether a file is isomorph's own, an installed library's, or the standard library's."""
    return file.startswith(_roots()) or any(part in file for part in _FOREIGN)


@cache
def _roots() -> tuple[str, ...]:
    """Folders of this package, wherever its parts are mounted from, and of the standard library."""
    here = Path(__file__).resolve().parents[1]
    rooms = [str(here / room) for room in ("ir", "passes", "exporters", "compiler", "parity")]
    rooms += sys.modules[__name__.partition(".")[0]].__path__
    paths = sysconfig.get_paths()
    rooms += [paths["stdlib"], paths["platstdlib"]]
    return tuple(room + os.sep for room in rooms)
