"""Every case of the node suite, written for every opset: `python -m tests.backend.reexport`.

What is written is run by onnxruntime where the installed release has the opset and the kernels,
else by the reference interpreter, and compared as the suite compares. A case that cannot be
written must be refused with a reason, and a lowest opset that is true: it is written there.
`--write` records each case in reexport.json, a letter an opset, and the counts for op_coverage.md.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isomorph.exporters.coverage.suite import OUTCOMES, PATH
from tests.backend.conformance import is_random, plain, releases, same_as_wanted
from tests.backend.suite import suite
from tests.processes import each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isomorph.exporters.target import Target
    from isomorph.ir.graph import Graph
    from tests.backend.suite import Case

RECORD = Path(__file__).with_name("reexport.json")
LETTERS = {
    "onnxruntime": "o",
    "reference": "r",
    "refused": "-",
    "not compared": "?",
    "mismatch": "X",
}


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


def spelled(found: dict[int, Outcome]) -> str:
    """One letter an opset."""
    return "".join(LETTERS[found[opset].outcome] for opset in opsets())


def counted(letters: dict[str, str]) -> dict[int, Counter[str]]:
    """How many cases came to what, by opset."""
    names = {letter: outcome for outcome, letter in LETTERS.items()}
    return {
        opset: Counter(names[each[index]] for each in letters.values())
        for index, opset in enumerate(opsets())
    }


def compared() -> list[str]:
    """The node cases that are: a random result is nobody's to reproduce."""
    return [n for n, c in suite().items() if c.kind == "node" and not is_random(c)]


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
            _compare(case, run)
        except Exception as error:  # noqa: BLE001 - as above
            said.append(f"{engine}: {type(error).__name__}: {' '.join(str(error).split())}"[:300])
            continue
        return Outcome(engine)
    return Outcome("mismatch" if _is_judged(case) else "not compared", "; ".join(said))


def _is_judged(case: Case) -> bool:
    """Whether the reference interpreter gives what the suite wants when it runs the case itself."""
    from onnx.reference import ReferenceEvaluator

    try:
        run = ReferenceEvaluator(case.load())
        for inputs, wanted in case.values():
            feeds = dict(zip(run.input_names, map(plain, inputs), strict=False))
            same_as_wanted(case, run.run(None, feeds), wanted)
    except Exception:  # noqa: BLE001 - whatever it is, it is not ours
        return False
    return True


def _compare(case: Case, run: Callable[[list[Any]], Any]) -> None:
    """AssertionError unless the results are those wanted, or within their operator's bounds."""
    for inputs, wanted in case.values():
        given = [plain(i) for i in inputs]
        found = list(run(given))
        try:
            same_as_wanted(case, found, wanted)
        except AssertionError:
            if not _is_within(case, given, found):
                raise


def _is_within(case: Case, given: list[Any], found: list[Any]) -> bool:
    """Whether a case of one operator is within the bounds that parity derives for it."""
    from isomorph.frontends.onnx.reader import read
    from isomorph.parity.verdict import Status
    from isomorph.parity.well import judge

    graph = read(case.load())
    ops = graph.sorted_ops()
    feeds = dict(zip(graph.inputs, given, strict=False))
    if len(ops) != 1 or not feeds.keys() >= set(ops[0].operands):
        return False
    operands = [None if v is None else feeds[v] for v in ops[0].inputs]
    wrong = (Status.FAIL, Status.SUSPECT)
    return not any(f.status in wrong for f in judge(ops[0], operands, found))


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


def _answer(name: str) -> dict[int, Outcome]:
    warnings.simplefilter("ignore")
    case = suite()[name]
    try:
        return judge(case)
    except Exception as error:  # noqa: BLE001 - it is one of the figures
        failed = Outcome("mismatch", f"reading raises {type(error).__name__}: {error}"[:300])
        return dict.fromkeys(opsets(), failed)


def judge_all(names: list[str], workers: int) -> Iterator[tuple[str, dict[int, Outcome]]]:
    """Every case named, in processes that are renewed; one that dies is its case's mismatch."""
    dead = Outcome("mismatch", "it kills its process")
    for name, found in each(_answer, names, workers):
        yield name, found or dict.fromkeys(opsets(), dead)


def main() -> int:
    """Print a table; exit code 1 when something written is not what was read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--match", default="", help="regular expression on case names; the rest stays as recorded"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--log", type=Path, help="write every mismatch and refusal")
    parser.add_argument("--write", action="store_true", help="record the counts")
    options = parser.parse_args()
    names = [n for n in compared() if re.search(options.match, n)]
    log: list[str] = []
    letters: dict[str, str] = json.loads(RECORD.read_text("utf-8")) if options.match else {}
    judged = set[str]()
    for name, found in judge_all(names, options.workers):
        letters[name] = spelled(found)
        judged.add(name)
        for opset, (outcome, reason, _) in found.items():
            if outcome not in ("onnxruntime", "reference"):
                log.append(f"{outcome} {name} at {opset}: {reason}")
    counts = counted({n: each for n, each in letters.items() if options.write or n in judged})
    print(f"{'opset':>6}" + "".join(f"{o:>14}" for o in OUTCOMES))
    for opset, row in counts.items():
        print(f"{opset:>6}" + "".join(f"{row[o]:>14}" for o in OUTCOMES))
    if options.log:
        options.log.write_text("\n".join(sorted(log)) + "\n", encoding="utf-8")
    if options.write:
        rows = {str(o): {k: row[k] for k in OUTCOMES} for o, row in counts.items()}
        made = {"releases": releases(), "cases": len(letters), "opsets": rows}
        PATH.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
        RECORD.write_text(json.dumps(dict(sorted(letters.items())), indent=0) + "\n", "utf-8")
    return 1 if any(row["mismatch"] for row in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
