"""torch's reasons for not capturing, in the user's terms: which line, what value, what instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from isomorph.frontends.torch.errors import TraceError
from isomorph.frontends.torch.source import of_traceback
from isomorph.ir.dims import Expr
from isomorph.ir.source import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.frontends.signature import Parameter
    from isomorph.frontends.spec import InputSpec
    from isomorph.frontends.torch.guards import Log

_FIXED = re.compile(
    r"marked L\['(?P<name>\w+)'\](?P<index>(?:\[\d+\])?)\.size\(\)\[(?P<axis>\d+)\] as dynamic but "
    r"your code specialized it to be a constant \((?P<number>\d+)\)"
)
_DATA = ("GuardOnDataDependentSymNode", "DataDependentOutputException", "UserError")


def may_depend_on_sizes(error: BaseException) -> bool:
    """Whether other sizes could make a failure go away: a shape that did not fit, say."""
    if type(error).__name__ in _DATA:
        return False
    return isinstance(error, (RuntimeError, ValueError, AssertionError, IndexError))


def translated(
    error: BaseException | None,
    called: str,
    parameters: Sequence[Parameter],
    specs: Sequence[InputSpec],
    log: Log,
) -> TraceError:
    """The error to raise in place of torch's own."""
    text = str(error)
    fixed = [_lost(m, parameters, specs, log) for m in _FIXED.finditer(text)]
    if fixed:
        what = "; ".join(dict.fromkeys(message for message, _ in fixed))
        place = next((s for _, s in fixed if s.line), Source())
        return TraceError(
            what,
            "sizes taken from the input (x.shape[0]) instead of numbers; for nn.LSTM and the like, "
            "states passed in or built from x.shape; or the number itself in the specification",
            source=place,
        )
    place = _place(error)
    kind = _cause_name(error)
    if kind == "GuardOnDataDependentSymNode" or "data-dependent" in text.lower():
        return TraceError(
            f"{called} decides by the values of a tensor, which are not known at capture: "
            f"{_first_line(text)}",
            "torch.where(condition, a, b), or torch.cond for whole branches; "
            "torch._check(...) where the size is bounded",
            source=place,
            passable=True,
        )
    if kind == "DataDependentOutputException":
        return TraceError(
            f"{called} turns a tensor into a Python number: {_first_line(text)}",
            "tensor operations in place of .item(), float(), bool() and numpy",
            source=place,
            passable=True,
        )
    if kind in {"Unsupported", "InternalTorchDynamoError"}:
        return TraceError(
            f"torch cannot follow {called} here: {_first_line(text)}",
            "plain tensor code in forward(); move Python side effects out of it",
            source=place,
        )
    return TraceError(
        f"{called} cannot be captured: {type(error).__name__}: {_first_line(text)}",
        "a module that runs on zeros of the shapes that are specified; check the specifications",
        source=place,
    )


def _lost(
    match: re.Match[str], parameters: Sequence[Parameter], specs: Sequence[InputSpec], log: Log
) -> tuple[str, Source]:
    name, axis, number = match["name"], int(match["axis"]), match["number"]
    index = next((i for i, p in enumerate(parameters) if p.name == name), None)
    if index is None and match["index"]:
        index = int(match["index"].strip("[]"))
    dim: Any = f"axis {axis}"
    if index is not None:
        shape = specs[index].type.shape or ()
        dim = shape[axis] if axis < len(shape) else dim
        name = specs[index].name or name
    shown = f"`{dim}`" if isinstance(dim, Expr) else str(dim)
    places = [
        source
        for expr, source in log.sources.items()
        if re.search(rf"Eq\((?:s\d+, {number}|{number}, s\d+)\)", expr) and source.line
    ]
    place = places[0] if places else Source()
    return f"{shown} of input {name!r} is fixed to {number} by the module", place


def _place(error: BaseException | None) -> Source:
    """The innermost user line of an error or of what caused it."""
    found = Source()
    while error is not None:
        here = of_traceback(error.__traceback__)
        found = here if here.line else found
        error = error.__cause__ or error.__context__
    return found


def _cause_name(error: BaseException | None) -> str:
    names: list[str] = []
    while error is not None:
        names.append(type(error).__name__)
        error = error.__cause__ or error.__context__
    known = [n for n in names if n.startswith(("GuardOnDataDependent", "DataDependentOutput"))]
    return (known or names or [""])[0]


def _first_line(text: str) -> str:
    lines = (line.strip() for line in text.split("\n"))
    return next((line for line in lines if line), "no reason given")[:300]
