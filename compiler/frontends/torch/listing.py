"""What comes after a decision by the values of a tensor: captured with stand-ins, to be listed.

The module is captured again, as if each condition held and as if it did not; what comes of it is
lowered for the sake of what is not lowered, and thrown away.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from isomorph.frontends.array.errors import Obstacle, TraceError
from isomorph.frontends.torch.lower import DOMAIN
from isomorph.ir.source import Source, caller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.ir.graph import Graph

MOST_VISITS = 16
"""So often a line gets an answer: a loop that waits for another one ends."""
_REASON = "it decides by the values of a tensor, which are not known at capture"
_INSTEAD = "torch.where(condition, a, b), or torch.cond for whole branches"
_TENSOR: Any = torch.Tensor
_NUMBERS = {_TENSOR.__int__: 1, _TENSOR.__index__: 1, _TENSOR.__float__: 1.0, _TENSOR.item: None}


class StandIns(TorchFunctionMode):
    """Answers what needs the numbers of a tensor.

    Args:
        first: what the condition of a line turns out the first time; then the opposite, in turn.
    """

    def __init__(self, *, first: bool) -> None:
        super().__init__()
        self.first = first
        self.decisions: dict[Obstacle, None] = {}
        self._visits: Counter[str] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Torch's hook: one call of a function on tensors."""
        if func is _TENSOR.__bool__:
            place = caller()
            turn = self._visits[str(place)]
            self._visits[str(place)] += 1
            if turn < MOST_VISITS:
                self.decisions.setdefault(Obstacle(place, _REASON, _INSTEAD))
                return (turn % 2 == 0) is self.first
        elif func in _NUMBERS:
            number = 1.0 if args[0].is_floating_point() else 1
            stated = _NUMBERS[func]
            return (number if stated is None else stated) * (1 if self.first else -1)
        return func(*args, **(kwargs or {}))


def listed(error: TraceError, again: Callable[[StandIns], Graph]) -> TraceError:
    """The error, with everything else that is known not to be captured.

    Args:
        error: a decision by the values of a tensor.
        again: captures and lowers once more, with these answers.
    """
    found: dict[Obstacle, None] = {}
    for first in (True, False):
        answers = StandIns(first=first)
        try:
            graph = again(answers)
        except Exception:  # noqa: BLE001 - of the user's code, given stand-ins
            found.update(answers.decisions)
            continue
        found.update(answers.decisions)
        for op in graph.ops():
            if op.domain == DOMAIN:
                reason, remedy = (str(op.attributes[k]) for k in ("reason", "remedy"))
                found.setdefault(Obstacle(op.source or Source(), reason, remedy, op.type))
    own = error.source
    others = [o for o in found if o.name or str(o.source) != str(own)]
    before = [o for o in others if o.source.file == own.file and o.source.line < own.line]
    return error.among(before, [o for o in others if o not in before])
