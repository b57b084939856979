"""Small, concrete, well-typed uses of each operator at its canonical version.

Probes, the matrix, strategies and tests are all built from these: an operator that has none is
not covered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir import schema
from isomorph.ir.dims import symbol
from isomorph.ir.graph import Graph, Value
from isomorph.ir.merge import either
from isomorph.ir.opdef import Key, Manifest
from isomorph.ir.types import (
    DType,
    MapType,
    OptionalType,
    SequenceType,
    TensorType,
    Type,
    schema_name,
)
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Arg:
    """One operand: a tensor, unless `form` says otherwise.

    Attributes:
        shape: of the tensor.
        dtype: an element type's name (`int64`), or a type variable of the schema (`T`).
        values: its elements, when they matter; drawn from `low..high` otherwise.
        low, high: range of ordinary values (inclusive).
        const: must be an initializer (a shape, axes, …); any other is a graph input.
        form: `sequence`, `optional` or `map`; made by the functions of these names.
        items: what it holds: the elements of the sequence, the one of the optional, or the
            values of the map as one vector. With `absent`, only the type of what it could hold.
        keys: of the map, whole numbers or texts.
        absent: an empty sequence, or an optional that is absent.
    """

    shape: tuple[int, ...] = ()
    dtype: str = "T"
    values: Any = None
    low: float = -4.0
    high: float = 4.0
    const: bool = False
    form: str = ""
    items: tuple[Arg, ...] = ()
    keys: tuple[int | str, ...] = ()
    absent: bool = False

    @staticmethod
    def ints(*values: int) -> Arg:
        """A constant int64 vector, such as axes."""
        return Arg((len(values),), "int64", values, const=True)

    @staticmethod
    def sequence(*items: Arg, absent: bool = False) -> Arg:
        """A sequence of these, or an empty one of such."""
        return Arg((), items[0].dtype, form="sequence", items=items, absent=absent)

    @staticmethod
    def optional(item: Arg, *, absent: bool = False) -> Arg:
        """An optional that holds this, or that could hold such and is absent."""
        return Arg((), item.dtype, form="optional", items=(item,), absent=absent)

    @staticmethod
    def map(values: Arg, *keys: int | str) -> Arg:
        """A map from these keys to the elements of a vector."""
        return Arg((), values.dtype, form="map", items=(values,), keys=keys)


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
    if found is None:
        return ()
    allowed = set(found.type_vars.get(instance.main, ()))
    if not allowed:
        allowed.update(*(f.dtypes for f in found.inputs if f.type_var == instance.main))
    held = [
        (formal.dtypes, arg)
        for index, arg in enumerate(instance.inputs)
        if arg is not None and arg.form and (formal := found.input(index)) is not None
    ]
    return tuple(
        d
        for d in DType
        if any(d.schema_name in name for name in allowed)
        and all(schema_name(type_of(arg, instance, d)) in names for names, arg in held)
        and (not instance.dtypes or str(d) in instance.dtypes)
    )


def resolve(arg: Arg, instance: Instance, main: DType) -> DType:
    """The element type of an operand when the main variable is `main`."""
    if arg.dtype == instance.main:
        return main
    return DType.of(instance.bind.get(arg.dtype, arg.dtype))


def type_of(arg: Arg, instance: Instance, main: DType) -> Type:
    """The type of an operand when the main variable is `main`: as much as all its items share."""
    if not arg.form:
        return TensorType(resolve(arg, instance, main), arg.shape)
    if arg.form == "map":
        key = DType.STRING if isinstance(arg.keys[0], str) else DType.INT64
        return MapType(key, TensorType(resolve(arg, instance, main), ()))
    kinds: list[Type | None] = [type_of(item, instance, main) for item in arg.items]
    inner = reduce(either, kinds)
    assert inner is not None  # noqa: S101 - the items' types are known
    return SequenceType(inner) if arg.form == "sequence" else OptionalType(inner)


def value_of(arg: Arg, instance: Instance, main: DType, rng: np.random.Generator) -> Any:
    """A value for an operand, as the interpreter takes it."""
    if not arg.form:
        return array_of(arg, resolve(arg, instance, main), rng)
    found = [value_of(item, instance, main, rng) for item in arg.items]
    match arg.form:
        case "sequence":
            return [] if arg.absent else found
        case "optional":
            return None if arg.absent else found[0]
        case _:
            return dict(zip(arg.keys, found[0], strict=True))


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
) -> tuple[Graph, list[Any]]:
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
    feeds: list[Any] = []
    for index, arg in enumerate((*instance.inputs, *instance.captures)):
        if arg is None:
            operands.append(None)
            continue
        kind, value = type_of(arg, instance, main), value_of(arg, instance, main, rng)
        if arg.const:
            weight = Weight.of(value, resolve(arg, instance, main))
            operands.append(graph.add_weight(weight, f"c{index}"))
            continue
        operands.append(graph.add_input(f"x{index}", _free(kind, index) if dynamic else kind))
        feeds.append(value)
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


def _free(kind: Type, index: int) -> Type:
    """The type with a symbol for every dim of a tensor, none known of those that are held."""
    match kind:
        case TensorType():
            rank = len(kind.shape or ())
            return TensorType(kind.dtype, tuple(symbol(f"d{index}_{n}") for n in range(rank)))
        case SequenceType():
            return SequenceType(_unknown(kind.element))
        case OptionalType(SequenceType(element)):
            return OptionalType(SequenceType(_unknown(element)))
        case OptionalType():
            return OptionalType(_unknown(kind.element))
        case _:
            return kind


def _unknown(kind: Type) -> Type:
    if not isinstance(kind, TensorType) or kind.shape is None:
        return kind
    return TensorType(kind.dtype, (None,) * len(kind.shape))
