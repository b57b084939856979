"""Models with one node changed, so that it computes something else; seeded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import AttributeProto, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SWAPPED = {"Sub", "Div", "Pow", "MatMul", "Less", "Greater", "Concat", "Gemm"}
OTHER = {
    "Add": "Sub", "Sub": "Add", "Mul": "Add", "Div": "Mul", "Relu": "Abs", "Sigmoid": "Tanh",
    "Tanh": "Sigmoid", "Max": "Min", "Min": "Max", "ReduceMean": "ReduceMax", "Sqrt": "Exp",
    "Greater": "Less", "Less": "GreaterOrEqual", "And": "Or", "Or": "And", "Floor": "Ceil",
    "Softmax": "LogSoftmax", "Equal": "Less", "HardSigmoid": "Sigmoid", "HardSwish": "Relu",
    "GlobalAveragePool": "GlobalMaxPool", "Erf": "Tanh", "Log": "Exp", "Exp": "Sin",
    "LeakyRelu": "Elu", "Neg": "Abs", "Sin": "Cos", "Cos": "Sin",
}  # fmt: skip
DROPPED = {
    "Relu", "Sigmoid", "Tanh", "Add", "Mul", "Sub", "Div", "Sqrt", "Softmax", "Transpose", "Clip",
    "BatchNormalization", "HardSigmoid", "HardSwish", "Erf", "Pow", "Neg", "LayerNormalization",
    "MaxPool", "Pad", "LeakyRelu", "Log", "Exp", "Abs", "Reciprocal",
}  # fmt: skip
KEPT = {"to", "storage_order", "ceil_mode", "training_mode", "select_last_index"}
KINDS = ("attribute", "weight", "element", "swap", "other", "drop", "integer")


@dataclass(frozen=True)
class Mutation:
    """One change.

    Attributes:
        kind: of `KINDS`.
        node: the node that was changed, as a reader would name it.
        right: first outputs of the nodes that may be named: the changed one, or, where it was
            dropped, those that read what it gave.
        model: the changed model.
    """

    kind: str
    node: str
    right: frozenset[str]
    model: onnx.ModelProto


class Mutator:
    """Draws mutations of one model."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._bytes = model.SerializeToString()

    def draw(self, rng: np.random.Generator) -> Mutation | None:
        """One mutation, `None` if the node that was drawn has none of the kind that was drawn."""
        model = onnx.ModelProto.FromString(self._bytes)
        nodes = list(_nodes(model.graph))
        graph, node = nodes[int(rng.integers(len(nodes)))]
        kind = KINDS[int(rng.integers(len(KINDS)))]
        right = {node.output[0]}
        change: Callable[..., Any] = getattr(_Change(model, graph, rng), kind)
        changed = change(node)
        if changed is None or changed is False:
            return None
        if isinstance(changed, set):
            right = changed
        name = f"{node.op_type} {node.name or node.output[0]}"
        return Mutation(kind, name, frozenset(right), model)


class _Change:
    def __init__(
        self, model: onnx.ModelProto, graph: onnx.GraphProto, rng: np.random.Generator
    ) -> None:
        self.model, self.graph, self.rng = model, graph, rng

    def attribute(self, node: onnx.NodeProto) -> bool:
        found = [
            a
            for a in node.attribute
            if a.type in (AttributeProto.FLOAT, AttributeProto.INT, AttributeProto.INTS)
            and a.name not in KEPT
        ]
        if not found:
            return False
        one = found[int(self.rng.integers(len(found)))]
        if one.type == AttributeProto.FLOAT:
            one.f = one.f * 1.01 if one.f else 0.01
        elif one.type == AttributeProto.INT:
            one.i = one.i + (1 if one.i <= 0 else -1)
        elif len(set(one.ints)) > 1:
            one.ints[:] = [*one.ints[1:], one.ints[0]]
        elif len(one.ints):
            one.ints[0] += 1
        else:
            return False
        return True

    def weight(self, node: onnx.NodeProto) -> set[str] | None:
        return self._scaled(node, lambda a: a * a.dtype.type(0.999))

    def element(self, node: onnx.NodeProto) -> set[str] | None:
        def change(array: np.ndarray) -> np.ndarray:
            flat = array.reshape(-1).copy()
            flat[int(np.abs(flat).argmax())] *= flat.dtype.type(0.999)
            return flat.reshape(array.shape)

        return self._scaled(node, change)

    def swap(self, node: onnx.NodeProto) -> bool:
        if node.op_type not in SWAPPED or len(node.input) < 2 or node.input[0] == node.input[1]:
            return False
        node.input[0], node.input[1] = node.input[1], node.input[0]
        return True

    def other(self, node: onnx.NodeProto) -> bool:
        if node.op_type not in OTHER or node.domain:
            return False
        node.op_type = OTHER[node.op_type]
        return True

    def drop(self, node: onnx.NodeProto) -> set[str] | None:
        if node.op_type not in DROPPED or node.domain:
            return None
        produced = {n.output[0] for _, n in _nodes(self.model.graph) if n.output}
        place = next((i for i, name in enumerate(node.input) if name in produced), None)
        if place is None:
            return None
        old, new = node.output[0], node.input[place]
        if any(o.name == old for g in _graphs(self.model.graph) for o in g.output):
            return None
        readers: set[str] = set()
        for _, reader in _nodes(self.model.graph):
            if old in reader.input and reader is not node:
                reader.input[:] = [new if n == old else n for n in reader.input]
                readers.add(reader.output[0])
        self.graph.node.remove(node)
        return readers or None

    def integer(self, node: onnx.NodeProto) -> set[str] | None:
        def change(array: np.ndarray) -> np.ndarray:
            flat = array.reshape(-1).copy()
            flat[0] += 1 if flat[0] <= 0 else -1
            return flat.reshape(array.shape)

        return self._changed(node, change, "i")

    def _scaled(
        self, node: onnx.NodeProto, change: Callable[[np.ndarray], np.ndarray]
    ) -> set[str] | None:
        return self._changed(node, change, "f")

    def _changed(
        self, node: onnx.NodeProto, change: Callable[[np.ndarray], np.ndarray], kind: str
    ) -> set[str] | None:
        """Change an initializer, or the tensor of a Constant, that the node reads."""
        for name in self.rng.permutation(list(node.input)):
            tensor = self._tensor(str(name))
            if tensor is None:
                continue
            array = numpy_helper.to_array(tensor)
            if array.dtype.kind != kind or not array.size:
                continue
            made = change(array)
            if np.array_equal(made, array):
                continue
            tensor.CopyFrom(numpy_helper.from_array(made, tensor.name))
            readers = {n.output[0] for _, n in _nodes(self.model.graph) if name in n.input}
            return readers | {str(name)}
        return None

    def _tensor(self, name: str) -> onnx.TensorProto | None:
        for graph in _graphs(self.model.graph):
            for tensor in graph.initializer:
                if tensor.name == name:
                    return tensor
            for node in graph.node:
                if node.op_type == "Constant" and name in node.output:
                    return next((a.t for a in node.attribute if a.name == "value"), None)
        return None


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _graphs(attribute.g)


def _nodes(graph: onnx.GraphProto) -> Iterator[tuple[onnx.GraphProto, onnx.NodeProto]]:
    for g in _graphs(graph):
        yield from ((g, n) for n in g.node if n.op_type != "Constant")
