"""The replay of a piece: a model, a case and a test that need nothing of the whole."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isomorph.ir.copies import copy_graph
from isomorph.ir.interpret import Program, widen
from isomorph.ir.types import DType, TensorType
from isomorph.ir.weights import Weight
from isomorph.parity import replay
from isomorph.parity.arrays import is_float, is_tensor
from isomorph.parity.case import Case
from isomorph.parity.sources import GraphReference
from isomorph.parity.tolerance import bound, is_exact

if TYPE_CHECKING:
    from pathlib import Path

    from isomorph.ir.graph import Graph
    from isomorph.parity.case import Failure
    from isomorph.parity.reduce.checks import Check
    from isomorph.parity.reduce.piece import Piece
    from isomorph.parity.verdict import Verdict


def write(
    piece: Piece, check: Check, failure: Failure, verdict: Verdict, folder: str | Path | None
) -> Path:
    """Write the folder of a piece; it holds the reference's part too, where there is one."""
    interpret = failure.kind == "same" and not check.visible
    reference, graph, inputs = piece.reference or piece.graph, piece.graph, list(piece.inputs)
    if interpret:
        reference, graph = doubled(reference), doubled(graph)
        inputs = [widen(v) for v in inputs]
    case = Case(inputs, failure.case.dims, failure.case.hostile)
    made = replace(failure, case=case)
    limits = _limits(piece) if failure.kind == "well" else None
    with check.opened(graph) as model:
        path = replay.write(
            GraphReference(reference), model, made, verdict, folder,
            limits=limits, interpret=interpret,
        )  # fmt: skip
    if piece.reference is not None:
        check.save(reference, path / "reference.onnx")
    return path


def doubled(graph: Graph) -> Graph:
    """The graph with float64 in the place of every narrower float."""
    made, _ = copy_graph(graph)
    for current in made.graphs():
        for value in current.values():
            value.type = _wider(value.type)
            if value.weight is not None and value.weight.dtype.is_float:
                value.weight = Weight.of(widen(value.weight.numpy()))
        for op in current.ops():
            for name, attribute in op.attributes.items():
                if isinstance(attribute, Weight) and attribute.dtype.is_float:
                    op.attributes[name] = Weight.of(widen(attribute.numpy()))
                elif name in {"to", "dtype"} and DType(attribute).is_float:
                    op.attributes[name] = DType.FLOAT64.value
    return made


def _wider(kind: Any) -> Any:
    if isinstance(kind, TensorType) and kind.dtype.is_float:
        return TensorType(DType.FLOAT64, kind.shape)
    return kind


def _limits(piece: Piece) -> dict[int, np.ndarray]:
    """The soft bounds of outputs that one node makes of what the piece is given."""
    found: dict[int, np.ndarray] = {}
    ends = {v: i for i, v in enumerate(piece.graph.outputs)}

    def watch(op: Any, operands: list[Any], results: list[Any]) -> None:
        for index, value in enumerate(op.outputs):
            stated = None if value is None else value.type
            if value not in ends or is_exact(op) or not is_float(results[index]):
                continue
            narrow = [v for v in piece.inputs if is_tensor(v) and is_float(v)]
            dtype = stated.dtype if isinstance(stated, TensorType) else None
            dtype = dtype or (DType.of(narrow[0].dtype) if narrow else DType.FLOAT32)
            limits = bound(op, operands, results[index], index, dtype)
            found[ends[value]] = np.asarray(limits.soft)

    Program(piece.graph, wide=True).run(list(piece.inputs), watch=watch)
    return found
