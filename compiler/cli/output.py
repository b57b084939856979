"""Standard output: what we print alone, delivered or complained of.

What a user's code, or a library behind it, writes to file descriptor 1 goes to standard error, so
that a document stays one. Output that nobody reads any more ends the process as a closed pipe does;
output that cannot be written is an error.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from contextlib import contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator

CLOSED_PIPE = 128 + getattr(signal, "SIGPIPE", 13)
UNWRITTEN = 2


class UndeliveredError(SystemExit):
    """Ends the process: its output has nowhere to go."""


class Output(io.TextIOWrapper):
    """The standard output that the process began with; a write that fails ends the process."""

    def write(self, text: str, /) -> int:
        """Write text; raises UndeliveredError."""
        try:
            return super().write(text)
        except OSError as error:
            raise self._undelivered(error) from None

    def flush(self) -> None:
        """Write what is held back; raises UndeliveredError."""
        if self.closed:
            return
        try:
            super().flush()
        except OSError as error:
            raise self._undelivered(error) from None

    def _undelivered(self, error: OSError) -> UndeliveredError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())  # what is still held back goes there, without a word
        os.close(nowhere)
        if error.errno in (errno.EPIPE, errno.EINVAL):  # the latter on Windows
            return UndeliveredError(CLOSED_PIPE)
        words = (error.strerror or str(error)).lower()
        _complain(f"error: standard output cannot be written: {words}")
        return UndeliveredError(UNWRITTEN)


class Aside(io.TextIOBase):
    """Passes on to standard error; one who closes it closes nothing else."""

    def write(self, text: str, /) -> int:
        """Write text to standard error."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """Write what is held back."""
        sys.stderr.flush()

    def fileno(self) -> int:
        """Standard error's."""
        return sys.stderr.fileno()

    def isatty(self) -> bool:
        """Whether standard error is a terminal."""
        return sys.stderr.isatty()


@contextmanager
def delivered() -> Generator[None]:
    """Keep standard output for what is printed in here by Python; ends with all of it written."""
    own = _taken()
    if own is None:
        _complain("error: standard output is closed: there is nowhere to answer to")
        raise SystemExit(UNWRITTEN)
    with redirect_stdout(own):
        try:
            yield
        finally:
            own.flush()


def _taken() -> Output | None:
    """Standard output under another descriptor; 1 is standard error from now on."""
    given: Any = sys.stdout
    try:
        given.flush()
        own = os.dup(given.fileno())
    except (AttributeError, OSError, ValueError):
        return None
    with suppress(OSError):
        os.dup2(2, 1)
    raw = os.fdopen(own, "wb")
    lines = bool(given.isatty())
    return Output(raw, encoding=given.encoding, errors="backslashreplace", line_buffering=lines)


def _complain(text: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        print(text, file=sys.stderr, flush=True)
