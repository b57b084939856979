"""A function on arrays, run once on arrays that record what it does."""

from __future__ import annotations

import inspect
import reprlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.frontends import signature
from isomorph.frontends.array.build import lift
from isomorph.frontends.array.dims import DimCondition, TracedDim
from isomorph.frontends.array.dispatch import ArrayRules
from isomorph.frontends.array.errors import TraceError
from isomorph.frontends.array.listing import listed
from isomorph.frontends.array.naming import is_partial, weight_names
from isomorph.frontends.array.scope import Scope, Trace, active, entered
from isomorph.frontends.array.structure import is_dict, is_many, is_ndarray, leaves
from isomorph.frontends.array.traced import Traced
from isomorph.frontends.ports import default_names, name_outputs
from isomorph.ir.dims import Expr
from isomorph.ir.errors import SpecError
from isomorph.ir.graph import Graph
from isomorph.ir.source import Source, caller
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from isomorph.frontends.array.errors import Obstacle
    from isomorph.frontends.array.listing import Listing
    from isomorph.frontends.signature import Parameter
    from isomorph.frontends.spec import InputSpec
    from isomorph.ir.graph import Value


_ARRAY = object()


def trace_array(
    fn: Callable[..., Any],
    specs: Sequence[InputSpec],
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Graph:
    """The graph of an array function; `extra["function"]` is that function, to be held against it.

    It takes one array per input of the graph and returns the list of the outputs, both in order.

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
    made = _Tracing(fn, specs, matched, input_names, output_names)
    try:
        made.run()
    except TraceError as error:

        def again(listing: Listing) -> list[Obstacle]:
            other = _Tracing(fn, specs, matched, input_names, output_names)
            other.trace.listing = listing
            try:
                other.run()
            except TraceError as ended:
                other.trace.passed.append(ended.obstacle)
            except (Exception, SystemExit):  # noqa: BLE001 - of the user's code, given stand-ins
                return other.trace.passed
            return other.trace.passed

        raise listed(again, error, made.trace.passed) from None
    return made.graph


class _Tracing:
    """One run of a function on arrays that record."""

    def __init__(
        self,
        fn: Callable[..., Any],
        specs: Sequence[InputSpec],
        matched: Sequence[tuple[Parameter, InputSpec]],
        input_names: Sequence[str] | None,
        output_names: Sequence[str] | None,
    ) -> None:
        self.fn, self.specs, self.matched = fn, specs, matched
        self.input_names, self.output_names = input_names, output_names
        self.graph = Graph(_name(fn))
        self.graph.origin = _origin(fn)
        self.trace = Trace(ArrayRules(), weight_names(fn))

    def run(self) -> None:
        """Complete the graph; raises TraceError."""
        fn, graph, trace = self.fn, self.graph, self.trace
        scope = Scope(trace, graph)
        arrays: list[Traced] = []
        for index, (parameter, spec) in enumerate(self.matched):
            name = self.input_names[index] if self.input_names else parameter.name
            value = graph.add_input(name, spec.type)
            _define(scope, value)
            for constraint in spec.constraints:
                trace.add_constraint(constraint)
            if spec.domain is not None:
                graph.domains[value.name] = spec.domain
            arrays.append(Traced(value, scope))
        _check_symbols(scope, self.specs)
        pairs = list(zip(self.matched, arrays, strict=True))
        positional = [a for (p, _), a in pairs if not p.keyword]
        named = {p.name: a for (p, _), a in pairs if p.keyword}
        with entered(scope):
            results = list(_flat(_checked(fn, fn(*positional, **named))))
            _set_outputs(scope, results, self.output_names)
        trace.check_arrays()
        graph.constraints = trace.constraints
        graph.extra["function"] = _called(fn, [p for p, _ in self.matched])


def _called(fn: Callable[..., Any], parameters: Sequence[Parameter]) -> Callable[..., Any]:
    """`fn` as a function of the graph's inputs, in their order, that returns a list of arrays."""

    def function(*arrays: Any) -> list[Any]:
        given = list(zip(parameters, arrays, strict=True))
        named = {p.name: a for p, a in given if p.keyword}
        results = fn(*(a for p, a in given if not p.keyword), **named)
        return [array for _, array in _flat(results)]

    function.__name__ = _name(fn)
    return function


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
    else:
        yield name, result


def _checked(fn: Callable[..., Any], result: Any) -> Any:
    """What a function returned; raises TraceError, at the function, for what is no array."""
    wrong = next((v for v in leaves(result) if not _is_array(v)), _ARRAY)
    if wrong is _ARRAY:
        return result
    if inspect.iscoroutine(wrong):
        wrong.close()
    what = "None" if wrong is None else f"a {type(wrong).__name__}"
    if isinstance(wrong, (str, bytes)):
        what += f" {reprlib.repr(wrong)}"
    among = "" if wrong is result else " among its results"
    remedy = "return x, the array that it computes"
    if inspect.isgenerator(wrong):
        remedy = "return [y, z] instead of yields: a tuple, list or dict of arrays"
    elif inspect.iscoroutine(wrong):
        remedy = "a plain `def` that returns an array, instead of `async def`"
    raise TraceError(
        f"{_name(fn)} returns {what}{among}, where an array belongs", remedy, _place(fn)
    )


def _is_array(value: Any) -> bool:
    plain = (Traced, TracedDim, DimCondition, np.generic, bool, int, float, complex)
    if is_ndarray(value):
        return value.dtype != object or all(isinstance(v, (str, bytes)) for v in value.flat)
    return isinstance(value, plain) and not isinstance(value, (str, bytes))


def _place(fn: Callable[..., Any]) -> Source:
    """Where a function, the one of a partial, or the `__call__` of an object is defined."""
    inner: Any = fn
    while is_partial(inner):
        inner = inner.func
    inner = inspect.unwrap(inner)
    code = getattr(inner, "__code__", None) or getattr(type(inner).__call__, "__code__", None)
    if code is None:
        return caller()
    return Source(code.co_filename, code.co_firstlineno, code.co_name)


def _set_outputs(
    scope: Scope, results: list[tuple[str, Any]], output_names: Sequence[str] | None
) -> None:
    _check_names(output_names, len(results), "output")
    if not results:
        raise TraceError(f"{scope.graph.name} returns no array")
    graph = scope.graph
    for _, result in results:
        value = lift(result).value
        if value.producer is None or graph.is_output(value):
            value = scope.emit("Identity", [value]).output
        graph.outputs.append(value)
    name_outputs(graph, output_names or default_names(graph, [key for key, _ in results]))


def _name(fn: Callable[..., Any]) -> str:
    return getattr(fn, "__name__", None) or type(fn).__name__


def _origin(fn: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(fn), "__code__", None)
    return f"{Path(code.co_filename).name}:{_name(fn)}" if code is not None else _name(fn)
