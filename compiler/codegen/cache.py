"""A content-addressed store of built files, safe under concurrent processes."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TRAILER = 32


def cache_root() -> Path:
    """`$ISOMORPH_CACHE`, else `isomorph` among the user's caches."""
    chosen = os.environ.get("ISOMORPH_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "isomorph"


class Cache:
    """Files by the hash of what made them.

    Each file ends in the sha256 of the rest (loaders of ELF files ignore what follows them); one
    whose trailer is wrong is built again. Files appear under their names at once, whole.

    Args:
        kind: the folder below the root.
        suffix: of the files.
    """

    def __init__(self, kind: str, suffix: str) -> None:
        self.folder = cache_root() / kind
        self.suffix = suffix

    def path(self, parts: tuple[str, ...], make: Callable[[], bytes]) -> Path:
        """The file for these parts of a key, made when it is missing or damaged."""
        digest = sha256()
        for part in parts:
            raw = part.encode()
            digest.update(len(raw).to_bytes(8, "little") + raw)
        path = self.folder / f"{digest.hexdigest()}{self.suffix}"
        if not _whole(path):
            self._write(path, make())
        return path

    def get(self, parts: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
        """The content for these parts of a key."""
        return self.path(parts, make).read_bytes()[:-_TRAILER]

    def _sweep(self) -> None:
        """Remove what killed processes left."""
        for part in self.folder.glob("*.part"):
            with suppress(FileNotFoundError):
                if time.time() - part.stat().st_mtime > STALE:
                    part.unlink()

    def _write(self, path: Path, content: bytes) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._sweep()
        handle, name = tempfile.mkstemp(dir=self.folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content + sha256(content).digest())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


STALE = 24 * 3600.0
"""Seconds after which a half-written file is what a killed process left."""


def _whole(path: Path) -> bool:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return False
    return len(content) > _TRAILER and sha256(content[:-_TRAILER]).digest() == content[-_TRAILER:]
