"""Small, concrete, well-typed uses of each operator at its canonical version.

Probes, the matrix, strategies and tests are all built from these: an operator that has none is
not covered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir import schema
from isomorph.ir.dims import Dim, symbol
from isomorph.ir.graph import Graph, Value
from isomorph.ir.opdef import Key, Manifest
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Arg:
    """One operand.

    Attributes:
        shape: of the tensor.
        dtype: an element type's name (`int64`), or a type variable of the schema (`T`).
        values: its elements, when they matter; drawn from `low..high` otherwise.
        low, high: range of ordinary values (inclusive).
        const: must be an initializer (a shape, axes, …); any other is a graph input.
    """

    shape: tuple[int, ...]
    dtype: str = "T"
    values: Any = None
    low: float = -4.0
    high: float = 4.0
    const: bool = False

    @staticmethod
    def ints(*values: int) -> Arg:
        """A constant int64 vector, such as axes."""
        return Arg((len(values),), "int64", values, const=True)


@dataclass(frozen=True)
class Instance:
    """One use of an operator.

    Attributes:
        inputs: operands, `None` for absent optional ones.
        attributes: as `Graph.add_op` takes them; a callable makes one from the main element
            type (subgraphs, which belong to one op, are made afresh).
        outputs: how many results are asked for.
        main: the type variable that `dtypes` ranges over.
        note: what is special about it.
        dtypes: restricts the main variable's element types; empty means all that the schema has.
        bind: element types of other type variables, by variable.
        captures: outer values that the subgraphs use.
    """

    inputs: tuple[Arg | None, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: int = 1
    main: str = "T"
    note: str = ""
    dtypes: tuple[str, ...] = ()
    bind: Mapping[str, str] = field(default_factory=dict[str, str])
    captures: tuple[Arg, ...] = ()


INSTANCES: Manifest[tuple[Instance, ...]] = Manifest("isomorph.ir.instances", "INSTANCES")


def dtypes_of(key: Key, instance: Instance) -> tuple[DType, ...]:
    """Element types that the instance's main variable may take at the canonical version."""
    found = schema.canonical(*key)
    allowed: set[str] = set()
    if found is not None:
        allowed.update(found.type_vars.get(instance.main, ()))
        if not allowed:
            allowed.update(*(f.dtypes for f in found.inputs if f.type_var == instance.main))
    return tuple(
        d
        for d in DType
        if d.schema_name in allowed and (not instance.dtypes or str(d) in instance.dtypes)
    )


def resolve(arg: Arg, instance: Instance, main: DType) -> DType:
    """The element type of an operand when the main variable is `main`."""
    if arg.dtype == instance.main:
        return main
    return DType.of(instance.bind.get(arg.dtype, arg.dtype))


def array_of(arg: Arg, dtype: DType, rng: np.random.Generator) -> np.ndarray:
    """Elements for an operand: its own values, or drawn from its range."""
    if arg.values is not None and dtype is DType.STRING:
        texts = [str(v) for v in np.asarray(arg.values, object).reshape(-1)]
        return np.array(texts, object).reshape(arg.shape)
    if arg.values is not None:
        return np.asarray(arg.values).reshape(arg.shape).astype(dtype.numpy)
    if dtype is DType.STRING:
        return rng.choice(np.array(["", "a", "Bé", "xyz"], object), arg.shape)
    if dtype is DType.BOOL:
        return rng.integers(0, 2, arg.shape).astype(bool)
    if dtype.is_complex:
        real, imaginary = rng.uniform(arg.low, arg.high, (2, *arg.shape))
        return (real + 1j * imaginary).astype(dtype.numpy)
    low = max(arg.low, 0.0) if not dtype.is_signed else arg.low
    if dtype.is_integer:
        top = 2 ** (dtype.bits - (1 if dtype.is_signed else 0)) - 1
        bottom = -top - 1 if dtype.is_signed else 0
        drawn = rng.integers(
            int(max(low, bottom)), int(min(arg.high, top)), arg.shape, endpoint=True
        )
        return drawn.astype(dtype.numpy)
    return rng.uniform(low, arg.high, arg.shape).astype(dtype.numpy)


def build(
    key: Key, instance: Instance, main: DType, *, dynamic: bool = False, seed: int = 0
) -> tuple[Graph, list[np.ndarray]]:
    """A graph of just this op, and one set of inputs for it.

    Args:
        key: (domain, op).
        instance: the use.
        main: element type of the main variable.
        dynamic: make every dim of every graph input symbolic.
        seed: of the drawn values.
    """
    rng = np.random.default_rng(seed)
    graph = Graph(key[1])
    operands: list[Value | None] = []
    feeds: list[np.ndarray] = []
    for index, arg in enumerate((*instance.inputs, *instance.captures)):
        if arg is None:
            operands.append(None)
            continue
        dtype = resolve(arg, instance, main)
        array = array_of(arg, dtype, rng)
        if arg.const:
            operands.append(graph.add_weight(Weight.of(array, dtype), f"c{index}"))
            continue
        shape: tuple[Dim, ...] = arg.shape
        if dynamic:
            shape = tuple(symbol(f"d{index}_{axis}") for axis in range(len(arg.shape)))
        operands.append(graph.add_input(f"x{index}", TensorType(dtype, shape)))
        feeds.append(array)
    count = len(instance.inputs)
    made = {k: v(main) if callable(v) else v for k, v in instance.attributes.items()}
    op = graph.add_op(
        key[1],
        operands[:count],
        made,
        captures=[v for v in operands[count:] if v is not None],
        outputs=[f"y{n}" for n in range(instance.outputs)],
        domain=key[0],
    )
    graph.outputs = list(op.results)
    return graph, feeds
