"""A model's local functions: looked up by key, and known to expand to something finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx

from isomorph.ir import schema
from isomorph.ir.errors import InvalidModelError, UnsupportedError
from isomorph.ir.proto.kept import take_in
from isomorph.ir.proto.names import utf8

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import FunctionProto, GraphProto, NodeProto

    from isomorph.ir.proto.tensors import External

Key = tuple[str, str, str]
"""Domain, name, overload."""

MOST_EXPANDED = 250_000
"""Nodes that a model's function calls may expand to: some ten seconds of work."""

MOST_WEIGHT = 1 << 28
"""Bytes that their names and operands may take together."""

_OPERAND = 64
"""Bytes that an operand takes, in about."""

MOST_NESTED = 64
"""Functions that may call each other in a row; expanding them recurses."""


class Functions:
    """The local functions of a model."""

    def __init__(self, protos: Iterable[FunctionProto] = ()) -> None:
        self.known: dict[Key, FunctionProto] = {}
        for proto in protos:
            utf8(proto.name, proto.domain, proto.overload, *proto.input, *proto.output)
            key = (schema.normal_domain(proto.domain), proto.name, proto.overload)
            if key in self.known:
                raise InvalidModelError(f"function {_label(key)} is defined twice")
            self.known[key] = proto

    def get(self, domain: str, name: str, overload: str) -> FunctionProto | None:
        """The function that a node calls, `None` when it calls an operator."""
        return self.known.get((domain, name, overload)) if self.known else None

    def kept(self, external: External | None) -> dict[Key, FunctionProto]:
        """Copies of the functions' messages that need no other file, by key.

        Raises:
            UnsupportedError: when one has the name of an operator: a call of it could not be told
                from the operator.
        """
        found: dict[Key, FunctionProto] = {}
        for key, proto in self.known.items():
            if schema.versions(key[0], key[1]):
                raise UnsupportedError(
                    f"function {_label(key)} has the name of an operator; it can be inlined, but "
                    "not be kept"
                )
            made = onnx.FunctionProto()
            made.CopyFrom(proto)
            take_in(made, external)
            found[key] = made
        return found

    def check(self, graphs: Iterable[GraphProto]) -> None:
        """Make sure that calls end, and stay within bounds, before anything is expanded.

        Raises:
            InvalidModelError: when functions call each other in a circle.
            UnsupportedError: when they expand to too much, or nest too deeply.
        """
        if not self.known:
            return
        bodies = {key: self._body(p.node) for key, p in self.known.items()}
        calls = {key: body[0] for key, body in bodies.items()}
        sizes: dict[Key, int] = {}
        depths: dict[Key, int] = {}
        weights: dict[Key, int] = {}
        for start in calls:
            self._measure(start, calls, sizes)
        for key in sizes:  # callees come before their callers
            depths[key] = 1 + max((depths.get(c, 0) for c in calls[key]), default=0)
            weights[key] = bodies[key][1] + sum(weights.get(c, 0) for c in calls[key])
        deepest = max(depths.values())
        if deepest > MOST_NESTED:
            raise UnsupportedError(
                f"its local functions call each other {deepest} deep; up to {MOST_NESTED} are read"
            )
        called = [key for g in graphs for key in self._body(g.node)[0]]
        total = sum(sizes[key] for key in called if key in sizes)
        if total > MOST_EXPANDED:
            raise UnsupportedError(
                f"its local functions expand to {total} nodes; up to {MOST_EXPANDED} are read"
            )
        weight = sum(weights[key] for key in called if key in weights)
        if weight > MOST_WEIGHT:
            raise UnsupportedError(
                f"its local functions expand to names and operands of {weight >> 20} MiB; up to "
                f"{MOST_WEIGHT >> 20} are read"
            )

    def _measure(self, start: Key, calls: dict[Key, list[Key]], sizes: dict[Key, int]) -> None:
        stack = [start]
        path: dict[Key, None] = {}
        while stack:
            key = stack[-1]
            if key in sizes:
                stack.pop()
                continue
            inner = [c for c in dict.fromkeys(calls[key]) if c in self.known]
            open_ends = [c for c in inner if c not in sizes]
            if not open_ends:
                sizes[key] = 1 + sum(sizes.get(c, 1) for c in calls[key])
                path.pop(key, None)
                stack.pop()
                continue
            path[key] = None
            for callee in open_ends:
                if callee in path:
                    circle = " → ".join(_label(k) for k in (*path, callee))
                    raise InvalidModelError(f"functions call each other in a circle: {circle}")
            stack.append(open_ends[0])

    def _body(self, nodes: Iterable[NodeProto]) -> tuple[list[Key], int]:
        """The key of every node, nested ones included, and what they take in memory, in about."""
        found: list[Key] = []
        weight = 0
        stack = [nodes]
        while stack:
            for node in stack.pop():
                found.append((schema.normal_domain(node.domain), node.op_type, node.overload))
                names = (node.name, node.doc_string, *node.output)
                weight += _OPERAND * (len(names) + len(node.input) + len(node.attribute))
                weight += sum(map(len, names))
                weight += sum(len(p.key) + len(p.value) for p in node.metadata_props)
                for attribute in node.attribute:
                    if attribute.HasField("g"):
                        stack.append(attribute.g.node)
                    stack.extend(g.node for g in attribute.graphs)
        return found, weight


def _label(key: Key) -> str:
    domain, name, overload = key
    return f"{domain or 'ai.onnx'}.{name}{':' + overload if overload else ''}"
