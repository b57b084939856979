"""One source per kernel: the template with its includes and its spec written in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isomorph.kernels import FOLDER

if TYPE_CHECKING:
    from isomorph.codegen.spec import KernelSpec

_INCLUDE = re.compile(r'^#include "([^"]+)"$')
SPEC = "spec.cuh"
HOST = "sim.hpp"
"""The one include that stays: only a host compiler sees it."""


def source(spec: KernelSpec) -> str:
    """The flattened source; `#line` keeps errors and profiles at the files people wrote."""
    return flatten(f"{spec.kernel}.cu", spec.prelude)


def flatten(name: str, prelude: str = "") -> str:
    """A template file with every include replaced by its text, each file once."""
    seen: set[str] = set()
    return "\n".join(_lines(name, prelude, seen)) + "\n"


def _lines(name: str, prelude: str, seen: set[str]) -> list[str]:
    text = prelude if name == SPEC else (FOLDER / name).read_text(encoding="utf-8")
    return _expanded(name, text, prelude, seen)


def flatten_text(name: str, text: str) -> str:
    """The same for a source that is no file of ours."""
    return "\n".join(_expanded(name, text, "", set())) + "\n"


def _expanded(name: str, text: str, prelude: str, seen: set[str]) -> list[str]:
    found = [f'#line 1 "{name}"']
    for number, line in enumerate(text.splitlines(), 1):
        match = _INCLUDE.match(line)
        if line.strip() == "#pragma once":
            found.append("")
        elif match is None or match[1] == HOST:
            found.append(line)
        elif match[1] in seen:
            found.append("")
        else:
            seen.add(match[1])
            found += [*_lines(match[1], prelude, seen), f'#line {number + 1} "{name}"']
    return found
