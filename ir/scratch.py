"""Temporary folders that do not outlive their process for long, however it ends.

A folder is locked while it is in use. What a killed process left has no lock, and is removed when
another one makes its first folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

try:
    import fcntl
except ImportError:  # Windows: folders are removed by their own process alone
    fcntl = None

if TYPE_CHECKING:
    from collections.abc import Generator

PREFIX = "isomorph-scratch-"
LOCK = ".lock"


class Scratch:
    """A new folder; `remove` it when it is no longer needed.

    Attributes:
        path: of the folder.
    """

    def __init__(self) -> None:
        _sweep_once()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self._lock = _locked(self.path)

    def remove(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextmanager
def scratch() -> Generator[Path]:
    """A new folder for a while."""
    made = Scratch()
    try:
        yield made.path
    finally:
        made.remove()


def sweep() -> None:
    """Remove the folders of processes that are gone."""
    if fcntl is None:
        return
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, or just removed by another process
            if _is_free(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _locked(folder: Path) -> int | None:
    """The lock of a folder; it has its name only once it is held, so none is seen that is not."""
    if fcntl is None:
        return None
    made = folder / f"{LOCK}.new"
    lock = os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with suppress(OSError):  # some file systems have no locks
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        made.rename(folder / LOCK)
    return lock


def _is_free(folder: Path) -> bool:
    """Whether a folder is ours to remove, and nobody holds its lock."""
    if fcntl is None or folder.lstat().st_uid != os.geteuid():
        return False
    lock = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


_swept = threading.Event()


def _sweep_once() -> None:
    if not _swept.is_set():
        _swept.set()
        sweep()
