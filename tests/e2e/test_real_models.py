"""The main job on trained models that others ship: every opset that can express them."""

from __future__ import annotations

import os

import onnx
import pytest

import isomorph as iso
from tests.realmodels import HOMES, real_model

MODELS = ("silero_vad_op18_ifless", "silero_vad_16k_op15", "magika", "ch_ppocr_cls")
OPSETS = (15, 17, 18, 21, 24)
SWEEP = "ISOMORPH_CASES" in os.environ
CASES = int(os.environ.get("ISOMORPH_CASES", "24"))
"""Inputs per file here; `make sweep` asks for the default of 200, and for every model."""
OTHERS = tuple(name for name in HOMES if name not in MODELS)
QUICK = ("silero_vad", "tashkeel_bilstm", "brainmaze_spindle_eeg")


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", MODELS)
def test_export(name, opset, tmp_path):
    exports(name, opset, tmp_path)


@pytest.mark.parametrize("opset", ["own", 21])
@pytest.mark.parametrize("name", OTHERS if SWEEP else QUICK)
def test_export_of_every_model(name, opset, tmp_path):
    exports(name, own_opset(onnx.load(real_model(name))) if opset == "own" else opset, tmp_path)


def exports(name, opset, tmp_path):
    source = real_model(name)
    path = tmp_path / "model.onnx"
    result = iso.export(source, path, opset=opset, cases=CASES)
    assert result.verdict.status == "PASS", str(result.verdict)
    assert result.opset == opset
    before, after = onnx.load(source), onnx.load(path)
    assert [o.version for o in after.opset_import if not o.domain] == [opset]
    assert names(after.graph.input) == names(before.graph.input)[: len(after.graph.input)]
    assert names(after.graph.output) == names(before.graph.output)
    for value in before.graph.input:
        kept = next((v for v in after.graph.input if v.name == value.name), None)
        if kept is not None:
            assert symbols(kept) == symbols(value)
    assert not duplicates(after), "a weight is stored twice"
    if opset >= own_opset(before):
        assert path.stat().st_size <= source.stat().st_size


def own_opset(model):
    return next(o.version for o in model.opset_import if not o.domain)


def names(values):
    return [v.name for v in values]


def symbols(value):
    return [d.dim_param for d in value.type.tensor_type.shape.dim]


def duplicates(model):
    """Names of initializers whose bytes occur twice, anywhere in the model."""
    seen, found, stack = {}, [], [model.graph]
    for graph in stack:
        for tensor in graph.initializer:
            key = (tensor.data_type, tuple(tensor.dims), tensor.raw_data)
            if len(tensor.raw_data) > 64 and seen.setdefault(key, tensor.name) != tensor.name:
                found.append((seen[key], tensor.name))
        stack.extend(a.g for n in graph.node for a in n.attribute if a.HasField("g"))
    return found
