"""The reference that a user names: a graph, a file, a function, a trace of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.frontends.kind import is_torch
from isomorph.ir.copies import copy_graph
from isomorph.ir.dims import Constraint, Dim, Expr
from isomorph.ir.errors import IsomorphError, SpecError
from isomorph.ir.graph import Graph
from isomorph.ir.types import TensorType
from isomorph.parity.recorded import RecordedReference, is_recording, recording_of
from isomorph.parity.sources import BlackBox, GraphReference, read
from isomorph.parity.traced import TracedReference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.parity.sources import Reference


def reference_of(source: Any, inputs: Sequence[Any], candidate: Graph) -> Reference:
    """The reference that a user named.

    Args:
        source: a graph, a path, a torch module or program, a function, or saved arrays.
        inputs: specifications: texts or `InputSpec`s; they add domains and constraints to a graph.
        candidate: gives the inputs of a function that has no specifications.

    Raises:
        SpecError: when specifications do not fit.
        InvalidModelError: when a file cannot be read.
        RecordingError: when saved arrays are not those of the candidate.
    """
    specs = _specs(inputs)
    if is_recording(source):
        if specs:
            raise SpecError(
                "saved arrays are compared as they are: specifications of inputs have no use "
                f"({specs[0].name!r} was given)"
            )
        return RecordedReference(recording_of(source, candidate), candidate)
    if isinstance(source, str | Path) and not is_torch(source):
        graph = read(source)
        return GraphReference(_with_specs(graph, specs), str(source), Path(source))
    if isinstance(source, Graph):
        return _of_graph(_with_specs(source, specs))
    torch = is_torch(source)
    if not callable(source) and not torch:
        raise IsomorphError(
            f"cannot compare with {type(source).__name__} {source!r}: expected a graph, the path "
            "of an .onnx or .pt2 file, a torch module, a function on arrays, or saved arrays (a "
            ".npz file, a folder with input_0.pb and output_0.pb)"
        )
    shell = Graph(getattr(source, "__name__", "function"))
    if specs:
        for index, spec in enumerate(specs):
            value = shell.add_input(spec.name or f"input_{index}", spec.type)
            shell.constraints += spec.constraints
            if spec.domain is not None:
                shell.domains[value.name] = spec.domain
    else:
        for value in candidate.inputs:
            shell.add_input(value.name, value.type)
        shell.constraints = list(candidate.constraints)
        shell.domains = dict(candidate.domains)
    if torch:
        from isomorph.parity.pytorch import TorchReference, origin_of

        return TorchReference(origin_of(source, specs), shell, traced=False)
    function: Any = source
    return BlackBox(function, shell)


def _of_graph(graph: Graph) -> GraphReference:
    """With the function that it was traced from, when it was traced."""
    function: Any = graph.extra.get("function")
    if hasattr(function, "wide"):  # a torch source, which computes in float64 itself
        from isomorph.parity.pytorch import TorchReference

        return TorchReference(function, graph, traced=True)
    return TracedReference(graph, function) if callable(function) else GraphReference(graph)


def _specs(inputs: Sequence[Any]) -> list[Any]:
    from isomorph.frontends.spec import parse_specs

    if isinstance(inputs, str):
        return [*parse_specs(inputs)]
    texts = [i for i in inputs if isinstance(i, str)]
    parsed = iter(parse_specs(texts))
    return [next(parsed) if isinstance(i, str) else i for i in inputs]


def _with_specs(graph: Graph, specs: list[Any]) -> Graph:
    """The graph with domains and constraints that the user added, under its own dims' names."""
    if not specs:
        return graph
    known = {v.name: v for v in graph.inputs}
    unknown = [s.name for s in specs if s.name and s.name not in known]
    if unknown:
        raise SpecError(
            f"there is no input {', '.join(map(repr, unknown))}; there are {', '.join(known)}"
        )
    graph, _ = copy_graph(graph)
    known = {v.name: v for v in graph.inputs}
    for index, spec in enumerate(specs):
        value = known[spec.name] if spec.name else graph.inputs[index]
        if spec.domain is not None:
            graph.domains[value.name] = spec.domain
        graph.constraints += spec.constraints
        if not isinstance(value.type, TensorType) or value.type.shape is None:
            value.type = spec.type
            continue
        if value.type.dtype is not spec.type.dtype or len(value.type.shape) != spec.type.rank:
            raise SpecError(f"input {value.name!r} is {value.type}, not {spec.type}")
        dims: list[Dim] = []
        for own, given in zip(value.type.shape, spec.type.shape, strict=True):
            if isinstance(own, Expr) and own is not given:
                graph.constraints.append(Constraint(own, "==", given, "the specification"))
            dims.append(given if own is None else own)
        value.type = TensorType(value.type.dtype, tuple(dims))
    return graph
