"""Golden files: titled pairs of a graph before and after one pass, in ONNX's own text syntax.

A file has one entry per rule or case:

    ## title
    <the graph before>
    --->
    <the graph after>

`ISOMORPH_UPDATE_GOLDEN=1 pytest tests/passes` rewrites what stands after the arrows; read the
difference before committing it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from isomorph.ir.text import parse, to_text

FOLDER = Path(__file__).parent / "golden"
UPDATE = bool(os.environ.get("ISOMORPH_UPDATE_GOLDEN"))
HEADER = '<ir_version: 14, opset_import: ["" : 28, "ai.onnx.preview.training" : 1]>\n'
ARROW = "--->\n"


@dataclass(frozen=True)
class Case:
    """One titled pair."""

    title: str
    before: str
    after: str

    def graph(self):
        """The graph before."""
        return parse(HEADER + self.before)


def read(name: str) -> list[Case]:
    """The cases of a pass."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    cases = []
    for part in text.split("## ")[1:]:
        title, _, rest = part.partition("\n")
        before, _, after = rest.partition(ARROW)
        cases.append(Case(title.strip(), before.strip() + "\n", after.strip() + "\n"))
    return cases


def write(name: str, cases: list[Case]) -> None:
    """Rewrite a pass's file."""
    parts = [f"## {c.title}\n{c.before}{ARROW}{c.after}" for c in cases]
    (FOLDER / f"{name}.txt").write_text("\n".join(parts), encoding="utf-8")


def body(graph) -> str:
    """The text of a graph without the model's header."""
    return to_text(graph).split(">\n", 1)[1].strip() + "\n"
