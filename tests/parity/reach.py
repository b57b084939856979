"""What strategies were seen to generate, over a fixed number of seeded draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import ml_dtypes
import numpy as np

from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph
from isomorph.ir.types import DType, TensorType, innermost
from isomorph.parity.strategies import draw_examples, inputs
from isomorph.parity.strategies.choices import Seeded
from isomorph.parity.strategies.graphs import grow
from isomorph.parity.strategies.uses import every_operator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GRAPHS, INPUTS = 1200, 90


def reached_by_graphs() -> tuple[set[str], set[str], set[str]]:
    """Operators, element types and shapes of graphs, each by name."""
    keys = every_operator()
    operators: set[str] = set()
    dtypes: set[str] = set()
    features: set[str] = set()
    for index in range(GRAPHS):
        graph = grow(Seeded(f"reach-{index}"), keys).graph
        features.update(_features(graph))
        for current, op in graph.walk():
            operators.add(".".join(filter(None, op.key)))
            if current is not graph:
                features.add("an op in a subgraph")
            for value in (*op.operands, *op.results):
                kind = innermost(value.type)
                if kind is not None:
                    dtypes.add(str(kind.dtype))
    return operators, dtypes, features


def _features(graph: Graph) -> Iterator[str]:
    for value in graph.values():
        readers = len(graph.consumers(value))
        if readers > 1:
            yield "a value that two ops read"
        if value.weight is not None:
            yield "a weight"
            if not value.weight.size:
                yield "a weight of no elements"
        kind = value.type
        if not isinstance(kind, TensorType):
            yield type(kind).__name__
        elif kind.shape is None:
            yield "a tensor of unknown rank"
        else:
            yield f"rank {len(kind.shape)}"
            for dim in kind.shape:
                yield {int: "a fixed dim", type(None): "an unknown dim"}.get(
                    type(dim), "a symbolic dim"
                )
    for op in graph.ops():
        if len([v for v in op.inputs if v is not None]) > len(set(op.inputs)):
            yield "an operand that stands twice"
        if None in op.inputs:
            yield "an absent operand"
        if len(op.results) > 1:
            yield "several results"
    if len(graph.outputs) > 1:
        yield "several outputs"
    if any(v in graph.inputs for v in graph.outputs):
        yield "an input that is an output"


FEATURES = frozenset(
    {
        *(f"rank {n}" for n in range(6)),
        *("a fixed dim", "a symbolic dim", "an unknown dim", "a tensor of unknown rank"),
        *("SequenceType", "OptionalType", "MapType"),
        *("a weight", "a weight of no elements", "an op in a subgraph"),
        *("a value that two ops read", "an operand that stands twice", "an absent operand"),
        *("several results", "several outputs", "an input that is an output"),
    }
)


def reached_by_inputs(dtype: DType) -> set[str]:
    """Special values of one element type."""
    graph = Graph("one")
    x = graph.add_input("x", TensorType(dtype, (symbol("n"), 6)))
    graph.outputs = [graph.add_op("Identity", [x]).output]
    tests = specials_of(dtype)
    found: set[str] = set()
    for drawn in draw_examples(inputs(graph), INPUTS, seed=0):
        array = drawn["x"]
        if not array.size:
            found.add("no elements")
        with np.errstate(all="ignore"):
            found |= {name for name, test in tests.items() if np.any(test(array))}
    return found


def specials_of(dtype: DType) -> dict[str, Any]:
    """Special values of an element type, each with what tells it."""
    found: dict[str, Any] = {"no elements": lambda _: False}
    if dtype is DType.STRING:
        return found | {
            "empty text": lambda a: a == "",
            "text that is no ASCII": lambda a: [not str(t).isascii() for t in a.reshape(-1)],
            "a number as text": lambda a: a == "-1.5",
        }
    if dtype is DType.BOOL:
        return found | {"true": lambda a: a, "false": lambda a: ~a}
    if dtype.is_complex:
        return found | {
            "zero": lambda a: a == 0,
            "infinite": np.isinf,
            "NaN": np.isnan,
            "no imaginary part": lambda a: (a.imag == 0) & (a.real != 0),
        }
    if dtype.is_integer:
        info = cast("Any", ml_dtypes.iinfo(dtype.numpy))
        return found | {
            "zero": lambda a: a == 0,
            "one": lambda a: a == 1,
            "odd": lambda a: a.astype(np.float64) % 2 == 1,
            "the least": lambda a: a.astype(np.float64) == float(info.min),
            "the largest": lambda a: a.astype(np.float64) == float(info.max),
        }
    info = cast("Any", ml_dtypes.finfo(dtype.numpy))
    top, normal = float(info.max), float(info.smallest_normal)

    def wide(test: Callable[[np.ndarray], Any]) -> Callable[[np.ndarray], Any]:
        return lambda a: test(a.astype(np.float64))

    return found | {
        "zero": wide(lambda a: (a == 0) & ~np.signbit(a)),
        "minus zero": wide(lambda a: (a == 0) & np.signbit(a)),
        "one": wide(lambda a: a == 1),
        "a tie": wide(lambda a: np.abs(a % 1) == 0.5),
        "subnormal": wide(lambda a: (a != 0) & (np.abs(a) < normal)),
        "tiny": wide(lambda a: (np.abs(a) >= normal) & (np.abs(a) < 64 * normal)),
        "huge": wide(lambda a: (np.abs(a) > top / 2) & (np.abs(a) <= top)),
        "the largest": wide(lambda a: np.abs(a) == top),
        "infinite": wide(lambda a: a == np.inf),
        "minus infinite": wide(lambda a: a == -np.inf),
        "NaN": wide(np.isnan),
    }


UNREACHED: dict[DType, tuple[frozenset[str], str]] = {
    **dict.fromkeys(
        (DType.FLOAT8E4M3FN,),
        (frozenset({"infinite", "minus infinite"}), "the format has no infinities"),
    ),
    **dict.fromkeys(
        (DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2FNUZ),
        (
            frozenset({"infinite", "minus infinite", "minus zero"}),
            "the formats have neither infinities nor a minus zero",
        ),
    ),
    **dict.fromkeys(
        (DType.FLOAT4E2M1, DType.FLOAT6E2M3, DType.FLOAT6E3M2),
        (
            frozenset({"infinite", "minus infinite", "NaN"}),
            "every code of the formats is a finite number",
        ),
    ),
    DType.FLOAT8E8M0: (
        frozenset({"zero", "minus zero", "subnormal", "infinite", "minus infinite"}),
        "the format has powers of two and NaN alone",
    ),
}
"""Special values that an element type is never given, and why."""
