"""The list of lowered operators in docs/pytorch.md, as the tables have it.

`python -m tests.frontends.torch.covered` writes it into the page.
"""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from isomorph.frontends.torch.aten import FAMILIES

PAGE = Path(__file__).parents[3] / "docs" / "pytorch.md"
BEGIN, END = "<!-- operators: begin -->", "<!-- operators: end -->"


def listed() -> str:
    """One line per family: names without their overloads."""
    lines: list[str] = []
    for family in FAMILIES:
        table = import_module(f"isomorph.frontends.torch.aten.{family}").ATEN
        names = sorted({key.split(".")[1] for key in table})
        lines.append(f"- **{family}** ({len(table)} overloads): {', '.join(names)}")
    return "\n".join(lines)


def on_page() -> str:
    """What the page says now."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(f"{BEGIN}\n(.*?)\n{END}", text, re.DOTALL)
    return found.group(1) if found else ""


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        re.sub(f"{BEGIN}\n.*?{END}", lambda _: f"{BEGIN}\n{listed()}\n{END}", old, flags=re.DOTALL),
        encoding="utf-8",
    )
