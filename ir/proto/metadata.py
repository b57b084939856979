"""What isomorph keeps in a model's own key-value properties: constraints and value ranges."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from isomorph.ir.dims import Constraint
from isomorph.ir.errors import InvalidModelError, SpecError
from isomorph.ir.proto.types import is_plain_arithmetic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isomorph.ir.graph import Graph

CONSTRAINTS = "isomorph.constraints"
"""Relations between dims, such as `batch >= 4; h % 8 == 0`."""

DOMAINS = "isomorph.domains"
"""Value ranges of inputs, such as `tokens in 0..150; x in -1.0..1.0`."""


def metadata_of(graph: Graph) -> dict[str, str]:
    """The properties to write: the model's own, then constraints and ranges, if any."""
    found = dict(graph.metadata)
    if graph.constraints:
        found[CONSTRAINTS] = "; ".join(dict.fromkeys(map(str, graph.constraints)))
    if graph.domains:
        found[DOMAINS] = "; ".join(
            f"{_escaped(name)} in {low!r}..{high!r}" for name, (low, high) in graph.domains.items()
        )
    return found


def read_metadata(graph: Graph, properties: Mapping[str, str]) -> None:
    """Take a model's properties into a graph; raises InvalidModelError for ours when unreadable."""
    for key, text in properties.items():
        if key == CONSTRAINTS:
            graph.constraints = [_constraint(part) for part in text.split(";") if part.strip()]
        elif key == DOMAINS:
            graph.domains = dict(_domain(part) for part in text.split(";") if part.strip())
        else:
            graph.metadata[key] = text


def _constraint(text: str) -> Constraint:
    problem: object = "it is too long or nested too deep"
    if is_plain_arithmetic(text):
        try:
            return Constraint.parse(text)
        except (SpecError, ZeroDivisionError) as error:
            problem = error
    raise InvalidModelError(f"metadata {CONSTRAINTS!r}: {text[:80]!r}: {problem}")


def _domain(text: str) -> tuple[str, tuple[float, float]]:
    name, _, bounds = text.strip().rpartition(" in ")
    low, _, high = bounds.partition("..")
    try:
        return unquote(name), (_number(low), _number(high))
    except ValueError:
        raise InvalidModelError(
            f"metadata {DOMAINS!r}: {text[:80]!r}; `name in low..high` is expected"
        ) from None


def _escaped(name: str) -> str:
    return name.replace("%", "%25").replace(";", "%3B")


def _number(text: str) -> float:
    return int(text) if text.strip().lstrip("+-").isdigit() else float(text)
