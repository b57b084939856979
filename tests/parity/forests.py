"""Random graphs of a few hundred nodes, to plant faults in; seeded, all values stay moderate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.parity.models import model, node

if TYPE_CHECKING:
    import onnx

WIDTH = 8
UNARY = ("Tanh", "Sigmoid", "Sin", "Abs", "Relu", "Neg", "Softplus")
BINARY = ("Add", "Sub", "Mul", "Max")


@dataclass
class Forest:
    """A graph in the making.

    Attributes:
        nodes, weights: as ONNX has them.
        live: values of type float32[batch, WIDTH] that may be read.
    """

    rng: np.random.Generator
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: dict[str, np.ndarray] = field(default_factory=dict)
    live: list[str] = field(default_factory=lambda: ["x"])

    def pick(self) -> str:
        """A value, recent ones rather than old ones."""
        recent = self.live[-12:]
        return recent[int(self.rng.integers(len(recent)))]

    def add(self, kind: str, inputs: str, **attributes: Any) -> str:
        """One more node; its result."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(node(kind, inputs, name, **attributes))
        return name

    def weight(self, *shape: int) -> str:
        """One more weight."""
        name = f"w{len(self.weights)}"
        scale = 1 / np.sqrt(shape[0]) if len(shape) > 1 else 1
        self.weights[name] = (self.rng.standard_normal(shape) * scale).astype("f4")
        return name

    def grow(self) -> None:
        """One or two nodes of a random kind."""
        match int(self.rng.integers(6)):
            case 0:
                made = self.add("MatMul", f"{self.pick()} {self.weight(WIDTH, WIDTH)}")
            case 1:
                made = self.add("Add", f"{self.pick()} {self.weight(WIDTH)}")
            case 2:
                made = self.add("LayerNormalization", f"{self.pick()} {self.weight(WIDTH)}")
            case 3:
                one, other = self.pick(), self.pick()
                kind = BINARY[int(self.rng.integers(len(BINARY)))]
                made = self.add("Tanh", self.add(kind, f"{one} {other}"))
            case 4:
                made = self.add("Softmax", self.pick(), axis=1)
            case _:
                made = self.add(UNARY[int(self.rng.integers(len(UNARY)))], self.pick())
        self.live.append(made)

    def until(self, count: int) -> None:
        """Grow to so many nodes."""
        while len(self.nodes) < count:
            self.grow()

    def finish(self, inputs: list[str] | None = None) -> onnx.ModelProto:
        """The model: everything that nobody reads, added up."""
        read = {name for n in self.nodes for name in n.input}
        loose = [v for v in self.live if v not in read]
        total = loose[0]
        for other in loose[1:]:
            total = self.add("Add", f"{total} {other}")
        self.nodes.append(node("Identity", total, "y"))
        given = [f"x: float32[batch, {WIDTH}]", *(inputs or [])]
        outputs = [f"y: float32[batch, {WIDTH}]"]
        return model(self.nodes, given, outputs, self.weights, opset=20)


def forest(seed: int, count: int = 190) -> Forest:
    """A graph of so many nodes, which may grow further."""
    made = Forest(np.random.default_rng(seed))
    made.until(count)
    return made
