"""Whole models in ONNX's text form: exported with parity, and held against ones with a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx.parser

import isomorph
from isomorph.parity.verdict import Status

if TYPE_CHECKING:
    from pathlib import Path


def saved(path: Path, text: str) -> Path:
    """The model as a file."""
    onnx.save(onnx.parser.parse_model(text), path)
    return path


def goes_all_the_way(folder: Path, text: str, *, opset: int = 21, cases: int = 60) -> Path:
    """Read, optimized, written for an opset, run and compared with what was read; the file made."""
    source = saved(folder / "source.onnx", text)
    made = folder / "out.onnx"
    result = isomorph.export(isomorph.load(source), made, opset=opset, cases=cases)
    assert result.verdict is not None
    assert result.verdict.status is Status.PASS, result.verdict
    assert result.verdict.cases == cases
    return made


def fault_is_found(folder: Path, text: str, right: str, wrong: str, *, cases: int = 100) -> None:
    """The model with one thing in it replaced is not the same."""
    assert right in text
    reference = saved(folder / "reference.onnx", text)
    candidate = saved(folder / "candidate.onnx", text.replace(right, wrong))
    verdict = isomorph.verify(reference, candidate, cases=cases)
    assert verdict.status is Status.FAIL, verdict
