"""Where the bytes of weights go: into the message, streamed, or into one file beside it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import onnx

from isomorph.exporters.onnx.atomic import WriteError
from isomorph.ir.proto.tensors import encode_tensor
from isomorph.ir.types import DType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isomorph.exporters.onnx.atomic import Transaction
    from isomorph.ir.graph import Graph
    from isomorph.ir.weights import Weight

EXTERNAL_ABOVE = 1 << 30
"""Total bytes of weights from which they go into a file of their own."""

INLINE_UP_TO = 1 << 10
"""Bytes of a tensor that stays in the message even then: shapes, axes, scales."""

PAGE, GRANULE, GRANULE_FROM = 1 << 12, 1 << 16, 1 << 20
"""Alignment of data: a page; for large tensors what Windows maps at."""

LARGEST_MESSAGE = (1 << 31) - 1
"""Bytes of a protobuf message."""

_SAMPLE = 1 << 12
_INITIALIZER, _RAW_DATA, _GRAPH = 5, 9, 7


@dataclass(frozen=True, slots=True)
class Range:
    """A part of the data file."""

    location: str
    offset: int
    length: int


def weights_of(graph: Graph) -> list[Weight]:
    """Every weight, those of subgraphs included, each object once."""
    found = (v.weight for g in graph.graphs() for v in g.weights())
    return list({id(w): w for w in found if w is not None}.values())


def same_contents(weights: Iterable[Weight]) -> dict[int, Weight]:
    """For each weight, by id, the first that has the same bytes.

    Only weights of one length whose samples agree are read in full.
    """
    groups: dict[tuple[int, bytes], list[Weight]] = {}
    for weight in weights:
        groups.setdefault((weight.nbytes, _sample(weight)), []).append(weight)
    first: dict[int, Weight] = {}
    for group in groups.values():
        if len(group) == 1:
            first[id(group[0])] = group[0]
            continue
        by_key: dict[object, Weight] = {}
        by_hash: dict[bytes, Weight] = {}
        for weight in group:
            key = weight.storage.key if weight.storage is not None else id(weight)
            if key not in by_key:
                by_key[key] = by_hash.setdefault(_content_hash(weight), weight)
            first[id(weight)] = by_key[key]
    return first


def _sample(weight: Weight) -> bytes:
    if weight.dtype is DType.STRING:
        return b"strings" + b"\0".join(weight.strings)[:_SAMPLE]
    data = weight.view()
    middle = len(data) // 2
    return bytes(data[:_SAMPLE]) + bytes(data[middle : middle + _SAMPLE]) + bytes(data[-_SAMPLE:])


def _content_hash(weight: Weight) -> bytes:
    found = hashlib.sha256()
    for chunk in weight.chunks():
        found.update(chunk)
    for text in weight.strings:
        found.update(len(text).to_bytes(8, "little") + text)
    return found.digest()


def write_data(weights: list[Weight], transaction: Transaction) -> dict[int, Range]:
    """Write what does not stay in the message; returns the range of each such weight by id.

    Bytes are streamed, and stored once however many weights have them.
    """
    moved = [w for w in weights if w.nbytes > INLINE_UP_TO and w.dtype is not DType.STRING]
    if not moved:
        return {}
    first = same_contents(moved)
    places: dict[int, tuple[int, int]] = {}
    digest = hashlib.sha256()
    end = 0
    with transaction.new_data() as file:
        for weight in moved:
            if first[id(weight)] is not weight:
                continue
            unit = GRANULE if weight.nbytes >= GRANULE_FROM else PAGE
            offset = -(-end // unit) * unit
            digest.update(f"{offset}:{weight.nbytes};".encode())
            file.seek(offset)
            for chunk in weight.chunks():
                digest.update(chunk)
                file.write(chunk)
            places[id(weight)] = offset, weight.nbytes
            end = offset + weight.nbytes
        location = transaction.place_data(file, digest.hexdigest())
    return {id(w): Range(location, *places[id(first[id(w)])]) for w in moved}


class Placement:
    """Makes the messages of weights, without the bytes that `write_message` streams later."""

    def __init__(self, graph: Graph, ranges: dict[int, Range]) -> None:
        self.ranges = ranges
        self.streamed: dict[str, Weight] = {}
        self._of_main_graph = len(graph.weights())

    def __call__(self, weight: Weight, name: str) -> onnx.TensorProto:
        main, self._of_main_graph = self._of_main_graph > 0, self._of_main_graph - 1
        place = self.ranges.get(id(weight))
        if place is None and (not main or weight.dtype is DType.STRING):
            return encode_tensor(weight, name)
        proto = onnx.TensorProto(name=name, data_type=weight.dtype.value, dims=weight.shape)
        if place is None:
            self.streamed[name] = weight
            return proto
        proto.data_location = onnx.TensorProto.EXTERNAL
        proto.external_data.add(key="location", value=place.location)
        proto.external_data.add(key="offset", value=str(place.offset))
        proto.external_data.add(key="length", value=str(place.length))
        return proto


def write_message(model: onnx.ModelProto, streamed: dict[str, Weight], file: BinaryIO) -> None:
    """Write a model, the bytes of its streamed initializers taken from where they are.

    The message is emptied on the way.

    Raises:
        WriteError: when it is larger than a protobuf message can be.
    """
    graph = model.graph
    initializers = [(t.SerializeToString(deterministic=True), t.name) for t in graph.initializer]
    del graph.initializer[:]
    body = graph.SerializeToString(deterministic=True)
    model.ClearField("graph")
    head = model.SerializeToString(deterministic=True)
    entries: list[tuple[bytes, Weight | None]] = []
    for tensor, name in initializers:
        weight = streamed.get(name)
        opened = b"" if weight is None else _opening(_RAW_DATA, weight.nbytes)
        size = len(tensor) + len(opened) + (0 if weight is None else weight.nbytes)
        entries.append((_opening(_INITIALIZER, size) + tensor + opened, weight))
    total = len(body) + sum(len(e) + (w.nbytes if w is not None else 0) for e, w in entries)
    if total + len(head) + 16 > LARGEST_MESSAGE:
        raise WriteError(
            f"the model needs {total + len(head)} bytes in one message, {LARGEST_MESSAGE} is the "
            "most there can be; write its weights to a data file (external=True)"
        )
    file.write(head + _opening(_GRAPH, total) + body)
    for entry, weight in entries:
        file.write(entry)
        if weight is not None:
            file.writelines(weight.chunks())


def _opening(number: int, size: int) -> bytes:
    """Tag and length of a field with `size` bytes."""
    found = bytearray([number << 3 | 2])
    while size > 0x7F:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    found.append(size)
    return bytes(found)
