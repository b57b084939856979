"""Graphs, as a Hypothesis strategy: valid, typed, over every operator that has a table.

Ops are added one by one. An operator is drawn, one of its small uses, and operands among what there
is; the shape rule and one run on small arrays say whether it is valid, else others are drawn. A new
operator is generated the day it has a row in `isomorph.ir.ops` and uses in `isomorph.ir.instances`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isomorph.ir import schema
from isomorph.ir.budget import Limits, bounded
from isomorph.ir.types import TensorType
from isomorph.ir.verify import verify
from isomorph.parity.strategies.bodies import add_branches, add_loop
from isomorph.parity.strategies.choices import Drawn, chance, one_of
from isomorph.parity.strategies.growing import Growing
from isomorph.parity.strategies.operands import Operands
from isomorph.parity.strategies.uses import operators_of, seed_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hypothesis.strategies import DrawFn, SearchStrategy

    from isomorph.ir.graph import Graph
    from isomorph.ir.opdef import Key
    from isomorph.parity.strategies.choices import Choices
    from isomorph.parity.strategies.growing import Allow, Held

MOST_OPS = 8
MOST_OUTPUTS = 6
TRIES = 4
"""Times that operands are drawn for one op before it is made of new ones alone."""
LIMITS = Limits(seconds=5.0, memory=64 << 20)


@dataclass(frozen=True, slots=True, eq=False)
class Grown:
    """A drawn graph, and one set of inputs that it is known to take.

    Attributes:
        graph: at canonical versions, verified.
        feeds: one per input.
        sizes: of its symbols, there.
    """

    graph: Graph
    feeds: list[Any]
    sizes: dict[str, int]


def graphs(
    ops: Iterable[str | Key] | None = None, *, most: int = MOST_OPS
) -> SearchStrategy[Graph]:
    """Valid, typed graphs at canonical versions, with symbolic dims, weights and subgraphs.

    Args:
        ops: operators to draw from, such as `Add`, `com.microsoft.Gelu` or `("", "Add")`; every
            supported one by default. Subgraphs around others are drawn where `If` or `Loop` is one.
        most: ops of the outer graph.

    Raises:
        ValueError: when an operator is not supported.
    """
    from hypothesis import strategies

    keys = operators_of(ops)

    @strategies.composite
    def draw_graph(draw: DrawFn) -> Graph:
        return grow(Drawn(draw), keys, most=most).graph

    return draw_graph()


def grow(
    choices: Choices,
    keys: Sequence[Key],
    *,
    most: int = MOST_OPS,
    first: Key | None = None,
    allow: Allow | None = None,
    strict: bool = False,
) -> Grown:
    """A graph of what was chosen.

    Args:
        choices: what decides.
        keys: operators to draw from.
        most: ops of the outer graph.
        first: the operator of the first op.
        allow: which ops may be added, once their operands are known.
        strict: raise where an operator's shape rule contradicts its evaluation.

    Raises:
        DisagreementError: when that is so.
    """
    growing = Growing(allow=allow, strict=strict)
    with bounded(LIMITS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, inside of onnx's own evaluation
        wanted = 1 + choices.below(most)
        for n in range(wanted):
            _step(choices, growing, first if first and not n else one_of(choices, keys), keys)
        for key in keys:
            if any(h.value.producer and _is_ranked(h) for h in growing.held):
                break
            add_op(choices, growing, key)
    graph = growing.graph
    graph.outputs = [h.value for h in _outputs(choices, growing)]
    graph.opsets = {"": schema.CANONICAL[""]}
    verify(graph, "it was drawn")
    return Grown(graph, growing.feeds, dict(growing.sizes))


def add_op(choices: Choices, growing: Growing, key: Key) -> tuple[Held, ...]:
    """Add an op of an operator; nothing where no operands were found that it takes."""
    for attempt in range(TRIES):
        plain = attempt == TRIES - 1
        seed = seed_of(choices, key, growing)
        made = growing.add(Operands(choices, growing, seed, plain=plain).use())
        if made:
            return made
    return ()


def _step(choices: Choices, growing: Growing, key: Key, keys: Sequence[Key]) -> None:
    if key in {("", "If"), ("", "Loop")} and growing.held and chance(choices, 70):
        make = add_branches if key[1] == "If" else add_loop
        if make(choices, growing, keys, add_op):
            return
    add_op(choices, growing, key)


def _outputs(choices: Choices, growing: Growing) -> list[Held]:
    """What nothing uses, the last made first of all, and some of the rest."""
    made = [h for h in growing.held if h.value.producer and _is_ranked(h)]
    unused = [h for h in growing.unused() if _is_ranked(h)] or made[-1:]
    found = unused[-MOST_OUTPUTS:]
    if len(found) < MOST_OUTPUTS and len(made) > len(unused) and chance(choices, 30):
        rest = [h for h in made if h not in found]
        found.append(one_of(choices, rest))
    if growing.graph.inputs and chance(choices, 3):
        found.append(next(h for h in growing.held if h.value is growing.graph.inputs[0]))
    return found


def _is_ranked(held: Held) -> bool:
    """Whether a model may return it: its file has to state a shape, of any dims, for a tensor."""
    return held.tensor is not None or not isinstance(held.type, TensorType | None)
