"""Which modules of the package a module names: in both import forms, wherever they stand."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


@dataclass(frozen=True)
class Import:
    """One name of one import statement, or a module named in a string."""

    importer: str
    target: str
    line: int
    in_string: bool = False


def imports(source: str, module: str, *, package: bool, known: Collection[str]) -> Iterator[Import]:
    """All imports in a module's source, also under TYPE_CHECKING and inside functions.

    `from a import b` means the module `a.b` where there is one, else `a`. Strings count where they
    are exactly the name of a known module: that is how manifests and lazy loaders name modules.
    """
    for node in ast.walk(ast.parse(source, filename=module)):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield Import(module, alias.name, node.lineno)
            case ast.ImportFrom(module=base, names=names, level=level):
                origin = _absolute(module, base, level, package=package)
                for alias in names:
                    longer = f"{origin}.{alias.name}"
                    yield Import(module, longer if longer in known else origin, node.lineno)
            case ast.Constant(value=str(text)) if text in known and "." in text:
                yield Import(module, text, node.lineno, in_string=True)
            case _:
                pass


def _absolute(module: str, base: str | None, level: int, *, package: bool) -> str:
    if level == 0:
        return base or ""
    parts = module.split(".")
    parents = parts[: len(parts) - level + package]
    return ".".join([*parents, *([base] if base else [])])


def cycles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Every strongly connected group of two modules or more, and every module that names itself."""
    import networkx as nx

    graph = nx.DiGraph((a, b) for a, targets in edges.items() for b in targets)
    groups = (sorted(group) for group in nx.strongly_connected_components(graph))
    return [g for g in groups if len(g) > 1 or graph.has_edge(g[0], g[0])]
