"""Errors of the operating system as one sentence: which path, what is wrong, what to do."""

from __future__ import annotations

import errno
from pathlib import Path

_REMEDIES = {
    errno.ENOENT: ("there is no such file or folder", "check the path, or make the folder first"),
    errno.EACCES: ("permission denied", "name a place that may be used, or change its permissions"),
    errno.EPERM: ("it is not permitted", "name a place that may be used"),
    errno.EISDIR: ("it is a folder, where a file is expected", "name a file in it"),
    errno.ENOTDIR: ("a part of it is a file, where a folder is expected", "name another place"),
    errno.EEXIST: ("it is there already", "remove it, or name another place"),
    errno.ENOSPC: ("no space is left on its disk", "free some, or name another place"),
    errno.EDQUOT: ("the disk quota is used up", "free some, or name another place"),
    errno.EROFS: ("its file system is read-only", "name another place"),
    errno.ENAMETOOLONG: ("its name is too long", "name a shorter one"),
    errno.ELOOP: ("symbolic links lead in a circle", "name the file itself"),
    errno.EMFILE: ("too many files are open in this process", "raise `ulimit -n`"),
    errno.ENFILE: ("too many files are open on this machine", "close some"),
    errno.ENOMEM: ("the machine has no memory left for it", "free some"),
    errno.EIO: ("its disk fails to read or write it", "name another place"),
}


def explained(error: BaseException) -> str:
    """What went wrong, for a person who has never heard of error numbers."""
    if isinstance(error, MemoryError):
        words = str(error)
        return f"this machine has not enough memory{f': {words}' if words else ''}"
    if not isinstance(error, OSError) or error.errno is None:
        return str(error) or type(error).__name__
    text = (error.strerror or type(error).__name__).lower()
    what, remedy = _REMEDIES.get(error.errno, (text, ""))
    places = [str(p) for p in (error.filename, error.filename2) if p is not None]
    place = " → ".join(places)
    return (f"{place}: " if place else "") + what + (f"; {remedy}" if remedy else "")


def writable(path: Path, what: str) -> str:
    """Why a file cannot be put there; empty when nothing speaks against it.

    Args:
        path: of the file.
        what: the option that names it.
    """
    if path.is_dir():
        return f"{what} {path}: it is a folder; name a file in it"
    if not path.parent.is_dir():
        return f"{what} {path}: there is no folder {path.parent}; make it first"
    return ""
