"""Files that are there whole or not at all, whenever the process is killed.

A model is written under a temporary name beside its place, and renamed at the end. Its data file
comes first, under a name with its content's hash, so that no model ever refers to a half-written
one. The temporary file is locked while its writer lives: what is left of a killed one is cleaned by
the next run.
"""

from __future__ import annotations

import itertools
import mmap
import os
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from isomorph.ir.errors import IsomorphError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

_counter = itertools.count()


class WriteError(IsomorphError):
    """A file that could not be written: where, why, and what to do."""


class Transaction:
    """One model on its way into place, with at most one data file.

    Attributes:
        asked: where the model was to go.
        path: where it goes: behind a symbolic link, which stays.
        temporary: where it is now; whoever opens it finds its data file too.
    """

    def __init__(self, path: Path) -> None:
        self.asked = path.absolute()
        self.path = _behind_links(self.asked)
        self.data: Path | None = None
        self._beside: dict[Path, bool] = {}
        self._open = True
        _check_place(self.path)
        remove_stale(self.path)
        self._model = _locked(self.path)
        self.temporary = Path(self._model.name)

    @property
    def model(self) -> BinaryIO:
        """The model file, to be written to."""
        return self._model

    def new_data(self) -> BinaryIO:
        """A data file, to be written to; `place_data` gives it its name.

        Raises:
            WriteError: when the model is asked for at a link in another folder, from which nobody
                would find the data.
        """
        if self.asked.parent.resolve() != self.path.parent.resolve():
            raise WriteError(
                f"{self.asked}: it is a symbolic link to {self.path}; the model's data has to lie "
                f"beside that, where nobody who opens the link looks. Write to {self.path} itself"
            )
        name = self.temporary.with_suffix(".data.tmp")
        return _create(name)

    def place_data(self, file: BinaryIO, digest: str) -> str:
        """Give a written data file its final name; returns it."""
        _finish(file)
        self.data = self.path.with_name(f"{self.path.name}.{digest[:32]}.data")
        Path(file.name).replace(self.data)
        return self.data.name

    @property
    def data_files(self) -> tuple[Path, ...]:
        """Files beside the model that it refers to."""
        return (*self._beside, *(() if self.data is None else (self.data,)))

    def refer_to(self, path: Path) -> None:
        """A file that was there already and belongs to the model."""
        self._beside.setdefault(path, False)

    def place_beside(self, file: BinaryIO, path: Path) -> None:
        """Give a written file exactly this name; raises WriteError when there is one by now."""
        _finish(file)
        temporary = Path(file.name)
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise WriteError(f"{path}: somebody else put a file there meanwhile") from None
        except OSError:  # a file system without links
            if path.exists():
                raise WriteError(f"{path}: somebody else put a file there meanwhile") from None
            temporary.replace(path)
        else:
            temporary.unlink()
        self._beside[path] = True

    def finish(self) -> None:
        """Make sure that the model's bytes are on the disk."""
        _flush(self._model)

    def commit(self) -> None:
        """Put the model in its place, then remove data files that nothing refers to any more."""
        with _folder_locked(self.path.parent) as folder:
            self.temporary.replace(self.path)
            self._close()
            if folder is not None:
                os.fsync(folder)
            if not self._others():
                for old in _data_files(self.path):
                    if old not in self.data_files:
                        old.unlink(missing_ok=True)

    def discard(self) -> None:
        """Take everything back; does nothing after `commit`."""
        if not self._open:
            return
        self._close()
        for leftover in (self.temporary, self.temporary.with_suffix(".data.tmp")):
            leftover.unlink(missing_ok=True)
        for path in (p for p, made in self._beside.items() if made):
            path.unlink(missing_ok=True)
        if self.data is None:
            return
        with _folder_locked(self.path.parent):
            if not self._others() and not _mentions(self.path, self.data.name):
                self.data.unlink(missing_ok=True)

    def _close(self) -> None:
        self._open = False
        self._model.close()

    def _others(self) -> bool:
        """Whether another process is writing the same model right now."""
        remove_stale(self.path)
        return any(_temporaries(self.path))


def remove_stale(path: Path) -> None:
    """Remove temporary files of one model whose writers are gone."""
    for found in _temporaries(path):
        owner = found.with_name(found.name.replace(".data.tmp", ".tmp"))
        with suppress(FileNotFoundError, PermissionError):
            if owner != found:
                if not owner.exists():
                    found.unlink()
                continue
            with found.open("rb") as file:
                free = _lock(file)
                if _is_abandoned(found) if free is None else free:
                    found.unlink()


def _is_abandoned(temporary: Path) -> bool:
    """Whether the process that a temporary file is named after is gone; for want of locks."""
    if os.name == "nt":
        return True  # an open file cannot be removed there, which protects it
    try:
        os.kill(int(temporary.name.split(".")[-3]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def _temporaries(path: Path) -> list[Path]:
    """Temporary files of one model; those that own another come first."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.\d+\.\d+(\.data)?\.tmp")
    found = [p for p in _listed(path.parent) if pattern.fullmatch(p.name) and _is_plain(p)]
    return sorted(found, key=lambda p: p.name.endswith(".data.tmp"))


def _data_files(path: Path) -> Iterator[Path]:
    pattern = re.compile(rf"{re.escape(path.name)}\.[0-9a-f]{{32}}\.data")
    return (p for p in _listed(path.parent) if pattern.fullmatch(p.name) and _is_plain(p))


def _listed(folder: Path) -> list[Path]:
    return [folder / name for name in os.listdir(folder)]  # noqa: PTH208 - several times faster


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _behind_links(path: Path) -> Path:
    """The file that a symbolic link points at, there or not; any other path as it is."""
    if not path.is_symlink():
        return path
    try:
        found = path.resolve()
    except (OSError, RuntimeError) as error:
        raise WriteError(f"{path}: the symbolic link leads nowhere: {error}") from None
    if found.is_symlink():
        raise WriteError(f"{path}: the symbolic link leads in a circle")
    return found


def _check_place(path: Path) -> None:
    if not path.parent.is_dir():
        raise WriteError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise WriteError(f"{path}: it is a folder; name a file in it")
    if path.exists() and not path.is_file():
        raise WriteError(f"{path}: it is a device or a pipe, not a file; name a file")


def _locked(path: Path) -> BinaryIO:
    """A new temporary file of this process, locked."""
    while True:
        name = path.with_name(f".{path.name}.{os.getpid()}.{next(_counter)}.tmp")
        try:
            file = _create(name)
        except FileExistsError:
            continue
        with suppress(FileNotFoundError):  # another process may take it for a stale one
            if _lock(file) is not False and os.path.samestat(os.fstat(file.fileno()), name.stat()):
                return file
        file.close()


def _create(name: Path) -> BinaryIO:
    try:
        opened = os.open(
            name, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
        )
    except FileExistsError:
        raise
    except OSError as error:
        raise WriteError(f"{name.parent}: nothing can be written there: {error.strerror}") from None
    file = open(name, "rb+", opener=lambda _, __: opened)  # noqa: SIM115 - keeps the name
    _lock(file)
    return file


def _lock(file: BinaryIO) -> bool | None:
    """Whether nobody else had the file locked (now it is); `None` where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _finish(file: BinaryIO) -> None:
    _flush(file)
    file.close()


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


@contextmanager
def _folder_locked(folder: Path) -> Generator[int | None]:
    """A descriptor of the folder, while nobody else puts models in place there."""
    if fcntl is None:
        yield None
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network file systems have no locks
            fcntl.flock(opened, fcntl.LOCK_EX)
        yield opened
    finally:
        os.close(opened)


def _mentions(path: Path, name: str) -> bool:
    """Whether the model that is in place refers to a data file."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return data.find(name.encode()) >= 0
    except (FileNotFoundError, ValueError):  # there is none, or it is empty
        return False
