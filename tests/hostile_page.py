"""Describes hostile files: `python -m tests.hostile_page` writes docs/hostile-files.md."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.frontends.onnx.reader import read
from isomorph.ir.errors import InvalidModelError, UnsupportedError
from tests.frontends.onnx.hostile_table import HOSTILE
from tests.realmodels import ROOT

if TYPE_CHECKING:
    import onnx

PAGE = ROOT / "docs" / "hostile-files.md"
INTRODUCTION = """\
# Hostile and broken files

A model file is hostile until it has proved otherwise. Reading one ends in a graph, or in one typed
error (`InvalidModelError`, or `UnsupportedError` for what is valid and not read) that names the
file and the offending value. Nothing outside of the model's folder is opened: the path of a data
file is relative and without `..`, the links on its way are followed and must end in the folder, and
only a regular file is opened, never a pipe or a device. A hard link is a regular file; nothing
tells it from the other names that the file has. Sizes are compared with what is there before
anything is allocated, mapped or copied.

`tests/frontends/onnx/hostile_table.py` builds every file of this page. `test_hostile.py` there
reads each from disk and mapped, many as a message in memory, and all of them in one process that
may come to need 512 MiB more than it has when it starts, each within 5 seconds.
`python -m tests.hostile_page` writes the tables.
"""
LONGEST = 160


def page(fuzzing: str) -> str:
    """The whole document; `fuzzing` is its last section, which is written by hand."""
    sections = (_section(group) for group in HOSTILE)
    return f"{INTRODUCTION}{''.join(sections)}\n{fuzzing}"


def _section(group: str) -> str:
    rows = "".join(
        f"| {name} | {_outcome(make())} |\n" for name, (make, _, _) in HOSTILE[group].items()
    )
    title = group[0].upper() + group[1:]
    return f"\n## {title}\n\n| the file holds | reading it |\n|---|---|\n{rows}"


def _outcome(made: onnx.ModelProto | bytes) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
        Path(folder, "w.bin").write_bytes(bytes(64))
        try:
            graph = read(path)
        except (InvalidModelError, UnsupportedError) as error:
            text = str(error).replace(folder, "…").removeprefix("…/model.onnx: ")
            text = " ".join(text.split()).replace("|", "\\|")
            shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
            return f"`{type(error).__name__}`: {shown}"
    notes = "; ".join(graph.extra.get("notes", ()))
    return f"is read ({notes})" if notes else "is read"


def by_hand() -> str:
    """The part of the page that stands there now and is not made from the table."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    _, mark, rest = text.partition("## Fuzzing\n")
    return mark + rest


def main() -> int:
    PAGE.write_text(page(by_hand()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
