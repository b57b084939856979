"""In-place operators: renamed where that is the same, else left to torch to make functional."""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import OpOverload

from isomorph.frontends.torch.capture import capturing

_SAME = ("aten.dropout.default", "aten.alpha_dropout.default", "aten.feature_dropout.default")
"""Operators that return their own argument in evaluation, though their schema does not say so."""


def mutates(target: Any) -> bool:
    """Whether an operator writes to its first argument."""
    if not isinstance(target, OpOverload) or not target._schema.is_mutable:  # noqa: SLF001 - how torch tells
        return False
    first = target._schema.arguments[:1]  # noqa: SLF001 - as above
    return any(a.alias_info is not None and a.alias_info.is_write for a in first)


def functional(program: Any) -> Any:
    """A program whose in-place operators can be read as ones that make a new tensor."""
    position = {node: i for i, node in enumerate(program.graph.nodes)}
    for node in program.graph.nodes:
        if node.op != "call_function" or not isinstance(node.target, OpOverload):
            continue
        if node.target._schema.is_mutable and not _is_simple(node, position):  # noqa: SLF001 - as above
            with capturing():
                return program.run_decompositions({})
    return program


def _is_simple(node: Any, position: dict[Any, int]) -> bool:
    """Whether nobody else looks at the memory that a node writes to, from then on."""
    if not mutates(node.target):
        return False
    written = node.args[0]
    if written.op == "placeholder":
        return False
    shared = _aliases(written) - {written, node}
    return all(
        position[other] > position[node]
        or all(position[user] <= position[node] for user in other.users)
        for other in shared
    )


def _aliases(node: Any) -> set[Any]:
    """Nodes that may share memory with one."""
    found: set[Any] = set()
    stack = [node]
    while stack:
        current = stack.pop()
        if current in found:
            continue
        found.add(current)
        if _may_alias(current) and isinstance(current.args[0], torch.fx.Node):
            stack.append(current.args[0])
        stack.extend(user for user in current.users if _may_alias(user) and user.args[0] is current)
    return found


def _may_alias(node: Any) -> bool:
    if node.op != "call_function" or not node.args:
        return False
    target = node.target
    if not isinstance(target, OpOverload):
        return getattr(target, "__name__", "") == "getitem"
    if str(target) in _SAME:
        return True
    return any(r.alias_info is not None for r in target._schema.returns)  # noqa: SLF001 - as above
