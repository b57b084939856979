"""Asks the installed onnxruntime what it does with small models, in a process that may die."""

from __future__ import annotations

import json
import pickle
import re
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Self, cast

from isomorph.ir.errors import UnsupportedError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import IO

    from isomorph.exporters.runtimes.tables import Outcome
    from isomorph.exporters.runtimes.worker import Job

    Pipes = tuple[IO[bytes], IO[bytes]]

PATIENCE = 60.0
"""Seconds after which a job counts as a crash."""


class Prober:
    """A worker process, restarted whenever a job kills it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, job: Job) -> tuple[Outcome, str]:
        """What happens to one model: the outcome, and the error's essence.

        A crash is one that happens twice: once may be the machine's fault.

        Raises:
            UnsupportedError: when onnxruntime cannot even be imported.
        """
        found = self._ask(job)
        if found[0] == "crash":
            found = self._ask(job)
        return found

    def _ask(self, job: Job) -> tuple[Outcome, str]:
        process = self._process or self._start()
        body = pickle.dumps(job)
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        try:
            stdin, stdout = cast("Pipes", (process.stdin, process.stdout))
            stdin.write(struct.pack("<Q", len(body)) + body)
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = b""
        except BaseException:  # an answer that comes too late would be taken for the next job's
            process.kill()
            self.close()
            raise
        finally:
            timer.cancel()
        if line:
            outcome, text = json.loads(line)
            return cast("Outcome", outcome), essence(text)
        code = process.wait()
        self.close()
        return "crash", f"the process died with code {code}"

    def close(self) -> None:
        """End the worker."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with suppress(BrokenPipeError):
                process.stdin.close()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "isomorph.exporters.runtimes.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        if not cast("Pipes", (process.stdin, process.stdout))[1].readline():
            raise UnsupportedError("onnxruntime cannot be imported here; run: isomorph doctor")
        self._process = process
        return process

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


_NOISE = (
    re.compile(r"^\[ONNXRuntimeError\] : \d+ : \w+ : "),
    re.compile(r"(/[\w.+-]+)+/\w+\.(cc|h):\d+ "),
    re.compile(
        r"^(Load model from .* failed:|Failed to load model with error: |Exception during \w+: )"
    ),
    re.compile(r"(?s)\n\nStacktrace:.*"),
)


def essence(text: str) -> str:
    """An error of onnxruntime on one line, without its places in the source."""
    for pattern in _NOISE:
        text = pattern.sub("", text)
    return " ".join(text.split())[:300]
