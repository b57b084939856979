"""Read an .onnx file. A file is hostile until proven otherwise."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError

from isomorph.frontends.onnx.external import ExternalData
from isomorph.frontends.onnx.sniff import guess
from isomorph.frontends.onnx.unknown import discard_unknown
from isomorph.frontends.onnx.wire import DEEPEST, check_lengths, outline
from isomorph.ir.bulk import uncollected
from isomorph.ir.errors import InvalidGraphError, InvalidModelError, UnsupportedError
from isomorph.ir.files import MappedFile
from isomorph.ir.proto.decode import decode_model
from isomorph.ir.verify import verify

if TYPE_CHECKING:
    import os

    from isomorph.ir.graph import Graph

NEWEST_IR = 14
"""The newest version of the file format that is understood here."""

LONGEST = 4000
"""Characters of an error."""

MAPPED_FROM = 1 << 24
"""Files of at least so many bytes are mapped, smaller ones read."""


@uncollected()
def read(
    source: str | os.PathLike[str] | bytes | onnx.ModelProto, *, keep_functions: bool = False
) -> Graph:
    """The graph of a model, its ops at the versions that they were written in.

    Weights of large files, and data in other files, stay on disk until somebody needs the numbers.
    Nothing outside of the model's folder is ever opened. What of the file is not in the graph is
    told in its `extra["notes"]`.

    Args:
        source: a path; or the bytes or the message of a model that refers to no other file.
        keep_functions: let calls of local functions stand instead of inlining them.

    Raises:
        InvalidModelError: it cannot be read, is no model, or breaks the format's rules.
        UnsupportedError: it is valid, but needs something that is not read yet.
    """
    if isinstance(source, onnx.ModelProto):
        return _checked(source, None, "the model given", keep_functions)
    if isinstance(source, bytes | bytearray | memoryview):
        label = "the bytes given"
        proto, unknown = _parse(bytes(source), label)
        return _noted(_checked(proto, None, label, keep_functions), unknown)
    path = Path(source)
    file = MappedFile(path)
    if file.size < MAPPED_FROM:
        proto, unknown = _parse(b"".join(file.chunks(0, file.size)), str(path))
        external = ExternalData(path)
    else:
        proto, unknown, external = _outlined(path, file)
    graph = _noted(_checked(proto, external, str(path), keep_functions), unknown)
    graph.origin = path.name
    return graph


def _outlined(path: Path, file: MappedFile) -> tuple[onnx.ModelProto, str, ExternalData]:
    """The message of a large file without its large tensors, which stay there."""
    token = secrets.token_hex(16)
    try:
        found = outline(file.view(), token)
    except InvalidModelError as error:
        head = bytes(file.view()[:512])
        raise InvalidModelError(_no_model(str(path), head, str(error))) from None
    proto, unknown = _parse(found.message, str(path))
    return proto, unknown, ExternalData(path, own=file, token=token, ranges=found.ranges)


def _parse(data: bytes, label: str) -> tuple[onnx.ModelProto, str]:
    """The message, and where it has fields that are unknown, in words."""
    if not data:
        raise InvalidModelError(f"{label}: it is empty; an ONNX model was expected")
    try:
        proto = onnx.ModelProto.FromString(data)
        return proto, discard_unknown(proto, data)
    except DecodeError:
        detail = f"its bytes are not a protobuf message, or are nested deeper than {DEEPEST} levels"
    try:
        check_lengths(memoryview(data))
    except InvalidModelError as error:
        detail = str(error)
    raise InvalidModelError(_no_model(label, data[:512], detail))


def _no_model(label: str, head: bytes, detail: str) -> str:
    kind = guess(head)
    if kind:
        return f"{label}: it is not an ONNX model but {kind}"
    return f"{label}: it is not a whole ONNX model: {detail}"


def _checked(
    proto: onnx.ModelProto, external: ExternalData | None, label: str, keep_functions: bool
) -> Graph:
    try:
        _check_header(proto)
        graph = decode_model(proto, external, keep_functions=keep_functions)
        verify(graph)
    except InvalidGraphError as error:
        text = f"{label}: it breaks its operators' definitions: {error}"
        raise InvalidModelError(_short(text)) from None
    except (InvalidModelError, UnsupportedError) as error:
        raise type(error)(_short(f"{label}: {error}")) from None
    return graph


def _short(text: str) -> str:
    """An error without the middle of what a file may have made megabytes long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 300]} … {text[-300:]}"


def _noted(graph: Graph, unknown: str) -> Graph:
    if unknown:
        graph.extra["unknown_fields"] = unknown
        note = f"{unknown}: such fields are not defined, what they say is not known"
        graph.extra["notes"] = (*graph.extra.get("notes", ()), note)
    return graph


def _check_header(proto: onnx.ModelProto) -> None:
    if not proto.HasField("graph") or not proto.ir_version:
        raise InvalidModelError(
            "it is not an ONNX model: a graph and an IR version are expected, it has "
            f"{', '.join(f.name for f, _ in proto.ListFields()) or 'nothing'}"
        )
    if proto.ir_version < 1:
        raise InvalidModelError(f"its IR version is {proto.ir_version}; 1 is the lowest")
    if proto.ir_version > NEWEST_IR:
        raise UnsupportedError(
            f"its IR version is {proto.ir_version}, up to {NEWEST_IR} is understood; update "
            "isomorph, or write the model with an older IR version"
        )
