"""Tensor data outside of a model's message: in its folder, and nowhere else."""

from __future__ import annotations

import os
from bisect import bisect_left
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from isomorph.ir.errors import InvalidModelError
from isomorph.ir.files import NO_FOLLOW, Identity, MappedFile, open_regular
from isomorph.ir.proto.names import utf8
from isomorph.ir.weights import FileRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onnx import TensorProto

MOST_HELD = 64
"""Data files whose descriptors stay open; others are opened again when looked at."""

_DIRECTORY = getattr(os, "O_DIRECTORY", 0)


class ExternalData:
    """Opens what tensors of one model refer to; each file once, nothing is read.

    A location is a relative path without `..`. What it leads to, symbolic links followed, must lie
    in the model's folder (the one it is named in, or the one it really lies in, as in caches that
    are made of links), and be a regular file that has the bytes. A hard link is such a file:
    nothing tells it from the other names that it has. Two tensors have the same bytes or different
    ones: what overlaps in part is damaged, or made to grow when it is written.
    """

    def __init__(
        self,
        path: Path,
        *,
        own: MappedFile | None = None,
        token: str = "",
        ranges: Sequence[tuple[int, int]] = (),
    ) -> None:
        """`own`, `token` and `ranges` say which tensors were left in the model's own file."""
        self.folders = tuple(dict.fromkeys((path.parent.resolve(), path.resolve().parent)))
        self._own, self._token, self._ranges = own, token, ranges
        self._by_location: dict[str, MappedFile] = {}
        self._by_identity: dict[Identity, MappedFile] = {}
        self._taken: dict[Identity, list[tuple[int, int, str]]] = {}

    def __call__(self, proto: TensorProto, length: int) -> FileRange:
        """Where the bytes of a tensor are; raises InvalidModelError when they cannot be there."""
        where = f"tensor {proto.name!r}"
        entries: dict[str, str] = {}
        for entry in proto.external_data:
            if entries.setdefault(utf8(entry.key), utf8(entry.value)) != entry.value:
                raise InvalidModelError(f"{where}: external data states {entry.key!r} twice")
        location = entries.get("location", "")
        if self._own is not None and location.startswith(f"{self._token}:"):
            offset, stored = self._ranges[int(location.removeprefix(f"{self._token}:"))]
            _check_length(stored, length, where)
            return FileRange(self._own, offset, length, inline=True)
        offset = _number(entries, "offset", 0, where)
        _check_length(_number(entries, "length", length, where), length, where)
        file = self._file(location, where)
        if offset + length > file.size:
            raise InvalidModelError(
                f"{where}: its data is at bytes {offset} to {offset + length} of {location!r}, "
                f"which has {file.size}; the file is truncated, or belongs to another model"
            )
        if length:
            self._take(file, offset, offset + length, proto.name, location)
        return FileRange(file, offset, length)

    def _take(self, file: MappedFile, start: int, end: int, name: str, location: str) -> None:
        """Refuse bytes that are in part another tensor's; all of them may be: they are shared."""
        taken = self._taken.setdefault(file.identity, [])
        at = bisect_left(taken, (start,))
        after = taken[at] if at < len(taken) else (end, end, "")
        if after[:2] == (start, end):
            return
        before = taken[at - 1] if at else (0, 0, "")
        for first, last, other in (before, after):
            if first < end and start < last:
                raise InvalidModelError(
                    f"tensor {name!r}: its data is at bytes {start} to {end} of {location!r}, of "
                    f"which tensor {other!r} has {first} to {last}; tensors share all of their "
                    "bytes or none"
                )
        taken.insert(at, (start, end, name))

    def _file(self, location: str, where: str) -> MappedFile:
        if location in self._by_location:
            return self._by_location[location]
        try:
            path, descriptor = self._open(location)
        except InvalidModelError as error:
            shown = location if len(location) < 200 else f"{location[:200]}…"
            raise InvalidModelError(f"{where}: external data {shown!r}: {error}") from None
        file = MappedFile(path, descriptor=descriptor, held=len(self._by_identity) < MOST_HELD)
        file = self._by_identity.setdefault(file.identity, file)
        self._by_location[location] = file
        return file

    def _open(self, location: str) -> tuple[Path, int]:
        _check_location(location)
        missing = InvalidModelError(
            f"there is no such file in {self.folders[0]}; keep data files beside the model"
        )
        for folder in self.folders:
            try:
                found = (folder / location).resolve(strict=True)
            except FileNotFoundError:
                continue
            except (OSError, RuntimeError) as error:
                reason = getattr(error, "strerror", None) or error
                raise InvalidModelError(f"it cannot be opened: {reason}") from None
            if found in self.folders:
                raise InvalidModelError("it is the model's folder itself; a file is expected")
            for home in self.folders:
                if found.is_relative_to(home):
                    return found, _open_beneath(home, found.relative_to(home))
            raise InvalidModelError(
                "it is a symbolic link out of the model's folder; nothing outside of the folder is "
                "opened: put the file itself there"
            )
        raise missing


def _check_location(location: str) -> None:
    posix, windows = PurePosixPath(location), PureWindowsPath(location)
    if not location or "\0" in location:
        raise InvalidModelError("it names no file")
    if posix.is_absolute() or windows.drive or windows.root:
        raise InvalidModelError(
            "it is an absolute path; only files in the model's folder are opened"
        )
    if ".." in posix.parts or ".." in windows.parts:
        raise InvalidModelError(
            "it leads out of the model's folder; only files in the model's folder are opened"
        )


def _open_beneath(folder: Path, relative: Path) -> int:
    """Open a file below a folder without following any link on the way, even a new one."""
    if os.open not in os.supports_dir_fd:
        return open_regular(folder / relative)
    opened = os.open(folder, os.O_RDONLY | _DIRECTORY)
    try:
        for part in relative.parts[:-1]:
            inner = os.open(part, os.O_RDONLY | _DIRECTORY | NO_FOLLOW, dir_fd=opened)
            os.close(opened)
            opened = inner
        return open_regular(relative.parts[-1], follow=False, folder=opened)
    except OSError as error:
        raise InvalidModelError(f"it cannot be opened: {error.strerror}") from None
    finally:
        os.close(opened)


def _number(entries: dict[str, str], key: str, default: int, where: str) -> int:
    text = entries.get(key)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise InvalidModelError(
            f"{where}: external data has {key} {text[:40]!r}; a number of bytes is expected"
        )
    return int(text)


def _check_length(stated: int, wanted: int, where: str) -> None:
    if stated != wanted:
        raise InvalidModelError(
            f"{where}: its dims and type need {wanted} bytes, {stated} are stored"
        )
