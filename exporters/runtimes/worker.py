"""The process that a probe may kill: loads one small model after another, and runs each once.

Reads pickled `Job`s from standard input, answers one JSON line each. Everything that onnxruntime
itself prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import pickle
import struct
import sys
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Job:
    """A model as bytes, the values to feed it by name, and whether to run it at all."""

    model: bytes
    feeds: dict[str, Any]
    run: bool = True


def main() -> None:
    """Serve jobs until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    ort: Any = import_module("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    answers.write("ready\n")
    answers.flush()
    while header := sys.stdin.buffer.read(8):
        job: Job = pickle.loads(sys.stdin.buffer.read(struct.unpack("<Q", header)[0]))  # noqa: S301
        answers.write(json.dumps(attempt(ort, options, job)) + "\n")
        answers.flush()


def attempt(ort: Any, options: Any, job: Job) -> tuple[str, str]:
    """(outcome, error text) of one job."""
    try:
        session = ort.InferenceSession(job.model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - its exceptions share no base
        return _outcome(str(error), "load-error")
    if not job.run:
        return "runs", ""
    try:
        if all(isinstance(a, np.ndarray) for a in job.feeds.values()):
            feeds = {n: ort.OrtValue.ortvalue_from_numpy(a) for n, a in job.feeds.items()}
            session.run_with_ort_values([o.name for o in session.get_outputs()], feeds)
        else:  # sequences, maps and absent optionals are no OrtValues that Python can make
            session.run(None, job.feeds)
    except Exception as error:  # noqa: BLE001 - as above
        return _outcome(str(error), "run-error")
    return "runs", ""


def _outcome(text: str, otherwise: str) -> tuple[str, str]:
    missing = ("NOT_IMPLEMENTED" in text) or ("is not currently registered or supported" in text)
    return ("no-kernel" if missing else otherwise), text


if __name__ == "__main__":
    main()
