"""The functions that `import isomorph` offers: capture, check, export, verify, compile."""

from __future__ import annotations

import importlib.util
import reprlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isomorph.exporters.coverage.report import SCHEMA_VERSION, ExportError, Report
from isomorph.ir.errors import IsomorphError, UnsupportedError
from isomorph.ir.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from isomorph.exporters.onnx.writer import Staged, WriteResult
    from isomorph.exporters.target import Target
    from isomorph.ir.budget import Limits
    from isomorph.parity.verdict import Verdict
    from isomorph.runtime.device import Run

    Progress = Callable[[str], None]


NODES_PER_SECOND = 200
"""Nodes that onnxruntime is expected to load in a second, at least: thousands, as a rule."""


class ParityError(IsomorphError):
    """An export whose file does not compute what its source does; nothing was put in place."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(str(verdict))
        self.verdict = verdict


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What an export made.

    Attributes:
        paths: the model file first, then its data files.
        opset, ir_version: of the file.
        nodes: operators in its main graph.
        bytes: size of all files together.
        report: the coverage report it was checked against.
        verdict: the parity verdict, `None` when verification was switched off.
    """

    paths: tuple[Path, ...]
    opset: int
    ir_version: int
    nodes: int
    bytes: int
    report: Report
    verdict: Verdict | None

    def to_json(self) -> dict[str, Any]:
        """The result as plain data."""
        return {
            "schema_version": SCHEMA_VERSION,
            "paths": [str(p) for p in self.paths],
            "opset": self.opset,
            "ir_version": self.ir_version,
            "nodes": self.nodes,
            "bytes": self.bytes,
            "report": self.report.to_json(),
            "verdict": None if self.verdict is None else self.verdict.to_json(),
        }


def load(path: str | Path, *, keep_functions: bool = False) -> Graph:
    """The graph of an .onnx file, its ops at the versions they were written in.

    Args:
        path: of the file.
        keep_functions: let calls of the file's own functions stand, which no pass looks into;
            they are inlined by default.

    Raises:
        InvalidModelError: when the file is not a valid model.
        UnsupportedError: when it uses a construct that is not read yet.
    """
    from isomorph.frontends.onnx.reader import read

    return read(path, keep_functions=keep_functions)


def trace(
    source: Any,
    inputs: Sequence[str] | str = (),
    *,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
) -> Graph:
    """Capture a torch module or an array function as a graph.

    Args:
        source: a `torch.nn.Module`, an `ExportedProgram`, the path of a .pt2 file, a function on
            torch tensors, or a function written against `isomorph.array` or numpy.
        inputs: one specification per parameter, such as `x: float32[batch, 1, 8, 8] in 0..1`;
            a list, or one text with `;` between them; optional for programs, whose inputs are
            known.
        input_names: names for the graph's inputs; the parameters' names by default.
        output_names: names for its outputs; `output`, `output_0`, … or dict keys by default.

    Raises:
        SpecError: when a specification cannot be read.
        TraceError: when the source does something that cannot be captured; names the line.
        UnsupportedError: for a source of no known kind, or a torch one where torch is missing.
    """
    from isomorph.frontends.kind import is_torch
    from isomorph.frontends.spec import parse_specs

    capture: Any
    if is_torch(source):
        capture = _torch_front_end()
    elif callable(source):
        from isomorph.frontends.array.trace import trace_array as capture
    else:
        raise UnsupportedError(
            f"cannot trace {_described(source)}: a torch module or program, or a function on "
            "arrays, is expected"
        )
    return capture(source, parse_specs(inputs), input_names=input_names, output_names=output_names)


def check(
    source: Graph | str | Path,
    *,
    opset: int | None = None,
    runtime: str = "onnxruntime",
    provider: str = "cpu",
    limits: Limits | None = None,
) -> Report:
    """Every obstacle to an export at once; writes nothing.

    Args:
        source: a graph, or the path of an .onnx file.
        opset: the opset wanted; the newest that the run time loads by default.
        runtime: `onnxruntime` (the installed release) or `onnxruntime==1.31.1`.
        provider: the execution provider, `cpu`.
        limits: what computing its constants may cost, and what a result may take before it is
            told as a risk; `Limits()` by default.

    Raises:
        InvalidModelError, TypeInferenceError, …: the model breaks the rules; the text names it.
    """
    from isomorph.exporters.coverage.check import check as find
    from isomorph.exporters.target import make_target

    graph, target = _graph(source), make_target(opset, runtime, provider)
    with _named(graph):
        return find(_ready(graph, target, limits), target, _allowed(graph, limits).memory)


def export(
    source: Graph | str | Path,
    path: str | Path,
    *,
    opset: int | None = None,
    runtime: str = "onnxruntime",
    provider: str = "cpu",
    cases: int = 200,
    seed: int = 0,
    profile: str = "all",
    budget: float | None = None,
    verify: bool = True,
    accept_suspect: bool = False,
    faithful: bool = False,
    progress: Progress | None = None,
    limits: Limits | None = None,
) -> ExportResult:
    """Check, write, load in the run time, verify, and only then move the file into place.

    Args:
        source: a graph, or the path of an .onnx file.
        path: where the model goes; an existing file is replaced as one, and where a symbolic
            link stands, the file that it points at.
        opset, runtime, provider: as for `check`.
        cases, seed, profile, budget: as for `verify`.
        verify: switch parity testing off; the run time still has to load the file.
        accept_suspect: let a SUSPECT verdict pass.
        faithful: write the model as it was read, field by field, at its own opset: no pass is run,
            functions, inputs with defaults and the layout of data files are kept. With `verify` off
            no run time is asked, so that any model can be written.
        progress: told each stage as it begins.
        limits: what computing constants, loading the file, and each set of inputs may cost;
            `Limits()` by default.

    Raises:
        ExportError: obstacles were found; carries the report.
        ParityError: the file computes something else, or could not be judged; carries the verdict,
            whose replay is kept.
        BudgetError: it takes more than its limits.
    """
    from isomorph.exporters.coverage.check import check as find
    from isomorph.exporters.onnx.writer import stage
    from isomorph.exporters.target import Target, make_target
    from isomorph.runtime.ort import load_in_subprocess

    say = progress or _silent
    say("read")
    reference = _graph(source)
    if faithful:
        opset = _own_opset(reference, opset)
        if not verify:
            say("write")
            with _named(reference), _staged_as_read(source, Path(path)) as staged:
                found = staged.commit()
            return _result(found, Report(Target(found.opset, found.ir_version, "any run time")))
        if reference.functions:
            raise UnsupportedError(
                "a graph with functions that were kept cannot be verified: give the path of its "
                "file, or leave verification out"
            )
    target = make_target(opset, runtime, provider)
    allowed = _allowed(reference, limits)
    with _named(reference):
        say("optimize")
        graph = _ready(reference, target, limits)
        say("check")
        report = find(graph, target, allowed.memory)
        if not report.ok:
            raise ExportError(report)
        say("write")
        place = Path(path)
        staged = _staged_as_read(source, place) if faithful else stage(graph, place, target)
    try:
        say("load")
        with _named(reference, {str(staged.path): str(path)}):
            load_in_subprocess(staged.path, _loading(allowed, graph))
        verdict = None
        if verify:
            say("verify")
            from isomorph.parity.engine import verify as judge

            verdict = judge(
                reference,
                staged.path,
                cases=cases,
                seed=seed,
                profile=profile,
                budget=budget,
                progress=progress,
                limits=limits,
            )
            failed = verdict.exit_code not in ((0, 4) if accept_suspect else (0,))
            if failed:
                raise ParityError(verdict)
        say("commit")
        result = staged.commit()
    finally:
        staged.discard()
    return _result(result, report, verdict)


def _result(written: WriteResult, report: Report, verdict: Verdict | None = None) -> ExportResult:
    return ExportResult(
        written.paths,
        written.opset,
        written.ir_version,
        written.nodes,
        written.bytes,
        report,
        verdict,
    )


def verify(
    reference: Any,
    model: Graph | Run | str | Path,
    *,
    inputs: Sequence[str] | str = (),
    cases: int = 200,
    seed: int = 0,
    profile: str = "all",
    progress: Progress | None = None,
    limits: Limits | None = None,
    **options: Any,
) -> Verdict:
    """Whether two models compute the same function, and whether the run time computes it well.

    Args:
        reference: a graph, the path of an .onnx or .pt2 file, a torch module or program, a
            function on arrays, or saved arrays: a .npz file, or a folder with input_0.pb and
            output_0.pb.
        model: the candidate: the path of an .onnx file from any exporter, a graph, or what
            `compile` gave for a device of our own kernels.
        inputs: specifications, needed for a function and optional otherwise.
        cases: how many inputs to try.
        seed: of the inputs; the same seed tries the same ones.
        profile: `ordinary` values, `hostile` ones among them, or `all`.
        progress: told each stage as it begins.
        limits: what each set of inputs may cost; `Limits()` by default.
        options: of `isomorph.parity.engine.verify`: the budget, samples, waivers and limits of
            outputs, a metric for a deliberate loss, options of onnxruntime's session.
    """
    from isomorph.frontends.spec import parse_specs
    from isomorph.parity.engine import verify as judge

    listed = inputs if isinstance(inputs, (list, tuple)) else parse_specs(inputs)
    return judge(
        reference,
        model,
        inputs=listed,
        cases=cases,
        seed=seed,
        profile=profile,
        progress=progress,
        limits=limits,
        **options,
    )


def compile(  # noqa: A001 - the name that the interface fixes
    source: Graph | str | Path, *, device: str = "cpu", checking: bool = False, seed: int = 0
) -> Run:
    """Something to call: `run(*arrays, **named)` gives the outputs as a tuple.

    Args:
        source: a graph, or the path of an .onnx file.
        device: `cpu` (onnxruntime), `reference` (the interpreter), `cuda:0` (our own kernels), or
            `sim:sm_90` (the same kernels on the CPU).
        checking: for `sim:…`, check every access of every kernel.
        seed: for `sim:…`, of the order in which threads and blocks run.
    """
    from isomorph.runtime.device import compile_graph

    return compile_graph(_graph(source), device, checking=checking, seed=seed)


def _silent(stage: str) -> None:
    """Progress that nobody watches."""


def _graph(source: Graph | str | Path) -> Graph:
    return source if isinstance(source, Graph) else load(source)


def _own_opset(graph: Graph, opset: int | None) -> int:
    """The opset of a graph that is to be written as it was read."""
    if "ir_version" not in graph.extra:
        raise UnsupportedError(
            f"{graph.origin or graph.name} was not read from a model file, so there is no form to "
            "keep: export it without faithful"
        )
    own = graph.opsets.get("", 1)
    if opset not in (None, own):
        raise UnsupportedError(
            f"{graph.origin}: opset {opset} was asked for; a model that is written as it was read "
            f"stays at {own}"
        )
    return own


def _staged_as_read(source: Graph | str | Path, path: Path) -> Staged:
    from isomorph.exporters.onnx.faithful import stage_as_read

    graph = source if isinstance(source, Graph) else load(source, keep_functions=True)
    return stage_as_read(graph, path)


def _allowed(graph: Graph, limits: Limits | None) -> Limits:
    """What this model may cost, its weights counted in."""
    from isomorph.ir.budget import Limits, weight_bytes

    return (limits or Limits()).of(weight_bytes(graph))


def _loading(allowed: Limits, graph: Graph) -> Limits:
    """What loading a file may cost: half of the time, and a second more for so many nodes."""
    from isomorph.ir.budget import Limits

    if allowed.seconds is None:
        return allowed
    nodes = sum(1 for _ in graph.walk())
    return Limits(allowed.seconds / 2 + nodes / NODES_PER_SECOND, allowed.memory)


def _ready(graph: Graph, target: Target, limits: Limits | None) -> Graph:
    """What is checked, and written: a copy at canonical versions after the portable passes.

    A graph whose own opset is the target's, and below the lowest that is rewritten, stays itself.
    """
    from isomorph.exporters.onnx.downgrade import LOWEST_WRITTEN
    from isomorph.frontends.canonical import canonical
    from isomorph.ir.budget import bounded

    if graph.opsets.get("") == target.opset < LOWEST_WRITTEN:
        return graph
    with bounded(_allowed(graph, limits)):
        return canonical(graph)


@contextmanager
def _named(graph: Graph, places: Mapping[str, str] | None = None) -> Generator[None]:
    """Let errors name the file that the graph was read from, and places as the user knows them."""
    try:
        yield
    except ExportError:
        raise
    except IsomorphError as error:
        text = str(error)
        for ours, theirs in (places or {}).items():
            text = text.replace(ours, theirs)
        if graph.origin and graph.origin not in text:
            text = f"{graph.origin}: {text}"
        error.args = (text, *error.args[1:])
        raise


def _described(source: Any) -> str:
    """An object in a few words; an array by its dtype and shape."""
    kind = type(source).__name__
    if hasattr(source, "dtype") and hasattr(source, "shape"):
        return f"{kind} of {source.dtype}, shape {tuple(source.shape)}"
    return f"{kind} {reprlib.repr(source)}"


def _torch_front_end() -> Any:
    if importlib.util.find_spec("torch") is None:
        raise UnsupportedError(
            "PyTorch is not installed here, and this source needs it: pip install torch"
        )
    from isomorph.frontends.torch.trace import trace_torch

    return trace_torch


__all__ = [
    "ExportError",
    "ExportResult",
    "ParityError",
    "check",
    "compile",
    "export",
    "load",
    "trace",
    "verify",
]
