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
RELEASES = ("onnx", "onnxruntime")
"""Packages that the measurements of an operator depend on."""
MEANING = ("isomorph.ir.ops", "isomorph.ir.semantics")
"""The aspects that say what an operator is and computes."""
METHOD = (
    "isomorph.exporters.coverage.measure.cell",
    "isomorph.exporters.coverage.measure.operator",
    "isomorph.parity.exact",
    "isomorph.parity.known",
    "isomorph.parity.tolerance",
    "isomorph.parity.well",
)
"""What decides whether a case passes."""


TORCH = "isomorph.frontends.torch"
TORCH_METHOD = (
    "isomorph.exporters.coverage.measure.pytorch",
    f"{TORCH}.trace",
    "isomorph.frontends.array.scope",
    "isomorph.frontends.array.decide",
    "isomorph.parity.pytorch",
    "isomorph.parity.same",
    "isomorph.parity.court",
)
"""What captures a use of torch's operators, and decides whether it passes."""
KERNEL_METHOD = (
    "isomorph.exporters.coverage.measure.kernels",
    "isomorph.parity.compiled",
    "isomorph.parity.exact",
    "isomorph.parity.group",
    "isomorph.parity.tolerance",
    "isomorph.parity.well",
)
"""What decides whether a kernel passes, beside the simulator."""
KERNEL_FOLDERS = (
    "isomorph.ir",
    "isomorph.passes",
    "isomorph.codegen",
    "isomorph.kernels",
    "isomorph.lowering",
    "isomorph.simulator",
    "isomorph.runtime",
    "isomorph.parity",
    "isomorph.frontends.onnx.upgrade",
    "isomorph.exporters.coverage.measure",
)
"""All that the measurements of kernels can depend on."""


def digest(key: tuple[str, str], releases: dict[str, str]) -> str:
    """Changes with the family's code, the operator's versions or table row, how it is judged."""
    family = family_of(key)
    table = load_table("onnxruntime", releases.get("onnxruntime", ""), "cpu")
    seen = "" if table is None else repr(sorted(table.ops.get(key, {}).items()))
    known = {name: releases.get(name, "") for name in RELEASES}
    facts = json.dumps([versions(*key), spelled(key), known], sort_keys=True)
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
def meaning(family: str) -> str:
    """What a family's operators are, and what they compute."""
    return _code([f"{package}.{family}" for package in MEANING], MEANING)


@cache
def kernel_method() -> str:
    """The code that runs kernels and judges them."""
    files = _files(("isomorph.simulator",), (".cpp", ".hpp"))
    return _code(KERNEL_METHOD, KERNEL_METHOD) + "".join(f.read_text("utf-8") for f in files)


@cache
def host_method() -> str:
    """The code of what the host does between kernels."""
    return "".join(f.read_text("utf-8") for f in _files(("isomorph.runtime.staged",), (".py",)))


@cache
def kernel_sources() -> str:
    """One number for all that the measurements of kernels can depend on."""
    told = hashlib.sha256()
    for file in _files(KERNEL_FOLDERS, (".py", ".cu", ".cuh", ".cpp", ".hpp")):
        told.update(file.name.encode() + file.read_bytes())
    return told.hexdigest()[:16]


@cache
def torch_method() -> str:
    """The code that captures and lowers, the rules for single operators aside."""
    return _code(TORCH_METHOD, (*TORCH_METHOD, TORCH), (f"{TORCH}.aten.",))


@cache
def torch_family(family: str) -> str:
    """The rules of a family of torch's operators."""
    return _code([f"{TORCH}.aten.{family}"], (f"{TORCH}.aten",))


@cache
def method() -> str:
    """The code that measures and judges."""
    return _code(METHOD, METHOD)


def _code(roots: Sequence[str], packages: tuple[str, ...], apart: tuple[str, ...] = ()) -> str:
    """The text of modules and of what they import from these packages, but for comments.

    Modules whose names begin like one of `apart` are left out.
    """
    pending = list(roots)
    seen: dict[str, str] = {}
    while pending:
        name = pending.pop()
        found = find_spec(name)
        if name in seen or name.startswith(apart) or found is None or found.origin is None:
            continue
        text = Path(found.origin).read_text(encoding="utf-8")
        seen[name] = "\n".join(
            line.rstrip()
            for line in text.splitlines()
            if line.strip() and not line.lstrip().startswith("#")
        )
        pending.extend(_imported(text, packages))
    return "\n".join(seen[name] for name in sorted(seen))


def _files(packages: Sequence[str], suffixes: tuple[str, ...]) -> list[Path]:
    """The files of packages, sub-packages included."""
    found: list[Path] = []
    for package in packages:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            found += sorted(f for f in Path(folder).rglob("*") if f.suffix in suffixes)
    return found


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
