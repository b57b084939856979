"""For the tests of users: a test made of two models, and an assertion."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.exporters.target import Target
from isomorph.ir.errors import IsomorphError
from isomorph.ir.graph import Graph
from isomorph.ir.scratch import scratch
from isomorph.parity import engine, journal
from isomorph.parity.driven import by_hypothesis

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isomorph.parity.verdict import Verdict
    from isomorph.runtime.device import Run


class ParityFailure(AssertionError):  # noqa: N818 - what happened, as a test reports it
    """Raised by `assert_parity` and by the tests of `parity_test`; carries the verdict."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(str(verdict))
        self.verdict = verdict


def assert_parity(
    reference: Any,
    candidate: Graph | Run | Target | str | Path,
    *,
    cases: int | None = None,
    seed: int | None = None,
    profile: str | None = None,
    **options: Any,
) -> Verdict:
    """`verify`, raising ParityFailure unless the verdict's exit code is 0.

    Args:
        reference, options: as for `verify`.
        candidate: the same; or a target, which the reference is exported for first.
        cases, seed, profile: the pytest plugin's options outrank them; where neither says
            anything, its configuration does, else they are 200, 0 and `all`.
    """
    __tracebackhide__ = True
    asked = journal.chosen(journal.Choice(cases, seed, profile))
    chosen: dict[str, Any] = {"cases": asked.cases, "seed": asked.seed, "profile": asked.profile}
    try:
        verdict = _judged(reference, candidate, {**options, **chosen})
    except IsomorphError as error:
        raise error.with_traceback(None) from None  # its words say it all, and not how we got there
    journal.tell(_title(candidate), verdict)
    if verdict.exit_code:
        raise ParityFailure(verdict)
    return verdict


def _judged(reference: Any, candidate: Any, options: dict[str, Any]) -> Verdict:
    if not isinstance(candidate, Target):
        return engine.verify(reference, candidate, **options)
    with scratch() as folder:
        source, path = _exported(reference, candidate, options.pop("inputs", ()), folder)
        return engine.verify(source, path, **options)


def parity_test(
    reference: Any,
    candidate: Graph | Run | Target | str | Path,
    *,
    inputs: Sequence[Any] = (),
    cases: int | None = None,
    seed: int | None = None,
    profile: str | None = None,
    **options: Any,
) -> Callable[[], None]:
    """A test of two models, to be given a name that pytest collects, such as `test_net`.

    Sizes are sought as `verify` does; then Hypothesis draws half of the cases and shrinks what
    fails, and in the other half every kind of values has its turn. Nothing is read or run before
    the test is.

    Args:
        reference, inputs, options: as for `verify`.
        candidate: the same; a relative path is looked for beside the file that calls this first.
            Or a target (`isomorph.exporters.target.make_target(21)`): the reference is exported
            for it, and the file judged.
        cases, seed, profile: as for `assert_parity`.
    """
    here = inspect.currentframe()
    caller = None if here is None else here.f_back  # whose test it is, beside what its files are
    beside = Path() if caller is None else Path(caller.f_code.co_filename).parent

    def test() -> None:
        __tracebackhide__ = True
        found = _found(candidate, beside)
        assert_parity(
            _found(reference, beside),
            found,
            inputs=inputs,
            cases=cases,
            seed=seed,
            profile=profile,
            driver=by_hypothesis,
            **options,
        )

    test.__doc__ = f"{_title(reference)} and {_title(candidate)} compute the same."
    if caller is not None:  # where pytest says that the test is: at the user's line
        test.__module__ = caller.f_globals.get("__name__", "")
        test.__code__ = test.__code__.replace(
            co_filename=caller.f_code.co_filename, co_firstlineno=caller.f_lineno
        )
    return test


def _found(model: Any, beside: Path) -> Any:
    """A relative path beside the caller's file, where one is; anything else as it is."""
    if isinstance(model, str | Path) and not Path(model).is_absolute():
        return own if (own := beside / model).exists() else model
    return model


def _title(model: Any) -> str:
    if isinstance(model, str | Path):
        return Path(model).name
    if isinstance(model, Graph):
        return model.origin or model.name
    if isinstance(model, Target):
        return f"opset {model.opset}"
    return getattr(model, "__name__", None) or type(model).__name__


def _exported(
    reference: Any, target: Target, inputs: Sequence[Any], folder: Path
) -> tuple[Graph, Path]:
    """The graph of a reference, and the file that it becomes for a target.

    Raises:
        ExportError: when it has obstacles; carries the report.
    """
    from isomorph.exporters.coverage.check import check
    from isomorph.exporters.coverage.report import ExportError
    from isomorph.exporters.onnx.writer import write
    from isomorph.frontends.canonical import canonical

    graph = _traced(reference, inputs)
    ready = canonical(graph)
    report = check(ready, target)
    if not report.ok:
        raise ExportError(report)
    path = folder / "candidate.onnx"
    write(ready, path, target)
    return graph, path


def _traced(reference: Any, inputs: Sequence[Any]) -> Graph:
    from isomorph.frontends.kind import is_torch
    from isomorph.frontends.spec import parse_specs
    from isomorph.parity.sources import read

    if isinstance(reference, Graph):
        return reference
    if is_torch(reference):
        from isomorph.frontends.torch.trace import trace_torch

        return trace_torch(reference, parse_specs(inputs))
    if isinstance(reference, str | Path):
        return read(reference)
    from isomorph.frontends.array.trace import trace_array

    return trace_array(reference, parse_specs(inputs))
