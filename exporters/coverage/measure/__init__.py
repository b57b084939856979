"""Measure the operator coverage: what changed since the ledger, in a process that may die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module, metadata
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, cast

from isomorph.exporters.coverage.ledger import Entry, Ledger
from isomorph.exporters.coverage.measure.digests import digest
from isomorph.exporters.coverage.measure.operator import Limits, measure_operator
from isomorph.exporters.runtimes.tables import load_table
from isomorph.exporters.target import installed
from isomorph.ir.errors import UnsupportedError
from isomorph.ir.instances import INSTANCES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import IO

    from isomorph.ir.opdef import Key


def releases() -> dict[str, str]:
    """The packages that results depend on, as they are installed here."""
    return {
        "onnx": metadata.version("onnx"),
        "onnxruntime": installed("onnxruntime") or "",
    }


def stale(ledger: Ledger) -> list[Key]:
    """Operators that the ledger lacks, or whose measurements no longer hold."""
    return [
        key
        for key in sorted(INSTANCES.rows())
        if key not in ledger.entries or ledger.entries[key].digest != digest(key, ledger.releases)
    ]


def dropped(ledger: Ledger) -> list[Key]:
    """Operators that the ledger has and nobody else."""
    return sorted(set(ledger.entries) - set(INSTANCES.rows()))


def measure(
    keys: Iterable[Key], progress: Callable[[str], None] = lambda _: None
) -> Iterator[tuple[Key, Entry]]:
    """The entries of these operators, one after another.

    Raises:
        UnsupportedError: when no table ships for the installed onnxruntime.
    """
    known = releases()
    if load_table("onnxruntime", known["onnxruntime"], "cpu") is None:
        raise UnsupportedError(
            f"onnxruntime {known['onnxruntime'] or '(none)'} was never probed: "
            "run python -m isomorph.exporters.runtimes.probe first"
        )
    idle: SimpleQueue[_Worker] = SimpleQueue()
    workers = [_Worker() for _ in range(os.cpu_count() or 1)]
    for worker in workers:
        idle.put(worker)

    def one(key: Key) -> tuple[Key, Entry]:
        worker = idle.get()
        try:
            progress(f"measure {key[1]}")
            return key, worker.measure(key)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(len(workers))
    try:
        yield from pool.map(one, keys)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for worker in workers:
            worker.close()


class _Worker:
    """A process that measures operators; a new one is started when a case kills it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def measure(self, key: Key) -> Entry:
        skip: list[str] = []
        while True:
            process = self._process or self._start()
            stdin, stdout = cast("tuple[IO[str], IO[str]]", (process.stdin, process.stdout))
            stdin.write(json.dumps([key, skip]) + "\n")
            stdin.flush()
            last = ""
            for line in stdout:
                told = json.loads(line)
                if isinstance(told, str):
                    last = told
                elif "error" in told:
                    raise RuntimeError(f"{key[1]} cannot be measured:\n{told['error']}")
                else:
                    return Entry.of_json(told)
            code = process.wait()
            self._process = None
            if not last or last in skip:
                raise RuntimeError(f"measuring {key} ends with code {code} after {last!r}")
            skip.append(last)

    def close(self) -> None:
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter, a constant program
            [sys.executable, "-c", f"from {__name__} import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path.cwd(),
        )
        return self._process


def serve() -> None:
    """Measure the operators named on standard input; cases and entries as JSON lines."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    known = releases()
    table = load_table("onnxruntime", known["onnxruntime"], "cpu")
    if table is None:
        raise UnsupportedError(f"onnxruntime {known['onnxruntime']} was never probed")
    import_module("onnxruntime").set_default_logger_severity(4)
    limits = Limits(table.newest_opset, table.newest_ir_version)

    def say(told: object) -> None:
        answers.write(json.dumps(told) + "\n")
        answers.flush()

    for line in sys.stdin:
        (domain, name), skip = json.loads(line)
        try:
            say(measure_operator((domain, name), limits, known, say, skip).to_json())
        except Exception:  # noqa: BLE001 - told to the parent, which raises it
            say({"error": traceback.format_exc()})
