"""Whether two graphs are one up to names: ops, attributes, weights by content, edges in order.

Edges are ordered, so the outputs force the whole pairing: values are paired from there backwards,
each with one partner alone, and everything that counts must then have been reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isomorph.ir.graph import Graph, Value
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from isomorph.ir.graph import Op


def differences(one: Graph, two: Graph) -> list[str]:
    """What keeps two graphs from being the same up to names; empty when nothing does."""
    return _Pairing(one, two).run()


class _Pairing:
    def __init__(self, one: Graph, two: Graph) -> None:
        self.one, self.two = one, two
        self.partner: dict[Value, Value] = {}
        self.taken: dict[Value, Value] = {}
        self.ops: dict[Op, Op] = {}
        self.found: list[str] = []

    def run(self) -> list[str]:
        for kind in ("inputs", "captures", "outputs"):
            mine, others = getattr(self.one, kind), getattr(self.two, kind)
            if len(mine) != len(others):
                return [f"{len(mine)} {kind}, {len(others)}"]
        for kind in ("inputs", "captures"):
            for a, b in zip(getattr(self.one, kind), getattr(self.two, kind), strict=True):
                self._pair(a, b)
        waiting = list(zip(self.one.outputs, self.two.outputs, strict=True))
        while waiting and not self.found:
            a, b = waiting.pop()
            if a in self.partner or b in self.taken:
                if self.partner.get(a) is not b or self.taken.get(b) is not a:
                    self.found.append(f"%{a.name} and %{b.name} are used as two different values")
                continue
            self._pair(a, b)
            if (a.producer is None) != (b.producer is None):
                self.found.append(f"%{a.name} is {_kind(a)}, %{b.name} is {_kind(b)}")
            elif a.producer is not None and b.producer is not None:
                waiting += self._op(a, b, a.producer, b.producer)
        if not self.found and (len(self.ops), len(self.ops)) != (len(self.one), len(self.two)):
            self.found.append(
                f"{len(self.ops)} ops lead to outputs, of {len(self.one)} and {len(self.two)}"
            )
        return self.found

    def _pair(self, a: Value, b: Value) -> None:
        self.partner[a], self.taken[b] = b, a
        if str(a.type) != str(b.type):
            self.found.append(f"%{a.name} is {a.type}, %{b.name} is {b.type}")
        if (a.weight is None) != (b.weight is None):
            self.found.append(f"%{a.name} is {_kind(a)}, %{b.name} is {_kind(b)}")
        elif a.weight is not None and b.weight is not None and not a.weight.same(b.weight):
            self.found.append(f"the weights %{a.name} and %{b.name} hold other numbers")
        if (
            a.producer is None
            and a.weight is None
            and (a in self.one.inputs) != (b in self.two.inputs)
        ):
            self.found.append(f"%{a.name} is {_kind(a)}, %{b.name} is {_kind(b)}")

    def _op(self, a: Value, b: Value, first: Op, second: Op) -> list[tuple[Value, Value]]:
        """Compare what makes two values; their operands are next."""
        if self.ops.setdefault(first, second) is not second:
            self.found.append(f"{first} stands for two ops")
        forms = [(op.key, op.version, len(op.inputs), len(op.outputs)) for op in (first, second)]
        if forms[0] != forms[1]:
            self.found.append(f"{first} is {forms[0]}, {second} is {forms[1]}")
            return []
        if first.outputs.index(a) != second.outputs.index(b):
            self.found.append(f"%{a.name} and %{b.name} are other results of {first.type}")
        self.found += [f"{first.type}: {d}" for d in _attributes(first, second)]
        operands = [(*first.inputs, *first.captures), (*second.inputs, *second.captures)]
        pairs: list[tuple[Value, Value]] = []
        for x, y in zip(*operands, strict=True):
            if (x is None) != (y is None):
                self.found.append(f"{first.type}: an operand is absent in one of them")
            elif x is not None and y is not None:
                pairs.append((x, y))
        return pairs


def _attributes(one: Op, two: Op) -> list[str]:
    """Differences between attributes; one that is absent has the schema's default."""
    names = {*one.attributes, *two.attributes}
    pairs = {n: (one.attr(n), two.attr(n)) for n in sorted(names)}
    return [f"{n} is {a!r}, {b!r}" for n, (a, b) in pairs.items() if not _same(a, b)]


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Weight) and isinstance(b, Weight):
        return a.same(b)
    if isinstance(a, Graph) and isinstance(b, Graph):
        return not differences(a, b)
    return bool(a == b)


def _kind(value: Value) -> str:
    if value.weight is not None:
        return "a weight"
    return f"a result of {value.producer.type}" if value.producer is not None else "an input"
