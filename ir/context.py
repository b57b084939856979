"""What a shape rule may ask of the op it types: operands, attributes, known contents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.constants import constant
from isomorph.ir.errors import TypeInferenceError
from isomorph.ir.merge import merge
from isomorph.ir.types import DType, Shape, TensorType, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.dims import Constraint, Dim
    from isomorph.ir.graph import Graph, Op, Value

    InferGraph = Callable[[Graph, "dict[Value, Content]", Sequence[Constraint]], bool]

CONTENT_LIMIT = 1024
"""Integer tensors of up to this many elements carry their contents through inference."""

HUGE = 2**64


class Content:
    """Known elements of an integer tensor (numbers, dims, or `None`), of rank 0 or 1."""

    __slots__ = ("elements", "scalar")

    def __init__(self, elements: tuple[Dim, ...], *, scalar: bool = False) -> None:
        self.elements = elements
        self.scalar = scalar


class Context:
    """What a shape rule may ask of the op it types."""

    def __init__(
        self,
        op: Op,
        graph: Graph,
        contents: dict[Value, Content],
        constraints: Sequence[Constraint],
        infer_graph: InferGraph,
    ) -> None:
        self.op = op
        self.graph = graph
        self.constraints = constraints
        self._contents = contents
        self._infer_graph = infer_graph

    # operands

    def has(self, index: int) -> bool:
        """Whether an optional operand is present."""
        return self.op.input(index) is not None

    def type(self, index: int) -> Type | None:
        """Type of an operand; `None` when absent or unknown."""
        value = self.op.input(index)
        return None if value is None else value.type

    def tensor(self, index: int) -> TensorType | None:
        """The same where a tensor is required; raises TypeInferenceError for other kinds."""
        found = self.type(index)
        if found is not None and not isinstance(found, TensorType):
            raise self.error(f"operand {index} is {found}, a tensor was expected")
        return found

    def dtype(self, index: int) -> DType | None:
        """Element type of a tensor operand."""
        found = self.tensor(index)
        return None if found is None else found.dtype

    def shape(self, index: int) -> Shape | None:
        """Shape of a tensor operand, `None` when even the rank is unknown."""
        found = self.tensor(index)
        return None if found is None else found.shape

    def rank(self, index: int) -> int | None:
        """Rank of a tensor operand."""
        found = self.shape(index)
        return None if found is None else len(found)

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, else the schema's default."""
        return self.op.attr(name, default)

    def axis(self, axis: int, rank: int) -> int:
        """A non-negative axis; raises TypeInferenceError when out of range."""
        if not -rank <= axis < rank:
            raise self.error(f"axis {axis} is out of range for rank {rank}")
        return axis % rank

    # contents

    def array(self, index: int) -> np.ndarray | None:
        """The operand's numbers when they are constant."""
        value = self.op.input(index)
        if value is None:
            return None
        weight = constant(value)
        if weight is not None:
            return weight.numpy()
        known = self._contents.get(value)
        if known is None or not all(isinstance(e, int) for e in known.elements):
            return None
        dtype = value.type.dtype.numpy if isinstance(value.type, TensorType) else np.dtype("i8")
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not all(low <= int(e or 0) <= high for e in cast("Any", known.elements)):
            return None
        array = np.array(known.elements, dtype)
        return array.reshape(()) if known.scalar else array

    def dims(self, index: int) -> tuple[Dim, ...] | None:
        """The operand's elements as dims (numbers, expressions, `None`), where any are known."""
        value = self.op.input(index)
        if value is None:
            return None
        known = self._content(value)
        return None if known is None else known.elements

    def _content(self, value: Value) -> Content | None:
        known = self._contents.get(value)
        if known is not None:
            return known
        weight = constant(value)
        if weight is None or not weight.dtype.is_integer or weight.size > CONTENT_LIMIT:
            return None
        if len(weight.shape) > 1:
            return None
        elements = tuple(int(v) for v in weight.numpy().reshape(-1))
        return Content(elements, scalar=not weight.shape)

    def know(self, elements: tuple[Dim, ...], *, scalar: bool = False, output: int = 0) -> None:
        """Record the elements of an integer result of rank 1 (or 0, when `scalar`).

        Numbers that no integer type holds are not known: they would wrap, or grow for ever.
        """
        if len(elements) > CONTENT_LIMIT:
            return
        elements = tuple([None if isinstance(e, int) and abs(e) > HUGE else e for e in elements])
        if all(e is None for e in elements) and elements:
            return
        value = self.op.outputs[output] if output < len(self.op.outputs) else None
        if value is not None:
            self._contents[value] = Content(elements, scalar=scalar)

    def know_repeated(self, elements: tuple[Dim, ...], times: int) -> None:
        """Record the elements of an integer result that holds some of them several times."""
        if len(elements) * times <= CONTENT_LIMIT:
            self.know(elements * times)

    def infer_subgraph(self, graph: Graph, inputs: Sequence[int | None] = ()) -> bool:
        """Type a subgraph of the op; whether any type changed.

        Its captures keep type and contents, and so do those of its formal inputs that are
        operands of the op unchanged: `inputs` names the operand of each, `None` for others.
        """
        inner: dict[Value, Content] = {}
        pairs = list(zip(graph.captures, self.op.captures, strict=True))
        for formal, index in zip(graph.inputs, inputs, strict=False):
            actual = None if index is None else self.op.input(index)
            if actual is not None:
                pairs.append((formal, actual))
        changed = False
        for formal, actual in pairs:
            if actual.type is not None:
                try:
                    merged = merge(formal.type, actual.type)
                except ValueError as error:
                    raise self.error(
                        f"%{actual.name} enters {graph.name} as %{formal.name}: {error}"
                    ) from None
                changed |= merged != formal.type
                formal.type = merged
            known = self._content(actual)
            if known is not None:
                inner[formal] = known
        return self._infer_graph(graph, inner, self.constraints) or changed

    def error(self, message: str) -> TypeInferenceError:
        """An error that names the op, its place, and its operand types."""
        operands = ", ".join(str(v.type) if v is not None else "-" for v in self.op.inputs)
        return TypeInferenceError(
            f"{self.op.where}: {self.op.type}-{self.op.version}({operands}): {message}"
        )


def broadcast(context: Context, *shapes: Shape | None) -> Shape | None:
    """Numpy's broadcasting of shapes with symbolic dims; unknown dims stay unknown.

    Raises:
        TypeInferenceError: when two known numbers neither agree nor are 1.
    """
    if any(s is None for s in shapes):
        return None
    known = [s for s in shapes if s is not None]
    rank = max(map(len, known), default=0)
    result: list[Dim] = []
    for position in range(-rank, 0):
        dims = [s[position] for s in known if len(s) >= -position]
        result.append(_broadcast_dims(context, dims))
    return tuple(result)


def _broadcast_dims(context: Context, dims: list[Dim]) -> Dim:
    numbers = {d for d in dims if isinstance(d, int) and d != 1}
    if len(numbers) > 1:
        raise context.error(f"dims {', '.join(map(str, dims))} do not broadcast")
    if numbers:
        return numbers.pop()
    others = {d for d in dims if d != 1}
    if not others:
        return 1
    return others.pop() if len(others) == 1 else None
