"""What has no kernel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.ir.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Sequence


class NoKernel(Exception):  # noqa: N818 - a reason on its way to the one error that lists them all
    """Why one op cannot be lowered."""


@dataclass(frozen=True, slots=True)
class Missing:
    """An op without a kernel: its type, where it stands, and why."""

    op: str
    where: str
    reason: str


class NoKernelError(UnsupportedError):
    """A graph with ops that no kernel computes; lists all of them.

    Attributes:
        missing: one entry per op.
    """

    def __init__(self, graph: str, missing: Sequence[Missing]) -> None:
        self.missing = tuple(missing)
        groups: dict[tuple[str, str], list[str]] = {}
        for m in missing:
            groups.setdefault((m.op, m.reason), []).append(m.where)
        lines: list[str] = []
        for (op, reason), places in groups.items():
            shown = [f"{p}{f' ({n} ops)' if n > 1 else ''}" for p, n in Counter(places).items()]
            more = f" and {len(shown) - 8} more places" if len(shown) > 8 else ""
            lines.append(f"{op}: {reason}; at {', '.join(shown[:8])}{more}")
        head = f"{graph}: {len(missing)} ops have no kernel:"
        tail = "Run the graph on device 'cpu' instead, or rewrite these ops."
        super().__init__("\n  ".join([head, *lines, tail]))
