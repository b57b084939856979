"""Fields that the format does not define: protobuf skips them in silence, here they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.unknown_fields import UnknownFieldSet

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from onnx import ModelProto

_MOST_NAMED = 4


def discard_unknown(proto: ModelProto, data: bytes) -> str:
    """Take unknown fields out of a message that was parsed from `data`.

    Returns:
        Where there are some, in words; empty when there are none.
    """
    proto.DiscardUnknownFields()
    if proto.ByteSize() == len(data):
        return ""
    return _places(type(proto).FromString(data))


def _places(proto: Message) -> str:
    found: list[str] = []
    stack: list[tuple[str, Any]] = [("the model", proto)]
    while stack and len(found) < _MOST_NAMED:
        path, message = stack.pop()
        found += [
            f"{path} has a field {unknown.field_number}" for unknown in UnknownFieldSet(message)
        ]
        for field, value in message.ListFields():
            if field.message_type is not None:
                items = value if field.is_repeated else [value]
                stack += [(f"{path}.{field.name}", item) for item in reversed(items)]
    return "; ".join(found[:_MOST_NAMED])
