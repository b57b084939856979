"""A process that measures, since a case may kill it; what it is told and tells are JSON lines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from isomorph.exporters.coverage.measure.kernels import measure_kernels
from isomorph.exporters.coverage.measure.operator import Limits, measure_operator
from isomorph.exporters.coverage.measure.pytorch import is_here, measure_use
from isomorph.exporters.coverage.measure.releases import releases
from isomorph.exporters.runtimes.tables import load_table
from isomorph.ir.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    Say = Callable[[str], None]

QUIET = {"OMP_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
"""There is a process for every core, and torch warns of what its uses are meant to do."""

Job = tuple[str, Any]
"""What to measure: `operator`, `kernels` or `torch`, and which operator or use."""


class Worker:
    """The process; a new one is started when a case kills it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def measure(self, job: Job) -> dict[str, Any]:
        """The outcome, as its `to_json` gave it.

        Raises:
            RuntimeError: when the measurement itself fails.
        """
        skip: list[str] = []
        while True:
            process = self._process or self._start()
            stdin, stdout = cast("tuple[IO[str], IO[str]]", (process.stdin, process.stdout))
            stdin.write(json.dumps([*job, skip]) + "\n")
            stdin.flush()
            last = ""
            for line in stdout:
                told = json.loads(line)
                if isinstance(told, str):
                    last = told
                elif "error" in told:
                    raise RuntimeError(f"{job} cannot be measured:\n{told['error']}")
                else:
                    return told
            code = process.wait()
            self._process = None
            if not last or last in skip:
                raise RuntimeError(f"measuring {job} ends with code {code} after {last!r}")
            skip.append(last)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, a constant program
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            cwd=Path.cwd(),
            env={**os.environ, **QUIET},
        )
        return self._process


def serve() -> None:
    """Do the jobs named on standard input; cases and outcomes as JSON lines."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    if is_here():
        import_module("torch").set_num_threads(1)

    def say(told: object) -> None:
        answers.write(json.dumps(told) + "\n")
        answers.flush()

    for line in sys.stdin:
        kind, which, skip = json.loads(line)
        try:
            say(_done(kind, which, say, skip))
        except Exception:  # noqa: BLE001 - told to the parent, which raises it
            say({"error": traceback.format_exc()})


def _done(kind: str, which: Any, say: Say, skip: list[str]) -> dict[str, Any]:
    known = releases()
    if kind == "kernels":
        return measure_kernels(tuple(which), say, skip).to_json()
    if kind == "torch":
        say(which)
        return measure_use(which, known["torch"], fatal=which in skip).to_json()
    table = load_table("onnxruntime", known["onnxruntime"], "cpu")
    if table is None:
        raise UnsupportedError(f"onnxruntime {known['onnxruntime']} was never probed")
    import_module("onnxruntime").set_default_logger_severity(4)
    limits = Limits(table.newest_opset, table.newest_ir_version)
    return measure_operator(tuple(which), limits, known, say, skip).to_json()
