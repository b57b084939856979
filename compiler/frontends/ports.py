"""Names of a graph's inputs and outputs: as they are asked for, or an error, never another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.ir.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.ir.graph import Graph, Value


def name_outputs(graph: Graph, names: Sequence[str]) -> None:
    """Give the outputs these names, which somebody chose: keys, or what the user asks for.

    Raises:
        SpecError: when two outputs, or an output and an input, would have the same.
    """
    _refuse_clashes([v.name for v in graph.inputs], names)
    for value, name in zip(graph.outputs, names, strict=True):
        graph.rename(value, name)


def rename(
    graph: Graph, input_names: Sequence[str] | None, output_names: Sequence[str] | None
) -> None:
    """Give inputs and outputs other names; those that none is given for keep theirs.

    Raises:
        SpecError: when there are more or fewer names than values, or two would have the same.
    """
    for option, values, names in (
        ("--input-names", graph.inputs, input_names),
        ("--output-names", graph.outputs, output_names),
    ):
        if names is not None and len(names) != len(values):
            raise SpecError(f"{option} has {len(names)} names, the model has {len(values)}")
    inputs = list(input_names or (v.name for v in graph.inputs))
    outputs = list(output_names or (v.name for v in graph.outputs))
    through = [i for i, v in enumerate(graph.outputs) if any(v is u for u in graph.inputs)]
    for index in through:
        value, name = graph.outputs[index], outputs[index]
        own = inputs[next(i for i, u in enumerate(graph.inputs) if u is value)]
        if output_names is None:
            outputs[index] = own
        elif name != own:
            raise SpecError(
                f"output {value.name!r} is an input itself, so that it has one name: {own!r} was "
                f"asked for as the input's, {name!r} as the output's"
            )
    _refuse_clashes(inputs, [n for i, n in enumerate(outputs) if i not in through])
    for values, names in ((graph.inputs, inputs), (graph.outputs, outputs)):
        _apart(graph, values)
        for value, name in zip(values, names, strict=True):
            graph.rename(value, name)


def default_names(graph: Graph, keys: Sequence[str]) -> list[str]:
    """A name for each output: its key, else `output`, `output_0`, …, none of them an input's."""
    taken = {v.name for v in graph.inputs} | {k for k in keys if k}
    found: list[str] = []
    for index, key in enumerate(keys):
        name = key or ("output" if len(keys) == 1 else f"output_{index}")
        while not key and name in taken:
            name += "_"
        taken.add(name)
        found.append(name)
    return found


def _apart(graph: Graph, values: Sequence[Value]) -> None:
    """Give values names that nobody asks for, so that they can swap theirs."""
    for value in values:
        graph.rename(value, graph.unique_name(value.name))


def _refuse_clashes(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    for what, names in (("input", inputs), ("output", outputs)):
        twice = sorted({n for n in names if list(names).count(n) > 1})
        if twice:
            raise SpecError(f"{what} names are given twice: {', '.join(map(repr, twice))}")
    both = [n for n in outputs if n in inputs]
    if both:
        raise SpecError(
            f"{', '.join(map(repr, both))} would name an input and an output: name one of them "
            "otherwise, with --input-names or --output-names (in Python: input_names, output_names)"
        )
