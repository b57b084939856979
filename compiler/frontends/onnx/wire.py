"""A large model file without its large tensors: what is parsed, and where the rest lies.

Only the outline of the message is walked: fields of the model, of its graphs, and of tensors that
are large themselves. Everything else is passed on as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from isomorph.ir.errors import InvalidModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = 1 << 16
"""Tensors of at least so many bytes stay in the file."""

DEEPEST = 100
"""Levels of messages within messages; protobuf itself refuses more."""

_TENSOR_RAW, _TENSOR_EXTERNAL, _TENSOR_LOCATION = 9, 13, 14
_BYTES = 2


@dataclass(frozen=True, slots=True)
class Message:
    """Which fields of a message lead to tensors; `None` stands for the message itself."""

    fields: dict[int, Message] = field(default_factory=dict[int, "Message"])
    is_tensor: bool = False


_TENSOR = Message(is_tensor=True)
_ATTRIBUTE = Message({5: _TENSOR, 10: _TENSOR})
_NODE = Message({5: _ATTRIBUTE})
_GRAPH = Message({1: _NODE, 5: _TENSOR})
_ATTRIBUTE.fields.update({6: _GRAPH, 11: _GRAPH})
_FUNCTION = Message({7: _NODE})
MODEL = Message({7: _GRAPH, 25: _FUNCTION})


@dataclass(frozen=True, slots=True)
class Outline:
    """The message without large tensors, and the (offset, length) of each that was left out."""

    message: bytes
    ranges: list[tuple[int, int]]


def outline(data: memoryview, token: str) -> Outline:
    """Take the large tensors out of a serialized model.

    Args:
        data: the whole file.
        token: marks tensors whose bytes were left out: their external location becomes
            `token:index`. It must not be guessable from the file.

    Raises:
        InvalidModelError: when lengths do not add up; says at which byte.
    """
    ranges: list[tuple[int, int]] = []
    pieces = _without_large(data, (0, len(data)), MODEL, token, ranges)
    return Outline(b"".join(pieces), ranges)


def check_lengths(data: memoryview) -> None:
    """Raise InvalidModelError at the first top-level or graph field that runs past its end."""
    for number, kind, _, start, end in _fields(data, 0, len(data)):
        if number == 7 and kind == _BYTES:
            for _ in _fields(data, start, end):
                pass


def _without_large(
    data: memoryview,
    within: tuple[int, int],
    kind: Message,
    token: str,
    ranges: list[tuple[int, int]],
    depth: int = 0,
) -> list[bytes | memoryview]:
    if depth > DEEPEST:
        raise InvalidModelError(f"messages are nested deeper than {DEEPEST} levels")
    start, end = within
    pieces: list[bytes | memoryview] = []
    kept = start  # everything up to here is in `pieces`
    for number, wire, at, begin, stop in _fields(data, start, end):
        if wire != _BYTES or stop - begin < LARGE:
            continue
        if kind.is_tensor and number == _TENSOR_RAW:
            pieces += (data[kept:at], _marker(f"{token}:{len(ranges)}"))
            ranges.append((begin, stop - begin))
            kept = stop
        elif number in kind.fields:
            deeper = kind.fields[number]
            inner = _without_large(data, (begin, stop), deeper, token, ranges, depth + 1)
            size = sum(map(len, inner))
            pieces += (data[kept:at], _varint(number << 3 | _BYTES), _varint(size), *inner)
            kept = stop
    pieces.append(data[kept:end])
    return pieces


def _fields(data: memoryview, start: int, end: int) -> Iterator[tuple[int, int, int, int, int]]:
    """(number, wire type, start of tag, start of payload, end of payload) of each field."""
    at = start
    while at < end:
        tag, begin = _read_varint(data, at, end)
        wire = tag & 7
        if wire == _BYTES:
            size, begin = _read_varint(data, begin, end)
            stop = begin + size
        elif wire == 0:
            _, stop = _read_varint(data, begin, end)
        elif wire in (1, 5):
            stop = begin + (8 if wire == 1 else 4)
        else:
            raise InvalidModelError(f"at byte {at} there is no field of a protobuf message")
        if stop > end:
            raise InvalidModelError(
                f"the field at byte {at} claims {stop - begin} bytes, but {end - begin} are left; "
                "the file is truncated or damaged"
            )
        yield tag >> 3, wire, at, begin, stop
        at = stop


def _read_varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    for index in range(at, min(at + 10, end)):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    raise InvalidModelError(f"at byte {at} a number does not end; the file is truncated or damaged")


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def _field(number: int, payload: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(payload)) + payload


def _marker(location: str) -> bytes:
    """The fields of a tensor that say its data is elsewhere."""
    entry = _field(1, b"location") + _field(2, location.encode())
    return _field(_TENSOR_EXTERNAL, entry) + _varint(_TENSOR_LOCATION << 3) + _varint(1)
