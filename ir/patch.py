"""Edits of a graph: prepared aside, checked, then applied as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.errors import InvalidGraphError
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence

    from isomorph.ir.graph import Attribute, Graph, Op, Value
    from isomorph.ir.types import Type


class Patch:
    """One edit around an op: make new ops, replace values, remove what it stood for.

    New ops and weights enter the graph as they are made (nothing refers to them yet);
    replacements and removals happen in `apply`. New ops inherit the source, name and metadata of
    the op that the patch is for.

    A replaced value's readers, and the graph outputs it was, move to the replacement; the patch's
    own new ops, and the op that makes the replacement, go on reading what they were given. A graph
    output keeps its name: the replacement takes it over, behind an Identity where it cannot
    (the replacement is an input, a weight or an output itself). So do inputs and captures: what
    takes their place as an output has its own name.
    """

    def __init__(self, graph: Graph, around: Op | None = None) -> None:
        self.graph = graph
        self.around = around
        self._replacements: list[tuple[Value, Value]] = []
        self._removals: list[Op] = []
        self.made: list[Op] = []
        self._constants: list[Value] = []

    def op(
        self,
        type: str,  # noqa: A002
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute] | None = None,
        *,
        outputs: int | Sequence[str | None] = 1,
        domain: str = "",
        version: int | None = None,
        captures: Sequence[Value] = (),
        types: Sequence[Type | None] = (),
    ) -> Op:
        """A new op of the graph; `types` are its results' types where known."""
        like = self.around
        if isinstance(outputs, int) and like is not None and like.results:
            outputs = [like.results[0].name] * outputs
        made = self.graph.add_op(
            type,
            inputs,
            attributes,
            outputs=outputs,
            domain=domain,
            version=version,
            captures=captures,
            source=like.source if like else None,
            name=like.name if like else "",
        )
        self.made.append(made)
        if like is not None:
            made.metadata, made.doc = like.metadata, like.doc
        for value, known in zip(made.results, types, strict=False):
            value.type = known
        return made

    def weight(self, value: object, name: str = "constant") -> Value:
        """A new constant of the graph, from a `Weight` or anything numpy takes."""
        weight = value if isinstance(value, Weight) else Weight.of(value)
        made = self.graph.add_weight(weight, name)
        self._constants.append(made)
        return made

    def replace(self, old: Value, new: Value) -> None:
        """Let everything that reads `old` read `new` instead."""
        if old is not new:
            self._replacements.append((old, new))

    def remove(self, op: Op) -> None:
        """Take an op out; nothing may read its results once the patch is applied."""
        self._removals.append(op)

    def replace_op(self, old: Op, new: Op) -> None:
        """Put `new` in the place of `old`, output by output, and remove `old`."""
        for before, after in zip(old.outputs, new.outputs, strict=False):
            if before is not None and after is not None:
                if after.type is None:
                    after.type = before.type
                self.replace(before, after)
        self.remove(old)

    def set_inputs(self, op: Op, inputs: Sequence[Value | None]) -> None:
        """Rewire an op in place, at once."""
        before = op.inputs
        self.graph.unlink(op)
        op.inputs = tuple(inputs)
        try:
            self.graph.link(op)
        except InvalidGraphError:
            op.inputs = before
            self.graph.link(op)
            raise

    def discard(self) -> None:
        """Give the edit up: what was made for it leaves the graph."""
        for node in (*reversed(self.made), *self._constants):
            self.graph.drop(node)
        self.made.clear()
        self._constants.clear()
        self._replacements.clear()
        self._removals.clear()

    def apply(self) -> None:
        """Make the edit.

        Raises:
            InvalidGraphError: if a removed op's result would still be read, or a value or op is
                not of the graph; then the graph is as it was.
        """
        removed, made = dict.fromkeys(self._removals), frozenset(self.made)
        self._check(removed, made)
        for old, new in self._replacements:
            self._move_readers(old, new, removed, made)
        for op in removed:
            self.graph.drop(op)
        self._replacements.clear()
        self._removals.clear()

    def _moving(
        self, old: Value, new: Value, removed: Container[Op], made: Container[Op]
    ) -> list[Op]:
        """The readers of a value that are to read another."""
        return [
            op
            for op in self.graph.consumers(old)
            if op not in made and op not in removed and op is not new.producer
        ]

    def _check(self, removed: Container[Op], made: Container[Op]) -> None:
        """Play the edit through on the values whose ops go, and see that none of them is read."""
        graph = self.graph
        readers: dict[Value, set[Op]] = {}
        shown: set[Value] = set()
        for op in self._removals:
            if op not in graph.nx:
                raise InvalidGraphError(f"cannot remove {op}: it is not of this graph")
            for value in op.results:
                readers[value] = {r for r in graph.consumers(value) if r not in removed}
                if graph.is_output(value):
                    shown.add(value)
        for old, new in self._replacements:
            if (new.producer or new) not in graph.nx:
                raise InvalidGraphError(f"%{new.name} cannot replace a value: it is of no graph")
            if old in readers:
                moving = {r for r in readers[old] if r not in made and r is not new.producer}
                readers[old] -= moving
            else:
                moving = set(self._moving(old, new, removed, made))
            is_shown = old in shown or (old not in readers and graph.is_output(old))
            shown.discard(old)
            if new in readers:
                readers[new] |= moving
                if is_shown:
                    shown.add(new)
        for value, left in readers.items():
            if left or value in shown:
                by = ", ".join(sorted(map(str, left))) or "a graph output"
                raise InvalidGraphError(
                    f"cannot remove {value.producer}: %{value.name} is still read by {by}"
                )

    def _move_readers(
        self, old: Value, new: Value, removed: Container[Op], made: Container[Op]
    ) -> None:
        graph = self.graph
        for reader in self._moving(old, new, removed, made):
            graph.relink(reader, old, new)
        if not graph.is_output(old):
            return
        if new.producer is None or graph.is_output(new):
            new = self.op("Identity", [new], types=[new.type or old.type]).output
        if old not in graph.inputs and old not in graph.captures:
            new.name, old.name = old.name, new.name
        if new.type is None:
            new.type = old.type
        graph.replace_output(old, new)


def remove_unused(graph: Graph) -> int:
    """Drop every op and weight that no output depends on; returns how many nodes went."""
    needed: set[Op | Value] = set()
    stack: list[Op | Value] = [v.producer or v for v in graph.outputs]
    while stack:
        node = stack.pop()
        if node not in needed:
            needed.add(node)
            stack.extend(graph.nx.pred[node])
    kept = needed | set(graph.inputs) | set(graph.captures)
    dead = [n for n in graph.nx if n not in kept]
    for node in dead:
        graph.drop(node)
    return len(dead)


def remove_unused_weights(graph: Graph) -> int:
    """Drop every constant that nothing reads; returns how many went."""
    outputs = set(graph.outputs)
    dead = [v for v in graph.weights() if v not in outputs and not graph.nx.succ[v]]
    for value in dead:
        graph.drop(value)
    return len(dead)
