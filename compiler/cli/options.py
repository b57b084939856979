"""Options that mean the same in every command."""

from __future__ import annotations

from typing import Annotated

import typer

Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        help="Specification of an input, such as 'x: float32[batch in 1..64, 3] in 0..1'. Repeats.",
    ),
]
Opset = Annotated[
    int | None,
    typer.Option(help="Target opset; the newest that the run time loads by default."),
]
Runtime = Annotated[
    str, typer.Option(help="Run time, with a release or without: onnxruntime==1.31.1.")
]
Provider = Annotated[str, typer.Option(help="Execution provider of the run time.")]
Cases = Annotated[int, typer.Option(min=1, help="How many inputs to try.")]
Seed = Annotated[int, typer.Option(help="Seed of the inputs.")]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, and nothing else, to stdout.")
]
InputNames = Annotated[
    str | None, typer.Option(help="Comma-separated names for the model's inputs.")
]
OutputNames = Annotated[
    str | None, typer.Option(help="Comma-separated names for the model's outputs.")
]
SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="model.onnx, file.py:name or package.module:name (a function, or a factory of one).",
    ),
]


def names(text: str | None) -> list[str] | None:
    """The names in a comma-separated option."""
    return None if text is None else [n.strip() for n in text.split(",") if n.strip()]
