"""Inputs that somebody refuses, or that the run time dies of: whose affair that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isomorph.exporters.runtimes.divergences import DIVERGENCES
from isomorph.exporters.runtimes.limitations import limitations_of
from isomorph.exporters.target import installed
from isomorph.frontends.canonical import canonical
from isomorph.ir.errors import IsomorphError
from isomorph.parity.sources import GraphReference
from isomorph.runtime.errors import RunError, RuntimeLoadError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isomorph.ir.graph import Graph
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.case import Case
    from isomorph.parity.sources import Reference


class Refusals:
    """Who refused inputs, and what the run time says of the reference on those.

    Attributes:
        count: inputs that are no case because a model refuses them.
        words: the latest of whoever refused.
    """

    def __init__(self, candidate: Candidate) -> None:
        self.count = 0
        self.words: dict[str, str] = {}
        self._candidate = candidate
        self._models: Iterator[Graph | Path] | None = None
        self._beside: Candidate | None = None

    def add(self, who: str, words: str) -> None:
        """Remember that the `reference`, `evaluation of the candidate` or `run time` refused."""
        self.count += who != "run time"
        self.words[who] = words

    def of_reference(self, reference: Reference, case: Case) -> str:
        """What the run time says of the reference on inputs that it refuses of the candidate.

        A file that it does not load is written for it first. Empty where it takes them.
        """
        if self._models is None:
            self._models = _models(reference)
        try:
            while beside := self._beside or self._next():
                try:
                    beside.run(case.inputs, optimize=False)
                except RuntimeLoadError:
                    self.close()
                else:
                    return ""
        except RunError as error:
            return str(error)
        except (IsomorphError, TypeError, ValueError):
            pass
        return ""

    def close(self) -> None:
        """Let go of the reference's sessions."""
        if self._beside is not None:
            self._beside.close()
            self._beside = None

    def _next(self) -> Candidate | None:
        for model in self._models or ():
            self._beside = self._candidate.beside(model)
            return self._beside
        return None


def _models(reference: Reference) -> Iterator[Graph | Path]:
    """What the run time can be given in the reference's place."""
    model = reference.model()
    if model is not None:
        yield model
    if isinstance(reference, GraphReference):
        yield canonical(reference.graph)


def deadly(graph: Graph) -> str:
    """How a graph is known to kill the run time's process, for some values; empty if it is not."""
    release = installed("onnxruntime") or ""
    for of, op in graph.walk():
        limited = bool(limitations_of(op, "onnxruntime", release))
        for entry in DIVERGENCES.values():
            if entry.kind != "crash" or op.key not in entry.ops:
                continue
            if entry.concerns(op, of, "onnxruntime", release) or (entry.limited and limited):
                return entry.words
    return ""
