"""Whether a piece fails as the whole did: one question per kind of failure.

A piece must not only fail, but fail so that its replay shows it: in the run time, beyond what its
own rounding explains.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.interpret import Program, widen
from isomorph.ir.proto.encode import encode_model
from isomorph.ir.scratch import scratch
from isomorph.parity.arrays import is_float
from isomorph.parity.case import SIGN
from isomorph.parity.endtoend import compare_optimized
from isomorph.parity.leaves import formed_otherwise, leaves
from isomorph.parity.nodes import judge_nodes
from isomorph.parity.noise import EVALUATION_ERRORS
from isomorph.parity.same import Same
from isomorph.parity.sources import GraphReference, RefusedError
from isomorph.parity.verdict import Status
from isomorph.parity.worker import WorkerDiedError
from isomorph.runtime.errors import RunError, RuntimeLoadError

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

    from isomorph.ir.graph import Graph, Op
    from isomorph.parity.candidate import Candidate
    from isomorph.parity.case import Failure
    from isomorph.parity.finding import Finding
    from isomorph.parity.reduce.piece import Piece

IR_VERSION = 10
SHOWS = 4.0
"""Times the run time's own rounding that a difference must be, so that the replay shows it."""
_NODE = re.compile(r"running (\w+) node|node \(?(\w+)")


class Check:
    """Asks of pieces what was found of the whole.

    Args:
        failure: what was found.
        candidate: the whole, whose worker runs the pieces.
    """

    def __init__(self, failure: Failure, candidate: Candidate) -> None:
        self.failure, self.candidate = failure, candidate
        self.asked = 0
        self.visible = True

    def __call__(self, piece: Piece) -> bool:
        """Whether the piece fails for the same reason."""
        self.asked += 1
        try:
            return self._fails(piece)
        except (*EVALUATION_ERRORS, RefusedError):
            return False

    def _fails(self, piece: Piece) -> bool:
        asked = {
            "same": self._another_function,
            "well": self._badly_computed,
            "optimized": self._is_moved,
            "died": self._dies,
            "refused": self._is_refused,
        }
        return asked[self.failure.kind](piece)

    # -- question 1 -------------------------------------------------------------------------

    def _another_function(self, piece: Piece) -> bool:
        if piece.reference is None:
            return False
        reference, made = GraphReference(piece.reference), GraphReference(piece.graph)
        inputs = list(piece.inputs)
        wanted = reference.wide(inputs)
        narrow = reference.narrow(inputs)
        try:
            got = made.wide(inputs)
        except RefusedError:
            return self._refuses(piece)
        if len(wanted) != len(got):
            return False
        if any(formed_otherwise(w, g) for w, g in zip(wanted, got, strict=True)):
            return True
        if _dtypes(narrow) != _dtypes(made.narrow(inputs)):
            return True
        findings = Same(reference, made).compare(inputs, wanted, got)
        signs = [SIGN in f.reason for f in findings if f.status is Status.FAIL]
        if self.failure.signs not in signs:
            return False
        return not self.visible or self._shows(piece, wanted, got)

    def _refuses(self, piece: Piece) -> bool:
        """Whether the run time refuses what the reference takes, too."""
        with self.opened(piece.graph) as model:
            try:
                model.run(list(piece.inputs), optimize=False)
            except (RunError, RuntimeLoadError):
                return True
        return False

    def _shows(self, piece: Piece, wanted: list[Any], got: list[Any]) -> bool:
        """Whether the run time's own rounding is small against the difference."""
        with self.opened(piece.graph) as model:
            try:
                results = model.run(list(piece.inputs), optimize=False)
            except (RunError, RuntimeLoadError, WorkerDiedError):
                return False
        return any(
            visible(w, g, r, signs=self.failure.signs)
            for w, g, r in zip(wanted, got, results, strict=True)
        )

    # -- the run time -----------------------------------------------------------------------

    def _badly_computed(self, piece: Piece) -> bool:
        wanted = self.failure.op
        with self.opened(piece.graph) as model:
            try:
                values = model.observe(list(piece.inputs))
            except (RunError, RuntimeLoadError, WorkerDiedError):
                return False
            bad: list[Op] = []

            def sink(op: Op, finding: Finding) -> None:
                if finding.status in (Status.FAIL, Status.SUSPECT):
                    bad.append(op)

            judge_nodes(model, values, sink)
        return any(wanted is None or op.key == wanted.key for op in bad)

    def _is_moved(self, piece: Piece) -> bool:
        """Whether the optimizer changes it, by the rules that the whole was judged by."""
        with self.opened(piece.graph) as model:
            inputs = list(piece.inputs)
            try:
                truth = model.wide(inputs)
                plain = model.run(inputs, optimize=False)
                optimized = model.run(inputs, optimize=True)
            except (RunError, RuntimeLoadError, RefusedError, WorkerDiedError):
                return False
            found = compare_optimized(model, inputs, truth, plain, optimized, thorough=True)
        statuses = (Status.FAIL, Status.SUSPECT, Status.RUNTIME)
        return any(f.status in statuses for f in found)

    def _dies(self, piece: Piece) -> bool:
        with self.opened(piece.graph) as model:
            try:
                model.run(list(piece.inputs), optimize=self.failure.optimize)
            except WorkerDiedError:
                return True
            except (RunError, RuntimeLoadError):
                return False
        return False

    def _is_refused(self, piece: Piece) -> bool:
        Program(piece.graph, wide=True).run(list(piece.inputs))  # it must make sense by itself
        with self.opened(piece.graph) as model:
            try:
                model.run(list(piece.inputs), optimize=self.failure.optimize)
            except (RunError, RuntimeLoadError) as error:
                return _refuser(str(error)) == _refuser(self.failure.reason)
            except WorkerDiedError:
                return False
        return False

    def save(self, graph: Graph, path: Path) -> None:
        """Write another graph in the versions that it has; one captured in memory is left out."""
        if graph.opsets:
            write(graph, path)

    @contextmanager
    def opened(self, graph: Graph) -> Generator[Candidate]:
        """A piece as a file of its own, in the worker."""
        with scratch() as folder:
            path = write(graph, folder / "model.onnx")
            with self.candidate.beside(path) as model:
                yield model


def visible(wanted: Any, got: Any, result: Any, *, signs: bool = False) -> bool:
    """Whether the run time's result of the candidate differs from the reference beyond doubt."""
    if formed_otherwise(wanted, result):
        return True
    for (_, w), (_, g), (_, r) in zip(leaves(wanted), leaves(got), leaves(result), strict=True):
        if not is_float(r):
            if not np.array_equal(np.asarray(w), np.asarray(r)):
                return True
            continue
        with np.errstate(all="ignore"):
            truth, own = np.asarray(w, np.float64), np.asarray(g, np.float64)
            given = np.asarray(widen(r), np.float64)
            noise = np.abs(own - given)
            noise = SHOWS * np.where(np.isfinite(noise), noise, 0.0)
            if signs:
                off = (truth == 0) & (given == 0) & (np.signbit(truth) != np.signbit(given))
            else:
                off = (np.isnan(truth) != np.isnan(given)) | (np.abs(truth - given) > noise)
        if off.any():
            return True
    return False


def write(graph: Graph, path: Path) -> Path:
    """Write a piece in the versions that it has."""
    version = graph.extra.get("ir_version", IR_VERSION)
    model = encode_model(graph, graph.opsets, version)
    path.write_bytes(model.SerializeToString())
    return path


def _refuser(words: str) -> str:
    found = _NODE.search(words)
    return (found[1] or found[2]) if found else words[:30]


def _dtypes(values: list[Any]) -> list[Any]:
    return [np.asarray(a).dtype for v in values for _, a in leaves(v)]
