"""The standard's own models, and what makes two messages equal."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import onnx.backend.test
from onnx import numpy_helper

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
LIGHT = tuple(sorted((Path(onnx.backend.test.__file__).parent / "data" / "light").glob("*.onnx")))


@cache
def suite_models() -> dict[str, onnx.ModelProto]:
    """Every model of `onnx.backend.test`, by case name."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # making the expected values overflows on purpose
        cases = [case for kind in KINDS for case in load_model_tests(kind=kind)]
    return {
        case.name: case.model or onnx.load(Path(case.model_dir, "model.onnx")) for case in cases
    }


def normal(graph: onnx.GraphProto) -> onnx.GraphProto:
    """A copy without what has no meaning: how numbers are stored, unset against empty."""
    made = onnx.GraphProto()
    made.CopyFrom(graph)
    for each in _graphs(made):
        for tensor in each.initializer:
            _plain(tensor, tensor.name)
        for node in each.node:
            for name in ("name", "doc_string", "domain", "overload"):
                if getattr(node, name) in {"", "ai.onnx"}:
                    node.ClearField(name)
            for attribute in node.attribute:
                attribute.ClearField("doc_string")
                if attribute.HasField("t"):
                    _plain(attribute.t, "")
    return made


def _plain(tensor: onnx.TensorProto, name: str) -> None:
    tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), name))


def _graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _graphs(inner)
