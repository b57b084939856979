"""Inputs for a graph, and graphs, as Hypothesis strategies.

`graphs(ops=…)` gives valid, typed graphs. `inputs(graph)` gives one set of arrays by input name;
`batches(graph)` gives recipes of many sets that agree in their dims, which is what makes thousands
of cases a second possible.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from isomorph.ir.scratch import scratch
from isomorph.parity.strategies.batch import Batch
from isomorph.parity.strategies.graphs import graphs
from isomorph.parity.strategies.kinds import HOSTILE, ORDINARY
from isomorph.parity.strategies.plan import plan
from isomorph.parity.strategies.sizes import bindings
from isomorph.parity.strategies.specs import Spec, specs_of

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from hypothesis.strategies import SearchStrategy

    from isomorph.ir.graph import Graph

T = TypeVar("T")
PROFILES = ("ordinary", "hostile", "all")


def inputs(graph: Graph, profile: str = "all") -> SearchStrategy[dict[str, Any]]:
    """One array per input name, by dtype, domain, constraint and symbolic dim.

    Args:
        graph: whose inputs; domains are inferred from what the graph does with them.
        profile: `ordinary`, `hostile` (NaN, infinities, subnormals, extremes), or `all`.
    """
    specs = specs_of(graph)
    names = [s.name for s in specs]
    return batches(graph, profile=profile).map(
        lambda batch: dict(zip(names, next(batch.cases(specs)), strict=True))
    )


def batches(
    graph: Graph,
    *,
    sizes: Sequence[Mapping[str, int]] | None = None,
    profile: str = "all",
    count: int = 1,
    specs: Sequence[Spec] | None = None,
) -> SearchStrategy[Batch]:
    """Recipes of `count` sets each.

    Args:
        graph: whose inputs.
        sizes: bindings of the symbols to choose from; generated from the constraints by default.
        profile: as for `inputs`.
        count: sets per batch.
        specs: of the inputs, where they are known already.
    """
    from hypothesis import strategies as st

    if profile not in PROFILES:
        raise ValueError(f"profile {profile!r}: expected one of {', '.join(PROFILES)}")
    known = specs_of(graph) if specs is None else specs
    chosen = st.sampled_from(list(sizes)) if sizes else bindings(known, graph.constraints)
    ordinary = st.tuples(*(st.sampled_from(s.kinds(ORDINARY)) for s in known))
    hostile = st.tuples(*(st.sampled_from(s.kinds(ORDINARY + HOSTILE)) for s in known))
    kinds = {
        "ordinary": ordinary,
        "hostile": hostile,
        "all": st.one_of(ordinary, ordinary, hostile),
    }

    def build(dims: Mapping[str, int], kinds: tuple[str, ...], seed: int) -> Batch:
        return Batch(tuple(sorted(dims.items())), kinds, seed, count)

    return st.builds(build, chosen, kinds[profile], st.integers(0, 2**32 - 1))


@contextmanager
def no_traces() -> Generator[None]:
    """Hypothesis keeps what it read of modules where it runs: here, in a folder that goes."""
    from hypothesis.configuration import set_hypothesis_home_dir, storage_directory

    home = storage_directory(intent_to_write=False).home_directory
    with scratch() as folder:
        set_hypothesis_home_dir(str(folder))
        try:
            yield
        finally:
            set_hypothesis_home_dir(home)


def draw_examples(strategy: SearchStrategy[T], count: int, seed: int) -> list[T]:
    """The first `count` examples that Hypothesis generates from a seed, the same every time."""
    import hypothesis

    found: list[T] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(cast("Any", hypothesis.HealthCheck)),
    )
    @hypothesis.given(strategy)
    def collect(example: T) -> None:
        found.append(example)

    with no_traces():
        collect()
    return found[:count]


def draw(strategy: SearchStrategy[Batch], count: int, seed: int) -> list[Batch]:
    """Such recipes, each with a seed of its own."""
    return [
        replace(batch, seed=(batch.seed + 0x9E3779B9 * index + seed) % 2**32)
        for index, batch in enumerate(draw_examples(strategy, count, seed))
    ]


__all__ = [
    "HOSTILE",
    "ORDINARY",
    "PROFILES",
    "Batch",
    "Spec",
    "batches",
    "draw",
    "draw_examples",
    "graphs",
    "inputs",
    "no_traces",
    "plan",
    "specs_of",
]
