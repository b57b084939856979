"""What an operator's measurements depend on, as one number."""

from __future__ import annotations

import ast
import hashlib
import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.tables import load_table
from isomorph.frontends.array.spellings import SPELLINGS
from isomorph.ir.instances import INSTANCES
from isomorph.ir.opdef import OPS
from isomorph.ir.schema import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

ASPECTS = (
    "isomorph.ir.ops",
    "isomorph.ir.semantics",
    "isomorph.ir.instances",
    "isomorph.frontends.onnx.upgrade",
    "isomorph.exporters.onnx.downgrade",
)
"""Where an operator's family has a module each."""
METHOD = (
    "isomorph.exporters.coverage.measure.cell",
    "isomorph.exporters.coverage.measure.operator",
    "isomorph.parity.exact",
    "isomorph.parity.known",
    "isomorph.parity.tolerance",
    "isomorph.parity.well",
)
"""What decides whether a case passes."""


def digest(key: tuple[str, str], releases: dict[str, str]) -> str:
    """Changes with the family's code, the operator's versions or table row, how it is judged."""
    family = family_of(key)
    table = load_table("onnxruntime", releases.get("onnxruntime", ""), "cpu")
    seen = "" if table is None else repr(sorted(table.ops.get(key, {}).items()))
    facts = json.dumps([versions(*key), spelled(key), releases], sort_keys=True)
    text = "\n".join([sources(family), method(), seen, facts])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def spelled(key: tuple[str, str]) -> tuple[str, ...]:
    """What array functions write for an operator; empty when only `xp.op` reaches it."""
    return () if key[0] else SPELLINGS.get(key[1], ())


def family_of(key: tuple[str, str]) -> str:
    """The family that an operator belongs to."""
    return OPS.family(key) or INSTANCES.family(key) or ""


@cache
def sources(family: str) -> str:
    """The code of a family in every aspect, private helpers of the aspect included."""
    return _code([f"{package}.{family}" for package in ASPECTS], ASPECTS)


@cache
def method() -> str:
    """The code that measures and judges."""
    return _code(METHOD, METHOD)


def _code(roots: Sequence[str], packages: tuple[str, ...]) -> str:
    """The text of modules and of what they import from these packages, but for comments."""
    pending = list(roots)
    seen: dict[str, str] = {}
    while pending:
        name = pending.pop()
        found = find_spec(name)
        if name in seen or found is None or found.origin is None:
            continue
        text = Path(found.origin).read_text(encoding="utf-8")
        seen[name] = "\n".join(
            line.rstrip()
            for line in text.splitlines()
            if line.strip() and not line.lstrip().startswith("#")
        )
        pending.extend(_imported(text, packages))
    return "\n".join(seen[name] for name in sorted(seen))


def _imported(text: str, packages: tuple[str, ...]) -> list[str]:
    """The modules inside of some packages that a module imports; not the packages themselves."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module.startswith(packages) and node.module not in packages:
                found.append(node.module)
            elif node.module in packages:
                found += [f"{node.module}.{n.name}" for n in node.names if n.name.islower()]
    return [name for name in found if _is_module(name)]


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
