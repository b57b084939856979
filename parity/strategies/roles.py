"""What a graph does with its inputs, where that says which values are valid.

An integer that reaches Gather as an index lies in that axis; one that is compared with constants is
drawn from around them; axes, shapes and counts are what they have to be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isomorph.ir.dims import symbol
from isomorph.ir.schema_microsoft import DOMAIN
from isomorph.ir.types import TensorType
from isomorph.parity.strategies import caches, scales

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.ir.dims import Dim
    from isomorph.ir.graph import Graph, Op, Value


@dataclass(frozen=True, slots=True)
class Role:
    """How values are restricted.

    Attributes:
        kind: `index`, `exact`, `choice`, `axes`, `shape`, `expand`, `size`, `count`, `divisor`
            of integers, which is not 0, or `keys` of a map.
        bound: for an index, the size of the axis; for axes, the rank; or the very number.
        choices: values that the graph compares with, keys that it looks up, or what is valid
            beside an index.
        texts: the same, where they are strings.
        shape: for `shape` and `expand`, the dims of the tensor that is reshaped; for `size`,
            those that are given.
        offset: what the graph adds before it uses the value.
        negative: whether counting from the end is allowed.
    """

    kind: str
    bound: Dim = None
    choices: tuple[float, ...] = ()
    texts: tuple[str, ...] = ()
    shape: tuple[Dim, ...] = ()
    offset: int = 0
    negative: bool = False


MOST_CHOICES = 1024
THROUGH = {
    "Cast": 0,
    "Concat": None,
    "ConcatFromSequence": 0,
    "Expand": 0,
    "Flatten": 0,
    "Gather": 0,
    "Identity": 0,
    "Optional": 0,
    "OptionalGetElement": 0,
    "Reshape": 0,
    "SequenceAt": 0,
    "SequenceConstruct": None,
    "SequenceErase": 0,
    "SequenceInsert": None,
    "Slice": 0,
    "Split": 0,
    "SplitToSequence": 0,
    "Squeeze": 0,
    "Tile": 0,
    "Transpose": 0,
    "Unsqueeze": 0,
    "Where": None,
}
"""Ops whose results are elements of that operand (`None`: of any)."""
COMPARISONS = frozenset({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
INDEXED = {
    ("Gather", 1): True,
    ("GatherElements", 1): True,
    ("ScatterElements", 1): True,
    ("OneHot", 0): True,
}
DIVIDING = frozenset({"Div", "Mod"})
LABELLED = frozenset({"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
RECURRENT = frozenset({"LSTM", "GRU", "RNN"})
AXES = {
    ("Unsqueeze", 1),
    ("Squeeze", 1),
    ("CumSum", 1),
    *((f"Reduce{n}", 1) for n in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum")),
    ("ReduceLogSumExp", 1),
    ("ReduceSumSquare", 1),
}
COUNTS = {
    ("CenterCropPad", 1),
    ("Tile", 1),
    ("Pad", 1),
    ("ConstantOfShape", 0),
    ("SplitToSequence", 1),
    ("TopK", 1),
    ("Range", 1),
    ("DFT", 1),
    ("STFT", 1),
    ("STFT", 3),
    *((f"{n}Window", 0) for n in ("Hann", "Hamming", "Blackman")),
    *(("MelWeightMatrix", n) for n in range(3)),
}
POSITIONS = {("SequenceAt", 1), ("SequenceErase", 1), ("SequenceInsert", 2)}


def roles_of(graph: Graph) -> dict[str, Role]:
    """Roles by input name; the most restrictive when there are several."""
    found: dict[str, Role] = {}
    for value in graph.inputs:
        roles = list(_uses(graph, value))
        if roles:
            found[value.name] = _strictest(roles)
    return found


def _strictest(roles: list[Role]) -> Role:
    order = (
        "axes",
        "shape",
        "expand",
        "size",
        "count",
        "exact",
        "index",
        "choice",
        "keys",
        "divisor",
        *scales.KINDS,
    )
    roles.sort(key=lambda r: order.index(r.kind))
    best = roles[0]
    if best.kind == "choice":
        every = dict.fromkeys(c for r in roles for c in r.choices)
        return replace(best, choices=tuple(every)[:MOST_CHOICES])
    if best.kind == "index":
        numbers = [r for r in roles if r.kind == "index" and isinstance(r.bound, int)]
        return min(numbers, key=_room) if numbers else best
    return best


def _room(role: Role) -> int:
    return (role.bound if isinstance(role.bound, int) else 0) - role.offset


def _uses(graph: Graph, start: Value) -> Iterator[Role]:
    stack: list[tuple[Graph, Value, int]] = [(graph, start, 0)]
    seen: set[int] = set()
    while stack:
        current, value, offset = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for op in current.consumers(value):
            for position, operand in enumerate(op.inputs):
                if operand is value:
                    role = _role(op, position)
                    if role is None and caches.counts_keys(current, op):
                        role = Role("exact", bound=1)
                    if role is not None:
                        yield replace(role, offset=role.offset + offset)
                    through = THROUGH.get(op.type, -1)
                    if not op.domain and (through is None or through == position):
                        stack += [(current, r, offset) for r in op.results]
                    moved = _shift(op, position)
                    if moved is not None:
                        stack += [(current, r, offset + moved) for r in op.results]
            for _, body in op.subgraphs():
                stack += [
                    (body, inner, offset)
                    for outer, inner in zip(op.captures, body.captures, strict=True)
                    if outer is value
                ]


def _role(op: Op, position: int) -> Role | None:
    if op.key == ("ai.onnx.ml", "DictVectorizer"):
        texts, numbers = op.attr("string_vocabulary", ()), op.attr("int64_vocabulary", ())
        return Role("keys", choices=tuple(numbers), texts=tuple(texts))
    if op.key == ("ai.onnx.ml", "CastMap") and op.attr("map_form") == "SPARSE":
        return Role("keys", choices=tuple(range(min(int(op.attr("max_map")), MOST_CHOICES))))
    if op.key == ("ai.onnx.ml", "ArrayFeatureExtractor") and position:
        shape = _shape(op.input(0))
        return Role("index", bound=shape[-1]) if shape else None
    kind = scales.kind_of(op, position)
    if kind:
        return Role(kind)
    if op.domain == DOMAIN:
        return _microsoft(op, position)
    if op.domain:
        return None
    key = (op.type, position)
    if op.type in RECURRENT and position == 4:
        steps = _shape(op.input(0))
        axis = 1 if op.attr("layout", 0) else 0
        return None if steps is None else Role("index", bound=steps[axis], offset=-1)
    if op.type in LABELLED and position == 1:
        scores, ignored = _shape(op.input(0)), op.attr("ignore_index")
        others = () if ignored is None else (ignored,)
        return None if scores is None else Role("index", bound=scores[1], choices=others)
    if key == ("RotaryEmbedding", 3):
        angles = _shape(op.input(1))
        return None if angles is None else Role("index", bound=angles[0])
    if key == ("Attention", 6):
        keys = _shape(op.input(1))
        count = None if keys is None else keys[-2]
        return None if count is None else Role("index", bound=count + 1)
    if key == ("DFT", 2):
        signal = _shape(op.input(0))
        return None if signal is None else Role("index", bound=len(signal) - 1)
    if key == ("AffineGrid", 1):
        theta = _shape(op.input(0))
        return None if theta is None else Role("size", shape=theta[:1])
    if key in INDEXED:
        return _index(op)
    if key == ("TensorScatter", 2):
        return _written(op)
    if op.type in DIVIDING and position and _is_integer(op):
        return Role("divisor")
    if key in {("GatherND", 1), ("ScatterND", 1)}:
        sizes = [d for d in _shape(op.input(0)) or () if isinstance(d, int)]
        return Role("index", bound=min(sizes), negative=True) if sizes else None
    if op.type in COMPARISONS:
        constant = _constant(op.input(1 - position))
        if constant is not None and constant.size and constant.dtype.kind in "iuf":
            values = np.unique(constant.reshape(-1))[:MOST_CHOICES]
            return Role("choice", choices=tuple(v.item() for v in values))
        return None
    if key in AXES:
        data = op.input(0)
        shape = _shape(data)
        if shape is None:
            return None
        return Role("axes", bound=len(shape) + (op.type == "Unsqueeze"), negative=True)
    if key == ("Reshape", 1):
        shape = _shape(op.input(0))
        return None if shape is None else Role("shape", shape=shape)
    if key == ("Expand", 1):
        shape = _shape(op.input(0))
        return None if shape is None else Role("expand", shape=shape)
    if key in POSITIONS:
        return Role("index", bound=_length(op.input(0)), negative=True)
    if key == ("TfIdfVectorizer", 0):
        words = dict.fromkeys(op.attr("pool_int64s") or ())
        return Role("choice", choices=tuple(words)[:MOST_CHOICES]) if words else None
    return Role("count") if key in COUNTS else None


def _microsoft(op: Op, position: int) -> Role | None:
    """The same for onnxruntime's own domain."""
    match op.type, position:
        case "DynamicQuantizeLSTM", 4:
            steps = _shape(op.input(0))
            return None if steps is None else Role("index", bound=steps[0], offset=-1)
        case "EmbedLayerNormalization", 0 | 1 | 8:
            table = _shape(op.input({0: 2, 1: 4, 8: 3}[position]))
            return None if table is None else Role("index", bound=table[0])
        case "EmbedLayerNormalization", 7:
            return Role("choice", choices=(0, 1))
        case "MatMulNBits", 4:
            packed = _shape(op.input(1))
            return None if packed is None else Role("index", bound=packed[1])
        case "RotaryEmbedding", 1:
            return _position(op)
        case _:
            found = caches.restriction(op, position)
            return None if found is None else Role(found[0], bound=found[1], offset=found[2])


def _position(op: Op) -> Role | None:
    """Positions that have angles; a single one is that of the first of a row."""
    x, places, angles = (_shape(op.input(i)) for i in range(3))
    if angles is None:
        return None
    if places is not None and len(places) < 2 and x is not None:
        count, length = angles[0], x[-2]
        return None if count is None or length is None else Role("index", bound=count - length + 1)
    return Role("index", bound=angles[0])


def _length(value: Value | None) -> Dim:
    """How many elements a sequence has: an input's is a symbol of its own."""
    if value is None:
        return None
    if value.producer is None:
        return symbol(f"{value.name}.length")
    made = value.producer
    return len(made.inputs) if made.key == ("", "SequenceConstruct") else None


def _index(op: Op) -> Role | None:
    if op.type == "OneHot":
        depth = _constant(op.input(1))
        return (
            None if depth is None else Role("index", bound=int(depth.reshape(-1)[0]), negative=True)
        )
    shape = _shape(op.input(0))
    if not shape:
        return None
    axis = int(op.attr("axis", 0)) % len(shape)
    return Role("index", bound=shape[axis], negative=op.version >= 11)


def _written(op: Op) -> Role | None:
    """Where TensorScatter begins: before its end, and so that what is written does not pass it."""
    cache, update = _shape(op.input(0)), _shape(op.input(1))
    if cache is None or update is None:
        return None
    axis = int(op.attr("axis", -2))
    size, length = cache[axis], update[axis]
    if op.attr("mode", "linear") == "circular":
        return Role("index", bound=size)
    return None if size is None or length is None else Role("index", bound=size - length + 1)


def _is_integer(op: Op) -> bool:
    divisor = op.input(1)
    kind = None if divisor is None else divisor.type
    return isinstance(kind, TensorType) and kind.dtype.is_integer


def _shift(op: Op, position: int) -> int | None:
    """What an Add or Sub with an integer constant adds to the value."""
    if op.domain or op.type not in {"Add", "Sub"} or (op.type == "Sub" and position):
        return None
    constant = _constant(op.input(1 - position))
    if constant is None or constant.size != 1 or constant.dtype.kind not in "iu":
        return None
    amount = int(constant.reshape(-1)[0])
    return amount if op.type == "Add" else -amount


def _shape(value: Value | None) -> tuple[Dim, ...] | None:
    if value is None:
        return None
    if value.weight is not None:
        return value.weight.shape
    return value.type.shape if isinstance(value.type, TensorType) else None


def _constant(value: Value | None) -> np.ndarray | None:
    if value is None:
        return None
    if value.weight is not None:
        return value.weight.numpy()
    producer = value.producer
    if producer is not None and producer.type == "Constant" and not producer.domain:
        from isomorph.ir.errors import IsomorphError
        from isomorph.ir.semantics import evaluate

        try:
            return np.asarray(evaluate(producer, [])[0])
        except IsomorphError:
            return None
    return None
