"""Which input specification belongs to which parameter of a callable."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from isomorph.ir.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.frontends.spec import InputSpec


class Parameter(NamedTuple):
    """Where an input goes: a position, or a keyword."""

    name: str
    keyword: bool = False


def matched(
    fn: Callable[..., Any], specs: Sequence[InputSpec], called: str
) -> list[tuple[Parameter, InputSpec]]:
    """Parameters with their specifications, in the parameters' order.

    Args:
        fn: its signature is what counts.
        specs: in any order when their names are the parameters', else by position.
        called: the callable's name, for errors.

    Raises:
        SpecError: when specifications and parameters do not match.
    """
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return [(Parameter(s.name or f"input_{i}"), s) for i, s in enumerate(specs)]
    kinds = inspect.Parameter
    plain = [p for p in parameters if p.kind not in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)]
    by_name = {s.name: s for s in specs if s.name}
    known = {p.name for p in plain}
    if by_name and set(by_name) <= known and len(by_name) == len(specs):
        missing = [p.name for p in plain if p.default is kinds.empty and p.name not in by_name]
        if missing:
            raise SpecError(f"{called}: no specification for {', '.join(map(repr, missing))}")
        return _by_name(plain, by_name)
    if by_name and set(by_name) & known:
        stray = sorted(set(by_name) - known)
        raise SpecError(
            f"{called}: no parameter is called {', '.join(map(repr, stray))}; "
            f"its parameters are {', '.join(p.name for p in plain)}"
        )
    rest = any(p.kind is kinds.VAR_POSITIONAL for p in parameters)
    ordered = [p for p in plain if p.kind is not kinds.KEYWORD_ONLY]
    required = sum(p.default is kinds.empty for p in ordered)
    if not required <= len(specs) <= (len(specs) if rest else len(ordered)):
        shown = ", ".join(p.name for p in ordered)
        raise SpecError(
            f"{called} takes {required} arrays ({shown}), {len(specs)} specifications were given"
        )
    names = [p.name for p in ordered]
    names += [s.name or f"input_{i}" for i, s in enumerate(specs)][len(names) :]
    return [(Parameter(n), s) for n, s in zip(names, specs, strict=False)]


def _by_name(
    parameters: Sequence[inspect.Parameter], specs: dict[str, InputSpec]
) -> list[tuple[Parameter, InputSpec]]:
    """Positional as long as none is left out, by keyword after that."""
    found: list[tuple[Parameter, InputSpec]] = []
    keyword = False
    for parameter in parameters:
        keyword |= parameter.kind is inspect.Parameter.KEYWORD_ONLY
        if parameter.name in specs:
            found.append((Parameter(parameter.name, keyword), specs[parameter.name]))
        else:
            keyword = True
    return found
