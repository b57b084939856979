"""torch's operators: one small use captured, lowered, written, run, held against torch itself."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.exporters.coverage.entries import TorchUse
from isomorph.exporters.coverage.measure.digests import (
    family_of,
    meaning,
    method,
    torch_family,
    torch_method,
)
from isomorph.frontends.spec import parse_specs
from isomorph.ir.errors import IsomorphError
from isomorph.ir.opdef import OPS
from isomorph.parity.engine import verify
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from isomorph.frontends.torch.uses.use import Use

USES = "isomorph.frontends.torch.uses"
CASES = 12
"""Sets of inputs on which the model is compared with torch, at several sizes."""
PATIENCE = 600.0
"""Seconds that they may take; far more than they need, so that their number never depends on it."""
REASON = 300
"""How much of a failure is kept, in characters."""


def is_here() -> bool:
    """Whether torch is installed."""
    return find_spec("torch") is not None


def uses() -> dict[str, Use]:
    """Every use by name; only where torch is installed."""
    found: dict[str, Use] = import_module(USES).uses()
    return found


def measure_use(name: str, release: str, *, fatal: bool = False) -> TorchUse:
    """What becomes of a use.

    Args:
        name: of the use.
        release: of torch.
        fatal: it killed the process before; it is not tried again.
    """
    use = uses()[name]
    reached: dict[str, tuple[str, ...]] = {}
    cases, failure = 0, "the process dies of it" if fatal else ""
    if not fatal:
        try:
            trace: Any = import_module("isomorph.frontends.torch.trace")
            graph = trace.trace_torch(use.function, parse_specs(use.specs))
            reached = dict(sorted(graph.extra["reached"].items()))
            verdict = verify(graph, graph, cases=CASES, profile="ordinary", budget=PATIENCE)
            cases = verdict.cases
            failure = "" if verdict.status is Status.PASS else f"{verdict.status}: {verdict.reason}"
        except IsomorphError as error:
            failure = f"{type(error).__name__}: {error}"
    return TorchUse(digest(use, reached, release), reached, cases, failure[:REASON])


def digest(use: Use, reached: Mapping[str, Collection[str]], release: str) -> str:
    """Of the use, the rows and the operators that it reaches, and how it is judged."""
    told = hashlib.sha256(f"{release}\n{method()}{torch_method()}".encode())
    told.update(f"{use.name} {use.specs} {_written(use)}".encode())
    known = _families()
    through = {known[name] for name in reached if name in known}
    if any(name not in known for name in reached):  # decomposed: into whatever rows
        through = set(known.values())
    for family in sorted(through):
        told.update(torch_family(family).encode())
    families = {family_of(("", op)) for ops in reached.values() for op in ops}
    for family in sorted(families & set(OPS.families)):
        told.update(meaning(family).encode())
    return told.hexdigest()[:16]


@cache
def _families() -> dict[str, str]:
    """The family of each row of the ATen tables."""
    aten = import_module("isomorph.frontends.torch.aten")
    return {
        row: family
        for family in aten.FAMILIES
        for row in import_module(f"{aten.__name__}.{family}").ATEN
    }


def _written(use: Use) -> str:
    """The text of a use, with the functions and constants beside it."""
    shared, calls, _ = next(m for m in _modules() if use.name in m[2])
    return shared + calls.get(use.name, "")


@cache
def _modules() -> list[tuple[str, dict[str, str], frozenset[str]]]:
    """Of each module of uses: what its uses share, the call that makes each, their names."""
    found: list[tuple[str, dict[str, str], frozenset[str]]] = []
    for family in import_module("isomorph.frontends.torch.aten").FAMILIES:
        if find_spec(f"{USES}.{family}") is None:
            continue
        module = import_module(f"{USES}.{family}")
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        tree = ast.parse(text)
        shared = [
            ast.get_source_segment(text, node) or ""
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.Assign)
        ]
        calls = {
            str(node.args[0].value): ast.get_source_segment(text, node) or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
        }
        found.append(("\n".join(shared), calls, frozenset(u.name for u in module.USES)))
    return found
