"""The text form: ONNX's own syntax, through `onnx.parser` and `onnx.printer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx.parser
import onnx.printer

from isomorph.ir import schema
from isomorph.ir.errors import InvalidModelError
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.proto.encode import encode_model

if TYPE_CHECKING:
    from isomorph.ir.graph import Graph


def parse(text: str) -> Graph:
    """A graph from the text of a model; raises InvalidModelError with the parser's own words."""
    try:
        model = onnx.parser.parse_model(text)
    except onnx.parser.ParseError as error:
        raise InvalidModelError(f"cannot read the text form: {error}") from None
    return decode_model(model)


def to_text(graph: Graph) -> str:
    """The text of a graph; ops of mixed versions are shown under the newest opset among them.

    Bytes of strings that are not UTF-8 are shown as escapes.
    """
    opsets = graph_opsets(graph)
    model = encode_model(graph, opsets, schema.ir_version_for(opsets[""]), value_infos=False)
    try:
        return onnx.printer.to_text(model)
    except UnicodeDecodeError:  # strings of attributes and tensors may be any bytes
        _decode_strings(model)
        return onnx.printer.to_text(model)


def _decode_strings(model: onnx.ModelProto) -> None:
    """Write bytes that are not text as escapes."""
    stack: list[Any] = [model]
    while stack:
        message = stack.pop()
        for field, value in message.ListFields():
            if field.message_type is not None:
                stack.extend(value if field.is_repeated else [value])
            elif field.type == field.TYPE_BYTES and field.name != "raw_data":
                escaped = [_text(v) for v in (value if field.is_repeated else [value])]
                if field.is_repeated:
                    value[:] = escaped
                else:
                    setattr(message, field.name, escaped[0])


def _text(raw: bytes) -> bytes:
    return raw.decode(errors="backslashreplace").encode()


def graph_opsets(graph: Graph) -> dict[str, int]:
    """Opset imports that make the ops mean what they are: as read, or the newest version used."""
    found = {"": 1, **graph.opsets}
    for _, op in graph.walk():
        found[op.domain] = max(found.get(op.domain, 1), op.version)
    return found
