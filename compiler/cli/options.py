"""Options that mean the same in every command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isomorph.ir.errors import IsomorphError

if TYPE_CHECKING:
    from isomorph.ir.budget import Limits


class OptionError(IsomorphError):
    """The value of an option that cannot be read."""


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
Seed = Annotated[int, typer.Option(min=0, help="Seed of the inputs.")]
Profile = Annotated[
    str, typer.Option(help="Values to draw: ordinary, hostile (NaN, infinities, …), or all.")
]
Budget = Annotated[
    float | None,
    typer.Option(
        min=0, help="Seconds that all cases may take, 20 by default; the verdict says how many ran."
    ),
]
SessionOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--session-option",
        metavar="KEY=VALUE",
        help="An attribute of onnxruntime's SessionOptions or a config entry of its session, such "
        "as session.disable_prepacking=1. Repeats.",
    ),
]
Providers = Annotated[
    list[str] | None,
    typer.Option(
        "--execution-provider",
        metavar="NAME",
        help="Execution provider of the session, such as CUDAExecutionProvider. Repeats, in order "
        "of preference.",
    ),
]
CustomOps = Annotated[
    list[Path] | None,
    typer.Option(
        "--custom-ops", metavar="LIB.so", help="Library that registers custom operators. Repeats."
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON document, and nothing else, to stdout.")
]
InputNames = Annotated[
    str | None, typer.Option(help="Comma-separated names for the model's inputs.")
]
OutputNames = Annotated[
    str | None, typer.Option(help="Comma-separated names for the model's outputs.")
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Seconds that evaluating the model on one set of inputs may take, and one more for "
        "every 4 MiB of its weights; 60 by default, 0 for any time.",
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        help="Memory that results may take at once, such as 16GiB, and 8 times its weights more; "
        "4GiB by default, 0 for any amount.",
    ),
]
SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="model.onnx, file.py:name or package.module:name (a function, or a factory of one).",
    ),
]


_UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}


def limits(seconds: float | None, memory: str | None) -> Limits:
    """What --max-seconds and --max-memory say.

    Raises:
        OptionError: when a size cannot be read.
    """
    from isomorph.ir.budget import Limits

    default = Limits()
    return Limits(
        default.seconds if seconds is None else seconds or None,
        default.memory if memory is None else _bytes(memory) or None,
    )


def _bytes(text: str) -> int:
    """A size as people write it: bytes, or with a unit; KB and KiB are both 1024 bytes."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([kmgt]?)(?:i?b)?", text.strip().lower())
    if match is None:
        raise OptionError(f"--max-memory {text!r}: a size such as 16GiB was expected")
    number, unit = match.groups()
    return int(float(number) * (1 << _UNITS[unit] if unit else 1))


def pairs(option: str, texts: list[str] | None, sign: str, what: str = "VALUE") -> dict[str, str]:
    """What a repeated option of names and values says.

    Raises:
        OptionError: when one is no pair, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts or ():
        name, given, value = text.partition(sign)
        if not given or not name.strip():
            raise OptionError(f"{option} {text!r}: NAME{sign}{what} was expected")
        name, value = name.strip(), value.strip()
        if name in found:
            raise OptionError(f"{option} {name!r} is given twice")
        found[name] = value
    return found


def limit(option: str, texts: list[str] | None) -> float | dict[str, float] | None:
    """One number for every output, or numbers by name.

    Raises:
        OptionError: when neither is given.
    """
    if not texts:
        return None
    if len(texts) == 1 and "=" not in texts[0]:
        return _number(option, texts[0])
    return {n: _number(f"{option} {n}", v) for n, v in pairs(option, texts, "=").items()}


def _number(option: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"{option} {text!r}: a number was expected") from None


def names(text: str | None) -> list[str] | None:
    """The names in a comma-separated option."""
    return None if text is None else [n.strip() for n in text.split(",") if n.strip()]
