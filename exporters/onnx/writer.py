"""Write a graph as an .onnx file: staged first, so that it can be tried before it is in place."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from isomorph.exporters.onnx.atomic import Transaction, WriteError
from isomorph.exporters.onnx.downgrade import LOWEST_WRITTEN, downgrade
from isomorph.exporters.onnx.finalize import finalize
from isomorph.exporters.onnx.layout import (
    EXTERNAL_ABOVE,
    Placement,
    weights_of,
    write_data,
    write_message,
)
from isomorph.exporters.target import Target
from isomorph.ir import schema
from isomorph.ir.bulk import uncollected
from isomorph.ir.copies import copy_graph
from isomorph.ir.errors import IsomorphError, UnsupportedError
from isomorph.ir.proto.encode import encode_model
from isomorph.ir.types import DType, innermost
from isomorph.ir.versions import Inexpressible

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Generator

    import onnx

    from isomorph.ir.graph import Graph, Op

LOWEST_IR = 4
"""From here on a weight need not be an input as well."""

_IR_OF_DTYPE = {
    DType.FLOAT8E4M3FN: 9,
    DType.FLOAT8E4M3FNUZ: 9,
    DType.FLOAT8E5M2: 9,
    DType.FLOAT8E5M2FNUZ: 9,
    DType.UINT4: 10,
    DType.INT4: 10,
    DType.FLOAT4E2M1: 11,
    DType.FLOAT8E8M0: 12,
    DType.UINT2: 13,
    DType.INT2: 13,
    DType.FLOAT6E2M3: 14,
    DType.FLOAT6E3M2: 14,
}
"""The IR version that brought an element type."""


class ExportBlocked(IsomorphError):  # noqa: N818 - what happened, not whose error it is
    """Ops that the target's opset cannot express: all of them."""

    def __init__(self, problems: list[Inexpressible], opset: int) -> None:
        lines = [
            f"{p.op.where or p.op}: {p.reason}" + (f"; {p.remedy}" if p.remedy else "")
            for p in problems
        ]
        shown = "\n  ".join(lines[:20])
        super().__init__(f"{len(problems)} ops cannot be expressed at opset {opset}:\n  {shown}")
        self.problems = tuple(problems)
        self.opset = opset


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What was written.

    Attributes:
        paths: the model, then its data file if it has one.
        opset, ir_version: of the file.
        nodes: operators in the main graph.
        bytes: size of all files together.
    """

    paths: tuple[Path, ...]
    opset: int
    ir_version: int
    nodes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A graph whose ops have the versions that the file's opsets mean."""

    graph: Graph
    opset: int
    opsets: dict[str, int]
    ir_version: int


class Staged:
    """A model that is written, but not in its place yet; use it as a context manager or discard it.

    Attributes:
        path: the complete model under a temporary name in the same folder; it can be loaded.
    """

    def __init__(self, transaction: Transaction, prepared: Prepared) -> None:
        self._transaction = transaction
        self._prepared = prepared
        self.path = transaction.temporary

    def commit(self) -> WriteResult:
        """Put the model in its place, replacing what was there as one."""
        extra = self._transaction.data_files
        with reported(self._transaction.path):
            size = sum(p.stat().st_size for p in (self.path, *extra))
            self._transaction.commit()
        paths = (self._transaction.path, *extra)
        return WriteResult(
            paths,
            self._prepared.opset,
            self._prepared.ir_version,
            len(self._prepared.graph),
            size,
        )

    def discard(self) -> None:
        """Leave no trace; does nothing after `commit`."""
        self._transaction.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


def write(
    graph: Graph,
    path: str | os.PathLike[str],
    target: Target | None = None,
    *,
    external: bool | None = None,
    value_infos: bool = True,
) -> WriteResult:
    """Write a graph and put the file in its place; arguments and errors are those of `stage`."""
    with stage(graph, path, target, external=external, value_infos=value_infos) as staged:
        return staged.commit()


@uncollected()
def stage(
    graph: Graph,
    path: str | os.PathLike[str],
    target: Target | None = None,
    *,
    external: bool | None = None,
    value_infos: bool = True,
) -> Staged:
    """Write a graph under a temporary name beside its place.

    The same graph gives the same bytes. A graph that is at the target's opset already is written
    as it is: same nodes, names, attributes and order.

    Args:
        graph: is not changed, and may have its weights in the very file that is replaced.
        path: where the model will be.
        target: by default the graph's own opset, for any run time.
        external: put weights into a data file; by default when they exceed 1 GiB together.
        value_infos: state the types of intermediate values.

    Raises:
        ExportBlocked: lists every op that the opset cannot express.
        UnsupportedError: when the target cannot be written for.
        WriteError: when the file cannot be written.
    """
    prepared = prepare(graph, target)

    def fill(transaction: Transaction) -> None:
        weights = weights_of(prepared.graph)
        apart = sum(w.nbytes for w in weights) > EXTERNAL_ABOVE if external is None else external
        ranges = write_data(weights, transaction) if apart else {}
        placement = Placement(prepared.graph, ranges)
        model = encode_model(
            prepared.graph,
            prepared.opsets,
            prepared.ir_version,
            placement,
            value_infos=value_infos,
        )
        write_message(model, placement.streamed, transaction.model)

    return staged(prepared, path, fill)


def staged(
    prepared: Prepared, path: str | os.PathLike[str], fill: Callable[[Transaction], None]
) -> Staged:
    """What `fill` writes, under a temporary name beside its place; nothing stays when it fails.

    Raises:
        WriteError: when the file cannot be written.
    """
    place = Path(path)
    with reported(place):
        transaction = Transaction(place)
        try:
            fill(transaction)
            transaction.finish()
        except BaseException:
            transaction.discard()
            raise
    return Staged(transaction, prepared)


def to_proto(
    graph: Graph, target: Target | None = None, *, value_infos: bool = True
) -> onnx.ModelProto:
    """The message that `write` would write, all weights in it; errors as for `stage`."""
    made = prepare(graph, target)
    return encode_model(made.graph, made.opsets, made.ir_version, value_infos=value_infos)


@uncollected()
def prepare(graph: Graph, target: Target | None = None) -> Prepared:
    """A copy of a graph, brought to the target's opset and ready to be encoded.

    Raises:
        ExportBlocked: lists every op that the opset cannot express.
        UnsupportedError: when the target cannot be written for.
    """
    goal = target or _own_target(graph)
    copied, _ = copy_graph(graph)
    at_its_own = bool(graph.opsets) and graph.opsets.get("", goal.opset) == goal.opset
    untouched = at_its_own and not strangers(copied, goal.opset)
    if not untouched:
        if goal.opset < LOWEST_WRITTEN:
            raise UnsupportedError(
                f"opset {goal.opset} was asked for; graphs are rewritten to opsets "
                f"{LOWEST_WRITTEN} and newer, and only left as they are below"
            )
        problems = downgrade(copied, goal.opset)
        known = {p.op for p in problems}
        problems += [s for s in strangers(copied, goal.opset) if s.op not in known]
        if problems:
            raise ExportBlocked(problems, goal.opset)
    finalize(copied, goal.opset, untouched=untouched)
    opsets = _imports(copied, goal.opset)
    if untouched and "" not in graph.opsets:
        del opsets[""]  # it has no op of the default domain, and did not import it
    return Prepared(copied, goal.opset, opsets, _ir_version(copied, goal, untouched=untouched))


def _own_target(graph: Graph) -> Target:
    newest = schema.CANONICAL[""]
    return Target(graph.opsets.get("", newest), schema.ir_version_for(newest), "any run time")


def strangers(graph: Graph, opset: int) -> list[Inexpressible]:
    """Ops of the default domain that the opset does not mean as they are meant."""
    found: list[Inexpressible] = []
    for _, op in graph.walk():
        if op.domain or not schema.versions("", op.type):
            continue
        meant = schema.since_version("", op.type, opset)
        if meant != op.version:
            there = f"version {meant}" if meant else "nothing"
            reason = f"{op.type}-{op.version} is needed, opset {opset} has {there}"
            found.append(Inexpressible(op, reason, "", op.version))
    return found


def _imports(graph: Graph, opset: int) -> dict[str, int]:
    """The version of every domain that is used, such that each op means what it should."""
    used: dict[str, list[Op]] = {}
    for _, op in graph.walk():
        if op.domain:
            used.setdefault(op.domain, []).append(op)
    found = {"": opset}
    problems: list[Inexpressible] = []
    for domain, ops in used.items():
        version = graph.opsets.get(domain, 0)
        if not all(means(op, version) for op in ops):
            version = max(op.version for op in ops)
            ends = [end for op in ops if (end := schema.ended(*op.key)) is not None]
            kept = range(version, min(ends, default=version + 1))
            version = next((v for v in kept if all(means(op, v) for op in ops)), version)
        problems += [
            Inexpressible(op, f"{domain} {version} does not have {op.type}-{op.version}", "", None)
            for op in ops
            if not means(op, version)
        ]
        found[domain] = version
    if problems:
        raise ExportBlocked(problems, opset)
    return found


def means(op: Op, version: int) -> bool:
    if not schema.versions(op.domain, op.type):
        return version == op.version
    return schema.since_version(op.domain, op.type, version) == op.version


def _ir_version(graph: Graph, target: Target, *, untouched: bool) -> int:
    """The lowest that defines the opset and the element types, and that the run time loads."""
    needed = max(
        (
            _IR_OF_DTYPE.get(kind.dtype, 0)
            for g in graph.graphs()
            for v in g.values()
            if (kind := innermost(v.type)) is not None
        ),
        default=0,
    )
    if needed > target.ir_version:
        raise UnsupportedError(
            f"its element types need IR version {needed}; {target.runtime} {target.release} loads "
            f"up to {target.ir_version}"
        )
    own = graph.extra.get("ir_version", 0) if untouched else 0
    wanted = own if own >= LOWEST_IR else schema.ir_version_for(target.opset)
    return max(LOWEST_IR, needed, min(wanted, target.ir_version))


@contextmanager
def reported(path: Path) -> Generator[None]:
    """Failures of the file system as errors that name the place."""
    try:
        yield
    except OSError as error:
        raise WriteError(f"{path}: it cannot be written: {error.strerror or error}") from error
