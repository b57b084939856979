"""What keeps a source from being captured, as findings: `check` lists it, `export` stops at it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from isomorph.exporters.coverage.check import PLACEHOLDER
from isomorph.exporters.coverage.report import ExportError, Finding, Report
from isomorph.exporters.target import make_target
from isomorph.frontends.array.errors import AFTER, TraceError

if TYPE_CHECKING:
    from collections.abc import Generator

    from isomorph.frontends.array.errors import Obstacle


@contextmanager
def found(source: str, opset: int | None, runtime: str, provider: str) -> Generator[None]:
    """Let a source that cannot be captured end in a report, if there is something to write instead.

    Raises:
        ExportError: with everything that is known not to be captured.
        UnsupportedError: when there is no such target.
    """
    try:
        yield
    except TraceError as error:
        if not error.instead:
            raise
        notes = [f"what comes after {error.source} was {AFTER}"] if error.later else []
        if not error.passable:
            notes.append(f"what comes after {error.source} was not looked at")
        target = make_target(opset, runtime, provider)
        findings = tuple(_finding(o) for o in error.obstacles)
        raise ExportError(Report(target, findings, tuple(notes), source)) from error


def _finding(obstacle: Obstacle) -> Finding:
    return Finding(
        op=obstacle.name,
        domain=PLACEHOLDER if obstacle.name else "",
        version=1 if obstacle.name else 0,
        dtypes=(),
        count=1,
        where=(str(obstacle.source),) if str(obstacle.source) else (),
        kind="unsupported-op",
        reason=obstacle.reason,
        remedy=f"write instead: {obstacle.instead}" if obstacle.instead else "",
    )
