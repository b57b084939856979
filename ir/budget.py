"""What evaluating a model may cost: seconds, and bytes at once.

A model can ask for any amount of either in a few bytes of file, so whoever evaluates one that it
did not make does so inside `bounded(…)`. The budget is looked at before every op: its time, and
what the op's result takes (`isomorph.ir.demand`) before any of it is allocated.
"""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from isomorph.ir.demand import Demands
from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from isomorph.ir.graph import Graph, Op

STEPS_PER_SECOND = 10**10
"""Multiply-adds that a fast machine does: an op that needs more than there is time for is refused
before it starts, since nothing can interrupt it."""

BYTES_PER_SECOND = 1 << 22
"""A model may take a second longer for so many bytes of weights…"""

BYTES_PER_BYTE = 8
"""… and this many more bytes for each of its own: float16 becomes float64, twice."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a model may cost, for one that has no weights; larger ones get more, in proportion.

    Attributes:
        seconds: for everything that is done with one set of inputs; `None` for any time.
        memory: bytes that results may take at once; `None` for any number.
    """

    seconds: float | None = 60.0
    memory: int | None = 4 << 30

    def of(self, size: int) -> Limits:
        """The limits of a model whose weights take so many bytes."""
        seconds = None if self.seconds is None else self.seconds + size / BYTES_PER_SECOND
        memory = None if self.memory is None else self.memory + size * BYTES_PER_BYTE
        return Limits(seconds, memory)


class BudgetError(IsomorphError):
    """A model costs more than it may.

    Attributes:
        kind: `time` or `memory`.
    """

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class Budget:
    """What is left of a limit while something is evaluated.

    Attributes:
        limits: what there was to begin with.
        held: bytes that results take now.
        ops: those that are being evaluated, the outermost first.
        deadline: the time on the monotonic clock at which it is over.
        room: bytes that results may take at once.
        demands: what ops take, as far as it is known.
    """

    def __init__(self, limits: Limits, around: Budget | None = None) -> None:
        self.limits = limits
        self.started = time.monotonic()
        self.held = 0
        self.ops: list[Op] = []
        self.deadline = math.inf if limits.seconds is None else self.started + limits.seconds
        self.room = math.inf if limits.memory is None else limits.memory
        self.demands = Demands() if around is None else around.demands
        if around is not None:
            self.deadline = min(self.deadline, around.deadline)
            self.room = min(self.room, around.room)

    @property
    def left(self) -> float:
        """Seconds that are left, 0 at least."""
        return max(0.0, self.deadline - time.monotonic())

    @property
    def seconds(self) -> float:
        """Seconds that there are in all."""
        return self.deadline - self.started

    def part(self, share: float) -> Limits:
        """Limits of a part of what is left, for what can be left out."""
        return Limits(None if self.left == math.inf else self.left * share, None)

    def check(self, op: Op | None = None) -> None:
        """Raise BudgetError when the time is over; names the loop, or this op."""
        if time.monotonic() < self.deadline:
            return
        loops = [o for o in self.ops if any(True for _ in o.subgraphs())]
        running = loops or ([] if op is None else [op])
        what = _place(running) or "evaluating the model: "
        said = f"{what}not finished after {self.seconds:.3g} seconds; {MORE_TIME}"
        raise BudgetError(said, "time")

    def admit(self, op: Op, operands: Sequence[Any], *, wide: bool) -> None:
        """Raise BudgetError unless there is time and room for one op."""
        self.check(op)
        needs = self.demands.of(op, operands, wide=wide)
        if needs.bytes + self.held > self.room:
            beside = f" beside {size_text(self.held)} of others" if self.held > 1 << 20 else ""
            raise BudgetError(
                f"{_place([*self.ops, op])}its result {needs.results} takes "
                f"{size_text(needs.bytes)}{beside}, {size_text(self.room)} may be taken at once; "
                f"{MORE_MEMORY}",
                "memory",
            )
        seconds = needs.steps / STEPS_PER_SECOND
        if seconds > self.seconds:
            raise BudgetError(
                f"{_place([*self.ops, op])}it takes {needs.steps:.3g} multiplications, more than "
                f"fit into {self.seconds:.3g} seconds; {MORE_TIME}",
                "time",
            )

    def hold(self, value: Any, op: Op) -> None:
        """Count what a result takes; raises BudgetError when all of them take too much."""
        self.held += nbytes(value)
        if self.held > self.room:
            raise BudgetError(
                f"{_place([*self.ops, op])}its results and those still needed take "
                f"{size_text(self.held)}, {size_text(self.room)} may be taken at once; "
                f"{MORE_MEMORY}",
                "memory",
            )

    def release(self, value: Any) -> None:
        """Count a result as gone."""
        self.held -= nbytes(value)


MORE_TIME = "allow more with --max-seconds (in Python: limits=isomorph.Limits(seconds=…))"
MORE_MEMORY = "allow more with --max-memory (in Python: limits=isomorph.Limits(memory=…))"

_current: ContextVar[Budget | None] = ContextVar("budget", default=None)


def current() -> Budget | None:
    """The budget of whatever is being evaluated; `None` when it is not bounded."""
    return _current.get()


@contextmanager
def bounded(limits: Limits) -> Generator[Budget]:
    """Evaluate within limits; those around it still hold."""
    around = _current.get()
    budget = Budget(limits, around)
    token = _current.set(budget)
    try:
        yield budget
    finally:
        _current.reset(token)


@contextmanager
def paused() -> Generator[None]:
    """Do something whose time does not count."""
    budget, before = _current.get(), time.monotonic()
    try:
        yield
    finally:
        if budget is not None:
            budget.deadline += time.monotonic() - before


def out_of_memory(op: Op, error: MemoryError) -> BudgetError:
    """The error for an op for which the machine had not enough memory."""
    budget = _current.get()
    running = [*(budget.ops if budget is not None else []), op]
    said = f": {error}" if str(error) else ""
    return BudgetError(
        f"{_place(running)}this machine has not enough memory to evaluate it{said}", "memory"
    )


def nbytes(value: Any) -> int:
    """Bytes that a value takes: of its elements, its texts, and everything in a sequence or map."""
    if isinstance(value, np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        if array.dtype.kind != "O":
            return array.nbytes
        return array.nbytes + sum(len(v) for v in array.flat if isinstance(v, str | bytes))
    if isinstance(value, list):
        return sum(nbytes(v) for v in cast("list[Any]", value))
    if isinstance(value, dict):
        return sum(nbytes(v) for v in cast("dict[Any, Any]", value).values())
    return 0 if value is None else int(getattr(value, "nbytes", 8))


def weight_bytes(graph: Graph) -> int:
    """Bytes of all weights of a graph, each storage once."""
    found = {id(v.weight): v.weight for g in graph.graphs() for v in g.weights()}
    return sum(w.nbytes for w in found.values() if w is not None)


def size_text(size: float) -> str:
    """Bytes in a unit that suits them: `1.5 GiB`."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if unit != "bytes" else f"{size:.0f} bytes"
        size /= 1024
    return f"{size:,.0f} TiB" if size >= 10 else f"{size:.3g} TiB"


def _place(running: Sequence[Op]) -> str:
    """The outermost op, the innermost one inside it, and where they stand."""
    if not running:
        return ""
    outer, inner = running[0], running[-1]
    text = _named(outer)
    if inner is not outer:
        text += f", in its {_named(inner)}"
    return f"{text}: "


def _named(op: Op) -> str:
    name = op.name or next((v.name for v in op.results), "")
    text = f"{op.type} {name!r}" if name else op.type
    return text if op.where in ("", name) else f"{text} at {op.where}"
