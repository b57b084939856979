"""Which pass of onnxruntime's optimizer makes a difference: without it, there is none."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.parity.arrays import is_float
from isomorph.parity.leaves import formed_otherwise, leaves
from isomorph.parity.optimizers import RULE_BASED, passes
from isomorph.parity.reduce.chunks import fewest_of
from isomorph.parity.worker import WorkerDiedError
from isomorph.runtime.errors import RunError, RuntimeLoadError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.parity.candidate import Candidate

SECONDS = 5.0
"""What it may take; one session is made for each pass."""
FAILED = (RunError, RuntimeLoadError, WorkerDiedError)


def guilty(candidate: Candidate, inputs: Sequence[Any], seconds: float = SECONDS) -> list[str]:
    """The names of passes: without the first, the difference is gone; the others prepare for it.

    Where no single pass makes it, those that have to be switched off together. Empty where the
    optimizer makes no difference, or none of the passes that are known does.
    """
    gone = _gone(candidate, inputs)
    if gone is None:
        return []
    ends = time.monotonic() + seconds
    names = passes(candidate.path)
    alone = [n for n in names if time.monotonic() < ends and gone([n])]
    finer = [n for n in alone if not n.endswith(RULE_BASED)]
    if alone or not gone(names):
        return finer or alone
    return fewest_of(names, lambda some: time.monotonic() < ends and gone(some))


def _gone(candidate: Candidate, inputs: Sequence[Any]) -> Callable[[Sequence[str]], bool] | None:
    """Whether the difference is gone without some passes; `None` where there is no difference."""
    plain = _outcome(lambda: candidate.run(inputs, optimize=False))
    whole = _outcome(lambda: candidate.run(inputs, optimize=True))
    if isinstance(plain, str) or not _differ(plain, whole):
        return None

    def gone(without: Sequence[str]) -> bool:
        found = _outcome(lambda: candidate.run_without(inputs, without))
        return not isinstance(found, str) and _is_like(plain, whole, found)

    return gone


def _outcome(run: Callable[[], list[Any]]) -> list[Any] | str:
    try:
        return run()
    except FAILED as error:
        return str(error)


def _differ(plain: list[Any], whole: list[Any] | str) -> bool:
    return isinstance(whole, str) or _furthest(plain, whole) is not None


def _furthest(plain: list[Any], whole: list[Any]) -> tuple[int, str, tuple[int, ...]] | None:
    """(output, place in it, element) where two results are furthest apart, relatively."""
    worst, found = 0.0, None
    for index, (one, other) in enumerate(zip(plain, whole, strict=True)):
        if formed_otherwise(one, other):
            return index, "", ()
        for (place, p), (_, o) in zip(leaves(one), leaves(other), strict=True):
            off = _distance(p, o)
            if off.size and off.max() > worst:
                worst = float(off.max())
                at = np.unravel_index(int(off.argmax()), off.shape)
                found = index, place, tuple(int(i) for i in at)
    return found


def _is_like(plain: list[Any], whole: list[Any] | str, found: list[Any]) -> bool:
    """Whether a result is the plain session's rather than the optimized one's."""
    if isinstance(whole, str):
        return True
    furthest = _furthest(plain, whole)
    if furthest is None:
        return True
    index, place, at = furthest
    if formed_otherwise(plain[index], whole[index]):
        return not formed_otherwise(plain[index], found[index])
    if formed_otherwise(plain[index], found[index]):
        return False
    p, o, f = (dict(leaves(v[index]))[place] for v in (plain, whole, found))
    return bool(_distance(p, f)[at] < _distance(f, o)[at])


def _distance(one: Any, other: Any) -> np.ndarray:
    """Relative distance, element by element; infinite between what is finite and what is not."""
    if not is_float(one) or not is_float(other):
        return np.asarray(one != other, np.float64)
    with np.errstate(all="ignore"):
        a, b = np.asarray(one, np.float64), np.asarray(other, np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        off = np.abs(a - b) / np.maximum(np.maximum(np.abs(a), np.abs(b)), 1e-300)
    return np.where(same, 0.0, np.where(np.isfinite(off), off, np.inf))
