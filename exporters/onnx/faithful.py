"""Write a graph as it was read: what nobody edited comes back the way its file had it.

Names, order, remarks, properties, the fields that numbers are in, inputs with defaults, and the
layout of data in other files. Nothing is optimized, renamed, merged or moved to another opset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import onnx

from isomorph.exporters.onnx.beside import put_beside
from isomorph.exporters.onnx.layout import write_message
from isomorph.exporters.onnx.writer import (
    ExportBlocked,
    Prepared,
    Staged,
    means,
    staged,
    strangers,
)
from isomorph.ir.bulk import uncollected
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.proto.encode import encode_model
from isomorph.ir.proto.tensors import encode_tensor
from isomorph.ir.versions import Inexpressible
from isomorph.ir.weights import FileRange, Weight

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

    from isomorph.exporters.onnx.atomic import Transaction
    from isomorph.exporters.onnx.writer import WriteResult
    from isomorph.ir.graph import Graph


def write_as_read(graph: Graph, path: str | os.PathLike[str]) -> WriteResult:
    """Write a graph as it was read and put the file in its place; errors as for `stage_as_read`."""
    with stage_as_read(graph, path) as made:
        return made.commit()


@uncollected()
def stage_as_read(graph: Graph, path: str | os.PathLike[str]) -> Staged:
    """Write a graph as it was read under a temporary name beside its place.

    Data that lay in other files lies in files of the same names again, beside the new model. One
    that is there already must have the same bytes; none is ever overwritten.

    Raises:
        UnsupportedError: for a graph that was not read from a file, or was read from one with
            fields that the format does not define.
        ExportBlocked: lists ops that the file's opsets do not mean as they are meant.
        WriteError: when a file cannot be written, or another one has its name.
    """
    if "ir_version" not in graph.extra:
        raise UnsupportedError(
            f"graph {graph.name!r} was not read from a model file, so there is no form to keep"
        )
    if "unknown_fields" in graph.extra:
        raise UnsupportedError(
            f"{graph.origin or graph.name}: {graph.extra['unknown_fields']}; what is not defined "
            "cannot be kept: export it without keeping it as it was read"
        )
    opsets = dict(graph.opsets)
    opset = opsets.get("", 0)
    problems = strangers(graph, opset)
    problems += [
        Inexpressible(op, f"the file's {op.domain} {opsets.get(op.domain)} means another", "", None)
        for _, op in graph.walk()
        if op.domain and not means(op, opsets.get(op.domain, 0))
    ]
    if problems:
        raise ExportBlocked(problems, opset)
    prepared = Prepared(graph, opset, opsets, graph.extra["ir_version"])

    def fill(transaction: Transaction) -> None:
        _write_data(graph, transaction)
        placement = _Placement(graph)
        model = encode_model(
            graph, opsets, prepared.ir_version, placement, value_infos=True, as_read=True
        )
        write_message(model, placement.streamed, transaction.model)

    return staged(prepared, path, fill)


class _Placement:
    """Makes the messages of weights, without raw bytes of the main graph's, which are streamed."""

    def __init__(self, graph: Graph) -> None:
        self.streamed: dict[str, Weight] = {}
        main = (v.weight for v in graph.weights())
        self._of_main_graph = sum(w is not None and not _is_sparse(w) for w in main)

    def __call__(self, weight: Weight, name: str) -> onnx.TensorProto:
        main, self._of_main_graph = self._of_main_graph > 0, self._of_main_graph - 1
        if not main or weight.form is not None or weight.storage is None:
            return encode_tensor(weight, name, as_read=True)
        self.streamed[name] = weight
        return onnx.TensorProto(name=name, data_type=weight.dtype.value, dims=weight.shape)


def _is_sparse(weight: Weight) -> bool:
    return weight.form is not None and weight.form.sparse is not None


def _write_data(graph: Graph, transaction: Transaction) -> None:
    """Put the data that lies in files beside the model there again."""
    files: dict[str, dict[int, Weight]] = {}
    for weight in _stated(graph):
        location = _location(weight)
        if location is not None and isinstance(weight.storage, FileRange):
            parts = files.setdefault(location, {})
            if weight.nbytes:
                parts[weight.storage.offset] = weight
    for location, parts in files.items():
        put_beside(transaction, location, [parts[at] for at in sorted(parts)])


def _location(weight: Weight) -> str | None:
    """The file that a weight's form says its data is in."""
    if weight.form is None or not weight.form.message:
        return None
    said = onnx.TensorProto.FromString(weight.form.message)
    if said.data_location != onnx.TensorProto.EXTERNAL:
        return None
    return next((e.value for e in said.external_data if e.key == "location"), None)


def _stated(graph: Graph) -> Iterator[Weight]:
    """Every weight that the file states: initializers, attributes, parts of sparse tensors."""
    for each in graph.graphs():
        for value in each.weights():
            yield from _parts(value.weight)
        for op in each.ops():
            for attribute in op.attributes.values():
                yield from _parts(attribute)


def _parts(found: Any) -> Iterator[Weight]:
    if isinstance(found, tuple):
        for item in cast("tuple[Any, ...]", found):
            yield from _parts(item)
    elif isinstance(found, Weight):
        yield from found.form.sparse if found.form is not None and found.form.sparse else (found,)
