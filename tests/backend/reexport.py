"""Every case of the node suite, written for every opset: `python -m tests.backend.reexport`.

What is written is run by onnxruntime where the installed release has the opset and the kernels,
else by the reference interpreter, and compared as the suite compares. A case that cannot be
written must be refused with a reason, and a lowest opset that is true: it is written there.
`--write` records the counts in reexport.json.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.backend.conformance import is_random, plain, releases, same_as_wanted
from tests.backend.suite import suite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isomorph.exporters.target import Target
    from isomorph.ir.graph import Graph
    from tests.backend.suite import Case

OUTCOMES = ("onnxruntime", "reference", "refused", "mismatch")
COUNTS = Path(__file__).with_name("reexport.json")


class Outcome(NamedTuple):
    """One of `OUTCOMES` (the first two: equal, as that engine runs it), and why."""

    outcome: str
    reason: str = ""
    lowest: int | None = None


def opsets() -> range:
    """What is written."""
    from isomorph.exporters.onnx.downgrade import LOWEST_WRITTEN
    from isomorph.ir.schema import CANONICAL

    return range(LOWEST_WRITTEN, CANONICAL[""] + 1)


def judge(case: Case) -> dict[int, Outcome]:
    """A case at every opset."""
    from isomorph.frontends.canonical import canonical
    from isomorph.frontends.onnx.reader import read

    graph = canonical(read(case.load()))
    found = {opset: _written(case, graph, opset) for opset in opsets()}
    for opset, outcome in found.items():
        if outcome.outcome != "refused" or outcome.lowest is None:
            continue
        there = found.get(outcome.lowest)
        if outcome.lowest <= opset or there is None or there.outcome == "refused":
            wrong = f"refused, and {outcome.lowest} is said to be the lowest opset that can"
            found[opset] = Outcome("mismatch", f"{wrong}: {outcome.reason}")
    return found


def _written(case: Case, graph: Graph, opset: int) -> Outcome:
    from isomorph.exporters.onnx.writer import ExportBlocked, to_proto
    from isomorph.exporters.target import Target
    from isomorph.ir import schema

    anywhere = Target(opset, schema.ir_version_for(schema.CANONICAL[""]), "reference")
    try:
        model = to_proto(graph, anywhere)
    except ExportBlocked as error:
        lowest = [p.lowest for p in error.problems]
        known = max((n for n in lowest if n), default=None) if all(lowest) else None
        return Outcome("refused", "; ".join(p.reason for p in error.problems), known)
    except Exception as error:  # noqa: BLE001 - what is not typed is a bug, and is to be seen
        return Outcome("mismatch", f"writing raises {type(error).__name__}: {error}"[:300])
    said: list[str] = []
    for engine in ("onnxruntime", "reference"):
        try:
            run = _engine(engine, graph, model, anywhere)
        except Exception as error:  # noqa: BLE001 - the other engine is asked
            said.append(f"{engine} does not load it: {type(error).__name__}: {error}"[:200])
            continue
        try:
            for inputs, wanted in case.values():
                same_as_wanted(case, run([plain(i) for i in inputs]), wanted)
        except Exception as error:  # noqa: BLE001 - as above
            said.append(f"{engine}: {type(error).__name__}: {' '.join(str(error).split())}"[:300])
            continue
        return Outcome(engine)
    return Outcome("mismatch", "; ".join(said))


def _engine(name: str, graph: Graph, model: Any, target: Target) -> Any:
    from isomorph import backend
    from isomorph.exporters.coverage.check import check
    from isomorph.exporters.coverage.report import ExportError
    from isomorph.exporters.target import make_target

    if name == "reference":
        engine = backend._reference(model)
    else:
        release = make_target(target.opset)
        report = check(graph, release)
        if not report.ok:
            raise ExportError(report)
        engine = backend._onnxruntime(model)
    return backend.Prepared(graph, model, engine).run


def _answer(name: str) -> tuple[str, dict[int, Outcome]]:
    warnings.simplefilter("ignore")
    case = suite()[name]
    try:
        return name, judge(case)
    except Exception as error:  # noqa: BLE001 - it is one of the figures
        failed = Outcome("mismatch", f"reading raises {type(error).__name__}: {error}"[:300])
        return name, dict.fromkeys(opsets(), failed)


def judge_all(names: list[str], workers: int) -> Iterator[tuple[str, dict[int, Outcome]]]:
    """Every case named; a few in a process of their own, which is renewed."""
    with ProcessPoolExecutor(workers, max_tasks_per_child=200) as pool:
        for done in as_completed([pool.submit(_answer, n) for n in names]):
            yield done.result()


def main() -> int:
    """Print a table; exit code 1 when something written is not what was read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--match", default="", help="regular expression on case names")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--log", type=Path, help="write every mismatch and refusal")
    parser.add_argument("--write", action="store_true", help="record the counts")
    options = parser.parse_args()
    names = [n for n, c in suite().items() if c.kind == "node" and re.search(options.match, n)]
    names = [n for n in names if not is_random(suite()[n])]
    counts = {opset: Counter[str]() for opset in opsets()}
    log: list[str] = []
    for name, found in judge_all(names, options.workers):
        for opset, (outcome, reason, _) in found.items():
            counts[opset][outcome] += 1
            if outcome in ("refused", "mismatch"):
                log.append(f"{outcome} {name} at {opset}: {reason}")
    print(f"{'opset':>6}" + "".join(f"{o:>14}" for o in OUTCOMES))
    for opset, row in counts.items():
        print(f"{opset:>6}" + "".join(f"{row[o]:>14}" for o in OUTCOMES))
    if options.log:
        options.log.write_text("\n".join(sorted(log)) + "\n", encoding="utf-8")
    if options.write:
        rows = {str(o): {k: row[k] for k in OUTCOMES} for o, row in counts.items()}
        made = {"releases": releases(), "cases": len(names), "opsets": rows}
        COUNTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row["mismatch"] for row in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
