"""What an operator's measurements depend on, as one number."""

from __future__ import annotations

import ast
import hashlib
import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from isomorph.exporters.runtimes.tables import load_table
from isomorph.frontends.array.spellings import SPELLINGS
from isomorph.ir.instances import INSTANCES
from isomorph.ir.opdef import OPS
from isomorph.ir.schema import versions

ASPECTS = (
    "isomorph.ir.ops",
    "isomorph.ir.semantics",
    "isomorph.ir.instances",
    "isomorph.frontends.onnx.upgrade",
    "isomorph.exporters.onnx.downgrade",
)
"""Where an operator's family has a module each."""


def digest(key: tuple[str, str], releases: dict[str, str]) -> str:
    """Changes when the family's modules, the operator's versions, its table row or a release do."""
    family = family_of(key)
    table = load_table("onnxruntime", releases.get("onnxruntime", ""), "cpu")
    seen = "" if table is None else repr(sorted(table.ops.get(key, {}).items()))
    facts = json.dumps([versions(*key), spelled(key), releases], sort_keys=True)
    return hashlib.sha256("\n".join([sources(family), seen, facts]).encode()).hexdigest()[:16]


def spelled(key: tuple[str, str]) -> tuple[str, ...]:
    """What array functions write for an operator; empty when only `xp.op` reaches it."""
    return () if key[0] else SPELLINGS.get(key[1], ())


def family_of(key: tuple[str, str]) -> str:
    """The family that an operator belongs to."""
    return OPS.family(key) or INSTANCES.family(key) or ""


@cache
def sources(family: str) -> str:
    """The code of a family in every aspect, private helpers of the aspect included."""
    pending = [f"{package}.{family}" for package in ASPECTS]
    seen: dict[str, str] = {}
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        found = find_spec(name)
        if found is None or found.origin is None:
            continue
        text = Path(found.origin).read_text(encoding="utf-8")
        seen[name] = "\n".join(
            line.rstrip()
            for line in text.splitlines()
            if line.strip() and not line.lstrip().startswith("#")
        )
        pending.extend(_helpers(name, text))
    return "\n".join(seen[name] for name in sorted(seen))


def _helpers(module: str, text: str) -> list[str]:
    """The modules of the aspects that a module imports, but for the packages themselves."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module.startswith(ASPECTS) and node.module not in ASPECTS:
                found.append(node.module)
            elif node.module in ASPECTS:
                found += [f"{node.module}.{n.name}" for n in node.names if n.name.islower()]
    return [name for name in found if _is_module(name)]


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False
