"""Regular files, opened without ever blocking, and mapped on demand."""

from __future__ import annotations

import mmap
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from isomorph.ir.errors import InvalidModelError

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK = 1 << 22

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)

_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)

Identity = tuple[int, int, int, int]
"""Device, inode, size, time of the last change: what tells that a file is still the same."""


def open_regular(path: str | Path, *, follow: bool = True, folder: int | None = None) -> int:
    """A descriptor of a regular file; pipes and devices are refused instead of waited for.

    Args:
        path: the file.
        follow: whether the last part of the path may be a symbolic link.
        folder: descriptor of the folder that a relative path starts from.

    Raises:
        InvalidModelError: when there is no such file, it may not be read, or it is not a file.
    """
    try:
        opened = os.open(path, _FLAGS | (0 if follow else NO_FOLLOW), dir_fd=folder)
    except FileNotFoundError:
        raise InvalidModelError(f"{path}: there is no such file") from None
    except OSError as error:
        raise InvalidModelError(f"{path}: it cannot be opened: {error.strerror}") from None
    except ValueError as error:
        raise InvalidModelError(f"{str(path)!r}: no file can have this name: {error}") from None
    mode = os.fstat(opened).st_mode
    if stat.S_ISREG(mode):
        return opened
    os.close(opened)
    kind = next((name for test, name in _KINDS if test(mode)), "something else")
    raise InvalidModelError(f"{path}: it is {kind}, a file was expected")


class MappedFile:
    """A file of a known identity.

    While held, its descriptor stays open and its bytes stay reachable even when the path is
    replaced; otherwise it is opened for each view, and must still be the same file.
    """

    __slots__ = ("_handle", "_map", "identity", "path")

    def __init__(self, path: Path, *, descriptor: int | None = None, held: bool = True) -> None:
        opened = open_regular(path) if descriptor is None else descriptor
        self.path = path
        self.identity = _identity(opened)
        self._handle: int | None = opened if held else None
        self._map: mmap.mmap | None = None
        if not held:
            os.close(opened)

    @property
    def size(self) -> int:
        """Bytes in the file when it was opened."""
        return self.identity[2]

    def view(self) -> memoryview:
        """All of its bytes, mapped: nothing is read until it is looked at.

        Raises:
            InvalidModelError: when the file is no longer the one that was opened.
        """
        if not self.size:
            return memoryview(b"")
        if self._map is not None:
            self._check(os.fstat(self._handle) if self._handle is not None else None)
            return memoryview(self._map)
        opened = self._descriptor()
        try:
            made = mmap.mmap(opened, self.size, access=mmap.ACCESS_READ)
        finally:
            self._release(opened)
        if self._handle is not None:
            self._map = made
        return memoryview(made)

    def chunks(self, offset: int, length: int) -> Iterator[bytes]:
        """A range, read piece by piece: memory stays at one piece however long it is."""
        opened = self._descriptor()
        try:
            end = offset + length
            while offset < end:
                piece = _read_at(opened, min(CHUNK, end - offset), offset)
                if not piece:
                    raise self._changed(f"it ends at byte {offset}")
                yield piece
                offset += len(piece)
        finally:
            self._release(opened)

    def _descriptor(self) -> int:
        if self._handle is not None:
            self._check(os.fstat(self._handle))
            return self._handle
        opened = open_regular(self.path)
        found = _identity(opened)
        if found != self.identity:
            os.close(opened)
            raise self._changed("another file lies there, or it was written to")
        return opened

    def _release(self, opened: int) -> None:
        if opened != self._handle:
            os.close(opened)

    def _check(self, found: os.stat_result | None) -> None:
        if found is not None and (found.st_size, found.st_mtime_ns) != self.identity[2:]:
            raise self._changed(f"it has {found.st_size} bytes, it had {self.size}")

    def _changed(self, how: str) -> InvalidModelError:
        return InvalidModelError(
            f"{self.path}: it changed since the model was loaded ({how}); load the model again"
        )

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            os.close(handle)

    def __reduce__(self) -> tuple[object, ...]:
        return _reopened, (str(self.path), self.identity)


def _read_at(descriptor: int, length: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, length, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, length)


def _identity(descriptor: int) -> Identity:
    found = os.fstat(descriptor)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _reopened(path: str, identity: Identity) -> MappedFile:
    made = MappedFile(Path(path))
    if made.identity != identity:
        raise InvalidModelError(f"{path}: it changed since the model was loaded; load it again")
    return made
