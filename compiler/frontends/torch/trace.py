"""A torch object as a graph: capture, then lowering, then what the capture assumed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from isomorph.frontends.array.decide import Facts
from isomorph.frontends.ports import default_names, name_outputs
from isomorph.frontends.torch import guards, sizes, trial
from isomorph.frontends.torch.capture import Captured, capture, name_of
from isomorph.frontends.torch.context import Context
from isomorph.frontends.torch.errors import TraceError
from isomorph.frontends.torch.listing import listed
from isomorph.frontends.torch.lower import Lowering
from isomorph.frontends.torch.mutation import functional
from isomorph.frontends.torch.origin import Origin
from isomorph.ir.dims import Constraint, Expr
from isomorph.ir.errors import SpecError
from isomorph.ir.graph import Graph, Value
from isomorph.ir.source import Source
from isomorph.ir.types import TensorType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from isomorph.frontends.spec import InputSpec
    from isomorph.frontends.torch.symbols import Symbols


def trace_torch(
    source: Any,
    specs: Sequence[InputSpec],
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Graph:
    """The graph of a torch object, at canonical operator versions.

    Args:
        source: an nn.Module, an ExportedProgram, a function on tensors, or the path of a .pt2 file.
        specs: one per input, by the names of forward's parameters or by position.
        input_names: names for the graph's inputs; the parameters' by default.
        output_names: names for its outputs; `output`, `output_0`, … or dict keys by default.

    Raises:
        SpecError: when specifications do not fit.
        TraceError: when it cannot be captured; names the user's line and what to write instead.
    """
    try:
        captured = capture(source, specs)
    except TraceError as error:
        if not error.passable:
            raise

        def again(answers: AbstractContextManager[Any]) -> Graph:
            return _lowered(source, capture(source, specs, answers), input_names, output_names)

        raise listed(error, again) from error.__cause__
    return _lowered(source, captured, input_names, output_names)


def _lowered(
    source: Any,
    captured: Captured,
    input_names: Sequence[str] | None,
    output_names: Sequence[str] | None,
) -> Graph:
    captured.program = functional(captured.program)
    graph = Graph(name_of(source) if not isinstance(source, str | Path) else Path(source).stem)
    graph.origin = _origin(source)
    symbols = captured.symbols
    values = _inputs(graph, captured, symbols, input_names)
    context = Context(graph, symbols)
    _define(context, values)
    _assume(graph, captured, symbols)
    for constraint in graph.constraints:
        context.scope.trace.add_constraint(constraint)
    results = Lowering(context).program(captured.program, values)
    graph.extra["reached"] = {n: tuple(kinds) for n, kinds in context.scope.reached.items()}
    context.scope.place = Source()
    _outputs(context, captured, results, output_names)
    origin = captured.program if isinstance(source, str | Path) else source
    graph.extra["function"] = Origin(origin, captured.parameters)
    if captured.notes:
        graph.extra["notes"] = tuple(dict.fromkeys(captured.notes))
    return graph


def _origin(source: Any) -> str:
    if isinstance(source, str | Path):
        return Path(source).name
    if isinstance(source, torch.export.ExportedProgram):
        return "ExportedProgram"
    if isinstance(source, torch.nn.Module):
        return f"{type(source).__module__}.{type(source).__qualname__}"
    return f"{getattr(source, '__module__', '')}.{name_of(source)}"


def _inputs(
    graph: Graph, captured: Captured, symbols: Symbols, input_names: Sequence[str] | None
) -> list[Value]:
    """The graph's inputs, typed as specified, with torch's symbols bound to the user's names."""
    names = list(input_names or captured.names)
    nodes = _input_nodes(captured.program)
    if len(names) != len(nodes):
        raise SpecError(f"{len(names)} input names for {len(nodes)} inputs: {', '.join(names)}")
    if len(set(names)) != len(names):
        raise SpecError(f"input names are given twice: {', '.join(names)}")
    found: list[Value] = []
    for name, node, spec in zip(names, nodes, captured.specs, strict=True):
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            raise TraceError(
                f"input {name!r} of the program is {type(value).__name__}, not a tensor",
                "a program whose inputs are tensors; constants belong into the module",
                source=Source(),
            )
        if spec is not None:
            graph.constraints += _bind(symbols, spec, value)
        kind = symbols.type(value) if spec is None else spec.type
        if spec is not None and kind.dtype is not symbols.type(value).dtype:
            raise SpecError(f"{name}: {kind} is specified, the program takes {symbols.type(value)}")
        if spec is not None and spec.domain is not None:
            graph.domains[name] = spec.domain
        found.append(graph.add_input(name, kind))
    return found


def _input_nodes(program: Any) -> list[Any]:
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    kinds = program.graph_signature.input_specs
    return [
        node
        for node, spec in zip(placeholders, kinds, strict=True)
        if spec.kind.name == "USER_INPUT" and isinstance(node.meta.get("val"), torch.Tensor)
    ]


def _bind(symbols: Symbols, spec: InputSpec, value: torch.Tensor) -> list[Constraint]:
    """Name torch's symbols; what is the same symbol under two names has to be equal."""
    equal: list[Constraint] = []
    shape = spec.type.shape or ()
    if len(shape) != value.dim():
        raise SpecError(
            f"{spec.name}: {spec.type} is specified, the program takes rank {value.dim()}"
        )
    for axis, (dim, size) in enumerate(zip(shape, value.shape, strict=True)):
        if isinstance(dim, Expr) and isinstance(size, int):
            raise TraceError(
                f"axis {axis} of input {spec.name!r} was to be open (`{dim}`), "
                f"but the program fixes it to {size}",
                f"{size} in the specification, or a program exported with that axis dynamic",
                source=Source(),
            )
        if isinstance(size, torch.SymInt) and isinstance(dim, Expr):
            own = getattr(
                size.node, "_expr", size.node.expr
            )  # before torch found it equal to another
            known = symbols.bind(str(own), dim) if own.is_Symbol else dim
            if known != dim:
                equal.append(Constraint(dim, "==", known, "captured at equal sizes"))
            if size.node.expr.is_Symbol:
                symbols.bind(str(size.node.expr), dim)
    return equal


def _define(context: Context, values: Sequence[Value]) -> None:
    """Let every symbol that stands alone as a dim of an input be computed from it."""
    scope = context.scope
    for value in values:
        for axis, dim in enumerate(
            value.type.shape or () if isinstance(value.type, TensorType) else ()
        ):
            if isinstance(dim, Expr) and str(dim).isidentifier():
                scope.trace.symbols.setdefault(str(dim), (scope, value, axis))
    for value in values:
        for dim in value.type.shape or () if isinstance(value.type, TensorType) else ():
            unknown = dim.symbols() - set(scope.trace.symbols) if isinstance(dim, Expr) else ()
            if unknown:
                raise SpecError(
                    f"{value.name}: {value.type}: {', '.join(sorted(unknown))} is in no other dim "
                    "on its own, so it cannot be told at run time; give the dim a name of its own"
                )


def _assume(graph: Graph, captured: Captured, symbols: Symbols) -> None:
    """Constraints: as specified, then as captured, less what capture only invented."""
    declared = [c for s in captured.specs if s is not None for c in s.constraints]
    inputs = frozenset(
        name
        for value in graph.inputs
        if isinstance(value.type, TensorType)
        for dim in value.type.shape or ()
        if isinstance(dim, Expr)
        for name in dim.symbols()
    )
    found = guards.guards_of(captured.program, captured.log)
    found += guards.carried(captured.program, found)
    kept, notes = guards.constraints(found, symbols, inputs, captured.sizes)
    kept += graph.constraints
    captured.notes += notes
    kept += guards.ranges(captured.program, symbols, inputs)
    if captured.module is not None:
        kept, notes = trial.proven(captured, kept, inputs)
        captured.notes += notes
    _agree(captured, kept)
    graph.constraints = list(dict.fromkeys([*declared, *_needed(declared, kept)]))


def _needed(declared: Sequence[Constraint], kept: Sequence[Constraint]) -> list[Constraint]:
    """Constraints that do not follow from the others; torch's own go before the user's."""
    left = sorted(dict.fromkeys(kept), key=lambda c: c.reason.startswith("captured"))
    needed: list[Constraint] = []
    while left:
        constraint = left.pop(0)
        known = Facts([*declared, *needed, *left])
        if known.decide(constraint.left, constraint.relation, constraint.right) is not True:
            needed.append(constraint)
    return needed


def _agree(captured: Captured, kept: Sequence[Constraint]) -> None:
    """Refuse a guard that fails at a size which the user declared to be possible."""
    ranges = sizes.declared([s for s in captured.specs if s is not None])
    stated = {str(c.left) for s in captured.specs if s is not None for c in s.constraints}
    for constraint in kept:
        names = sorted(constraint.symbols())
        if len(names) != 1 or names[0] not in stated:
            continue
        low, high = ranges[names[0]]
        last = int(min(high, low + 256))
        broken = next(
            (
                n
                for n in (*range(int(low), last + 1), *([int(high)] if high < 1 << 40 else []))
                if constraint.holds({names[0]: n}) is False
            ),
            None,
        )
        if broken is not None:
            shown = f"{int(low)}..{int(high) if high < 1 << 40 else ''}"
            raise TraceError(
                f"the module relies on {constraint} ({constraint.reason}), but `{names[0]}` is "
                f"declared in {shown} and may be {broken}",
                f"a range that keeps {constraint}, or a module without that condition",
                source=Source(),
            )


def _outputs(
    context: Context, captured: Captured, results: list[Any], output_names: Sequence[str] | None
) -> None:
    graph = context.graph
    given = [
        (n, r)
        for n, r in zip(_names(captured.program, len(results)), results, strict=True)
        if r is not None
    ]
    if not given:
        raise TraceError(f"{graph.name} returns no tensor", source=Source())
    if output_names is not None and len(output_names) != len(given):
        raise SpecError(
            f"{len(output_names)} output names for {len(given)} outputs: {', '.join(output_names)}"
        )
    for _, result in given:
        value = context.tensor(result)
        if value.producer is None or graph.is_output(value):
            value = context("Identity", value)
        graph.outputs.append(value)
    name_outputs(graph, output_names or default_names(graph, [key for key, _ in given]))
    dropped = [
        o for o in captured.program.graph_signature.output_specs if o.kind.name != "USER_OUTPUT"
    ]
    if dropped:
        changed = ", ".join(sorted({str(o.target) for o in dropped}))
        captured.notes.append(f"the module changes {changed} in place; the graph does not show it")


def _names(program: Any, count: int) -> list[str]:
    """A name per output from the keys that the module returns it under; empty where it has none."""
    spec = program.call_spec.out_spec
    if spec is None or spec.num_leaves != count:
        return [""] * count
    tree = pytree.tree_unflatten(list(range(count)), spec)
    paths, _ = pytree.tree_flatten_with_path(tree)
    found: list[str] = []
    for path, _ in paths:
        name = ""
        for key in path:
            if isinstance(key, pytree.SequenceKey):
                name = f"{name}_{key.idx}" if name else ""
            elif isinstance(key, pytree.MappingKey | pytree.GetAttrKey):
                text = key.key if isinstance(key, pytree.MappingKey) else key.name
                name = f"{name}.{text}" if name else str(text)
        found.append(name)
    return found
