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
    if input_names is None and output_names is None:
        return
    wanted: dict[Value, str] = {}
    for values, names in ((graph.inputs, input_names), (graph.outputs, output_names)):
        for value, name in zip(values, names or (v.name for v in values), strict=True):
            own = wanted.setdefault(value, name)
            if name != own and names is not None:
                raise SpecError(
                    f"{value.name!r} is listed twice among inputs and outputs, and has one name: "
                    f"{own!r} and {name!r} were asked for"
                )
    inputs = [name for value, name in wanted.items() if value in graph.inputs]
    _refuse_clashes(inputs, [name for value, name in wanted.items() if value not in graph.inputs])
    for value in wanted:  # out of the way first, so that they can swap names
        graph.rename(value, graph.unique_name(value.name))
    for value, name in wanted.items():
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
