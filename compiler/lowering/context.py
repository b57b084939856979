"""What lowering rules see: a group of ops, its operands, and its elementwise part as a functor."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from isomorph.codegen.functor import Line, Operand, access, computed_as, render
from isomorph.codegen.spec import CTYPES, NARROW, SIZES, WORDS, Block, Launch, opcode
from isomorph.ir.graph import Value
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.lowering.errors import NoKernel
from isomorph.lowering.expressions import EXPRESSIONS
from isomorph.passes.fuse.group import FUSED, is_pointwise
from isomorph.passes.tile import DEVICES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from isomorph.ir.graph import Graph, Op
    from isomorph.ir.types import Type
    from isomorph.passes.tile import DeviceData

FLOATS = frozenset({"float", "half_t", "bfloat_t"})
"""Element types that kernels other than `elementwise` compute, in float32."""

WORD = 4
"""Bytes; a smaller access has other names."""

MOST_ELEMENTS = 2**31 - 1
"""Kernels index with 32 bits."""


NOTHING = """
struct Epilogue {
  template <class V, int N> DEV void operator()(V (&)[N], uint32_t) const {}
};"""


FINISH = """
struct Finish : Epilogue {{
  DEV {result} operator()(float sum, uint32_t i, uint32_t) const {{
    float v[1] = {{sum}};
    Epilogue::operator()(v, i);
    return from<{result}>::f(v[0]);
  }}
}};"""

STORE = """
struct Finish {{
  const {bias}* bias;
  DEV {result} operator()({sum} v, uint32_t, uint32_t channel) const {{
    return from<{result}>::f({sum}(bias ? plus(v, {sum}(value(bias[channel]))) : v));
  }}
}};"""
"""What stores a sum as it is, a bias added."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A result that is its operand under another shape."""

    source: Value


@dataclass(frozen=True, slots=True)
class Functor:
    """A group's elementwise part.

    Attributes:
        code: the struct `Epilogue`.
        block: its parameters.
        in_place: operands that are read at the very index that is written.
        vectors: element types of the operands that are read as vectors.
    """

    code: str
    block: Block
    in_place: tuple[Value, ...]
    vectors: tuple[str, ...] = ()

    def instructions(self, out: str, count: int) -> tuple[str, ...]:
        """Opcodes of its loads, and of the store behind it, where a thread has so many results."""
        both = [("STG", out), *(("LDG", kind) for kind in self.vectors)]
        wide = [(name, kind) for name, kind in both if SIZES[kind] * count >= WORD]
        return tuple(dict.fromkeys(opcode(name, kind, count) for name, kind in wide))


class Group:
    """One op, or the ops of one `Fused` op: an anchor at most, then pointwise ops.

    Attributes:
        op: of the graph.
        anchor: the op that is not pointwise, if there is one.
        pointwise: the rest, in order.
        output: the result, as a value of the graph.
        arch: the architecture that is lowered for.
        status: the value that stands for the device's status word.
    """

    def __init__(self, op: Op, arch: str, status: Value) -> None:
        self.op = op
        self.arch = arch
        self.status = status
        self._outer: dict[Value, Value] = {}
        ops = [op]
        if op.key == FUSED:
            body: Graph = op.attributes["body"]
            ops = body.sorted_ops()
            self._outer = dict(zip(body.captures, op.captures, strict=True))
        anchors = [m for m in ops if not is_pointwise(m)]
        self.anchor = anchors[0] if anchors else None
        self.pointwise = [m for m in ops if m is not self.anchor]
        self.output = op.output

    @property
    def device(self) -> DeviceData:
        """Figures of the device for the cost model."""
        return DEVICES[self.arch]

    def operand(self, index: int) -> Value:
        """An operand of the anchor, as a value of the graph."""
        found = self.optional(index)
        if found is None:
            raise NoKernel(f"operand {index} is absent")
        return found

    def optional(self, index: int) -> Value | None:
        """The same, `None` when it is absent."""
        value = self.main.input(index)
        return None if value is None else self._outer.get(value, value)

    @property
    def result(self) -> Value:
        """What the anchor computes, before the pointwise ops."""
        return self.main.output

    @property
    def main(self) -> Op:
        """The anchor; raises NoKernel when there is none."""
        if self.anchor is None:
            raise NoKernel("a pointwise group has no anchor")
        return self.anchor

    def alone(self) -> None:
        """Refuse results that the kernel does not write."""
        extra = [v for v in self.main.outputs[1:] if v is not None]
        if extra:
            raise NoKernel(
                f"its further results ({', '.join(v.name for v in extra)}) are not computed"
            )

    def plain(self) -> Functor:
        """A functor that does nothing to a value of any type; refuses pointwise ops."""
        if self.pointwise:
            raise NoKernel(f"{self.pointwise[0].type} joined it, and its kernel calls no functor")
        return Functor(NOTHING, Block(), ())

    def finish(self, functor: Functor, result: str) -> str:
        """`struct Finish`: what becomes of a sum in float32, the functor's work done to it."""
        return functor.code + FINISH.format(result=result)

    def functor(
        self,
        first: Sequence[tuple[Value, tuple[int, ...], str]] = (),
        *,
        exclude: Sequence[Value] = (),
    ) -> Functor:
        """The pointwise ops as a functor.

        Args:
            first: operands of the anchor that come before them, each with the shape it is seen in
                (aligned to the result's last axes) and a form such as `({x} + {a})`.
            exclude: operands that the result must not replace in place.
        """
        shape = shape_of(self.output)
        operands: list[Operand] = []
        lines: list[Line] = []
        names: dict[Value, str] = {}
        current = "x"

        def read(value: Value, seen: Sequence[int]) -> str:
            operand = Operand(value, ctype(value), access(shape, broadcast_strides(seen, shape)))
            if operand not in operands:
                operands.append(operand)
            return f"a{operands.index(operand)}"

        def line(kind: str, text: str) -> str:
            lines.append(Line(f"t{len(lines)}", kind, text))
            return lines[-1].name

        for value, seen, form in first:
            current = line("float", form.format(x=current, a=read(value, seen)))
        if self.anchor is not None:
            names[self.result] = current
        for op in self.pointwise:
            arguments: list[str] = []
            for index, inner in enumerate(op.inputs):
                if inner is None:
                    continue
                if inner in names:
                    arguments.append(names[inner])
                    continue
                value = self._outer.get(inner, inner)
                seen = shape_of(value)
                if op.type == "BatchNormalization" and index:
                    seen = (*seen, *[1] * (len(shape) - 2))
                arguments.append(read(value, seen))
            current = names[op.output] = line(
                computed_as(ctype(op.output)), EXPRESSIONS[op.type](op, arguments)
            )
        words = tuple(w for o in operands for w in o.access.words)
        block = Block(tuple(o.value for o in operands), words)
        size = itemsize(self.output)
        once = [o.value for o in operands if o.access.kind == "full" and itemsize(o.value) == size]
        seen_often = [o.value for o in operands if o.access.kind != "full"]
        in_place = tuple(v for v in once if v not in seen_often and v not in exclude)
        vectors = tuple(o.ctype for o in operands if o.access.kind in {"full", "row"})
        kind = "float" if self.anchor is not None else computed_as(ctype(self.output))
        return Functor(render(operands, lines, current, kind), block, in_place, vectors)


def temporary(dtype: DType, shape: Sequence[int], name: str) -> Value:
    """A buffer that the launches of one op share."""
    return Value(name, TensorType(dtype, tuple(shape)))


def constant(array: np.ndarray, name: str) -> Value:
    """A constant of the device that no graph has."""
    made = Value(name, TensorType(DType.of(array.dtype), array.shape))
    made.weight = Weight.of(array)
    return made


def shape_of(value: Value) -> tuple[int, ...]:
    """The static shape; raises NoKernel."""
    kind = value.type
    if not is_held(kind):
        raise NoKernel(f"%{value.name} is {kind}, which no device memory holds")
    shape = kind.static_shape if isinstance(kind, TensorType) else None
    if shape is None:
        raise NoKernel(f"%{value.name} is {kind}: its shape depends on data")
    if prod(shape) > MOST_ELEMENTS:
        raise NoKernel(f"%{value.name} has {prod(shape)} elements, kernels take {MOST_ELEMENTS}")
    return shape


def is_held(kind: Type | None) -> bool:
    """Whether device memory can hold values of a type, as far as it is known."""
    return kind is None or (isinstance(kind, TensorType) and kind.dtype is not DType.STRING)


def dtype_of(value: Value) -> DType:
    """The element type; raises NoKernel."""
    if not isinstance(value.type, TensorType):
        raise NoKernel(f"%{value.name} is {value.type}, not a tensor")
    return value.type.dtype


def ctype(value: Value) -> str:
    """The dialect's name of the element type; raises NoKernel for those that are not computed."""
    return _named(value, CTYPES)


def stored(value: Value) -> str:
    """The same, of the types too that are only cast and quantized."""
    return _named(value, CTYPES | NARROW)


def _named(value: Value, names: Mapping[DType, str]) -> str:
    dtype = dtype_of(value)
    if dtype not in names:
        known = ", ".join(map(str, names))
        raise NoKernel(f"%{value.name} is {dtype}; kernels compute {known}")
    return names[dtype]


def floating(*values: Value) -> str:
    """The dialect's name of the float type that all of them share; raises NoKernel."""
    kinds = {ctype(v) for v in values}
    if len(kinds) != 1 or not kinds <= FLOATS:
        raise NoKernel(f"its operands are {', '.join(str(v.type) for v in values)}")
    return kinds.pop()


def itemsize(value: Value) -> int:
    """Bytes of one element on the device: one for types of 8 bits and fewer."""
    return dtype_of(value).numpy.itemsize


def word(value: Value) -> str:
    """The unsigned type that elements are moved as; raises NoKernel."""
    size = itemsize(value)
    if size not in WORDS:
        raise NoKernel(f"elements of {size} bytes are not moved")
    return WORDS[size]


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def broadcast_strides(shape: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """Strides of a tensor along the axes of a shape that it broadcasts to."""
    if len(shape) > len(target):
        raise NoKernel(f"shape {tuple(shape)} does not broadcast to {tuple(target)}")
    own = [0 if d == 1 else s for d, s in zip(shape, strides_of(shape), strict=True)]
    return (*[0] * (len(target) - len(shape)), *own)


def blocks(count: int, per_block: int) -> int:
    """How many blocks cover a count."""
    return -(-count // per_block)


Lowered = list[Launch] | Alias
