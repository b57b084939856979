"""Read an .onnx file. A file is hostile until proven otherwise."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
from google.protobuf.message import DecodeError

from isomorph.frontends.onnx.external import ExternalData
from isomorph.frontends.onnx.sniff import guess
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

MAPPED_FROM = 1 << 24
"""Files of at least so many bytes are mapped, smaller ones read."""


@uncollected()
def read(source: str | os.PathLike[str] | bytes | onnx.ModelProto) -> Graph:
    """The graph of a model, its ops at the versions that they were written in.

    Weights of large files, and data in other files, stay on disk until somebody needs the numbers.
    Nothing outside of the model's folder is ever opened.

    Args:
        source: a path; or the bytes or the message of a model that refers to no other file.

    Raises:
        InvalidModelError: it cannot be read, is no model, or breaks the format's rules.
        UnsupportedError: it is valid, but needs something that is not read yet.
    """
    if isinstance(source, onnx.ModelProto):
        return _checked(source, None, "the model given")
    if isinstance(source, bytes | bytearray | memoryview):
        return _checked(_parse(bytes(source), "the bytes given"), None, "the bytes given")
    path = Path(source)
    file = MappedFile(path)
    if file.size < MAPPED_FROM:
        data = b"".join(file.chunks(0, file.size))
        graph = _checked(_parse(data, str(path)), ExternalData(path), str(path))
    else:
        graph = _read_large(path, file)
    graph.origin = path.name
    return graph


def _read_large(path: Path, file: MappedFile) -> Graph:
    token = secrets.token_hex(16)
    try:
        found = outline(file.view(), token)
    except InvalidModelError as error:
        head = bytes(file.view()[:512])
        raise InvalidModelError(_no_model(str(path), head, str(error))) from None
    proto = _parse(found.message, str(path))
    external = ExternalData(path, own=file, token=token, ranges=found.ranges)
    return _checked(proto, external, str(path))


def _parse(data: bytes, label: str) -> onnx.ModelProto:
    if not data:
        raise InvalidModelError(f"{label}: it is empty; an ONNX model was expected")
    try:
        return onnx.ModelProto.FromString(data)
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


def _checked(proto: onnx.ModelProto, external: ExternalData | None, label: str) -> Graph:
    try:
        _check_header(proto)
        graph = decode_model(proto, external)
        verify(graph)
    except InvalidGraphError as error:
        raise InvalidModelError(f"{label}: it breaks its operators' definitions: {error}") from None
    except (InvalidModelError, UnsupportedError) as error:
        raise type(error)(f"{label}: {error}") from None
    left_out = [name for name in ("training_info", "configuration") if len(getattr(proto, name))]
    if left_out:
        graph.extra["left_out"] = tuple(left_out)
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
