"""`xp.op`: any ONNX operator by name, checked against its schema; eager on numpy arrays."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.frontends.array.build import has_traced, lift
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.promote import default_type, is_weak, result_type
from isomorph.frontends.array.scope import current
from isomorph.frontends.array.structure import is_many, is_ndarray
from isomorph.frontends.array.traced import Traced
from isomorph.ir import schema
from isomorph.ir.graph import Graph
from isomorph.ir.semantics import evaluate
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def op(
    name: str,
    /,
    *inputs: Any,
    domain: str = "",
    outputs: int = 1,
    types: Sequence[str] = (),
    version: int | None = None,
    **attributes: Any,
) -> Any:
    """An ONNX operator at its newest version: `xp.op("Conv", x, w, b, pads=(1, 1, 1, 1))`.

    Args:
        name: the operator.
        inputs: arrays, numbers, lists; `None` for an optional one that is left out. A sequence is
            a list of arrays, a map a dict.
        domain: `ai.onnx.ml`, `com.microsoft`, or one of your own; ONNX's by default.
        outputs: how many results are wanted; a tuple comes back when more than one.
        types: result types such as `float32[batch, 3]`, needed for a domain of your own.
        version: of an operator of your own.
        attributes: as the operator defines them; arrays for tensor attributes.

    Raises:
        TraceError: for an unknown operator or attribute, or operands it does not take.
    """
    domain = schema.normal_domain(domain)
    definition = schema.canonical(domain, name)
    if definition is None:
        if not types:
            raise _unknown(domain, name)
    else:
        _check(definition, inputs, attributes, outputs)
    given = {k: _attribute(v) for k, v in attributes.items() if v is not None}
    if has_traced(inputs):
        return _traced(definition, name, inputs, given, domain, outputs, types, version)
    if definition is None:
        raise TraceError(f"{domain}.{name} is an operator of your own: numpy cannot compute it")
    return _eager(definition, inputs, given, outputs)


def _traced(
    definition: schema.Schema | None,
    name: str,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    domain: str,
    outputs: int,
    types: Sequence[str],
    version: int | None,
) -> Any:
    scope = current()
    dtypes = operand_dtypes(definition, inputs) if definition else [None] * len(inputs)
    operands = [
        None if v is None else (v if isinstance(v, Traced) and not v.weak else lift(v, d)).value
        for v, d in zip(inputs, dtypes, strict=True)
    ]
    while operands and operands[-1] is None:
        operands.pop()
    made = scope.emit(
        name,
        operands,
        attributes,
        outputs=outputs,
        domain=domain,
        version=(version or 1) if definition is None else None,
        types=[_type(t) for t in types],
    )
    for value in made.results:
        if value.type is None:
            raise TraceError(
                f"the type of what {made} returns cannot be told",
                f"xp.op({name!r}, …, types=['float32[n, 3]'])",
            )
    results = tuple(Traced(v, scope) for v in made.results)
    return results if outputs > 1 else results[0]


def _type(text: str) -> TensorType:
    from isomorph.frontends.spec import parse_spec

    return parse_spec(text).type


def _eager(
    definition: schema.Schema, inputs: Sequence[Any], attributes: Mapping[str, Any], outputs: int
) -> Any:
    """The operator's meaning on numpy arrays; float64 stays float64, and subclasses are kept."""
    held = [_is_held(definition.input(i), v) for i, v in enumerate(inputs)]
    loose = [None if h else v for h, v in zip(held, inputs, strict=True)]
    dtypes = operand_dtypes(definition, loose, eager=True)
    values = [
        v if v is None or h else _array(v, d) for h, v, d in zip(held, inputs, dtypes, strict=True)
    ]
    graph = Graph("eager")
    operands = [
        None if v is None else graph.add_input(f"x{i}", None if h else _type_of(v))
        for i, (h, v) in enumerate(zip(held, values, strict=True))
    ]
    made = graph.add_op(definition.name, operands, attributes, outputs=outputs,
                        domain=definition.domain)  # fmt: skip
    plain = [_plain(v) for v in values]
    arrays = [a for v in values for a in _arrays(v)]
    kind: Any = next((type(a) for a in arrays if type(a) is not np.ndarray), None)
    if hasattr(kind, "meet"):
        kind.meet(arrays)
    wide = any(a.dtype == np.float64 for a in arrays)
    results = tuple(_as(r, kind) for r in evaluate(made, plain, wide=wide))
    return results if outputs > 1 else results[0]


def _is_held(formal: schema.Operand | None, value: Any) -> bool:
    """Whether a list or dict is a sequence or a map, and not a tensor that is spelled out."""
    if formal is None or not isinstance(value, list | dict):
        return False
    tensors = any(name.startswith("tensor(") for name in formal.dtypes)
    return not tensors or isinstance(value, dict) or all(map(is_ndarray, cast("Any", value)))


def _arrays(value: Any) -> list[np.ndarray]:
    """The arrays among an operand's, or inside of it."""
    if isinstance(value, list | dict):
        items = cast("Any", value.values() if isinstance(value, dict) else value)
        return [array for item in items for array in _arrays(item)]
    return [value] if is_ndarray(value) else []


def _plain(value: Any) -> Any:
    """An operand without the classes of its arrays."""
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[Any]", value)]
    return np.asarray(value) if is_ndarray(value) else value


def _type_of(array: Any) -> TensorType:
    return TensorType(DType.of(array.dtype), array.shape)


def _array(value: Any, dtype: np.dtype[Any] | None) -> np.ndarray:
    found = cast("np.ndarray", np.asanyarray(value))
    return found if dtype is None else found.astype(dtype, copy=False)


def _as(result: Any, kind: Any) -> Any:
    """A result, or what it holds, as arrays of a class."""
    if isinstance(result, list):
        return [_as(item, kind) for item in cast("list[Any]", result)]
    if result is None or isinstance(result, dict):
        return cast("Any", result)
    array = np.asarray(result)
    return array if kind is None else array.view(kind)


def operand_dtypes(
    definition: schema.Schema, inputs: Sequence[Any], *, eager: bool = False
) -> list[np.dtype[Any] | None]:
    """The dtype that each operand is to have: numbers follow the arrays of their type variable.

    `eager` also promotes arrays of one variable, and with one float64 array all floats that may be
    float64: where a function is evaluated in float64, its weights are still float32.
    """
    shared: dict[str, list[Any]] = {}
    for index, value in enumerate(inputs):
        formal = definition.input(index)
        if value is not None and formal is not None and formal.homogeneous:
            shared.setdefault(formal.type_var, []).append(value)
    found: list[np.dtype[Any] | None] = []
    for index, value in enumerate(inputs):
        formal = definition.input(index)
        if value is None or formal is None:
            found.append(None)
            continue
        together = [v for v in shared.get(formal.type_var, ()) if not _loose(v)]
        if len(formal.dtypes) == 1 and _loose(value):
            (only,) = formal.dtypes
            found.append(DType.of(_dtype_name(only)).numpy)
        elif together and (eager or _loose(value)):
            found.append(_widened(result_type(*together), formal, inputs if eager else ()))
        else:
            found.append(_default(formal, value) if _loose(value) else None)
    return found


def _widened(dtype: np.dtype[Any], formal: schema.Operand, inputs: Sequence[Any]) -> np.dtype[Any]:
    """float64 for a float next to a float64 array, where the operator has it."""
    double = any(getattr(v, "dtype", None) == np.float64 for v in inputs)
    if double and DType.of(dtype).is_float and DType.FLOAT64.schema_name in formal.dtypes:
        return np.dtype(np.float64)
    return dtype


def _default(formal: schema.Operand, value: Any) -> np.dtype[Any] | None:
    dtype = default_type(value)
    return dtype if DType.of(dtype).schema_name in formal.dtypes else None


def _dtype_name(name: str) -> str:
    short = name.removeprefix("tensor(").rstrip(")")
    return {"float": "float32", "double": "float64"}.get(short, short)


def _loose(value: Any) -> bool:
    """Numbers and lists, which have no dtype of their own."""
    return is_weak(value) or is_many(value) or isinstance(value, bool)


def _check(
    definition: schema.Schema, inputs: Sequence[Any], attributes: Mapping[str, Any], outputs: int
) -> None:
    label = f"{definition.name}-{definition.since}"
    if not definition.min_inputs <= len(inputs) <= definition.max_inputs:
        names = ", ".join(i.name for i in definition.inputs)
        raise TraceError(f"{label} takes ({names}); {len(inputs)} operands were given")
    if not definition.min_outputs <= outputs <= definition.max_outputs:
        raise TraceError(f"{label} has at most {definition.max_outputs} outputs, not {outputs}")
    for name in attributes:
        if name not in definition.attributes:
            close = get_close_matches(name, definition.attributes, n=1)
            known = ", ".join(definition.attributes) or "none"
            instead = f"{close[0]}=…" if close else ""
            raise TraceError(f"{label} has no attribute {name!r}; it has {known}", instead)
    for known_attribute in definition.attributes.values():
        if known_attribute.required and attributes.get(known_attribute.name) is None:
            raise TraceError(f"{label} needs the attribute {known_attribute.name!r}")


def _attribute(value: Any) -> Any:
    if is_ndarray(value):
        return Weight.of(value)
    if is_many(value):
        return tuple(_attribute(v) for v in value)
    plain = value.item() if hasattr(value, "item") else value
    return int(plain) if isinstance(plain, bool) else plain


def _unknown(domain: str, name: str) -> TraceError:
    known = schema.operators(domain)
    if not known:
        return TraceError(
            f"{domain}.{name}: an operator of your own needs the types of its results",
            f"xp.op({name!r}, …, domain={domain!r}, types=['float32[n, 3]'])",
        )
    close = get_close_matches(name, known, n=1)
    return TraceError(
        f"no operator {domain or 'ai.onnx'}.{name} is known",
        f"xp.op({close[0]!r}, …)" if close else "",
    )
