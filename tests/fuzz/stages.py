"""One file through the house: read, shown, optimized, written. What escapes is told as a kind.

Every outcome but a graph or a typed error is an escape: another exception, an error that does not
name the file, a broken invariant after a pass, a message that protobuf cannot write, and a stage
that takes too long or too much memory.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isomorph.cli.show import as_text, describe
from isomorph.exporters.onnx.atomic import WriteError
from isomorph.exporters.onnx.faithful import write_as_read
from isomorph.exporters.onnx.writer import to_proto
from isomorph.frontends.canonical import canonical
from isomorph.frontends.onnx import reader
from isomorph.ir.budget import Limits, bounded
from isomorph.ir.errors import InvalidGraphError, InvalidModelError, IsomorphError, UnsupportedError
from isomorph.ir.text import to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from types import FrameType

    from isomorph.ir.graph import Graph

SECONDS = 5.0
"""Of one stage on one file; mutants have a few thousand bytes."""

LIMITS = Limits(seconds=2.0, memory=256 << 20)
"""Of computing constants: what a model asks for beyond is refused, as in every export."""

SOME = 5
"""One file in so many goes through a stage that takes longer."""

MAPPED_FROM = reader.MAPPED_FROM


class TooSlowError(BaseException):
    """A stage that took too long; no ordinary exception, so that nothing swallows it."""


@dataclass(frozen=True)
class Escape:
    """What went wrong: the stage, and where, without numbers and names that differ by file."""

    stage: str
    kind: str
    detail: str

    @property
    def key(self) -> str:
        return f"{self.stage}: {self.kind}"


def check(path: Path, data: bytes, index: int = 0) -> tuple[str, Escape | None]:
    """How far one file came, and what went wrong with it, if anything did.

    Args:
        path: where to put it; data files that it may refer to lie beside it.
        data: the file.
        index: of the file. Each is read in both ways, shown and written; one in `SOME` is written
            as it was read and read again, another one in `SOME` optimized, and 0 is both.
    """
    path.write_bytes(data)
    graph: Graph | None = None
    for mapped_from in (1, MAPPED_FROM):
        reader.MAPPED_FROM = mapped_from
        graph, escape = _stage("read", lambda: reader.read(path), _is_reading_error(path))
        if escape is not None:
            return "read", escape
    if graph is None:
        return "refused", None
    found, last = graph, "written"
    stages: list[tuple[str, Callable[[], object]]] = [
        ("show", lambda: _shown(found)),
        ("write", lambda: to_proto(found).SerializeToString()),
    ]
    if index % SOME == 1 or not index:
        stages.append(("write as read", lambda: _kept(path)))
    if index % SOME == 3 or not index:
        stages.append(("passes", lambda: _optimized(found)))
        last = "optimized"
    for name, work in stages:
        _, escape = _stage(name, work, _is_typed)
        if escape is not None:
            return name, escape
    return last, None


def _shown(graph: Graph) -> None:
    facts = describe(graph)
    json.dumps(facts)
    as_text(facts)
    to_text(graph)


def _kept(path: Path) -> None:
    graph = reader.read(path, keep_functions=True)
    out = path.with_name("out.onnx")
    write_as_read(graph, out)
    reader.read(out)


def _optimized(graph: Graph) -> None:
    with bounded(LIMITS):
        found = canonical(graph)
    to_proto(found)


def _is_typed(error: Exception) -> bool:
    return isinstance(error, (IsomorphError, WriteError)) and not isinstance(
        error, InvalidGraphError
    )


def _is_reading_error(path: Path) -> Callable[[Exception], bool]:
    def fits(error: Exception) -> bool:
        typed = isinstance(error, (InvalidModelError, UnsupportedError))
        return typed and str(error).startswith(str(path))

    return fits


def _stage(
    name: str, work: Callable[[], object], expected: Callable[[Exception], bool]
) -> tuple[Graph | None, Escape | None]:
    """The result of a stage, or what went wrong; neither when it ended in an expected error."""
    try:
        with limited():
            return work(), None  # type: ignore[return-value]
    except TooSlowError:
        trace = traceback.format_exc()
        return None, Escape(name, f"over {SECONDS:g} s at {place_of(trace)}", trace)
    except Exception as error:  # noqa: BLE001 - this is what is looked for
        if expected(error):
            return None, None
        trace = traceback.format_exc()
        said = re.sub(r"'[^']*'|\d+|%\S+", "_", str(error))[:100]
        return None, Escape(name, f"{type(error).__name__} at {place_of(trace)}: {said}", trace)


def place_of(trace: str) -> str:
    """The last line of ours in a traceback."""
    places = re.findall(r'File "[^"]*?((?:\w+/){1,3}\w+\.py)", line (\d+), in (\w+)', trace)
    ours = [p for p in places if "site-packages" not in p[0] and "fuzz/" not in p[0]]
    return ":".join(ours[-1][:2]) if ours else "?"


@contextlib.contextmanager
def limited(seconds: float = SECONDS) -> Generator[None]:
    """Raise TooSlowError after so many CPU seconds: what else a machine does is no finding.

    What waits without computing is ended by whoever looks after the process.
    """
    signal.signal(signal.SIGPROF, _too_slow)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _too_slow(_: int, __: FrameType | None) -> None:
    raise TooSlowError
