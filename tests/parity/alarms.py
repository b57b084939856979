"""False alarms: `python -m tests.parity.alarms` verifies right models against themselves.

Every node case of ONNX's own suite as it is, and every use in `ir/instances` in float32, written
at the newest opset that onnxruntime loads. What the run time does not load is counted, no alarm.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

RENEWED = 100
"""Models after which the processes are new ones."""


def names() -> list[str]:
    """`node NAME` of a case of the suite, `use OP-INDEX` of an instance."""
    from isomorph.ir.instances import INSTANCES, dtypes_of
    from isomorph.ir.opdef import OPS
    from isomorph.ir.types import DType
    from tests.backend.suite import suite

    cases = [f"node {n}" for n, c in suite().items() if c.kind == "node"]
    uses = [
        f"use {domain}:{op}:{index}"
        for domain, op in OPS.rows()
        for index, instance in enumerate(INSTANCES.get((domain, op)) or ())
        if DType.FLOAT32 in dtypes_of((domain, op), instance)
    ]
    return [*cases, *uses]


def judge(name: str, cases: int = 20) -> tuple[str, str]:
    """What `verify` says of a model held against itself, and why."""
    from isomorph.exporters.coverage.report import ExportError
    from isomorph.ir.errors import IsomorphError
    from isomorph.parity import verify
    from isomorph.parity.worker import WorkerDiedError, shared
    from isomorph.runtime.errors import RuntimeLoadError

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        try:
            _write(name, path)
            shared().unload(shared().load(path, optimize=True))
            verdict = verify(path, path, cases=cases, replay_folder=Path(folder, "replay"))
        except ExportError as error:
            return "not written", str(error).splitlines()[-1]
        except (RuntimeLoadError, WorkerDiedError) as error:
            return "not loaded", str(error)
        except IsomorphError as error:
            return "refused", str(error)
    return verdict.status.value, verdict.reason


def _write(name: str, path: Path) -> None:
    from isomorph.exporters.onnx.writer import to_proto
    from isomorph.exporters.target import make_target
    from isomorph.ir.instances import INSTANCES, build
    from isomorph.ir.types import DType
    from tests.backend.suite import suite

    kind, _, rest = name.partition(" ")
    if kind == "node":
        path.write_bytes(suite()[rest].load().SerializeToString())
        return
    domain, op, index = rest.rsplit(":", 2)
    key = (domain, op)
    graph = build(key, INSTANCES[key][int(index)], DType.FLOAT32)
    path.write_bytes(to_proto(graph, make_target()).SerializeToString())


def judged(name: str) -> tuple[str, str, str]:
    """The same, with its name; what is no typed error is an outcome too."""
    try:
        return (name, *judge(name))
    except Exception as error:  # noqa: BLE001 - it is one of the figures
        return name, "crash", f"{type(error).__name__}: {error}"


def main() -> int:
    """Print the counts, and every alarm; exit code 1 when there is one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--match", default="", help="regular expression")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    options = parser.parse_args()
    wanted = [n for n in names() if re.search(options.match, n)]
    found = {kind: Counter[str]() for kind in ("node", "use")}
    for start in range(0, len(wanted), RENEWED):
        with ProcessPoolExecutor(options.workers, mp_context=get_context("spawn")) as pool:
            for name, outcome, reason in pool.map(judged, wanted[start : start + RENEWED]):
                found[name.partition(" ")[0]][outcome] += 1
                if outcome in {"FAIL", "SUSPECT", "crash", "refused"}:
                    print(f"{outcome} {name}: {' '.join(reason.split())[:300]}", flush=True)
    for kind, counts in found.items():
        shown = ", ".join(f"{n:,} {outcome}" for outcome, n in counts.most_common())
        print(f"{kind}: {shown}")
    alarms = sum(c[o] for c in found.values() for o in ("FAIL", "SUSPECT", "crash"))
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
