"""`isomorph verify`: whether two models are the same function."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from isomorph.cli import options
from isomorph.cli.console import aside, command, emit
from isomorph.cli.guard import guarded


def verify(
    reference: Annotated[
        str,
        typer.Argument(
            metavar="REF",
            help="The model to compare with: any SOURCE, or saved arrays (FILE.npz, or a folder "
            "with input_0.pb, …, output_0.pb, …).",
        ),
    ],
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The .onnx file to judge.")],
    input: options.Inputs = None,  # noqa: A002 - the option's name
    cases: options.Cases = 200,
    seed: options.Seed = 0,
    profile: options.Profile = "all",
    budget: options.Budget = None,
    sample: Annotated[
        Path | None,
        typer.Option(help="An .npz file of inputs that are tried first: x, or 0/x, 1/x, …."),
    ] = None,
    waive: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OUTPUT: REASON",
            help="Take an output out of the verdict; the report repeats the reason. Repeats.",
        ),
    ] = None,
    max_ulp: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[OUTPUT=]NUMBER",
            help="Largest distance from the reference in float64, in units of the last place, on "
            "top of the derived bounds. Repeats.",
        ),
    ] = None,
    max_abs: Annotated[
        list[str] | None,
        typer.Option(metavar="[OUTPUT=]NUMBER", help="The same, as an absolute number. Repeats."),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.py:NAME",
            help="A function of (outputs, data), arrays by name, that gives a number for a model.",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="An .npz file for the metric: inputs, whose axis 0 counts samples, …."),
    ] = None,
    max_loss: Annotated[
        float | None,
        typer.Option(
            help="What MODEL may lose by the metric, which then judges differences of outputs."
        ),
    ] = None,
    lower_is_better: Annotated[
        bool, typer.Option("--lower-is-better", help="The metric counts errors.")
    ] = False,
    session_option: options.SessionOptions = None,
    execution_provider: options.Providers = None,
    custom_ops: options.CustomOps = None,
    replay_folder: Annotated[
        Path | None, typer.Option("--replay", help="Where a failing case is kept.")
    ] = None,
    device: Annotated[
        str, typer.Option(help="Where MODEL runs: cpu (onnxruntime), sim:sm_90 or cuda:0.")
    ] = "cpu",
    max_seconds: options.MaxSeconds = None,
    max_memory: options.MaxMemory = None,
    as_json: options.Json = False,
) -> None:
    """Test that MODEL computes what REF computes, on generated inputs.

    Exit code 0: PASS. 2: bad call, unreadable input, or too few usable inputs. 3: FAIL.
    4: SUSPECT.
    """
    with command(as_json=as_json) as say, guarded():
        import isomorph as iso
        from isomorph.cli.report import report
        from isomorph.parity.recorded import samples_of

        say("read")
        source, named = _source(reference, input or ())
        candidate = model if device == "cpu" else iso.compile(model, device=device)
        with aside():
            verdict = iso.verify(
                source,
                candidate,
                inputs=input or (),
                cases=cases,
                seed=seed,
                names=named,
                profile=profile,
                budget=budget,
                samples=() if sample is None else samples_of(sample, iso.load(model)),
                waive=options.pairs("--waive", waive, ": ", "REASON"),
                max_ulp=options.limit("--max-ulp", max_ulp),
                max_abs=options.limit("--max-abs", max_abs),
                metric=_metric(metric),
                data=data,
                max_loss=max_loss,
                higher_is_better=not lower_is_better,
                session_options=options.pairs("--session-option", session_option, "="),
                providers=execution_provider or (),
                custom_ops=custom_ops or (),
                replay_folder=replay_folder,
                progress=say,
                limits=options.limits(max_seconds, max_memory),
            )
    if as_json:
        emit(verdict.to_json())
    else:
        report(verdict)
    raise typer.Exit(verdict.exit_code)


def _source(reference: str, inputs: list[str] | tuple[()]) -> tuple[Any, bool]:
    """What a reference stands for, and whether it has names of its own: a function has none."""
    from isomorph.cli.source import graph_of, resolve
    from isomorph.parity.recorded import is_recording

    if is_recording(reference):
        return Path(reference), True
    found = resolve(reference)
    file = isinstance(found, Path)
    return (graph_of(reference, inputs) if file or inputs else found), file


def _metric(text: str | None) -> Any:
    """The function that `file.py:name` names."""
    if text is None:
        return None
    from isomorph.cli.source import resolve

    found = resolve(text)
    if isinstance(found, Path):
        raise options.OptionError(f"--metric {text!r}: FILE.py:NAME of a function was expected")
    return found
