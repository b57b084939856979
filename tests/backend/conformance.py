"""ONNX's own backend suite through `isomorph.backend`: a verdict per case and device.

`python -m tests.backend.conformance` runs all of it and prints a table; `--write` records the
verdicts in expectations.json, which a sample is compared with whenever the tests run. Cases run in
worker processes that may die: that is a mismatch like any other.

Devices are those of isomorph.backend, and for comparison `ALONE`: onnxruntime without us. A run
that has both says which cases onnxruntime passes alone and not through us.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import re
import subprocess
import sys
import threading
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tests.backend.suite import KINDS, suite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO

    from tests.backend.suite import Case

EXPECTATIONS = Path(__file__).with_name("expectations.json")
DEVICES = ("CPU", "REFERENCE")
KERNELS = ("SIM",)
"""Judged when asked for; recorded and compared where it has been recorded before."""
VERDICTS = ("pass", "mismatch", "refused", "not compared")
PATIENCE = 120.0
"""Seconds for one case."""


class Result(NamedTuple):
    """A verdict, and why it is not `pass`; or what the host did between kernels."""

    verdict: str
    reason: str = ""


# -- one case ---------------------------------------------------------------------------------


def judge(case: Case, device: str) -> Result:
    """Run a case on a device, and compare as the suite's own runner does."""
    from isomorph.backend import Prepared
    from isomorph.ir.errors import IsomorphError
    from isomorph.lowering.errors import NoKernelError

    try:
        run = _prepare(case, device)
    except IsomorphError as error:
        return Result("refused", f"{type(error).__name__}: {_line(error)}")
    except Exception as error:  # noqa: BLE001 - what is not typed is a bug, and is to be seen
        return Result("mismatch", f"preparing raises {type(error).__name__}: {_line(error)}")
    random = is_random(case)
    for inputs, wanted in case.values():
        try:
            found = run([plain(i) for i in inputs])
            if random:
                _same_form([plain(w) for w in wanted], found)
            else:
                same_as_wanted(case, found, wanted)
        except NoKernelError as error:  # what an input says decided it
            return Result("refused", f"{type(error).__name__}: {_line(error)}")
        except Exception as error:  # noqa: BLE001 - as above
            return Result("mismatch", f"{type(error).__name__}: {_line(error)}")
    if random:
        return Result("not compared", "its results are random; their form was compared")
    owner = getattr(run, "__self__", None)
    return Result("pass", ", ".join(owner.hosted) if isinstance(owner, Prepared) else "")


def same_as_wanted(case: Case, found: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Compare as the suite's own runner does; AssertionError where it differs.

    The runner takes the rows of a sequence's tensors for tensors, and fails on scalars: it is
    handed the elements as if each were an output.
    """
    from onnx.backend.test.runner import Runner

    given, expected = list(found), [plain(w) for w in wanted]
    if len(given) == len(expected):
        for index, value in enumerate(expected):
            got = given[index]
            if isinstance(value, list) and isinstance(got, list):
                Runner.assert_similar_outputs(value, got, case.rtol, case.atol)
        pairs = zip(given, expected, strict=True)
        kept = [p for p in pairs if not all(isinstance(v, list) for v in p)]
        given, expected = [g for g, _ in kept], [w for _, w in kept]
    Runner.assert_similar_outputs(expected, given, case.rtol, case.atol)


def is_random(case: Case) -> bool:
    """Whether a case's results differ from run to run."""
    from isomorph.ir.dice import RANDOM

    return any(
        node.op_type in RANDOM and (node.op_type != "Dropout" or len(node.input) > 2)
        for node in case.load().graph.node
    )


def _prepare(case: Case, device: str) -> Any:
    if device != "ALONE":
        import isomorph.backend

        return isomorph.backend.prepare(case.load(), device).run
    from isomorph.runtime.ort import Session

    model = case.load()
    made = {t.name for t in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in made]
    session = Session(model.SerializeToString(), optimize=True)
    return lambda inputs: session.run(dict(zip(names, inputs, strict=False)))


def plain(value: Any) -> Any:
    """A value of the suite as engines take it."""
    import onnx

    if isinstance(value, onnx.TensorProto):
        return onnx.numpy_helper.to_array(value)
    return value


def _same_form(wanted: Sequence[Any], found: Sequence[Any]) -> None:
    forms = [[(np.shape(v), np.asarray(v).dtype) for v in values] for values in (wanted, found)]
    if forms[0] != forms[1]:
        raise AssertionError(f"shapes and dtypes are {forms[1]}, {forms[0]} were expected")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:400]


# -- workers ----------------------------------------------------------------------------------


def serve() -> None:
    """Judge the cases named on standard input, one JSON answer a line."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    suite()
    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        name, device = json.loads(line)
        answers.write(json.dumps(judge(suite()[name], device)) + "\n")
        answers.flush()


class Worker:
    """A process that judges cases; a new one is started when a case kills it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def judge(self, name: str, device: str) -> Result:
        process = self._process or self._start()
        stdin, stdout = cast("tuple[IO[str], IO[str]]", (process.stdin, process.stdout))
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        try:
            stdin.write(json.dumps([name, device]) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if line:
            return Result(*json.loads(line))
        code = process.wait()
        self.close()
        return Result("mismatch", f"the process died with code {code}")

    def close(self) -> None:
        if self._process is not None:
            with suppress(BrokenPipeError):
                self._process.communicate()
            self._process = None

    def _start(self) -> subprocess.Popen[str]:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.backend.conformance", "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            cwd=Path(__file__).parents[2],
        )
        if not cast("IO[str]", self._process.stdout).readline():
            raise RuntimeError("the worker does not start: run this module with --serve")
        return self._process


def judge_all(
    cases: Iterable[tuple[str, str]], workers: int = 1
) -> Iterator[tuple[str, str, Result]]:
    """(case, device, result) of each of these cases on these devices, in order."""
    free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    for _ in range(workers):
        free.put(Worker())

    def one(case: tuple[str, str]) -> tuple[str, str, Result]:
        worker = free.get()
        try:
            return *case, worker.judge(*case)
        finally:
            free.put(worker)

    with ThreadPoolExecutor(workers) as pool:
        yield from pool.map(one, cases)
    for _ in range(workers):
        free.get().close()


# -- expectations -----------------------------------------------------------------------------


def releases() -> dict[str, str]:
    """What the verdicts depend on besides this repository."""
    from isomorph.exporters.target import installed

    return {"onnx": metadata.version("onnx"), "onnxruntime": installed("onnxruntime") or "none"}


def recorded() -> dict[str, Any]:
    """The releases and the verdicts recorded: case → device → verdict."""
    found: dict[str, Any] = json.loads(EXPECTATIONS.read_text(encoding="utf-8"))
    return found


def write(verdicts: dict[str, dict[str, str]], plans: dict[str, str]) -> None:
    """Record verdicts, and digests of what kernels were judged, one case a line."""
    parts = [f' "releases": {json.dumps(releases())}']
    for name, table in (("cases", verdicts), ("plans", plans)):
        rows = [f"  {json.dumps(n)}: {json.dumps(v)}" for n, v in sorted(table.items())]
        if rows:
            parts.append(f' "{name}": {{\n' + ",\n".join(rows) + "\n }")
    EXPECTATIONS.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def plan_of(case: Case) -> str:
    """A digest of all that our kernels make of a case: sources, launches, host steps, judges."""
    from isomorph.exporters.coverage.measure.digests import kernel_method
    from isomorph.exporters.coverage.measure.kernels import launches
    from isomorph.frontends.onnx.reader import read
    from isomorph.ir.errors import IsomorphError

    try:
        told = launches(read(case.load()))
    except IsomorphError as error:
        told = str(error)
    return hashlib.sha256(f"{kernel_method()}{told}".encode()).hexdigest()[:12]


# -- command ----------------------------------------------------------------------------------


def main() -> int:
    """Run the suite; exit code 1 when a verdict is not the expected one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--device", action="append", choices=[*DEVICES, *KERNELS, "ALONE"])
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--match", default="", help="regular expression on case names")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--write", action="store_true", help="record what was found")
    parser.add_argument(
        "--changed",
        action="store_true",
        help="of our kernels, only cases whose sources or launches are not the recorded ones",
    )
    parser.add_argument(
        "--log", type=Path, help="write every case that does not pass, with its reason"
    )
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return 0
    devices = options.device or DEVICES
    kinds = options.kind or KINDS
    names = [n for n, c in suite().items() if c.kind in kinds and re.search(options.match, n)]
    before_all = recorded() if EXPECTATIONS.is_file() else {}
    known = before_all.get("cases", {})
    plans: dict[str, str] = {n: p for n, p in before_all.get("plans", {}).items() if n in suite()}
    counts: dict[str, Counter[str]] = {d: Counter() for d in devices}
    verdicts: dict[str, dict[str, str]] = {n: dict(v) for n, v in known.items() if n in suite()}
    drift = []
    log: list[str] = []
    passed: dict[str, set[str]] = {d: set() for d in devices}
    hosted: Counter[str] = Counter()
    stepped = 0
    todo = [(n, d) for d in devices for n in names]
    if options.changed or (options.write and set(devices) & set(KERNELS)):
        now = {n: plan_of(suite()[n]) for n in names}
        if options.changed:
            same = {n for n in names if now[n] == plans.get(n)}
            todo = [(n, d) for n, d in todo if d not in KERNELS or n not in same]
        plans |= now
    for name, device, (verdict, reason) in judge_all(todo, options.workers):
        counts[device][verdict] += 1
        if verdict == "pass":
            passed[device].add(name)
            hosted.update(reason.split(", ") if reason else ())
            stepped += bool(reason)
        else:
            log.append(f"{device} {verdict} {name}: {reason}")
        before = known.get(name, {}).get(device)
        if device in {*DEVICES, *KERNELS}:
            verdicts.setdefault(name, {})[device] = verdict
            if verdict != before and (before or device in DEVICES):
                drift.append(f"{name} on {device}: {verdict}, expected {before}. {reason}")
    print(f"{'':12}" + "".join(f"{v:>14}" for v in VERDICTS) + f"{'cases':>10}")
    for device, row in counts.items():
        print(f"{device:12}" + "".join(f"{row[v]:>14}" for v in VERDICTS) + f"{len(names):>10}")
    if stepped:
        shown = ", ".join(f"{name} in {count}" for name, count in hosted.most_common())
        print(f"{stepped} that pass have steps of the host between kernels: {shown}")
    lost = sorted(passed.get("ALONE", set()) - passed.get("CPU", set()))
    if "CPU" in devices:
        print(*(f"{name} passes on onnxruntime alone, not through us" for name in lost), sep="\n")
    if options.log:
        options.log.write_text("\n".join(log) + "\n", encoding="utf-8")
    if options.write:
        write(verdicts, plans)
        return 0
    print(*drift, sep="\n")
    return 1 if drift or ("CPU" in devices and lost) else 0


if __name__ == "__main__":
    sys.exit(main())
