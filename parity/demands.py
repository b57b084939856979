"""What a user asks beyond the derived bounds: tighter limits, and outputs that are waived.

A limit comes on top of the bounds, so that it can only fail what they pass. A waiver takes an
output's finding out of the verdict, and its reason stays in the report.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from isomorph.ir.errors import IsomorphError
from isomorph.ir.types import innermost
from isomorph.parity.verdict import Judged, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isomorph.parity.structure import Port

    Limit = float | Mapping[str, float] | None

BAD = (Status.FAIL, Status.SUSPECT)
LOOSER = ("rtol", "atol", "tolerance", "tol")


class DemandError(IsomorphError):
    """A limit or a waiver that means nothing for this model."""


@dataclass(frozen=True, slots=True)
class Demands:
    """Per output of the candidate, in its order.

    Attributes:
        reasons: why it is waived; empty where it is not.
        max_ulp, max_abs: the largest distance from the reference in float64 that is allowed.
    """

    reasons: tuple[str, ...]
    max_ulp: tuple[float, ...]
    max_abs: tuple[float, ...]

    @classmethod
    def of(
        cls,
        outputs: Sequence[Port],
        waive: Mapping[str, str] | None = None,
        max_ulp: Limit = None,
        max_abs: Limit = None,
    ) -> Demands:
        """Raises DemandError for what fits no output."""
        reasons = _waivers(waive, outputs)
        limits = [_limits(n, v, outputs) for n, v in (("max_ulp", max_ulp), ("max_abs", max_abs))]
        return cls(reasons, *limits)

    @property
    def waived(self) -> frozenset[int]:
        """Places of the outputs that are waived."""
        return frozenset(i for i, reason in enumerate(self.reasons) if reason)

    def judge(self, outputs: Sequence[Judged]) -> tuple[Judged, ...]:
        """The outputs with what was asked of them."""
        return tuple(self._one(index, judged) for index, judged in enumerate(outputs))

    def _one(self, index: int, judged: Judged) -> Judged:
        for what, most, found in (
            ("ulp", self.max_ulp[index], judged.max_ulp),
            ("abs", self.max_abs[index], judged.max_abs),
        ):
            if not found <= most and judged.status is not Status.FAIL:
                reason = (
                    f"it is {found:.3g} {what} from the reference in float64, {most:g} were asked "
                    f"for with max_{what}"
                )
                judged = replace(judged, status=Status.FAIL, reason=reason, question="asked")
        return replace(judged, waived=self.reasons[index]) if judged.status in BAD else judged


def refuse_looser(options: Mapping[str, Any]) -> None:
    """Say how it is done here, where somebody asks for a tolerance.

    Raises:
        DemandError: for options of the names that others use.
    """
    found = [name for name in options if name in LOOSER]
    if found:
        raise DemandError(
            f"{', '.join(found)}: bounds are derived from the operators and their dtypes, and "
            "cannot be set; max_abs and max_ulp tighten them, waive={'output': 'reason'} takes an "
            "output out of the verdict, and metric judges a deliberate loss"
        )


def _waivers(waive: Mapping[str, str] | None, outputs: Sequence[Port]) -> tuple[str, ...]:
    names = _names(outputs)
    given: Any = waive or {}
    if not isinstance(given, Mapping):
        raise DemandError(f"waive is {given!r}: output names with a reason each are expected")
    found = cast("Mapping[Any, Any]", given)
    for name, reason in found.items():
        if name not in names:
            raise DemandError(f"waive {name!r}: there is no such output; there are {_list(names)}")
        if not isinstance(reason, str) or not reason.strip():
            raise DemandError(f"waive {name!r}: a reason is needed, which the report repeats")
    if names and len(found) == len(names):
        raise DemandError(
            f"every output is waived ({_list(names)}): there is nothing left to verify"
        )
    return tuple(str(found.get(name, "")).strip() for name in names)


def _limits(option: str, limit: Any, outputs: Sequence[Port]) -> tuple[float, ...]:
    names = _names(outputs)
    if limit is None:
        return (math.inf,) * len(names)
    if not isinstance(limit, Mapping):
        return (_number(option, limit),) * len(names)
    stated = cast("Mapping[Any, Any]", limit)
    for name, most in stated.items():
        if name not in names:
            raise DemandError(f"{option}: there is no output {name!r}; there are {_list(names)}")
        _number(f"{option} of {name!r}", most)
        kind = innermost(outputs[names.index(name)].type)
        if kind is not None and not kind.dtype.is_float:
            raise DemandError(
                f"{option} of {name!r}: it is {kind.dtype}, which must be equal: there is nothing "
                "to tighten"
            )
    return tuple(float(stated.get(name, math.inf)) for name in names)


def _number(option: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise DemandError(f"{option} {value!r}: a number of 0 or more is expected")
    return float(value)


def _names(outputs: Sequence[Port]) -> list[str]:
    return [str(port.name) for port in outputs]


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
