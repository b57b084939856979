"""A function on arrays, run once on arrays that record what it does."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.frontends import signature
from isomorph.frontends.array.build import lift
from isomorph.frontends.array.dispatch import ArrayRules
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.naming import weight_names
from isomorph.frontends.array.scope import Scope, Trace, active, entered
from isomorph.frontends.array.structure import is_dict, is_many
from isomorph.frontends.array.traced import Traced
from isomorph.ir.dims import Expr
from isomorph.ir.errors import SpecError
from isomorph.ir.graph import Graph
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isomorph.frontends.spec import InputSpec
    from isomorph.ir.graph import Value


def trace_array(
    fn: Callable[..., Any],
    specs: Sequence[InputSpec],
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Graph:
    """The graph of an array function.

    Args:
        fn: takes arrays by position or name; returns an array, or nested tuples, lists or dicts.
        specs: one for each parameter without a default: in any order when their names are the
            parameters', else by position.
        input_names: names for the graph's inputs; the parameters' by default.
        output_names: names for its outputs; `output`, `output_0`, … or dict keys by default.

    Raises:
        SpecError: when specifications and parameters do not match.
        TraceError: when the function does something that cannot be captured.
    """
    if active() is not None:
        raise TraceError("a trace is started inside another one", "a call of the function itself")
    matched = signature.matched(fn, specs, _name(fn))
    _check_names(input_names, len(matched), "input")
    graph = Graph(_name(fn))
    graph.origin = _origin(fn)
    trace = Trace(ArrayRules(), weight_names(fn))
    scope = Scope(trace, graph)
    arrays: list[Traced] = []
    for index, (parameter, spec) in enumerate(matched):
        name = input_names[index] if input_names else parameter.name
        value = graph.add_input(name, spec.type)
        _define(scope, value)
        for constraint in spec.constraints:
            trace.add_constraint(constraint)
        if spec.domain is not None:
            graph.domains[value.name] = spec.domain
        arrays.append(Traced(value, scope))
    _check_symbols(scope, specs)
    positional = [a for (p, _), a in zip(matched, arrays, strict=True) if not p.keyword]
    named = {p.name: a for (p, _), a in zip(matched, arrays, strict=True) if p.keyword}
    with entered(scope):
        results = list(_flat(fn(*positional, **named)))
        _set_outputs(scope, results, output_names)
    trace.check_arrays()
    graph.constraints = trace.constraints
    return graph


def _define(scope: Scope, value: Value) -> None:
    """Let every symbol that stands alone as a dim of this input be computed from it."""
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    for axis, dim in enumerate([] if shape is None else shape):
        if isinstance(dim, Expr) and str(dim).isidentifier():
            scope.trace.symbols.setdefault(str(dim), (scope, value, axis))


def _check_symbols(scope: Scope, specs: Sequence[InputSpec]) -> None:
    for spec in specs:
        shape = spec.type.shape
        named = [] if shape is None else [d for d in shape if isinstance(d, Expr)]
        unknown = {s for d in named for s in d.symbols()} - set(scope.trace.symbols)
        if unknown:
            raise SpecError(
                f"{spec.name}: {spec.type}: {', '.join(sorted(unknown))} is in no other dim on "
                "its own, so it cannot be told at run time; give the dim a name of its own"
            )


def _check_names(names: Sequence[str] | None, count: int, what: str) -> None:
    if names is None:
        return
    if len(names) != count:
        raise SpecError(f"{len(names)} {what} names for {count} {what}s: {', '.join(names)}")
    if len(set(names)) != len(names):
        raise SpecError(f"{what} names are given twice: {', '.join(names)}")


def _flat(result: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """(name, array) of everything a function returns, in order; names come from dict keys."""
    if is_dict(result):
        for key, item in result.items():
            yield from _flat(item, f"{name}.{key}" if name else str(key))
    elif is_many(result):
        for index, item in enumerate(result):
            yield from _flat(item, f"{name}_{index}" if name else "")
    elif result is None:
        raise TraceError("the function returns None among its results, where an array belongs")
    else:
        yield name, result


def _set_outputs(
    scope: Scope, results: list[tuple[str, Any]], output_names: Sequence[str] | None
) -> None:
    _check_names(output_names, len(results), "output")
    if not results:
        raise TraceError(f"{scope.graph.name} returns no array")
    graph = scope.graph
    for index, (key, result) in enumerate(results):
        default = key or ("output" if len(results) == 1 else f"output_{index}")
        value = lift(result).value
        if value.producer is None or graph.is_output(value):
            value = scope.emit("Identity", [value]).output
        graph.rename(value, output_names[index] if output_names else default)
        graph.outputs.append(value)


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", None) or type(fn).__name__


def _origin(fn: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return f"{Path(code.co_filename).name}:{_name(fn)}" if code is not None else _name(fn)
